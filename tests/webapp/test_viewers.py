"""Many people look at one recording at the same time, over a real Redis.

They stay for VIEWERS_SECONDS, by default a moment; the product promises 600. The test prints how
much memory and time the server took.
"""

import asyncio
import json
import os
import time
from itertools import chain

import pytest

from tests.webapp.serving import memory, open_sockets, opened, prepared

pytestmark = pytest.mark.slow

VIEWERS = 200
SLOW_READERS = 20
SECONDS = float(os.environ.get("VIEWERS_SECONDS", "2"))
PAUSE = 5.0  # seconds between two cuts of a viewer
PINGS = ("--ws-ping-interval", 4, "--ws-ping-timeout", 8)


@pytest.fixture(scope="module")
def server(live_redis, tmp_path_factory):
    stack = live_redis.beside(tmp_path_factory.mktemp("viewers"))
    made = prepared(
        stack,
        cookie="session()",
        recording="a_ready_recording(a_person('owner@localhost'), busy()).pk",
    )
    stack.cookie, stack.recording = made["cookie"], made["recording"]
    stack.start_server(*PINGS)
    yield stack
    stack.stop()


async def joined(server, path: str = "") -> list:
    """Connect all viewers at once."""
    path = path or f"/ws/recordings/{server.recording}"
    return await asyncio.gather(*(opened(server, path, server.cookie) for _ in range(VIEWERS)))


async def closed(sockets: list) -> None:
    await asyncio.gather(*(socket.close() for socket in sockets))


async def cut(socket, number: int) -> float:
    """Return the seconds until a request for a cut is answered."""
    began = time.monotonic()
    await socket.send(json.dumps({"type": "cut", "request": number, "at": number % 1_000}))
    answer = {"type": "room"}
    while answer["type"] in ("room", "beat"):  # who is here changes while others join
        answer = json.loads(await asyncio.wait_for(socket.recv(), 60))
    assert (answer["type"], answer["request"]) == ("cut", number), answer
    return time.monotonic() - began


async def stay(socket, place: int, until: float) -> list[float]:
    """Request a cut now and then."""
    await asyncio.sleep(PAUSE * place / VIEWERS)  # people do not ask in step
    took = [await cut(socket, place)]
    while time.monotonic() < until:
        await asyncio.sleep(PAUSE)
        took.append(await cut(socket, place + len(took)))
    return took


@pytest.mark.long
async def test_many_join_at_once_and_none_is_cut_off(server):
    sockets = await joined(server)
    first = await asyncio.gather(*(cut(socket, i) for i, socket in enumerate(sockets)))
    before, until = memory(server), time.monotonic() + SECONDS
    took = await asyncio.gather(*(stay(socket, i, until) for i, socket in enumerate(sockets)))
    after, times = memory(server), sorted(chain.from_iterable(took))
    await closed(sockets)
    print(
        f"\n{VIEWERS} viewers, {len(times)} cuts in {SECONDS:.0f} s: all at once within "
        f"{max(first):.2f} s, then p50 {times[len(times) // 2] * 1000:.0f} ms, "
        f"p95 {times[len(times) * 95 // 100] * 1000:.0f} ms; the server's memory "
        f"{before / 2**20:.0f} MiB at the beginning, {after / 2**20:.0f} MiB at the end"
    )
    assert len(times) >= VIEWERS
    assert after < before + 50 * 2**20
    assert "Traceback" not in server.said("server")


async def test_many_watch_their_jobs(server):
    """Each joins a group of its own user, which needs Redis."""
    sockets = await joined(server, "/ws/jobs")
    await asyncio.sleep(3)
    assert [socket.state.name for socket in sockets] == ["OPEN"] * VIEWERS
    await closed(sockets)
    said = server.said("server")
    assert "could not join" not in said
    assert "Traceback" not in said


async def never_read(server, seconds: float):
    """Request windows all the time without reading an answer."""
    path = f"/ws/recordings/{server.recording}"
    socket = await opened(server, path, server.cookie, max_queue=1, ping_interval=None)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await socket.send(json.dumps({"type": "window", "request": 1, "width": 1_000}))
        await asyncio.sleep(0.05)
    return socket


@pytest.mark.long
async def test_who_does_not_read_costs_nothing_that_lasts(server):
    before_sockets, before = open_sockets(server), memory(server)
    slow = await asyncio.gather(*(never_read(server, 6) for _ in range(SLOW_READERS)))
    held = memory(server)
    viewer = await opened(server, f"/ws/recordings/{server.recording}", server.cookie)
    assert await cut(viewer, 7) < 20
    deadline = time.monotonic() + 60
    while open_sockets(server) > before_sockets + 3:
        assert time.monotonic() < deadline, "they are still connected"
        await cut(viewer, 8)
        await asyncio.sleep(0.5)
    await closed([viewer])
    for socket in slow:
        socket.transport.abort()
    print(f"\nmemory: {before / 2**20:.0f}, then {held / 2**20:.0f} MiB", end="")
    print(f", after it {memory(server) / 2**20:.0f} MiB")
    assert memory(server) < before + 50 * 2**20
    assert "Traceback" not in server.said("server")
