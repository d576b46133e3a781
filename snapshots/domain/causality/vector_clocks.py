"""Compute the vector clocks of a recording, and the causal past and future of single events.

All events count, also those of snapshot protocols, and markers carry causality as messages do: this
is the order with which ``at`` and ``step`` agree. The vector clock of an event is a cut: it counts
the events of each process that happened before it, itself included.

The matrix of all clocks is limited in size (MOST_CELLS). `past_cone` and `future_cone` need no
matrix: they do one binary search for each channel and round.

Sources: Mattern, "Virtual Time and Global States of Distributed Systems", 1989; Fidge, "Timestamps
in Message-Passing Systems That Preserve the Partial Ordering", 1988.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snapshots.domain.judging.cuts import received_index
from snapshots.domain.model.recording import Marker, Message, Recording
from snapshots.domain.model.topology import ProcessId

MOST_CELLS = 5 * 10**7  # processes x events, 4 bytes each


class TooManyCells(Exception):
    """The recording is too large for a matrix of clocks. Cones of single events still work."""

    permanent = True

    def __init__(self, processes: int, events: int) -> None:
        super().__init__(
            f"{processes:,} processes x {events:,} events are {processes * events:,} numbers; "
            f"vector clocks are computed for up to {MOST_CELLS:,}."
        )


@dataclass(frozen=True)
class VectorClocks:
    """The vector clocks of all events of a recording."""

    processes: tuple[ProcessId, ...]
    """The processes in the order of the header."""
    starts: np.ndarray
    """int64[P + 1]: the first row of each process; the last entry is the number of rows."""
    matrix: np.ndarray
    """int32[events, P]: the clock of each event, sorted by (process, index)."""

    def of(self, process: ProcessId, index: int) -> np.ndarray:
        """Return the clock of an event: int32[P]. As positions of a cut it is its past cone."""
        return self.matrix[self.starts[self._code[process]] + index]

    def happened_before(self, earlier: tuple[ProcessId, int], later: tuple[ProcessId, int]) -> bool:
        """Tell whether one event could influence another; both are (process, index).

        No event happened before itself.
        """
        process, index = earlier
        return earlier != later and int(self.of(*later)[self._code[process]]) > index

    def future(self, process: ProcessId, index: int) -> np.ndarray:
        """Return the first index of each process that an event could influence: int64[P].

        For its own process this is its own index. Where there is none, it is the number of the
        process's events.
        """
        code = self._code[process]
        return np.array(
            [
                np.searchsorted(self.matrix[first:end, code], index, side="right")
                for first, end in zip(self.starts[:-1], self.starts[1:], strict=True)
            ],
            np.int64,
        )

    @cached_property
    def _code(self) -> dict[ProcessId, int]:
        return {process: code for code, process in enumerate(self.processes)}


def vector_clocks(recording: Recording) -> VectorClocks:
    """Compute the vector clocks of a recording. Raises: TooManyCells beyond MOST_CELLS."""
    processes = tuple(process.id for process in recording.topology.processes)
    counts = np.array([len(recording.events.get(process, ())) for process in processes], np.int64)
    if len(processes) * int(counts.sum()) > MOST_CELLS:
        raise TooManyCells(len(processes), int(counts.sum()))
    starts = np.concatenate(([0], np.cumsum(counts)))
    arrivals = _arrivals(recording, {process: code for code, process in enumerate(processes)})
    return VectorClocks(processes, starts, _matrix(starts, arrivals))


def _arrivals(recording: Recording, codes: dict[ProcessId, int]) -> np.ndarray:
    """Return (target, received_index, source, sent_index) of all receives, by step: int64[R, 4]."""
    rows = []
    for channel in recording.topology.channels:
        received = recording.events.get(channel.target, ())
        ends = codes[channel.target], codes[channel.source]
        travellers: tuple[Message | Marker, ...] = (
            *recording.messages.get(channel.id, ()),
            *recording.markers.get(channel.id, ()),
        )
        for travelling in travellers:
            index = travelling.received_index
            if index is not None:
                step = received[index].step
                rows.append((step, ends[0], index, ends[1], travelling.sent_index))
    return np.array(sorted(rows), np.int64).reshape(-1, 5)[:, 1:]


def _matrix(starts: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
    """Return the clocks of all events: int32[events, P].

    Between two arrivals only a process's own count rises, so one clock is computed for each such
    stretch. Each process begins with a stretch of zeros; the k-th arrival begins stretch P + k.
    """
    size = len(starts) - 1
    clocks = np.zeros((size + len(arrivals), size), np.int32)
    stretch = np.zeros(int(starts[-1]), np.int64)
    starting = [[0] for _ in range(size)]  # the index at which each stretch of a process begins
    stretches = [[process] for process in range(size)]
    for number, (target, index, source, sent) in enumerate(arrivals.tolist(), start=size):
        sending = np.searchsorted(starting[source], sent, side="right") - 1
        clock = np.maximum(clocks[stretches[target][-1]], clocks[stretches[source][sending]])
        clock[source] = max(clock[source], sent + 1)
        clocks[number] = clock
        starting[target].append(index)
        stretches[target].append(number)
    for process in range(size):
        begins = np.array([*starting[process], starts[process + 1] - starts[process]])
        stretch[starts[process] : starts[process + 1]] = np.repeat(
            stretches[process], np.diff(begins)
        )
    matrix = clocks[stretch]
    owner = np.repeat(np.arange(size), np.diff(starts))
    rows = np.arange(len(matrix))
    matrix[rows, owner] = rows - starts[owner] + 1
    return matrix


@dataclass(frozen=True)
class Lane:
    """The messages, or the markers, of one channel, sorted for both directions.

    All arrays are int64[M]. The received_index of what is in flight is cuts.NEVER.
    """

    source: int
    """The code of the sending process."""
    target: int
    """The code of the receiving process."""
    sent: np.ndarray
    """The sent_index of each message, rising."""
    first_received: np.ndarray
    """The least received_index of the messages from each place in ``sent`` on."""
    received: np.ndarray
    """The received_index of each message, rising."""
    last_sent: np.ndarray
    """The largest sent_index of the messages up to each place in ``received``."""

    @classmethod
    def in_order(cls, source: int, target: int, sent: np.ndarray, received: np.ndarray) -> "Lane":
        """Return the lane of a channel without overtaking; both columns rise and are not copied."""
        return cls(source, target, sent, received, received, sent)

    @classmethod
    def of(cls, source: int, target: int, sent: np.ndarray, received: np.ndarray) -> "Lane":
        """Return the lane of any channel; ``sent`` rises, ``received`` is in the same order."""
        order = np.argsort(received, kind="stable")
        return cls(
            source,
            target,
            sent,
            np.minimum.accumulate(received[::-1])[::-1],
            received[order],
            np.maximum.accumulate(sent[order]),
        )


def lanes(recording: Recording) -> list[Lane]:
    """Return the lanes of all channels: one for messages and one for markers, if there are any."""
    codes = {process.id: code for code, process in enumerate(recording.topology.processes)}
    return [
        Lane.of(
            codes[channel.source],
            codes[channel.target],
            np.array([travelling.sent_index for travelling in flow], np.int64),
            np.array([received_index(travelling) for travelling in flow], np.int64),
        )
        for channel in recording.topology.channels
        for flow in (
            recording.messages.get(channel.id, ()),
            recording.markers.get(channel.id, ()),
        )
        if flow
    ]


def past_cone(process: int, index: int, lanes: Sequence[Lane], processes: int) -> np.ndarray:
    """Return the vector clock of an event: int64[P].

    Args:
        process: the code of its process, 0 .. processes - 1.
        index: its index there.
        lanes: the lanes of all channels.
        processes: how many processes there are.
    """
    positions = [0] * processes
    positions[process] = index + 1
    incoming = _grouped(lanes, (lane.target for lane in lanes), processes)
    moved = {process}
    while moved:
        targets, moved = moved, set()
        for lane in (lane for target in targets for lane in incoming[target]):
            arrived = int(np.searchsorted(lane.received, positions[lane.target]))
            if arrived and lane.last_sent[arrived - 1] >= positions[lane.source]:
                positions[lane.source] = int(lane.last_sent[arrived - 1]) + 1
                moved.add(lane.source)
    return np.array(positions, np.int64)


def future_cone(process: int, index: int, lanes: Sequence[Lane], ends: np.ndarray) -> np.ndarray:
    """Return the first index of each process that an event could influence: int64[P].

    For its own process this is its own index.

    Args:
        process: the code of its process.
        index: its index there.
        lanes: the lanes of all channels.
        ends: int64[P], the number of events of each process; in the answer it means "none".
    """
    first = [int(end) for end in ends]
    first[process] = index
    outgoing = _grouped(lanes, (lane.source for lane in lanes), len(first))
    moved = {process}
    while moved:
        sources, moved = moved, set()
        for lane in (lane for source in sources for lane in outgoing[source]):
            sent = int(np.searchsorted(lane.sent, first[lane.source]))
            if sent < len(lane.sent) and lane.first_received[sent] < first[lane.target]:
                first[lane.target] = int(lane.first_received[sent])
                moved.add(lane.target)
    return np.array(first, np.int64)


def _grouped(lanes: Sequence[Lane], ends: Iterable[int], processes: int) -> list[list[Lane]]:
    groups: list[list[Lane]] = [[] for _ in range(processes)]
    for lane, end in zip(lanes, ends, strict=True):
        groups[end].append(lane)
    return groups
