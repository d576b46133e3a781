"""Frames that players share: whoever plays at the same place gets what was computed once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BYTES = 32 * 2**20  # of all frames that a process keeps


class SharedFrames:
    """The frames that were asked for last, as JSON. It belongs to one event loop at a time."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.bytes, self.computed = most_bytes, 0, 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[bytes]] = {}

    async def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """Return a frame; compute it in a thread, unless it is kept or being computed."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        task = self._under_way.get(key)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = self._under_way[key] = asyncio.create_task(self._compute(key, compute))
        return await asyncio.shield(task)  # others may wait for it, too

    async def _compute(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        try:
            frame = await asyncio.to_thread(compute)
        finally:
            self._under_way.pop(key, None)
        self.computed += 1
        self.bytes += len(frame)
        self._kept[key] = frame
        while self.bytes > self.most_bytes:
            _, dropped = self._kept.popitem(last=False)
            self.bytes -= len(dropped)
        return frame


shared = SharedFrames()
