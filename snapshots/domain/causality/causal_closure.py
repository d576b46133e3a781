"""What happened before what, as the least that each channel asks of cuts at its two ends.

Each question is a binary search in a channel's messages, so a recording of any size can be asked.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from snapshots.domain.judging.cuts import NEVER, Cut, received_index
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import ProcessId

Goal = Callable[[int, int], int | None]


class Way:
    """The messages of one channel between two processes, which are numbers.

    sent, received: int64[M], indexes in the order of sending; received is NEVER while in flight.
    """

    def __init__(self, source: int, target: int, sent: np.ndarray, received: np.ndarray) -> None:
        self.source = source
        self.target = target
        self.sent = sent
        self.received = received

    def allowed(self, position: int) -> int:
        """The position that the target has at most, where the source is at ``position``."""
        place = int(self.sent.searchsorted(position))
        return int(self._floor[place]) if place < len(self.sent) else NEVER

    @cached_property
    def _floor(self) -> np.ndarray:
        """The first receive from each message on."""
        if (self.received[1:] >= self.received[:-1]).all():
            return self.received
        return np.minimum.accumulate(self.received[::-1])[::-1]


class Arrivals:
    """What one process receives, as received: of each the source, and how far that one must be."""

    def __init__(self, ways: Sequence[Way], end: int) -> None:
        """ways: those into the process. end: its last position."""
        nothing = np.zeros(0, np.int64)
        received = np.concatenate([nothing, *(way.received for way in ways)])
        order = np.argsort(received, kind="stable")[: int((received != NEVER).sum())]
        sources = [np.full(len(way.sent), way.source, np.int64) for way in ways]
        self._before = np.searchsorted(received[order], np.arange(end + 1))  # by position
        self._source = np.concatenate([nothing, *sources])[order]
        self._needed = np.concatenate([nothing, *(way.sent for way in ways)])[order] + 1

    def between(self, first: int, end: int) -> Iterable[tuple[int, int]]:
        """(source, its least position) for the receives with first <= index < end."""
        begin, end = self._before[first], self._before[end]
        if begin >= end:
            return ()
        return zip(self._source[begin:end].tolist(), self._needed[begin:end].tolist(), strict=True)


class Causality:
    """processes: their ids; a process's number is its place there. ends: of each the last position.
    ways: of the channels with messages."""

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
        """Return the messages that arrive at a process. The answer is kept for the next call."""
        if process not in self._arrivals:
            self._arrivals[process] = Arrivals(self.into[process], self.ends[process])
        return self._arrivals[process]

    def grow(
        self,
        positions: list[int],
        to: Mapping[int, int],
        goal: Goal = lambda process, position: position,
    ) -> bool:
        """Moves processes on ``to`` positions, and others, until no message is received inside and
        sent outside. Each receive is looked at once, so ``positions`` are a consistent cut before.

        goal: where to move a process that must be at a position at least; None: nowhere, and the
        answer is False.
        """
        waiting: deque[tuple[int, int, int]] = deque()
        for process, position in to.items():
            waiting.append((process, positions[process], position))
            positions[process] = max(positions[process], position)
        while waiting:
            process, first, end = waiting.popleft()
            for source, needed in self.arrivals(process).between(first, end):
                if needed > positions[source]:
                    position = goal(source, needed)
                    if position is None:
                        return False
                    waiting.append((source, positions[source], position))
                    positions[source] = position
        return True

    def shrink(self, positions: list[int], moved: Iterable[int], goal: Goal) -> bool:
        """Moves processes back instead. moved: those whose position has changed. goal: for a
        position at most."""
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
