"""Compute the vector clocks of a recording: the reference for the cones of single events.

All events count, also those of snapshot protocols, and markers carry causality as messages do: this
is the order with which ``at`` and ``step`` agree. The vector clock of an event is a cut: it counts
the events of each process that happened before it, itself included.

Sources: Mattern, "Virtual Time and Global States of Distributed Systems", 1989; Fidge, "Timestamps
in Message-Passing Systems That Preserve the Partial Ordering", 1988.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from snapshots.domain.model.recording import Marker, Message, Recording
from snapshots.domain.model.topology import ProcessId


@dataclass(frozen=True)
class VectorClocks:
    """The vector clocks of all events of a recording.

    Attributes:
        processes: the processes in the order of the header.
        starts: int64[P + 1]: the first row of each process; the last entry is the number of rows.
        matrix: int32[events, P]: the clock of each event, sorted by (process, index).
    """

    processes: tuple[ProcessId, ...]
    starts: np.ndarray
    matrix: np.ndarray

    def row(self, process: ProcessId, index: int) -> int:
        """Return the row of an event in the matrix."""
        return int(self.starts[self._code[process]]) + index

    def of(self, process: ProcessId, index: int) -> np.ndarray:
        """Return the clock of an event: int32[P]. As positions of a cut it is its past cone."""
        return self.matrix[self.row(process, index)]

    def future(self, process: ProcessId, index: int) -> np.ndarray:
        """Return the first index of each process that an event could influence: int64[P].

        For its own process this is its own index. Where there is none, it is the number of the
        process's events.
        """
        code = self._code[process]
        firsts = [
            np.searchsorted(self.matrix[first:end, code], index, side="right")
            for first, end in itertools.pairwise(self.starts)
        ]
        return np.array(firsts, np.int64)

    @cached_property
    def _code(self) -> dict[ProcessId, int]:
        return {process: code for code, process in enumerate(self.processes)}


def vector_clocks(recording: Recording) -> VectorClocks:
    """Compute the vector clocks of all events, in the order of their steps."""
    processes = tuple(process.id for process in recording.topology.processes)
    counts = [len(recording.events.get(process, ())) for process in processes]
    starts = np.cumsum([0, *counts])
    clocks = VectorClocks(processes, starts, np.zeros((starts[-1], len(processes)), np.int32))
    row_of_cause = _causes(recording, clocks)
    for event in sorted(itertools.chain(*recording.events.values()), key=attrgetter("step")):
        row = clocks.row(event.process, event.index)
        clock = clocks.matrix[row]
        if event.index:
            clock[:] = clocks.matrix[row - 1]
        if row in row_of_cause:
            np.maximum(clock, clocks.matrix[row_of_cause[row]], out=clock)
        clock[processes.index(event.process)] = event.index + 1
    return clocks


def _causes(recording: Recording, clocks: VectorClocks) -> dict[int, int]:
    """Return the row of the send for the row of each receive, of messages and markers."""
    causes = {}
    for channel in recording.topology.channels:
        travellers: tuple[Message | Marker, ...] = (
            *recording.messages.get(channel.id, ()),
            *recording.markers.get(channel.id, ()),
        )
        for travelling in travellers:
            if travelling.received_index is not None and not travelling.taken_back:
                receive = clocks.row(channel.target, travelling.received_index)
                causes[receive] = clocks.row(channel.source, travelling.sent_index)
    return causes
