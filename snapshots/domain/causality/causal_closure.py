"""Grow or shrink cuts until they are consistent, with each channel's messages as constraints.

Each step is a binary search in one channel's messages, so this works on recordings of any size.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from snapshots.domain.judging.cuts import NEVER, Cut, received_index
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId

Goal = Callable[[int, int], int | None]
"""Returns where to move a process, given its number and the position that is required of it.

None means that it cannot be moved.
"""


def _as_required(process: int, position: int) -> int:
    return position


class Way:
    """The messages of one channel.

    Args:
        source, target: numbers of the processes at its ends.
        sent, received: int64[M], the indexes of the two events of each message, in the order of
            sending; ``received`` is NEVER while a message is in flight.
    """

    def __init__(self, source: int, target: int, sent: np.ndarray, received: np.ndarray) -> None:
        self.source = source
        self.target = target
        self.sent = sent
        self.received = received

    def allowed(self, position: int) -> int:
        """Return the greatest consistent position of the target for a position of the source."""
        sent = int(self.sent.searchsorted(position))
        return int(self._floor[sent]) if sent < len(self.sent) else NEVER

    @cached_property
    def _floor(self) -> np.ndarray:
        """int64[M]: the first receive among each message and those sent after it."""
        if (self.received[1:] >= self.received[:-1]).all():
            return self.received
        return np.minimum.accumulate(self.received[::-1])[::-1]


class Arrivals:
    """The receives of one process, in order, and the position that each requires of its source.

    Args:
        ways: the channels into the process.
        end: the last position of the process.
    """

    def __init__(self, ways: Sequence[Way], end: int) -> None:
        nothing = np.zeros(0, np.int64)
        received = np.concatenate([nothing, *(way.received for way in ways)])
        order = np.argsort(received, kind="stable")[: int((received != NEVER).sum())]
        sources = [np.full(len(way.sent), way.source, np.int64) for way in ways]
        self._before = np.searchsorted(received[order], np.arange(end + 1))  # by position
        self._source = np.concatenate([nothing, *sources])[order]
        self._needed = np.concatenate([nothing, *(way.sent for way in ways)])[order] + 1

    def between(self, first: int, end: int) -> Iterable[tuple[int, int]]:
        """Return (source, its least position) for the receives with first <= index < end."""
        begin, end = self._before[first], self._before[end]
        if begin >= end:
            return ()
        return zip(self._source[begin:end].tolist(), self._needed[begin:end].tolist(), strict=True)


class Causality:
    """The messages of a recording, indexed by channel and by receiver.

    Args:
        processes: their ids; the number of a process is its place in this list.
        ends: the last position of each process.
        ways: the channels that have messages.
    """

    def __init__(
        self, processes: Sequence[ProcessId], ends: Sequence[int], ways: Iterable[Way]
    ) -> None:
        self.processes = processes
        self.number = {process: n for n, process in enumerate(processes)}
        self.ends = ends
        self.into: list[list[Way]] = [[] for _ in processes]
        self.out_of: list[list[Way]] = [[] for _ in processes]
        self._arrivals: dict[int, Arrivals] = {}
        for way in ways:
            self.into[way.target].append(way)
            self.out_of[way.source].append(way)

    def arrivals(self, process: int) -> Arrivals:
        """Return the receives of a process, computed once."""
        if process not in self._arrivals:
            self._arrivals[process] = Arrivals(self.into[process], self.ends[process])
        return self._arrivals[process]

    def grow(
        self,
        positions: list[int],
        to: Mapping[int, int],
        goal: Goal = _as_required,
    ) -> bool:
        """Move ``positions`` on until they include ``to`` and form a consistent cut again.

        Args:
            positions: a consistent cut, by number of the process; it is changed.
            to: the positions to include, by number of the process.
            goal: where to move a process that must be at a position at least.

        Returns: False if ``goal`` returned None; then ``positions`` are unfinished.
        """
        waiting: deque[tuple[int, int, int]] = deque()
        for process, position in to.items():
            waiting.append((process, positions[process], position))
            positions[process] = max(positions[process], position)
        while waiting:
            process, first, end = waiting.popleft()
            for source, needed in self.arrivals(process).between(first, end):
                if needed > positions[source]:
                    target = goal(source, needed)
                    if target is None:
                        return False
                    waiting.append((source, positions[source], target))
                    positions[source] = target
        return True

    def shrink(self, positions: list[int], moved: Iterable[int], goal: Goal = _as_required) -> bool:
        """Move ``positions`` back until they form a consistent cut.

        Args:
            positions: a cut, by number of the process; it is changed.
            moved: the processes that may have receivers of orphans.
            goal: where to move a process that must be at a position at most.

        Returns: False if ``goal`` returned None; then ``positions`` are unfinished.
        """
        waiting = deque(moved)
        while waiting:
            process = waiting.popleft()
            for way in self.out_of[process]:
                allowed = way.allowed(positions[process])
                if allowed < positions[way.target]:
                    position = goal(way.target, allowed)
                    if position is None:
                        return False
                    positions[way.target] = position
                    waiting.append(way.target)
        return True

    def cut(self, positions: Sequence[int]) -> Cut:
        """Return the cut at these positions, which are in the order of ``processes``."""
        return Cut(dict(zip(self.processes, positions, strict=True)))


def causality(recording: Recording) -> Causality:
    """Index a recording's messages by channel for questions about causality."""
    processes = [process.id for process in recording.topology.processes]
    number = {process: n for n, process in enumerate(processes)}
    return Causality(
        processes,
        [len(recording.events.get(process, ())) for process in processes],
        [
            Way(
                number[channel.source],
                number[channel.target],
                np.array([message.sent_index for message in messages], np.int64),
                np.array([received_index(message) for message in messages], np.int64),
            )
            for channel in recording.topology.channels
            if (messages := recording.messages.get(channel.id))
        ],
    )


def nearest_consistent_cut(recording: Recording, cut: Cut) -> Cut:
    """Return the nearest consistent cut: the largest one inside, or the smallest one around.

    The one that moves fewer events is taken, and the one inside if both move as many. A position
    beyond the end of a process counts as its end.
    """
    order = causality(recording)
    ends = zip(order.processes, order.ends, strict=True)
    positions = [min(max(cut.position(process), 0), end) for process, end in ends]
    inside, around = list(positions), [0] * len(positions)
    order.shrink(inside, range(len(positions)))
    order.grow(around, dict(enumerate(positions)))
    is_inside = sum(positions) - sum(inside) <= sum(around) - sum(positions)
    return order.cut(inside if is_inside else around)
