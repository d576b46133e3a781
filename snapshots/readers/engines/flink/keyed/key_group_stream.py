"""Read keyed state from one stream with an offset per key group, after detecting its layout."""

from collections.abc import Iterator
from itertools import chain

from snapshots.readers.engines.flink.handles import NO_DATA, KeyGroups
from snapshots.readers.engines.flink.keyed.entries import Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.full_layout import FullLayout
from snapshots.readers.engines.flink.keyed.heap_layout import HeapLayout
from snapshots.readers.engines.flink.keyed.key_group_parts import Part, gap_before, key_group_parts
from snapshots.readers.engines.flink.keyed.keyed_meta import read_keyed_meta
from snapshots.readers.formats.cursor import Cursor

HEAP, FULL = "heap", "full"
_NUMBER_BYTES = 4
_LEAST_META = 5  # bytes: a version and a flag


def _first_of(handle: KeyGroups, size: int) -> int | None:
    """Return where the first key group with data begins, and with it the description ends."""
    return min((offset for offset in handle.offsets if 0 < offset <= size), default=None)


class KeyGroupStream:
    """One stream of keyed state: ``meta`` describes its states, ``layout`` is HEAP or FULL."""

    def __init__(
        self,
        handle: KeyGroups,
        data: bytes | memoryview,
        max_parallelism: int,
        limits: Limits,
        notes: Notes,
    ) -> None:
        self._data = memoryview(data)
        self.meta = read_keyed_meta(Cursor(self._data), _first_of(handle, len(self._data)))
        if self.meta.problem:
            notes.say(self.meta.problem, complete=False, is_whole=not self.meta.is_damaged)
        self._begin = self.meta.end or min(_LEAST_META, len(self._data))
        self._parts = key_group_parts(handle.first, handle.offsets, self._begin, len(self._data))
        self._heap = HeapLayout(self.meta, limits, notes)
        self._full = FullLayout(self.meta, max_parallelism, limits, notes)
        self.layout = FULL if handle.savepoint or not self._is_heap() else HEAP

    def entries(self) -> Iterator[Entry]:
        """Yield the entries by key group, then the bytes that belong to none."""
        if self.meta.compressed is None:
            return chain(self._unread(), self._gap())
        layout = self._heap if self.layout == HEAP else self._full
        return chain(layout.entries(self._parts, self._read), self._gap())

    def _read(self, part: Part) -> memoryview:
        return self._data[part.offset : part.offset + part.size]

    def _unread(self) -> Iterator[Entry]:
        assert self.meta.problem is not None  # else the compression would be known
        for part in self._parts:
            if part.size:
                yield unread(self._read(part), self.meta.problem, key_group=part.key_group)

    def _gap(self) -> Iterator[Entry]:
        """Yield the bytes between the description and the first key group, if there are any."""
        begin, end = gap_before(self._parts, self._begin, len(self._data))
        if begin < end:
            reason = self.meta.problem or "These bytes belong to no key group."
            yield unread(self._data[begin:end], reason, offset=begin)

    def _is_heap(self) -> bool:
        """Tell whether each key group begins with its number, as in the heap layout.

        Key group 0 alone can begin so in the full layout, too. Then the full layout is taken only
        if it alone can be read to the end.
        """
        parts = [part for part in self._parts if part.offset != NO_DATA]
        if not all(self._begins_with_number(part) for part in parts):
            return False
        if [part.key_group for part in parts] != [0]:
            return True
        (part,) = parts
        data = self._read(part)
        return self._heap.fits(part, data) or not self._full.fits(part, data)

    def _begins_with_number(self, part: Part) -> bool:
        head = bytes(self._read(part)[:_NUMBER_BYTES])
        return head == part.key_group.to_bytes(_NUMBER_BYTES, "big")
