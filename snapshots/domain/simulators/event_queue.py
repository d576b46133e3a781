"""The steps that a simulator has planned, by time, then in the order of planning."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class EventQueue:
    """A queue of planned steps. ``now`` is the time in us of the step that runs, or ran last."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[tuple[int, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._planned = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def at(self, time: int, step: Callable[..., Any], *arguments: object) -> None:
        """Plan ``step(*arguments)``; a time in the past means now."""
        self._planned += 1
        heappush(self._heap, (max(time, self.now), self._planned, step, arguments))

    def after(self, delay: int, step: Callable[..., Any], *arguments: object) -> None:
        """Plan ``step(*arguments)`` after the delay."""
        self.at(self.now + delay, step, *arguments)

    def run_next(self) -> Any:
        """Run the next step, and return what it returns.

        Raises: IndexError if nothing is planned.
        """
        self.now, _, step, arguments = heappop(self._heap)
        return step(*arguments)
