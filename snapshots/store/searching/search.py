"""Search a recording in bounded steps, and keep which events were found as one bit each.

Ten million events take 1.25 MB. Bits are in the order of steps, which is the order of the answers.
A search that ran out of time goes on where it stopped.
"""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from snapshots.store.decoding import StoredPart
from snapshots.store.mapped import Ints
from snapshots.store.searching.matching import Mask, Matcher, message_ends
from snapshots.store.searching.words import Word
from snapshots.store.tables import Tables

CHUNK = 2**17  # rows that are compared at most before the clock is read
_FIRST = 64  # rows that are compared first, since their texts may be long
_QUICK, _SLOW = 0.02, 0.1  # seconds for a chunk
BINS = 400  # columns of the overview's marks

_BLOCK = 4096  # bytes of bits that are counted at once


class Search:
    """One search over the events of a recording. Safe for threads.

    Attributes:
        searched: the rows of events and messages that were compared so far.
        rows: the rows of events and messages that the search compares in all.
        total: the number of events found so far.
        bins_of_time: the number of found events in each of BINS equal parts of the recording's
            time: int64[BINS].
        bins_of_order: the same over the steps: int64[BINS].
    """

    def __init__(self, tables: Tables, words: tuple[Word, ...]) -> None:
        self.tables = tables
        self.total = self.searched = 0
        self.bins_of_time = np.zeros(BINS, np.int64)
        self.bins_of_order = np.zeros(BINS, np.int64)
        self._matchers = [Matcher(tables, word) for word in words]
        self._bits = _no_bits(tables.manifest.extent.steps)
        self._marks: dict[tuple[int, int], NDArray[np.uint8]] = {}
        events, messages = tables.events.parts, tables.messages.table.parts
        by_value = [n for n, matcher in enumerate(self._matchers) if matcher.sought_in_values]
        self.rows = _rows(events) + len(by_value) * _rows(messages)
        self._work = self._all_work(by_value)
        self._lock = threading.Lock()

    @property
    def is_complete(self) -> bool:
        """Tell whether every event has been compared."""
        return self.searched >= self.rows

    def advance(self, seconds: float) -> None:
        """Go on until all events are compared or the time is over."""
        with self._lock:
            until = time.monotonic() + seconds
            for rows in self._work:
                self.searched += rows
                if time.monotonic() >= until:
                    break
            if self.is_complete:
                self._marks.clear()

    def before(self, step: int) -> int:
        """Count the found events with a smaller step."""
        whole, rest = divmod(min(max(step, 0), self.tables.manifest.extent.steps), 8)
        count = int(np.bitwise_count(self._bits[:whole]).sum())
        return count + (int(self._bits[whole]) & ((1 << rest) - 1)).bit_count() if rest else count

    def steps(self, first: int, most: int) -> list[int]:
        """Return the steps of at most ``most`` found events, leaving out the ``first`` ones."""
        steps: list[int] = []
        skipped = 0
        for begin in range(0, len(self._bits), _BLOCK):
            block = self._bits[begin : begin + _BLOCK]
            count = int(np.bitwise_count(block).sum())
            if skipped + count > first and len(steps) < most:
                places = np.flatnonzero(np.unpackbits(block, bitorder="little"))
                begins = max(first - skipped, 0)
                chosen = places[begins : begins + most - len(steps)]
                steps += (chosen + begin * 8).tolist()
            skipped += count
            if len(steps) >= most:
                break
        return steps

    def place(self, step: int) -> tuple[int, int]:
        """Return the process and the index of the event with this step."""
        events = self.tables.events
        indices = events.bisect("step", np.full(len(self.tables.all_processes), step))
        candidates = np.flatnonzero(indices < events.length)
        steps = events.values("step", candidates, indices[candidates])
        process = int(candidates[np.flatnonzero(steps == step)[0]])
        return process, int(indices[process])

    def _all_work(self, by_value: list[int]) -> Iterator[int]:
        """Do the search chunk by chunk; yield how many rows each chunk had."""
        for number in by_value:
            for part, stored in enumerate(self.tables.messages.table.parts):
                yield from _in_chunks(stored.num_rows, partial(self._mark, number, part))
        for part, stored in enumerate(self.tables.events.parts):
            yield from _in_chunks(stored.num_rows, partial(self._take, part))

    def _mark(self, number: int, part: int, first: int, end: int) -> None:
        """Mark the events at both ends of the messages whose value holds a word."""
        codes, indices = message_ends(self.tables, part, self._matchers[number], first, end)
        events = self.tables.events
        rows, parts = events.begin[codes] + indices, events.part[codes]
        for at in np.unique(parts).tolist():
            key = number, at
            if key not in self._marks:
                self._marks[key] = _no_bits(events.parts[at].num_rows)
            _set_bits(self._marks[key], rows[parts == at])

    def _take(self, part: int, first: int, end: int) -> None:
        """Compare one chunk of the events, and keep those that hold every word."""
        stored = self.tables.events.parts[part]
        matches = np.ones(end - first, np.bool_)
        for number, matcher in enumerate(self._matchers):
            holding = matcher.rows(stored, first, end)
            if (number, part) in self._marks:
                holding = holding | _bits_between(self._marks[number, part], first, end)
            matches &= holding
            if not matches.any():
                return
        rows = np.flatnonzero(matches) + first
        self._keep(stored.numbers("step", rows), stored.numbers("at", rows))

    def _keep(self, steps: Ints, at: Ints) -> None:
        _set_bits(self._bits, steps)
        extent = self.tables.manifest.extent
        self.bins_of_time += _binned(at, extent.from_, extent.to)
        self.bins_of_order += _binned(steps + 1, 0, extent.steps)
        self.total += len(steps)


def _rows(parts: list[StoredPart]) -> int:
    return sum(part.num_rows for part in parts)


def _no_bits(count: int) -> NDArray[np.uint8]:
    return np.zeros(-(-count // 8), np.uint8)


def _set_bits(bits: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
    np.bitwise_or.at(bits, places >> 3, (1 << (places & 7)).astype(np.uint8))


def _bits_between(bits: NDArray[np.uint8], first: int, end: int) -> Mask:
    """Return the bits first .. end as truth values."""
    begin = first // 8
    unpacked = np.unpackbits(bits[begin : -(-end // 8)], bitorder="little").astype(np.bool_)
    return unpacked[first - 8 * begin : end - 8 * begin]


def _in_chunks(rows: int, compare: Callable[[int, int], None]) -> Iterator[int]:
    """Compare all rows of a part chunk by chunk; yield how many rows each chunk had."""
    first, most = 0, _FIRST
    while first < rows:
        end = min(first + min(most, CHUNK), rows)
        began = time.monotonic()
        compare(first, end)
        most = next_chunk(most, time.monotonic() - began)
        yield end - first
        first = end


def next_chunk(rows: int, seconds: float) -> int:
    """Return how many rows to compare next, after so many took so long."""
    if seconds < _QUICK:
        return min(4 * rows, CHUNK)
    return max(rows // 4, 1) if seconds > _SLOW else rows


def _binned(places: NDArray[np.int64], from_: int, to: int) -> Ints:
    """Count the places in each of BINS equal parts of from_ .. to."""
    span = max(to - from_, 1)
    shares = (places - from_).astype(np.float64) / span
    bins = np.clip((shares * BINS).astype(np.int64), 0, BINS - 1)
    return np.bincount(bins, minlength=BINS)
