"""Find the messages (or markers) in flight at a cut by binary search, never by a scan.

A *lane* is one channel with the positions of its two ends: ``codes`` [N] are the channels,
``source`` and ``target`` [N] the positions of the ends. All functions work on many lanes at once.
"Inside" means inside the cut at these positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints, MappedTable, ragged
from snapshots.store.restores import TakenBack

_MOST_ROWS = 2**18  # that are read at once


@dataclass(frozen=True)
class Flights:
    """The messages or the markers of a stored recording.

    ``flights.py`` explains the sorted columns of both tables.

    A flight leaves its channel when it is received, or taken back by a restore of its target. The
    columns ``received_`` say where. Both count as *ended* here, and only the first as received.

    Attributes:
        disorder: the rows of channels that are not ordered.
        taken_back: which flights restores took back; None if there are no restores.
    """

    table: MappedTable
    disorder: MappedTable
    taken_back: TakenBack | None = None

    def taken(self, codes: Ints, ends: Ints) -> NDArray[np.bool_]:
        """Tell which flights on these channels [N], with these ends [N], were taken back."""
        if self.taken_back is None:
            return np.zeros(len(codes), np.bool_)
        return self.taken_back.among(codes, ends)

    def fetch_fences(self) -> None:
        """Read what the searches of a cut begin with, if it is far."""
        self.table.fetch_fences("sent_index", "received_reach")

    def is_ordered(self, codes: Ints) -> np.ndarray:
        """Tell which channels are ordered: flights arrive as sent, and only the last are missing.

        The result is bool[N].
        """
        return self.disorder.length[codes] == 0

    def sent(self, codes: Ints, source: Ints) -> Ints:
        """Count the flights that are sent inside."""
        return self.table.bisect_in("sent_index", codes, source)

    def arrived(self, codes: Ints, target: Ints) -> Ints:
        """Return the first ordinal at which a flight may end, but not inside.

        On an ordered channel this is the number of flights that end inside.
        """
        return self.table.bisect_in("received_reach", codes, target)

    def ended(self, codes: Ints, target: Ints) -> Ints:
        """Count the flights that end inside, including those sent outside."""
        return self._bisect_arrivals("received_sorted", codes, target)

    def end_of_received(self, codes: Ints, target: Ints) -> Ints:
        """Return one more than the last ordinal that is received inside, or 0."""
        ends = self._bisect_arrivals("received_floor", codes, target)
        return ends if self.taken_back is None else self._before_taken(codes, target, ends)

    def _before_taken(self, codes: Ints, target: Ints, ends: Ints) -> Ints:
        """Return one more than the last ordinal before ``ends`` [N] that is received inside, or 0.

        Nearly always it is the last one. Behind a restore, all that was in the channel then comes
        first: it is read backwards in blocks that double in size.
        """
        ends = ends.copy()
        lanes = np.flatnonzero(ends)
        block = 1
        while len(lanes):
            first = np.maximum(ends[lanes] - block, 0)
            lane, ordinals = ragged(lanes, first, ends[lanes])
            received = self._really_received(codes[lane], ordinals)
            inside = received < target[lane]
            last = np.zeros(len(codes), np.int64)
            np.maximum.at(last, lane[inside], ordinals[inside] + 1)
            ends[lanes] = np.where(last[lanes] > 0, last[lanes], first)
            lanes = lanes[(last[lanes] == 0) & (first > 0)]
            block = min(block * 2, max(_MOST_ROWS // max(len(lanes), 1), 1))
        return ends

    def _really_received(self, codes: Ints, ordinals: Ints) -> Ints:
        """Return where flights are received; IN_FLIGHT for those that are not, or taken back."""
        received = self.received_index(codes, ordinals)
        received[(received == NONE) | self.taken(codes, received)] = IN_FLIGHT
        return received

    def _bisect_arrivals(self, column: str, codes: Ints, target: Ints) -> Ints:
        """Search ``column`` of the disorder; on an ordered channel ``received_reach`` equals it."""
        counts = self.arrived(codes, target)
        lanes = np.flatnonzero(~self.is_ordered(codes))
        if len(lanes):
            counts[lanes] = self.disorder.bisect_in(column, codes[lanes], target[lanes])
        return counts

    def waiting(self, codes: Ints, target: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Find the flights before ordinal ``end`` that do not end inside.

        Returns their codes and ordinals, in order.
        """
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
        """Find (lane, ordinal) of the flights before ordinal ``end`` that never arrive."""
        counts = self.disorder.bisect_in("lost", codes[lanes], end[lanes])
        lane, places = ragged(lanes, np.zeros(len(lanes), np.int64), counts)
        return lane, self.disorder.values("lost", codes[lane], places)

    def orphans(self, codes: Ints, target: Ints, sent: Ints) -> tuple[Ints, Ints]:
        """Find (code, ordinal) of all flights from ordinal ``sent`` on that are received inside."""
        codes, ordinals = self.ended_unsent(codes, target, sent)
        if self.taken_back is None:
            return codes, ordinals
        kept = ~self.taken(codes, self.received_index(codes, ordinals))
        return codes[kept], ordinals[kept]

    def ended_unsent(self, codes: Ints, target: Ints, sent: Ints) -> tuple[Ints, Ints]:
        """Find (code, ordinal) of all flights from ordinal ``sent`` on that end inside."""
        ends = self._bisect_arrivals("received_floor", codes, target)
        lane, ordinals = ragged(np.arange(len(codes)), sent, ends)
        unordered = ~self.is_ordered(codes)[lane]
        if unordered.any():
            received = self.received_index(codes[lane], ordinals)
            inside = ~unordered | ((received != NONE) & (received < target[lane]))
            lane, ordinals = lane[inside], ordinals[inside]
        return codes[lane], ordinals

    def first_orphan(self, codes: Ints, target: Ints, sent: Ints) -> Ints:
        """Return the earliest index of a receive inside whose send is outside, or IN_FLIGHT."""
        earliest = np.full(len(codes), IN_FLIGHT)
        lanes = np.flatnonzero(self.end_of_received(codes, target) > sent)
        earliest[lanes] = self.first_received(codes[lanes], sent[lanes])
        return earliest

    def first_received(self, codes: Ints, ordinals: Ints) -> Ints:
        """Return the earliest receive from each ordinal on, IN_FLIGHT if there is none."""
        first = self._first_end(codes, ordinals)
        return first if self.taken_back is None else self._behind_taken(codes, ordinals, first)

    def _first_end(self, codes: Ints, ordinals: Ints) -> Ints:
        """Return the earliest index at which a flight from each ordinal on ends, or IN_FLIGHT."""
        first = np.full(len(codes), IN_FLIGHT)
        exists = ordinals < self.table.length[codes]
        ordered = self.is_ordered(codes)
        for table, column, lanes in (
            (self.table, "received_index", np.flatnonzero(exists & ordered)),
            (self.disorder, "received_floor", np.flatnonzero(exists & ~ordered)),
        ):
            first[lanes] = table.values(column, codes[lanes], ordinals[lanes])
        first[first == NONE] = IN_FLIGHT
        return first

    def _behind_taken(self, codes: Ints, ordinals: Ints, first: Ints) -> Ints:
        """Return the earliest receive from each ordinal on, where ``first`` [N] is the first end.

        If that is a restore, the flights up to the last one that it took back are read: all of
        these were in the channel then. What comes behind them ends later.
        """
        earliest, ordinals = first.copy(), ordinals.copy()
        lanes = np.flatnonzero(self.taken(codes, first))
        earliest[lanes] = IN_FLIGHT
        while len(lanes):
            own = codes[lanes]
            ends = self._bisect_arrivals("received_floor", own, first[lanes] + 1)
            unordered = np.flatnonzero(~self.is_ordered(own))  # on others, all end at the restore
            for lane, places in _in_blocks(ordinals[lanes], ends, unordered):
                received = self._really_received(own[lane], places)
                np.minimum.at(earliest, lanes[lane], received)
            ordinals[lanes], first[lanes] = ends, self._first_end(own, ends)
            is_taken = self.taken(own, first[lanes])
            later = np.where(is_taken, IN_FLIGHT, first[lanes])
            earliest[lanes] = np.minimum(earliest[lanes], later)
            lanes = lanes[is_taken & (first[lanes] < earliest[lanes])]
        return earliest

    def sends(self, codes: Ints, first: Ints, end: Ints) -> Ints:
        """Return the indices of the sends ``first`` .. ``end`` - 1, channel after channel."""
        return self.table.stretches("sent_index", codes, first, end)

    def receives(self, codes: Ints, first: Ints, end: Ints) -> Ints:
        """Return the indices of the receives ``first`` .. ``end`` - 1, channel after channel."""
        is_ordered = self.is_ordered(codes)
        if is_ordered.all():
            return self.table.stretches("received_index", codes, first, end)
        counts = np.maximum(end - first, 0)
        indices = np.empty(counts.sum(), np.int64)
        for table, column, chosen in (
            (self.table, "received_index", is_ordered),
            (self.disorder, "received_sorted", ~is_ordered),
        ):
            lanes = codes[chosen], first[chosen], end[chosen]
            indices[np.repeat(chosen, counts)] = table.stretches(column, *lanes)
        return indices

    def received_index(self, codes: Ints, ordinals: Ints) -> Ints:
        """Return the index at which each flight ends, or NONE if it never does."""
        return self.table.pick(codes, ordinals).values("received_index")

    def sent_by(self, code: int, index: int) -> int | None:
        """Return the ordinal of the flight that the source's event ``index`` sends, or None."""
        codes = np.array([code])
        ordinal = self.sent(codes, np.array([index]))
        after = self.sent(codes, np.array([index + 1]))
        return int(ordinal[0]) if after[0] > ordinal[0] else None

    def received_by(self, code: int, index: int) -> int | None:
        """Return the ordinal of the flight that the target's event ``index`` receives, or None."""
        codes = np.array([code])
        first = self.arrived(codes, np.array([index]))
        end = self.end_of_received(codes, np.array([index + 1]))
        repeated, ordinals = ragged(codes, first, end)
        if self.taken(codes, np.array([index]))[0]:
            return None
        matches = ordinals[self.received_index(repeated, ordinals) == index]
        return int(matches[0]) if len(matches) else None


def _in_blocks(first: Ints, end: Ints, lanes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield all (lane, ordinal) with first <= ordinal < end of some lanes, a bounded number each.

    ``first`` and ``end`` are those of all lanes.
    """
    most = max(_MOST_ROWS // max(len(lanes), 1), 1)
    while len(lanes := lanes[first[lanes] < end[lanes]]):
        stop = np.minimum(first + most, end)
        yield ragged(lanes, first[lanes], stop[lanes])
        first = stop
