"""Websockets of a team's people: they open by right, and close at once when the right ends."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from snapshots.jobs import live
from snapshots.models import Job
from snapshots.services import moving
from snapshots.services.jobs import create_job
from snapshots.web import consumers
from tests.web.api.test_consumers import asked, closed_with, connected
from tests.web.given import a_person, a_ready_recording
from webapp.teams import services
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]
CUT = {"type": "cut", "request": 1, "positions": [2, 5]}


@pytest.fixture
def team(ada):
    return services.create_team(ada, "payments")


@pytest.fixture
def grace(team):
    person = a_person("grace@example.org")
    Membership.objects.create(team=team, person=person, role=Role.VIEWER)
    return person


@pytest.fixture
def banks(team):
    return a_ready_recording(team.account)


async def ends_after(change, person, address) -> int:
    """Return the close code of a person's socket after a change of their right."""
    socket = await connected(person, address)
    assert (await asked(socket, CUT))["type"] == "cut"
    await database_sync_to_async(change)()
    return await closed_with(socket)


async def test_a_removed_member_s_socket_closes_at_once(ada, team, grace, banks):
    row = await Membership.objects.select_related("team", "person").aget(person=grace)
    address = f"ws/recordings/{banks.pk}"
    code = await ends_after(lambda: services.remove(row, ada), grace, address)
    assert code == consumers.NOT_FOUND
    socket = await connected(grace, address)
    assert await closed_with(socket) == consumers.NOT_FOUND


async def test_a_recording_that_leaves_the_team_closes_the_team_s_sockets(ada, grace, banks):
    moved = await ends_after(
        lambda: moving.move(banks, ada, ada), grace, f"ws/recordings/{banks.pk}"
    )
    assert moved == consumers.NOT_FOUND


async def test_another_role_keeps_the_socket(ada, grace, banks):
    row = await Membership.objects.select_related("team", "person").aget(person=grace)
    socket = await connected(grace, f"ws/recordings/{banks.pk}")
    await asked(socket, CUT)
    await database_sync_to_async(services.change_role)(row, ada, "editor")
    assert (await asked(socket, CUT))["type"] == "cut"
    await socket.disconnect()


async def test_the_jobs_of_a_team_are_sent_to_its_people_until_they_leave(ada, team, grace):
    def request_job():
        recording = a_ready_recording(team.account)
        return create_job(Job.Kind.RESTORE, team.account, recording=recording).pk

    socket = await connected(grace, "ws/jobs")
    await until(team, is_joined=True)
    number = await database_sync_to_async(request_job)()
    assert (await socket.receive_json_from(5))["id"] == number
    row = await Membership.objects.select_related("team", "person").aget(person=grace)
    await database_sync_to_async(services.remove)(row, ada)
    await until(team, is_joined=False)
    await database_sync_to_async(request_job)()
    assert await socket.receive_nothing()
    await socket.disconnect()


async def until(team, *, is_joined: bool) -> None:
    """Wait until a socket receives what is sent about the jobs of a team, or no longer does."""
    async with asyncio.timeout(5):
        while bool(get_channel_layer().groups.get(live.jobs_group(team.pk))) != is_joined:
            await asyncio.sleep(0.01)
