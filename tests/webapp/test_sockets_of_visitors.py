"""The websocket of a visitor's page answers questions about what the link shows, until it ends."""

import asyncio
from datetime import timedelta
from http.cookies import SimpleCookie

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.utils import timezone

from snapshots import access
from snapshots.jobs import live
from snapshots.web import consumers
from tests.web.api.test_consumers import asked, closed_with, router
from tests.webapp.test_public_links import (  # noqa: F401, fixtures
    ENDS,
    _allowed,
    a_link,
    banks,
    editor,
    is_withdrawn,
    team,
)
from webapp.links import limits, visiting
from webapp.links.models import PublicLink

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


async def visiting_socket(recording, row: PublicLink) -> WebsocketCommunicator:
    """Return the socket of a visitor's page, which has the cookie of the link."""
    response = await database_sync_to_async(_cookie)(row)
    socket = WebsocketCommunicator(router, f"ws/recordings/{recording.pk}")
    socket.scope["user"] = AnonymousUser()
    socket.scope["cookies"] = {name: morsel.value for name, morsel in response.items()}
    assert (await socket.connect())[0]
    return socket


def _cookie(row: PublicLink) -> SimpleCookie:
    response = HttpResponse()
    visiting.begin_visit(response, access.visitor_of_link(row.pk))
    return response.cookies


in_database = pytest.mark.django_db(transaction=True)
CUT = {"type": "cut", "request": 1, "positions": [2, 5]}


@in_database
@pytest.mark.parametrize(
    "end", [is_withdrawn, *(pytest.param(end, marks=pytest.mark.long) for end in ENDS[:-1])]
)
async def test_an_open_socket_closes_at_once_when_the_link_ends(banks, editor, ada, end):  # noqa: F811
    row, _ = await database_sync_to_async(a_link)(banks, editor)
    socket = await visiting_socket(banks, row)
    assert (await asked(socket, CUT))["type"] == "cut"
    await database_sync_to_async(end)(banks, editor, ada)
    assert await asyncio.wait_for(closed_with(socket), 5) == consumers.NOT_FOUND


@in_database
async def test_an_open_socket_closes_when_the_link_expires(banks, editor):  # noqa: F811
    row, _ = await database_sync_to_async(a_link)(banks, editor)
    soon = timezone.now() + timedelta(seconds=0.5)
    await PublicLink.objects.filter(pk=row.pk).aupdate(expires_at=soon)
    socket = await visiting_socket(banks, row)
    assert await closed_with(socket) == consumers.NOT_FOUND


@in_database
async def test_a_visitor_s_socket_answers_questions_and_moves_follows_and_learns_nothing_else(
    banks,  # noqa: F811
    editor,  # noqa: F811
):
    row, _ = await database_sync_to_async(a_link)(banks, editor)
    socket = await visiting_socket(banks, row)
    for kind in set(consumers.TAKEN) - set(consumers.ASKED) - set(consumers.PLAYED):
        answer = await asked(socket, {"type": kind, "role": "follower", "at": 1})
        assert answer["type"] == "refused", kind
        assert "public link" in answer["detail"], kind
    await database_sync_to_async(live.entry_changed)("recording", banks.pk, 1, "made")
    assert await socket.receive_nothing(0.2)
    assert (await asked(socket, CUT))["type"] == "cut"
    await socket.send_json_to({"type": "seek", "session": 1, "at": 1})
    assert (await socket.receive_json_from())["type"] == "frame"
    await socket.disconnect()


@in_database
async def test_the_questions_of_a_visitor_are_counted(banks, editor, monkeypatch):  # noqa: F811
    row, _ = await database_sync_to_async(a_link)(banks, editor)
    socket = await visiting_socket(banks, row)
    monkeypatch.setattr(limits, "OF_AN_ADDRESS", 0)
    await socket.send_json_to({"type": "window", "request": 7})
    refused = await socket.receive_json_from()
    assert (refused["type"], refused["request"]) == ("refused", 7)
    assert "more than 0 things" in refused["detail"]
    await socket.disconnect()
