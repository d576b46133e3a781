"""What is on its way: messages (or markers) found by binary search, never by a scan.

A *lane* is one channel with the positions of its two ends: ``codes`` [N] are the channels,
``source`` and ``target`` [N] the positions of the ends. All functions work on many lanes at once.
"""

from dataclasses import dataclass

import numpy as np

from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints, MappedTable, ragged


@dataclass(frozen=True)
class Flights:
    """The messages or the markers of a stored recording. See flights.py for the sorted columns."""

    table: MappedTable
    disorder: MappedTable

    def is_ordered(self, codes: Ints) -> np.ndarray:
        """bool[N]: whether flights arrive in the order of sending and only the last are missing."""
        return self.disorder.length[codes] == 0

    def sent(self, codes: Ints, source: Ints) -> Ints:
        """How many flights are sent inside."""
        return self.table.bisect_in("sent_index", codes, source)

    def arrived(self, codes: Ints, target: Ints) -> Ints:
        """The first ordinal from which a flight that arrives at all may not be received inside.

        On ordered channels: how many flights are received inside.
        """
        return self.table.bisect_in("received_reach", codes, target)

    def received(self, codes: Ints, target: Ints) -> Ints:
        """How many flights are received inside, orphans too."""
        counts = self.arrived(codes, target)
        lanes = np.flatnonzero(~self.is_ordered(codes))
        if len(lanes):
            exact = self.disorder.bisect_in("received_sorted", codes[lanes], target[lanes])
            counts[lanes] = exact
        return counts

    def end_of_received(self, codes: Ints, target: Ints) -> Ints:
        """One more than the last ordinal received inside, or 0."""
        ends = self.arrived(codes, target)
        lanes = np.flatnonzero(~self.is_ordered(codes))
        if len(lanes):
            ends[lanes] = self.disorder.bisect_in("received_floor", codes[lanes], target[lanes])
        return ends

    def waiting(self, codes: Ints, target: Ints, end: Ints) -> tuple[Ints, Ints]:
        """(code, ordinal) of all flights before ordinal ``end`` not received inside, in order."""
        first = self.arrived(codes, target)
        lane, ordinals = ragged(np.arange(len(codes)), first, end)
        unordered = ~self.is_ordered(codes)
        if not unordered.any():
            return codes[lane], ordinals
        kept = ~unordered[lane]
        received = self.received_index(codes[lane[~kept]], ordinals[~kept])
        kept[~kept] = (received == NONE) | (received >= target[lane[~kept]])
        lost_lane, lost = self._lost(np.flatnonzero(unordered), codes, np.minimum(first, end))
        lane = np.concatenate((lane[kept], lost_lane))
        ordinals = np.concatenate((ordinals[kept], lost))
        order = np.lexsort((ordinals, lane))
        return codes[lane[order]], ordinals[order]

    def _lost(self, lanes: Ints, codes: Ints, end: Ints) -> tuple[Ints, Ints]:
        """(lane, ordinal) of the flights before ordinal ``end`` that never arrive."""
        counts = self.disorder.bisect_in("lost", codes[lanes], end[lanes])
        lane, places = ragged(lanes, np.zeros(len(lanes), np.int64), counts)
        return lane, self.disorder.values("lost", codes[lane], places)

    def orphans(self, codes: Ints, target: Ints, sent: Ints) -> tuple[Ints, Ints]:
        """(code, ordinal) of all flights from ordinal ``sent`` on that are received inside."""
        ends = self.end_of_received(codes, target)
        lane, ordinals = ragged(np.arange(len(codes)), sent, ends)
        unordered = ~self.is_ordered(codes)[lane]
        if unordered.any():
            received = self.received_index(codes[lane], ordinals)
            inside = ~unordered | ((received != NONE) & (received < target[lane]))
            lane, ordinals = lane[inside], ordinals[inside]
        return codes[lane], ordinals

    def first_orphan(self, codes: Ints, target: Ints, sent: Ints) -> Ints:
        """The earliest index of a receive inside whose send is outside; IN_FLIGHT if none."""
        earliest = np.full(len(codes), IN_FLIGHT)
        lanes = np.flatnonzero(self.end_of_received(codes, target) > sent)
        earliest[lanes] = self._arriving("received_floor", codes[lanes], sent[lanes])
        return earliest

    def send(self, codes: Ints, number: Ints) -> Ints:
        """The index of the send number 0, 1, 2 … of each lane."""
        return self.table.values("sent_index", codes, number)

    def receive(self, codes: Ints, number: Ints) -> Ints:
        """The index of the receive number 0, 1, 2 … of each lane, in their own order."""
        return self._arriving("received_sorted", codes, number)

    def _arriving(self, column: str, codes: Ints, offsets: Ints) -> Ints:
        """Values of a column of disorder; on ordered channels it is received_index itself."""
        found = np.zeros(len(codes), np.int64)
        ordered = self.is_ordered(codes)
        for table, name, lanes in (
            (self.table, "received_index", ordered),
            (self.disorder, column, ~ordered),
        ):
            found[lanes] = table.values(name, codes[lanes], offsets[lanes])
        return found

    def sends(self, code: int, first: int, end: int) -> Ints:
        """The indices of the sends number ``first`` to ``end`` of one channel: a view."""
        return self.table.run("sent_index", code)[first:end]

    def receives(self, code: int, first: int, end: int) -> Ints:
        """The indices of the receives number ``first`` to ``end`` of one channel: a view."""
        if self.disorder.length[code]:
            return self.disorder.run("received_sorted", code)[first:end]
        return self.table.run("received_index", code)[first:end]

    def received_index(self, codes: Ints, ordinals: Ints) -> Ints:
        """Where each flight is received; NONE if never."""
        return self.table.pick(codes, ordinals).nullable("received_index")

    def sent_by(self, code: int, index: int) -> int | None:
        """The ordinal of the flight that the source's event ``index`` sends, if it sends one."""
        codes = np.array([code])
        ordinal = self.sent(codes, np.array([index]))
        after = self.sent(codes, np.array([index + 1]))
        return int(ordinal[0]) if after[0] > ordinal[0] else None

    def received_by(self, code: int, index: int) -> int | None:
        """The ordinal of the flight that the target's event ``index`` receives, if it is one."""
        codes = np.array([code])
        first = self.arrived(codes, np.array([index]))
        end = self.end_of_received(codes, np.array([index + 1]))
        code_of, ordinals = ragged(codes, first, end)
        found = ordinals[self.received_index(code_of, ordinals) == index]
        return int(found[0]) if len(found) else None
