"""What playing costs the server: processor time for each player at speed 1, and what they share.

``python -m bench.playing [EVENTS]`` prints it for 10 s of playing, for one player and for a hundred
at the same place, with the whole recording and with a part of it in view.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

from bench.synthetic_store import write_synthetic

SECONDS = 10  # of playing
SECONDS_PER_VIEW = 20  # at speed 1, as in static/js/lib/player.js


class Player:
    """Reads each frame as it comes, until a place."""

    def __init__(self, stored: Any, kept: Any, end: float) -> None:
        from snapshots.web.playing.session import Playing, Source

        source = Source(1, lambda: stored, lambda: False)
        self.session = Playing(source, self.hear, self.hear, kept)
        self.end, self.frames, self.bytes = end, 0, 0
        self.is_over = asyncio.Event()

    async def play(self, begin: float, rate: float) -> None:
        fields = {"session": 1, "at": begin, "rate": rate}
        await self.session.take({"type": "play", **fields})
        await self.is_over.wait()
        self.session.stop()

    async def hear(self, text: str) -> None:
        frame = orjson.loads(text)
        self.frames, self.bytes = self.frames + 1, self.bytes + len(text)
        await self.session.take({"type": "read", "session": 1, "sequence": frame["sequence"]})
        if frame["at"] >= self.end:
            await self.session.take({"type": "pause", "session": 1})
            self.is_over.set()


async def played(stored: Any, begin: float, rate: float, count: int) -> str:
    """Play SECONDS in each of some sessions; return what it took."""
    from snapshots.web.playing.shared import SharedFrames

    kept = SharedFrames()
    players = [Player(stored, kept, begin + rate * SECONDS) for _ in range(count)]
    before = time.process_time()
    await asyncio.gather(*(player.play(begin, rate) for player in players))
    took = time.process_time() - before
    one = players[0]
    return (
        f"{took / SECONDS / count:.2%} of a core for each player, {one.frames} frames of "
        f"{one.bytes / one.frames / 1000:.1f} kB each, {kept.computed} computed"
    )


def main(events: int) -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    from snapshots.store.reader import StoredRecording

    with tempfile.TemporaryDirectory() as name:
        write_synthetic(Path(name), events)
        stored = StoredRecording.open(Path(name))
        extent = stored.manifest.extent
        span = extent.to - extent.from_
        for title, view in (("all", span), ("2,000 events", span * 2000 / events)):
            for count in (1, 100):
                begin, rate = extent.from_ + span / 3, view / SECONDS_PER_VIEW
                figures = asyncio.run(played(stored, begin, rate, count))
                print(f"{events:,} events, {title} in view, players: {count}: {figures}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
