"""How late 30 people see what the presenter of a recording does, over real websockets.

``python -m bench.together [PEOPLE]`` starts the server, lets PEOPLE (default 30) follow one
presenter who moves ten times a second, and prints how long a view takes to each of them.
Requirement: 95 of 100 views arrive within 200 ms. The comparison is one follower alone.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from tests.browser.together import TogetherTeam, make_team
from tests.stack import Stack

VIEWS = 200
PAUSE_SECONDS = 0.1
VIEW = {"axis": "time", "from": 0, "to": 9000, "snapshot": "s1", "cut": [2, 5], "lanes": {}}


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder))
        try:
            stack.start_redis()
            stack.start_server()
            measure(stack, people)
        finally:
            stack.stop()


def measure(stack: Stack, people: int) -> None:
    names = [f"person{number}" for number in range(people + 1)]
    team = make_team(stack, *names)
    for count in (1, people):
        delays, rooms = asyncio.run(followed(stack, team, names[: count + 1]))
        p50, p95 = np.percentile(delays, [50, 95])
        print(
            f"{count:3} followers: p50 {p50:.0f} ms, p95 {p95:.0f} ms, worst {max(delays):.0f} ms"
            f"   (hold p95 <= 200), {len(delays):,} views, {rooms:.1f} messages about the room each"
        )


async def followed(stack: Stack, team: TogetherTeam, names: list[str]) -> tuple[list[float], float]:
    """Return the delay of each view in ms, and how often each follower was told of the room."""
    presenter, *followers = [await opened(stack, team, name) for name in names]
    await say(presenter, type="follow", role="presenter")
    while not (await next_of(presenter, "room"))["you"]["presents"]:
        continue
    for follower in followers:
        await say(follower, type="follow", role="follower")
    counts = [received(follower) for follower in followers]
    listening = [asyncio.create_task(count) for count in counts]
    draining = asyncio.create_task(received(presenter))
    for number in range(VIEWS):
        await say(
            presenter,
            type="view",
            speed=1,
            playing=False,
            revision=number,
            view=VIEW | {"now": perf_counter()},
        )
        await asyncio.sleep(PAUSE_SECONDS)
    await asyncio.sleep(1)
    draining.cancel()
    for socket in (presenter, *followers):
        await socket.close()
    results = await asyncio.gather(*listening)
    delays = [delay for each, _ in results for delay in each]
    assert len(delays) >= VIEWS * len(followers) * 0.5, "more than half of the views were replaced"
    return delays, sum(rooms for _, rooms in results) / len(followers)


async def opened(stack: Stack, team: TogetherTeam, name: str) -> ClientConnection:
    return await connect(
        f"ws://127.0.0.1:{stack.port}/ws/recordings/{team.recording}?page={name}",
        additional_headers={"Cookie": f"{team.cookie}={team.sessions[name]}"},
        origin=stack.url,
    )


async def say(socket: ClientConnection, **message: object) -> None:
    await socket.send(json.dumps(message))


async def next_of(socket: ClientConnection, kind: str) -> dict:
    while (message := json.loads(await socket.recv()))["type"] != kind:
        continue
    return message


async def received(socket: ClientConnection) -> tuple[list[float], int]:
    """Return the delays of the views until the socket closes, and the number of other messages."""
    delays, others = [], 0
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "view":
            delays.append((perf_counter() - message["view"]["now"]) * 1000)
        else:
            others += 1
    return delays, others


if __name__ == "__main__":
    main()
