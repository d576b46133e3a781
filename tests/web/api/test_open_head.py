"""The websocket of an open recording says how far it has come, and when it is closed."""

import pytest
from channels.db import database_sync_to_async

from snapshots.files import journals
from snapshots.models import Recording
from snapshots.services import opened as service
from tests.web.api.test_consumers import connected
from tests.web.api.test_open_recordings import EVENTS, lines, opened, send
from tests.web.given import a_client, a_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def ada():
    return a_person()


@pytest.fixture
def api(ada):
    return a_client(ada)


@pytest.fixture
def row(api):
    pk = opened(api).json()["id"]
    yield Recording.objects.get(pk=pk)
    journals.forget(Recording.objects.get(pk=pk).journal)


async def head_of(socket, **wanted) -> dict:
    """Return the first head that is as wanted."""
    while True:
        head = await socket.receive_json_from(20)
        if head["type"] == "head" and {name: head[name] for name in wanted} == wanted:
            return head


async def test_the_head_is_told_at_once_and_a_gap_although_nothing_more_is_shown(ada, api, row):
    socket = await connected(ada, f"ws/recordings/{row.pk}")
    await head_of(socket, came=0, missing=0)
    await database_sync_to_async(send)(api, row.pk, lines(EVENTS[1]))
    head = await head_of(socket, came=1)
    assert (head["counts"]["events"], head["missing"], head["under_way"]) == (0, 1, 0)
    again = await connected(ada, f"ws/recordings/{row.pk}")
    await head_of(again, came=1, missing=1)
    for each in (socket, again):
        await each.disconnect()


@pytest.mark.parametrize("journal", ["there", "gone"])
async def test_that_it_is_closed_is_told_before_and_after_its_log_is_written(
    ada, api, row, journal
):
    await database_sync_to_async(send)(api, row.pk, lines(EVENTS[0]))
    socket = await connected(ada, f"ws/recordings/{row.pk}")
    await head_of(socket, came=1)
    await database_sync_to_async(service.close)(row, ada)
    if journal == "gone":
        await database_sync_to_async(journals.remove)(row.journal)
    while (await socket.receive_json_from(20))["type"] != "closed":
        pass
    await socket.disconnect()
