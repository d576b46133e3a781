"""What happened before what, as the least that each channel asks of cuts at its two ends.

Each question is a binary search in a channel's messages, so a recording of any size can be asked.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from snapshots.domain.cuts import NEVER, Cut, received_index
from snapshots.domain.recording import Recording
from snapshots.domain.topology import ProcessId


class Way:
    """The messages of one channel between two processes, which are numbers.

    sent, received: int64[M], indexes in the order of sending; received is NEVER while in flight.
    """

    def __init__(self, source: int, target: int, sent: np.ndarray, received: np.ndarray) -> None:
        self.source = source
        self.target = target
        self._sent = sent
        self._received = received

    def needed(self, received: int) -> int:
        """The position that the source has at least, where the target is at ``received``."""
        arrived, needed = self._arrivals
        place = int(arrived.searchsorted(received))
        return int(needed[place - 1]) + 1 if place else 0

    def allowed(self, sent: int) -> int:
        """The position that the target has at most, where the source is at ``sent``."""
        place = int(self._sent.searchsorted(sent))
        return int(self._floor[place]) if place < len(self._sent) else NEVER

    @cached_property
    def _is_ordered(self) -> bool:
        return bool((self._received[1:] >= self._received[:-1]).all())

    @cached_property
    def _arrivals(self) -> tuple[np.ndarray, np.ndarray]:
        """Where messages are received, rising, and of each and those before the last send."""
        count = int((self._received != NEVER).sum())
        if self._is_ordered:
            return self._received[:count], self._sent
        order = np.argsort(self._received, kind="stable")[:count]
        return self._received[order], np.maximum.accumulate(self._sent[order])

    @cached_property
    def _floor(self) -> np.ndarray:
        """The first receive from each message on."""
        if self._is_ordered:
            return self._received
        return np.minimum.accumulate(self._received[::-1])[::-1]


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
        for way in ways:
            self.into[way.target].append(way)
            self.out_of[way.source].append(way)

    def grow(
        self, positions: list[int], moved: Iterable[int], goal=lambda process, position: position
    ) -> bool:
        """Moves processes on until no message is received inside and sent outside.

        moved: those whose position has changed. goal: where to move a process that must be at a
        position at least; None: nowhere, and the answer is False.
        """
        waiting = deque(moved)
        while waiting:
            process = waiting.popleft()
            for way in self.into[process]:
                needed = way.needed(positions[process])
                if needed > positions[way.source]:
                    position = goal(way.source, needed)
                    if position is None:
                        return False
                    positions[way.source] = position
                    waiting.append(way.source)
        return True

    def shrink(self, positions: list[int], moved: Iterable[int], goal) -> bool:
        """Moves processes back instead; goal: for a position at most."""
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
        return Cut(dict(zip(self.processes, positions, strict=True)))


def causality(recording: Recording) -> Causality:
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
