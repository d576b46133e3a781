"""Map a table of a stored recording, to gather from many runs and search them at once.

A *run* is the ordered rows of one process or channel, whose number is the *code*. An *offset* is a
place in a run: the index of an event or the ordinal of a message. Each run lies in one part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.store.column_rows import Rows, Test
from snapshots.store.decoding import StoredPart, map_or_damaged
from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.fences import read_fences
from snapshots.store.joined import open_parts
from snapshots.store.layout import FOLLOWING, INDEX, NONE, PARTED
from snapshots.store.manifest import Manifest, Part
from snapshots.store.objects.together import together
from snapshots.store.outlines import FENCE

Ints = NDArray[np.int64]

_BLOCK = np.arange(FENCE)
_ROWS_OF_A_STRETCH = 64  # on average; shorter ones are quicker read row by row


class MappedTable:
    """One of the PARTED tables. Safe for threads: nothing changes but caches.

    ``parts`` are its parts. ``part``, ``begin``, ``end`` and ``length`` are int64[runs]: the part
    of each run and its rows in that part. A run without rows has the part NONE and length 0.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        table: str,
        index: pa.Table,
        runs: int,
        ends: "Ends | None" = None,
    ) -> None:
        """Map the parts of a table.

        Args:
            index: the rows of INDEX_COLUMNS of this table.
            runs: the number of codes.
            ends: for the messages, the events at their ends.

        Raises: StoreDamaged if a part is missing or does not fit the manifest and the index.
        """
        parts = manifest.parts_of(table)
        self.name = table
        self.parts, self._joined = open_parts([folder / part.file for part in parts], table)
        for stored, part in zip(self.parts, parts, strict=True):
            _require_rows(stored, part)
        self.part, self.begin, self.end = _runs(table, index, runs, parts)
        self.length: Ints = self.end - self.begin
        self._ends = ends
        self._fence_begin = np.concatenate(([0], np.cumsum(self.length // FENCE)))
        self._fences = read_fences(folder, table, int(self._fence_begin[-1]))

    def bisect(self, column: str, targets: Ints) -> Ints:
        """Count per run the rows whose value in the sorted ``column`` is below the target."""
        return self.bisect_in(column, np.arange(len(self.length)), targets)

    def bisect_in(self, column: str, codes: Ints, targets: Ints) -> Ints:
        """Do the same as ``bisect`` for the runs ``codes`` [N], which may repeat; targets: [N].

        One binary search in the fences advances over all runs at once. Then the target is compared
        with all rows of the block that was found, of all parts at once.
        """
        begin = self._fence_begin[codes]
        end = self._fence_begin[codes + 1]
        blocks = self._fences[column].first_not_below(begin, end, targets) - begin
        before = blocks * FENCE
        left = self.length[codes] - before  # rows from the block on
        block = self._blocks(column, self.part[codes], self.begin[codes] + before)
        below = (block < targets[:, None]) & (left[:, None] > _BLOCK)
        return before + np.count_nonzero(below, axis=1)

    def fetch_fences(self, *columns: str) -> None:
        """Read the fences of searched columns that are far and not too many."""
        for column in columns:
            self._fences[column].fetch()

    def _blocks(self, column: str, parts: Ints, first: Ints) -> Ints:
        """Return FENCE values from each row ``first`` [N] on; any value behind the end of a part.

        The part of a run without rows is NONE.
        """
        joined = self._joined.numbers(column) if self._joined else None
        if joined is not None and joined.has_all:
            return joined.take_blocks(parts, first)
        rows = first[:, None] + _BLOCK
        blocks = np.zeros(rows.shape, np.int64)

        def own(number: int, lanes: Any) -> Ints:
            part = self.parts[number]
            inside = np.minimum(rows[lanes], part.num_rows - 1)
            return part.numbers(column, inside.reshape(-1)).reshape(inside.shape)

        for lanes, values in self._each_part(parts, own):
            blocks[lanes] = values
        return blocks

    def _each_part(self, parts: Ints, read: Callable[[int, Any], Any]) -> Iterator[tuple[Any, Any]]:
        """Read from all parts at the same time: yield some places in ``parts``, and what was read.

        ``read`` gets the number of a part and the places.
        """
        places = list(self.by_part(parts))
        results = together([partial(read, number, lanes) for number, lanes in places])
        return zip([lanes for _, lanes in places], results, strict=True)

    def numbers(self, column: str, parts: Ints, rows: Ints) -> Ints:
        """Return the values of a column of numbers at some rows [N], with NONE for null."""
        joined = self._joined.numbers(column) if self._joined else None
        if joined is not None and joined.has_all:
            return joined.take(parts, rows)
        values = np.full(len(rows), NONE)
        known = np.zeros(len(rows), np.bool_) if joined is None else joined.known[parts]
        if joined is not None:
            values[known] = joined.take(parts[known], rows[known])
        others = np.flatnonzero(~known)

        def own(number: int, lanes: Any) -> Ints:
            return self.parts[number].numbers(column, rows[others[lanes]])

        for lanes, numbers in self._each_part(parts[others], own):
            values[others[lanes]] = numbers
        return values

    def listed(self, column: str, parts: Ints, rows: Ints) -> list[Any]:
        """Return the texts of a column at these rows [N] of the parts [N], with None for null."""
        joined = self._joined.numerals(column) if self._joined else None
        if joined is not None:
            return joined.listed(parts, rows)
        texts = np.full(len(rows), None, object)

        def own(number: int, lanes: Any) -> list[str | None]:
            return self.parts[number].listed(column, rows[lanes])

        for lanes, listed in self._each_part(parts, own):
            texts[lanes] = listed
        return texts.tolist()

    def pick(self, codes: Ints, offsets: Ints) -> "Picked":
        """Choose the rows at ``offsets`` [N] of the runs ``codes`` [N].

        Raises: StoreDamaged if there is no such row, since then another file refers to it wrongly.
        """
        if len(offsets) and ((offsets < 0) | (offsets >= self.length[codes])).any():
            raise StoreDamaged(
                self.name,
                "A row points at another one that does not exist.",
                "Was a file exchanged or changed? Ingest the log again.",
            )
        return Picked(self, codes, self.begin[codes] + offsets)

    def pick_rows(self, number: int, first: int, end: int) -> "Picked":
        """Choose the rows first .. end - 1 of one part."""
        rows = slice(first, end)
        _, key = PARTED[self.name]
        codes = self.parts[number].numbers(key, rows)
        return Picked(self, codes, rows, number)

    def pick_run(self, code: int, first: int = 0, end: int | None = None) -> "Picked":
        """Choose the rows at the offsets first .. end - 1 of one run, by default to its end."""
        length = int(self.length[code])
        first, end, _ = slice(first, end).indices(length)
        count = max(end - first, 0)
        begin = int(self.begin[code]) + first
        rows = slice(begin, begin + count)
        return Picked(self, np.full(count, code), rows, int(self.part[code]))

    def values(self, column: str, codes: Ints, offsets: Ints) -> Ints:
        """Return one column of the rows that ``pick`` chooses."""
        return self.pick(codes, offsets).values(column)

    def stretches(self, column: str, codes: Ints, first: Ints, end: Ints) -> Ints:
        """Return the values of the offsets ``first`` .. ``end`` - 1 of some runs, run after run.

        Rows that lie one behind another are read at once, however many runs they are.
        """
        begin, count = self.begin[codes] + first, np.maximum(end - first, 0)
        used = np.flatnonzero(count)
        part, begin, stop = self.part[codes[used]], begin[used], (begin + count)[used]
        is_apart = (part[1:] != part[:-1]) | (begin[1:] != stop[:-1])
        opening = np.concatenate(([True], is_apart))[: len(used)]
        closing = np.concatenate((is_apart, [True]))[: len(used)]
        if self._joined is None or count.sum() < _ROWS_OF_A_STRETCH * np.count_nonzero(opening):
            return self.values(column, *ragged(codes, first, end))
        self.pick(codes[used], end[used] - 1)  # requires that there are so many rows
        lanes = zip(part[opening].tolist(), begin[opening], stop[closing], strict=True)
        values = [self.parts[number].numbers(column, slice(*rows)) for number, *rows in lanes]
        return np.concatenate([np.zeros(0, np.int64), *values])

    def run(self, column: str, code: int, first: int = 0, end: int | None = None) -> Ints:
        """Return the values of the rows that ``pick_run`` chooses."""
        return self.pick_run(code, first, end).values(column)

    def run_at(self, column: str, code: int, offsets: Ints) -> Ints:
        """Return the values at some offsets of one run."""
        return self.values(column, np.full(len(offsets), code), offsets)

    def texts(self, column: str, code: int, first: int = 0, end: int | None = None) -> pa.Array:
        """Return the texts of the rows that ``pick_run`` chooses."""
        return self.pick_run(code, first, end).array(column)

    def find_texts(self, column: str, code: int, texts: Sequence[str]) -> Ints:
        """Find the offsets in one run whose text is one of ``texts``, by reading the whole run."""
        wanted = pa.array(texts, pa.large_string()).unique()
        return np.flatnonzero(self.pick_run(code).find(column, wanted) != NONE)

    def lacks(self, column: str) -> bool:
        """Tell whether a column of messages follows from the events."""
        return bool(self.parts) and column in FOLLOWING and column not in self.parts[0].names

    def ends_of(self, rows: "Picked", end: str) -> tuple["Picked", Any]:
        """Return the events that send or receive some messages, and which of these have one.

        ``end`` is ``sent`` or ``received``. Raises: StoreDamaged.
        """
        assert self._ends is not None  # only messages lack columns
        indices = rows.values(f"{end}_index")
        lanes = np.flatnonzero(indices != NONE) if end == "received" else slice(None)
        processes = (self._ends.source if end == "sent" else self._ends.target)[rows.codes[lanes]]
        return self._ends.events.pick(processes, indices[lanes]), lanes

    def by_part(self, parts: Ints) -> Iterator[tuple[int, Any]]:
        """Yield each part and its places in ``parts``; skip NONE, which runs without rows have."""
        if len(self.parts) == 1 and len(parts) and parts.min() == 0:
            yield 0, slice(None)
            return
        order = parts.argsort(kind="stable")
        bounds = parts[order].searchsorted(np.arange(len(self.parts) + 1)).tolist()
        for number, (begin, end) in enumerate(pairwise(bounds)):
            if end > begin:
                yield number, order[begin:end]


@dataclass(frozen=True)
class Ends:
    """The events at the ends of the messages.

    Attributes:
        source: the process from which each channel leads: int64[C].
        target: the process to which each channel leads: int64[C].
    """

    events: MappedTable
    source: Ints
    target: Ints


Place = tuple[int, Any, Rows]
"""The number of a part, which of the chosen rows lie in it, and which rows of it they are."""


@dataclass(frozen=True)
class Picked:
    """Chosen rows of a table.

    Attributes:
        codes: the run of each of the N rows.
        rows: each in the part of its run; or a slice, which lies in one part.
        part: the number of the part in which a slice lies.
    """

    table: MappedTable
    codes: Ints
    rows: Rows
    part: int = NONE

    @property
    def count(self) -> int:
        """Return the number N of rows."""
        return len(self.codes)

    @cached_property
    def places(self) -> list[Place]:
        """Return where the rows are, part by part."""
        if isinstance(self.rows, slice):
            return [(self.part, slice(None), self.rows)] if self.count else []
        return [
            (number, lanes, self.rows[lanes]) for number, lanes in self.table.by_part(self._parts)
        ]

    @cached_property
    def _parts(self) -> Ints:
        return self.table.part[self.codes]

    @cached_property
    def _sent(self) -> tuple["Picked", Any]:
        return self.table.ends_of(self, "sent")

    @cached_property
    def _received(self) -> tuple["Picked", Any]:
        return self.table.ends_of(self, "received")

    def _events(self, column: str) -> tuple["Picked", Any, str]:
        """Return the events with a column that the messages lack, their rows, and its name."""
        end, name = FOLLOWING[column]
        return *(self._sent if end == "sent" else self._received), name

    def values(self, column: str) -> Ints:
        """Return the values [N] of a column of numbers, with NONE for null."""
        gathered = np.full(self.count, NONE)
        if self.table.lacks(column):
            events, lanes, name = self._events(column)
            gathered[lanes] = events.values(name)
            return gathered
        if not isinstance(self.rows, slice):
            return self.table.numbers(column, self._parts, self.rows)
        for number, lanes, rows in self.places:
            gathered[lanes] = self.table.parts[number].numbers(column, rows)
        return gathered

    def array(self, column: str) -> pa.Array:
        """Return the values [N] of a column of text as large strings."""
        if self.table.lacks(column):
            events, _, name = self._events(column)
            return events.array(name)
        parts = self.table.parts
        pieces = together(
            [partial(parts[number].texts, column, rows) for number, _, rows in self.places]
        )
        if len(pieces) == 1:
            return pieces[0]
        order = np.empty(self.count, np.int64)
        if pieces:
            order[np.concatenate([lanes for _, lanes, _ in self.places])] = np.arange(self.count)
        return pa.concat_arrays([pa.array([], pa.large_string()), *pieces]).take(pa.array(order))

    def find(self, column: str, wanted: pa.Array) -> Ints:
        """Return the place among distinct ``wanted`` texts of each of the N texts, or NONE."""
        if self.table.lacks(column):
            events, _, name = self._events(column)
            return events.find(name, wanted)
        found = np.full(self.count, NONE)
        for number, lanes, rows in self.places:
            found[lanes] = self.table.parts[number].find(column, rows, wanted)
        return found

    def matching(self, column: str, test: Test) -> NDArray[np.bool_]:
        """Tell which of the N texts of a column pass the test."""
        if self.table.lacks(column):
            events, _, name = self._events(column)
            return events.matching(name, test)
        matches = np.zeros(self.count, np.bool_)
        for number, lanes, rows in self.places:
            matches[lanes] = self.table.parts[number].matching(column, rows, test)
        return matches

    def texts(self, column: str) -> list[str | None]:
        """Return the values [N] of a column of text, with None for null."""
        return self._texts(column)

    def ids(self, column: str) -> list[MessageId]:
        """Return the values [N] of a column of ids of messages without nulls."""
        return self._texts(column)

    def json(self, column: str) -> list[JsonText | None]:
        """Return the values [N] of a column of JSON, with None for null."""
        return self._texts(column)

    def _texts(self, column: str) -> list[Any]:
        if self.table.lacks(column):
            events, _, name = self._events(column)
            return events._texts(name)
        if not isinstance(self.rows, slice):
            return self.table.listed(column, self._parts, self.rows)
        return [
            text
            for number, _, rows in self.places
            for text in self.table.parts[number].listed(column, rows)
        ]

    def number_or_none(self, column: str) -> int | None:
        """Return the value of the only row in a column of numbers that may be null."""
        if self.table.lacks(column):
            events, _, name = self._events(column)
            return events.number_or_none(name) if events.count else None
        number, _, rows = self.places[0]
        part = self.table.parts[number]
        nulls = part.nulls(column, rows)
        return None if nulls is not None and nulls[0] else int(part.numbers(column, rows)[0])


def ragged(codes: Ints, first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all (code, offset) with first <= offset < end of each code, in order."""
    counts = np.maximum(end - first, 0)
    starts = np.cumsum(counts) - counts
    offsets = np.arange(counts.sum()) - np.repeat(starts - first, counts)
    return np.repeat(codes, counts), offsets


def _require_rows(stored: StoredPart, part: Part) -> None:
    if stored.num_rows != part.rows:
        raise StoreDamaged(
            part.file,
            f"It has {stored.num_rows} rows, the manifest says {part.rows}.",
            "Was it exchanged? Ingest the log again.",
        )


def read_batch(path: Path, schema: pa.Schema) -> pa.RecordBatch:
    """Map a file of the layout that holds one batch. Raises: StoreDamaged."""
    batch = map_or_damaged(path)
    if batch.schema != schema:
        raise StoreDamaged(
            name_in_recording(path),
            "Its columns are not the layout's.",
            "Was it written by another release? Ingest the log again.",
        )
    return batch


def rows_of_snapshot(batch: pa.RecordBatch, snapshot: int) -> pa.RecordBatch:
    """Return the rows of the snapshot with this code, of a table sorted by snapshot."""
    codes = batch.column("snapshot").to_numpy()
    first, end = np.searchsorted(codes, [snapshot, snapshot + 1])
    return batch.slice(first, end - first)


def _runs(table: str, index: pa.Table, runs: int, parts: tuple[Part, ...]) -> tuple[Ints, ...]:
    """Return part, begin and end of each run; NONE and an empty range if it has no rows."""
    code, part, begin, end = (index[name].to_numpy() for name in ("code", "part", "begin", "end"))
    rows = np.array([item.rows for item in parts], np.int64)
    known = (code >= 0) & (code < runs) & (part >= 0) & (part < len(parts))
    fits = known.all() and ((begin >= 0) & (begin < end) & (end <= rows[part])).all()
    if not fits or (end - begin).sum() != rows.sum() or len(np.unique(code)) != len(code):
        raise StoreDamaged(
            INDEX,
            f"It does not fit the parts of {table}.",
            "Was it exchanged? Ingest the log again.",
        )
    columns = np.full(runs, NONE, np.int64), np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    for column, items in zip(columns, (part, begin, end), strict=True):
        column[code] = items
    return columns
