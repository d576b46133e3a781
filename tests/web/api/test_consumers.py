"""The websockets, over the channel layer in memory."""

import asyncio
import json

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.db import OperationalError
from django.test import Client

from snapshots import access
from snapshots.answers import replay
from snapshots.jobs import live
from snapshots.models import Job, Recording
from snapshots.payloads.jobs import job_detail
from snapshots.reviews import entries
from snapshots.routing import websocket_urlpatterns
from snapshots.web import consumers
from snapshots.web.consumers import connection
from tests.web.given import a_person, a_ready_recording
from webapp.accounts.sessions import key_hash

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]

router = URLRouter(websocket_urlpatterns)


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def a_session(user) -> SessionBase:
    client = Client()
    client.force_login(user)
    return client.session


async def connected(
    user, address: str, cookies: dict | None = None, app=router
) -> WebsocketCommunicator:
    """Open a websocket as the person and with the cookies of a browser."""
    socket = WebsocketCommunicator(app, address)
    socket.scope["user"] = user
    socket.scope["cookies"] = cookies or {}
    if user.is_authenticated:
        socket.scope["session"] = await database_sync_to_async(a_session)(user)
    accepted, _ = await socket.connect()
    assert accepted
    return socket


async def closed_with(socket: WebsocketCommunicator) -> int:
    message = await socket.receive_output(5)
    assert message["type"] == "websocket.close", message
    return message["code"]


async def asked(socket: WebsocketCommunicator, message: dict) -> dict:
    await socket.send_json_to(message)
    return await socket.receive_json_from(10)


async def test_who_is_not_signed_in_is_refused_by_the_close_code(banks):
    for address in (f"ws/recordings/{banks.pk}", "ws/jobs"):
        socket = await connected(AnonymousUser(), address)
        assert await closed_with(socket) == consumers.UNAUTHORIZED


async def test_another_persons_recording_does_not_exist(banks):
    bob = await database_sync_to_async(a_person)("bob@example.org")
    socket = await connected(bob, f"ws/recordings/{banks.pk}")
    assert await closed_with(socket) == consumers.NOT_FOUND


async def test_what_is_not_ready_cannot_be_watched(ada):
    slow = await Recording.objects.acreate(owner=ada, name="slow")
    socket = await connected(ada, f"ws/recordings/{slow.pk}")
    assert await closed_with(socket) == consumers.NOT_READY


async def test_windows_and_cuts_are_answered_with_their_numbers(ada, banks):
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    window = await asked(
        socket, {"type": "window", "request": 1, "from": 0, "to": 9000, "width": 800}
    )
    assert (window["type"], window["request"], window["exact"]) == ("window", 1, True)
    cut = await asked(socket, {"type": "cut", "request": 2, "positions": [2, 5]})
    assert (cut["type"], cut["request"], cut["channels"]) == (
        "cut",
        2,
        {"A->B": [], "B->A": [1000, 2000]},
    )
    await socket.disconnect()


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "{",
        "[]",
        "7",
        "null",
        '{"type": "drop table"}',
        '{"type": ["window"]}',
        '{"type": {}}',
        '{"type": "window", "from": "x"}',
        '{"type": "window", "from": 5, "to": 1}',
        '{"type": "window", "width": 1e99, "request": {"a": 1}}',
        '{"type": "window", "axis": ["time"]}',
        '{"type": "cut"}',
        '{"type": "cut", "positions": [1e400]}',
        '{"type": "cut", "positions": {"A": {}}}',
        '{"type": "cut", "at": 1e308}',
        '{"type": "follow", "role": "king"}',
        '{"type": "follow", "role": []}',
        '{"type": "seek", "at": "noon"}',
        '{"type": "speed", "speed": [1]}',
        '{"type": "view", "view": {}}',
        '{"type": "here"}',
        '{"type": "here", "axis": "space", "at": 1}',
        '{"type": "point"}',
        '{"type": "point", "channel": ["A->B"]}',
        '{"type": "offer", "person": true}',
        '{"type": "offer", "person": 1}',
    ],
)
async def test_a_message_without_meaning_is_refused_and_the_next_is_answered(ada, banks, text):
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    await socket.send_to(text_data=text)
    refusal = await socket.receive_json_from(5)
    assert refusal["type"] == "refused"
    assert refusal["detail"]
    assert (await asked(socket, {"type": "cut", "request": 9, "at": 0}))["request"] == 9
    await socket.disconnect()


async def test_bytes_that_are_not_text_are_refused(ada, banks):
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    await socket.send_to(bytes_data=b"\xff\xfe")
    assert (await socket.receive_json_from(5))["type"] == "refused"
    await socket.disconnect()


async def test_a_message_that_is_too_large_ends_the_connection(ada, banks):
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    await socket.send_to(text_data=" " * (consumers.MOST_BYTES + 1))
    assert await closed_with(socket) == consumers.TOO_LARGE


async def test_of_many_windows_the_first_and_the_newest_are_answered(ada, banks, monkeypatch):
    """The first is being computed while the others arrive."""
    begun, release = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly(stored, question):
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        return window(stored, question)

    window = replay.window
    monkeypatch.setattr(replay, "window", slowly)
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    await socket.send_json_to({"type": "window", "request": 1})
    await begun.wait()
    for request in range(2, 9):
        await socket.send_json_to({"type": "window", "request": request})
    dropped = [await socket.receive_json_from(5) for _ in range(6)]
    assert [(item["type"], item["request"]) for item in dropped] == [
        ("refused", request) for request in range(2, 8)
    ]
    release.set()
    answered = [await socket.receive_json_from(5) for _ in range(2)]
    assert [(item["type"], item["request"]) for item in answered] == [("window", 1), ("window", 8)]
    assert await socket.receive_nothing()
    await socket.disconnect()


async def test_a_person_receives_only_news_of_their_own_jobs(ada, banks):
    bob = await database_sync_to_async(a_person)("bob@example.org")
    mine, his = await connected(ada, "ws/jobs"), await connected(bob, "ws/jobs")
    job = await Job.objects.acreate(kind="ingest", owner=ada, recording=banks)
    await database_sync_to_async(live.job_changed)(job)
    told = await mine.receive_json_from(5)
    assert told.pop("type") == "job"
    expected = await database_sync_to_async(job_detail)(job)
    assert told == json.loads(json.dumps(expected))
    assert await his.receive_nothing()
    await mine.disconnect()
    await his.disconnect()


async def test_a_request_notifies_the_open_pages(ada, banks):
    from snapshots.services.jobs import request_restore

    socket = await connected(ada, "ws/jobs")
    snapshot = await banks.snapshots.afirst()
    job = await database_sync_to_async(request_restore)(ada, banks, snapshot)
    told = await socket.receive_json_from(5)
    assert (told["id"], told["kind"], told["state"]) == (job.pk, "restore", "queued")
    await socket.disconnect()


@pytest.fixture
def looking_often(monkeypatch):
    monkeypatch.setattr(connection, "CHECK_SECONDS", 0.1)


@pytest.fixture
def lost(monkeypatch):
    """Lose every message to open pages."""
    monkeypatch.setattr(live, "_send", lambda group, message: None)


async def workbench_and_jobs(ada, banks) -> list[WebsocketCommunicator]:
    paths = (f"ws/recordings/{banks.pk}", "ws/jobs")
    return [await connected(ada, path) for path in paths]


async def test_a_session_that_ended_is_noticed_where_the_message_was_lost(
    ada, banks, looking_often, lost
):
    for socket in await workbench_and_jobs(ada, banks):
        await database_sync_to_async(socket.scope["session"].flush)()
        assert await closed_with(socket) == consumers.UNAUTHORIZED


async def test_a_closed_account_is_noticed_where_the_message_was_lost(
    ada, banks, looking_often, lost
):
    sockets = await workbench_and_jobs(ada, banks)
    ada.is_active = False
    await ada.asave()
    assert [await closed_with(socket) for socket in sockets] == [consumers.UNAUTHORIZED] * 2


async def test_a_deleted_recording_is_noticed_where_the_message_was_lost(
    ada, banks, looking_often, lost
):
    from snapshots.services.recordings import delete_recording

    workbench, jobs = await workbench_and_jobs(ada, banks)
    await database_sync_to_async(delete_recording)(banks)
    assert await closed_with(workbench) == consumers.NOT_FOUND
    assert await jobs.receive_nothing(0.5)
    await jobs.disconnect()


async def test_a_recording_that_is_someone_elses_by_now_is_noticed(ada, banks, looking_often):
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    banks.owner = await database_sync_to_async(a_person)("bob@example.org")
    await banks.asave()
    assert await closed_with(socket) == consumers.NOT_FOUND


async def test_a_database_that_cannot_be_asked_ends_nothing(ada, banks, looking_often, monkeypatch):
    sockets = await workbench_and_jobs(ada, banks)

    async def locked(scope):
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "get_user", locked)
        assert [await socket.receive_nothing(0.5) for socket in sockets] == [True, True]
    for socket in sockets:
        await socket.disconnect()


@pytest.mark.parametrize("of", ["", "/notes"])
async def test_a_database_that_is_busy_asks_to_come_again(ada, banks, monkeypatch, of):
    def locked(user, pk):
        raise OperationalError("database is locked")

    monkeypatch.setattr(access, "recording", locked)
    monkeypatch.setattr(access, "ready_recording", locked)
    socket = await connected(ada, f"ws/recordings/{banks.pk}{of}")
    assert await closed_with(socket) == consumers.TRY_AGAIN


async def test_groups_that_redis_lost_are_joined_again(ada, banks, looking_often):
    socket = await connected(ada, "ws/jobs")
    get_channel_layer().groups.clear()
    await asyncio.sleep(0.5)
    job = await Job.objects.acreate(kind="ingest", owner=ada, recording=banks)
    await database_sync_to_async(live.job_changed)(job)
    assert (await socket.receive_json_from(5))["type"] == "job"
    await socket.disconnect()


@pytest.mark.parametrize("address", ["ws/jobs", "ws/recordings/{}"])
async def test_a_connection_that_breaks_off_while_something_is_sent_is_left(ada, banks, address):
    is_gone, before = asyncio.Event(), asyncio.all_tasks()

    async def breaking_off(scope, receive, send) -> None:
        """The server hears of the end by an error of what it sends, and of no disconnection."""

        async def sent(message: dict) -> None:
            if is_gone.is_set():
                raise ConnectionError("the client is gone")
            await send(message)

        await router(scope, receive, sent)

    socket = await connected(ada, address.format(banks.pk), app=breaking_off)
    await asked(socket, {"type": "nonsense"})
    assert get_channel_layer().groups
    is_gone.set()
    await socket.send_json_to({"type": "nonsense"})
    with pytest.raises(ConnectionError):
        await socket.receive_output(5)
    assert not get_channel_layer().groups
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() <= before


async def test_an_ended_session_closes_its_own_sockets_alone(ada, banks):
    sockets, others = [await workbench_and_jobs(ada, banks) for _ in range(2)]
    key = sockets[0].scope["session"].session_key
    await database_sync_to_async(live.session_ended)(key_hash(key))
    assert await closed_with(sockets[0]) == consumers.UNAUTHORIZED
    assert [await socket.receive_nothing() for socket in others] == [True, True]
    for socket in (sockets[1], *others):
        await socket.disconnect()


async def test_a_long_reason_fits_into_the_frame(ada):
    slow = await Recording.objects.acreate(owner=ada, name="🙂" * 200)
    socket = await connected(ada, f"ws/recordings/{slow.pk}")
    message = await socket.receive_output(5)
    assert message["code"] == consumers.NOT_READY
    assert len(message["reason"].encode()) <= 123


async def test_an_address_that_is_not_there_is_closed():
    for address in ("ws/nope", "ws/", "", "ws/recordings/x", "ws/recordings/1/x"):
        socket = await connected(AnonymousUser(), address)
        assert await closed_with(socket) == consumers.NOT_FOUND


async def test_a_new_entry_is_announced_to_everybody_and_its_answer_as_a_change(ada, banks):
    sockets = [await connected(ada, f"ws/recordings/{banks.pk}") for _ in range(2)]
    for socket in sockets:
        await asked(socket, {"type": "cut", "at": 0})  # it is answered after the groups are joined
    entry = await database_sync_to_async(entries.write)(ada, banks, {"text": "see B"})
    number = entry.pk  # which the deletion takes away
    await database_sync_to_async(entries.answer)(ada, entry, "seen")
    await database_sync_to_async(entries.delete)(ada, entry)
    for socket in sockets:
        news = [await socket.receive_json_from(10) for _ in range(3)]
        assert [(item["type"], item["id"]) for item in news] == [("entry", number)] * 3
        assert [item["change"] for item in news] == ["made", "changed", "deleted"]
