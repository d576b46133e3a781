"""Playing over the websocket: frames ahead of the cursor, as far as they are read."""

import asyncio

import pytest
from channels.db import database_sync_to_async

from snapshots.files import journals
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.payloads.topologies import topology_of_recording
from snapshots.web.playing import session as playing
from snapshots.web.playing.shared import shared
from tests.js.test_server_frames import compare
from tests.web.api.test_consumers import connected
from tests.web.api.test_open_recordings import EVENTS, lines, opened, send
from tests.web.given import a_client, a_person, a_ready_recording

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]

SLOW = 400  # units of the axis in a second: the two banks then take 20 s, and many frames


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


async def joined(user, recording):
    return await connected(user, f"ws/recordings/{recording.pk}")


async def frames_of(socket, last: int) -> list[dict]:
    """Return the frames up to the one with this number, or to the end of the recording."""
    found = []
    while not found or not (found[-1]["sequence"] == last or found[-1]["ends"]):
        message = await socket.receive_json_from(60)
        assert message["type"] in ("frame", "room", "head"), message
        found += [message] if message["type"] == "frame" else []
    return found


async def is_silent(socket) -> bool:
    """Tell whether no frame comes before the answer to something else."""
    await socket.send_json_to({"type": "nonsense"})
    while (message := await socket.receive_json_from(60))["type"] == "room":
        continue
    return message["type"] == "refused"


async def play(socket, last: int = playing.MOST_UNREAD, **fields) -> list[dict]:
    await socket.send_json_to({"type": "play", "session": "s", "at": 0, "rate": SLOW, **fields})
    return await frames_of(socket, last)


async def read(socket, sequence: int) -> list[dict]:
    await socket.send_json_to({"type": "read", "session": "s", "sequence": sequence})
    return await frames_of(socket, sequence + playing.MOST_UNREAD)


def case(recording, frames: list[dict]) -> dict:
    """Return what to compare with the cuts of the server: the frames, at all of their ends."""
    stored = open_recording(recording)
    ends = [frame["at"] for frame in frames]
    return {
        "topology": topology_of_recording(stored),
        "frames": frames,
        "places": [{"x": x, "whole": whole_at(stored, x)} for x in ends],
    }


def whole_at(stored, x: float) -> dict:
    from snapshots.answers import frames

    return frames.key_frame(stored, frames.watched(stored, {}), x)


async def test_a_key_frame_comes_first_then_as_many_as_may_be_unread(ada, banks):
    socket = await joined(ada, banks)
    first = await play(socket)
    assert first[0]["from"] is None
    assert [frame["sequence"] for frame in first] == list(range(1, playing.MOST_UNREAD + 1))
    assert [frame["from"] for frame in first[1:]] == [frame["at"] for frame in first[:-1]]
    assert await is_silent(socket)
    more = await read(socket, 5)
    assert [frame["sequence"] for frame in more] == list(range(13, 18))
    assert await is_silent(socket)
    await database_sync_to_async(compare)([case(banks, first + more)])
    await socket.disconnect()


async def test_who_reads_slowly_is_slowed_and_gets_everything(ada, banks):
    socket = await joined(ada, banks)
    frames = await play(socket)
    while not frames[-1]["ends"]:
        frames += await read(socket, frames[-1]["sequence"])
    extent = open_recording(banks).manifest.extent
    assert frames[-1]["at"] == extent.to
    assert sum(frame["events_total"] for frame in frames) == extent.steps
    await database_sync_to_async(compare)([case(banks, frames)])
    await socket.disconnect()


async def test_nothing_waits_for_a_client_that_does_not_read(ada, banks):
    socket = await joined(ada, banks)
    await play(socket)
    names = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}
    assert not any(name.startswith("Playing.") for name in names), names
    await socket.disconnect()


async def test_a_pause_ends_the_frames_and_play_goes_on_behind_the_last(ada, banks):
    socket = await joined(ada, banks)
    first = await play(socket)
    await socket.send_json_to({"type": "pause", "session": "s", "at": 0})
    await socket.send_json_to({"type": "read", "session": "s", "sequence": 12})
    assert await is_silent(socket)
    more = await play(socket, 24, at=first[-1]["at"], sequence=first[-1]["sequence"])
    assert more[0]["sequence"] == 13
    assert more[0]["from"] == first[-1]["at"]
    await database_sync_to_async(compare)([case(banks, first + more)])
    await socket.disconnect()


async def test_a_seek_gives_a_key_frame_and_a_player_goes_on_from_there(ada, banks):
    socket = await joined(ada, banks)
    await play(socket)
    await socket.send_json_to({"type": "seek", "session": "s", "at": 5000})
    after = await frames_of(socket, 24)
    assert [after[0]["from"], after[0]["at"], after[1]["from"]] == [None, 5000, 5000]
    await socket.send_json_to({"type": "pause", "session": "s"})
    await socket.send_json_to({"type": "seek", "session": "s", "at": 100})
    alone = await frames_of(socket, 25)
    assert [frame["at"] for frame in alone] == [100]
    assert await is_silent(socket)
    await database_sync_to_async(compare)([case(banks, after), case(banks, alone)])
    await socket.disconnect()


async def test_a_step_leads_to_the_next_and_to_the_previous_event(ada, banks):
    stored = open_recording(banks)
    instants = sorted({int(stored.cut(stored.positions_at(step=k)).at or 0) for k in range(1, 9)})
    socket = await joined(ada, banks)
    steps = [
        (instants[2], 1, instants[3]),
        (instants[2] + 1, 1, instants[3]),
        (instants[3], -1, instants[2]),
    ]
    for sequence, (begin, by, expected) in enumerate(steps, 1):
        await socket.send_json_to({"type": "step", "session": 7, "at": begin, "by": by})
        assert [frame["at"] for frame in await frames_of(socket, sequence)] == [expected]
    await socket.disconnect()


async def test_after_a_lost_connection_the_frames_go_on_as_if_it_had_not_been_lost(ada, banks):
    lost = await joined(ada, banks)
    before = await play(lost)
    await lost.disconnect()
    socket = await joined(ada, banks)
    after = await play(socket, 24, at=before[-1]["at"], sequence=before[-1]["sequence"])
    whole = await joined(ada, banks)
    unbroken = await play(whole)
    unbroken += await read(whole, 12)
    assert before + after == unbroken
    await database_sync_to_async(compare)([case(banks, before + after)])
    for each in (socket, whole):
        await each.disconnect()


async def test_each_of_two_connections_of_a_page_plays_for_itself(ada, banks):
    one, other = await joined(ada, banks), await joined(ada, banks)
    first, second = await play(one), await play(other, at=3000)
    assert second[0]["at"] == 3000
    more = await read(one, 12)
    assert more[0]["from"] == first[-1]["at"]
    assert await is_silent(other)
    for each in (one, other):
        await each.disconnect()


async def test_a_hundred_players_at_one_place_share_what_is_computed(ada, banks):
    sockets = [await joined(ada, banks) for _ in range(100)]
    before = shared.computed
    played = await asyncio.gather(*map(play, sockets))
    assert all(frames == played[0] for frames in played)
    assert shared.computed - before <= playing.MOST_UNREAD
    for socket in sockets:
        await socket.disconnect()


async def test_another_rate_takes_effect_behind_the_frames_that_were_sent(ada, banks):
    socket = await joined(ada, banks)
    first = await play(socket)
    await socket.send_json_to({"type": "speed", "session": "s", "rate": SLOW * 8})
    more = await read(socket, 12)
    width = first[-1]["at"] - first[-1]["from"]
    assert more[0]["from"] == first[-1]["at"]
    assert more[1]["at"] - more[1]["from"] == 8 * width
    await socket.disconnect()


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"type": "play", "session": [], "at": 0}, "session"),
        ({"type": "play", "session": "s" * 65, "at": 0}, "session"),
        ({"type": "play", "session": 1}, "at"),
        ({"type": "play", "session": 1, "at": 1e300}, "beyond"),
        ({"type": "play", "session": 1, "at": 0, "rate": 0}, "rate"),
        ({"type": "play", "session": 1, "at": 0, "rate": "x"}, "rate"),
        ({"type": "play", "session": 1, "at": 0, "snapshot": "none"}, "snapshot"),
        ({"type": "play", "session": 1, "at": 0, "sequence": 1.5}, "sequence"),
        ({"type": "play", "session": 1, "at": 0, "process_codes": "9"}, "process"),
        ({"type": "seek", "session": 1, "at": 0, "axis": "x"}, "axis"),
        ({"type": "step", "session": 1, "at": 0, "by": 0}, "by"),
        ({"type": "read", "session": 1}, "sequence"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_the_field(ada, banks, fields, word):
    socket = await joined(ada, banks)
    await socket.send_json_to(fields)
    while (answer := await socket.receive_json_from(10))["type"] == "room":
        continue
    assert answer["type"] == "refused"
    assert word in answer["detail"]
    assert (await play(socket))[0]["from"] is None  # and the connection goes on
    await socket.disconnect()


def test_the_same_frames_come_over_http(ada, banks):
    api = a_client(ada)
    address = f"/api/recordings/{banks.pk}/frames"
    frames = api.get(address, {"at": 0, "key": True, "rate": SLOW}).json()["frames"]
    assert len(frames) == 12
    assert frames[0]["from"] is None
    while not frames[-1]["ends"]:
        asked = {"at": frames[-1]["at"], "rate": SLOW}
        frames += api.get(address, asked).json()["frames"]
    compare([case(banks, frames)])
    assert api.get(address, {"at": 0, "rate": -1}).status_code == 422
    assert api.get(address, {}).status_code == 422


async def test_at_the_head_of_an_open_recording_frames_come_as_events_come():
    ada = await database_sync_to_async(a_person)()
    api = await database_sync_to_async(a_client)(ada)
    pk = (await database_sync_to_async(opened)(api)).json()["id"]
    row = await Recording.objects.aget(pk=pk)
    socket = await joined(ada, row)
    frames = await play(socket, 1)
    for number, event in enumerate(EVENTS, 1):
        await database_sync_to_async(send)(api, pk, lines(event))
        while sum(frame["events_total"] for frame in frames) < number:
            await socket.send_json_to({"type": "read", "session": "s", "sequence": len(frames)})
            frames += await frames_of(socket, len(frames) + 1)
    assert [frame["sequence"] for frame in frames] == list(range(1, len(frames) + 1))
    stored = await database_sync_to_async(open_recording)(row)
    last = frames[-1]["at"]
    places = [{"x": last, "whole": whole_at(stored, last)}]
    topology = topology_of_recording(stored)
    compare([{"topology": topology, "frames": frames, "places": places, "grew": True}])
    await socket.disconnect()
    await database_sync_to_async(journals.forget)(row.journal)
