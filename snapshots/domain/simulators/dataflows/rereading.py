"""What a failure makes sources read again, and when they have caught up with where they were."""

from collections.abc import Mapping

from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.event_queue import EventQueue


class Rereading:
    """high_water: of each split, the highest offset read so far. behind: the failures that have not
    been made up for, each with the offsets that its splits have to reach."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self.high_water: dict[str, int] = {}
        self.behind: list[tuple[Failure, dict[str, int]]] = []

    def expect(self, failure: Failure, positions: Mapping[str, int]) -> None:
        """positions: the next offset of each split that is read again."""
        goals = {}
        for split, position in positions.items():
            last = self.high_water.get(split, 0)
            if last >= position:
                goals[split] = last
                failure.re_read[split] = last - position + 1
        self.behind.append((failure, goals))
        self._note_caught_up()

    def note_read(self, split: str, offset: int) -> None:
        self.high_water[split] = max(offset, self.high_water.get(split, 0))
        for _, goals in self.behind:
            if goals.get(split) == offset:
                del goals[split]
        self._note_caught_up()

    def _note_caught_up(self) -> None:
        for failure, goals in self.behind:
            if not goals:
                failure.caught_up_at = self._queue.now
        self.behind = [(failure, goals) for failure, goals in self.behind if goals]
