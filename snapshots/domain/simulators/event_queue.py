"""What a simulator has planned: steps in the order of their time, then as they were planned."""

from collections.abc import Callable
from heapq import heappop, heappush


class EventQueue:
    """now: the time (whole microseconds) of the step that runs, or ran last."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple]] = []
        self._planned = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def at(self, time: int, step: Callable[..., None], *arguments: object) -> None:
        """Plans ``step(*arguments)``; not before now."""
        self._planned += 1
        heappush(self._heap, (max(time, self.now), self._planned, step, arguments))

    def after(self, delay: int, step: Callable[..., None], *arguments: object) -> None:
        self.at(self.now + delay, step, *arguments)

    def run_next(self) -> None:
        """Raises: IndexError when nothing is planned."""
        self.now, _, step, arguments = heappop(self._heap)
        step(*arguments)
