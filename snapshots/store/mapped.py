"""Map a table of a stored recording, to gather from many runs and search them at once.

A *run* is the ordered rows of one process or channel, whose number is the *code*. An *offset* is a
place in a run: the index of an event or the ordinal of a message. Each run lies in one part, where
each column is one array.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.fences import read_fences
from snapshots.store.layout import INDEX, NONE, PARTED
from snapshots.store.manifest import Manifest, Part
from snapshots.store.outlines import FENCE
from snapshots.store.parts import map_batch

Ints = NDArray[np.int64]

_BLOCK = np.arange(FENCE)
_NOTHING: Ints = np.zeros(0, np.int64)


class MappedTable:
    """One of the PARTED tables. Safe for threads: nothing changes but a cache of array views.

    ``batches`` are its parts. ``part``, ``begin``, ``end`` and ``length`` are int64[runs]: the part
    of each run and its rows in that part. A run without rows has the part NONE and length 0.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, table: str, index: pa.Table, runs: int
    ) -> None:
        """Map the parts of a table.

        Args:
            index: the rows of INDEX_COLUMNS of this table.
            runs: the number of codes.

        Raises: StoreDamaged if a part is missing or does not fit the manifest and the index.
        """
        parts = manifest.parts_of(table)
        self.name = table
        self.batches = [_mapped(folder, part) for part in parts]
        self.part, self.begin, self.end = _runs(table, index, runs, parts)
        self.length: Ints = self.end - self.begin
        self._fence_begin = np.concatenate(([0], np.cumsum(self.length // FENCE)))
        self._fences = read_fences(folder, table, int(self._fence_begin[-1]))
        self._columns: dict[tuple[int, str], NDArray[Any]] = {}
        self._run_views: dict[tuple[str, int], NDArray[Any]] = {}

    def column(self, number: int, name: str) -> NDArray[Any]:
        """Return the values of a column of fixed width in one part; nulls have any value."""
        if (number, name) not in self._columns:
            self._columns[number, name] = self._view(number, name)
        return self._columns[number, name]

    def _view(self, number: int, name: str) -> NDArray[Any]:
        column = self.batches[number].column(name)
        dtype = np.dtype(column.type.to_pandas_dtype())
        values = np.frombuffer(column.buffers()[1], dtype)
        return values[column.offset : column.offset + len(column)]

    def bisect(self, column: str, targets: Ints) -> Ints:
        """Count per run the rows whose value in the sorted ``column`` is below the target."""
        return self.bisect_in(column, np.arange(len(self.length)), targets)

    def bisect_in(self, column: str, codes: Ints, targets: Ints) -> Ints:
        """Do the same as ``bisect`` for the runs ``codes`` [N], which may repeat; targets: [N].

        One binary search in the fences advances over all runs at once. Then the target is compared
        with all rows of the block that was found.
        """
        begin = self._fence_begin[codes]
        fences = self._fences[column]
        blocks = _first_not_below(fences, begin, self._fence_begin[codes + 1], targets) - begin
        before = blocks * FENCE
        rows = (self.begin[codes] + before)[:, None] + _BLOCK
        block = np.zeros(rows.shape, np.int64)
        for number, lanes in self._by_part(codes):
            block[lanes] = self.column(number, column).take(rows[lanes], mode="clip")
        below = (block < targets[:, None]) & (rows < self.end[codes, None])
        return before + np.count_nonzero(below, axis=1)

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
        rows = self.begin[codes] + offsets
        places = [(number, lanes, rows[lanes]) for number, lanes in self._by_part(codes)]
        return Picked(self, len(rows), places)

    def values(self, column: str, codes: Ints, offsets: Ints) -> NDArray[Any]:
        """Return one column of the rows that ``pick`` chooses."""
        return self.pick(codes, offsets).values(column)

    def run(self, column: str, code: int) -> NDArray[Any]:
        """Return a view of all values of one run; nulls have any value."""
        if (column, code) not in self._run_views:
            rows = slice(self.begin[code], self.end[code])
            values = self.column(int(self.part[code]), column) if self.length[code] else _NOTHING
            self._run_views[column, code] = values[rows]
        return self._run_views[column, code]

    def find_texts(self, column: str, code: int, texts: Sequence[str]) -> Ints:
        """Find the offsets in one run where a column of text has one of ``texts``. Read it all."""
        if not self.length[code]:
            return np.zeros(0, np.int64)
        run = self.texts(column, code)
        return np.flatnonzero(pc.is_in(run, pa.array(texts, run.type)).to_numpy(False))

    def texts(self, column: str, code: int) -> pa.Array:
        """Return a view of a column of text in one run that has rows."""
        rows = self.batches[int(self.part[code])].column(column)
        return rows.slice(self.begin[code], self.length[code])

    def _by_part(self, codes: Ints) -> Iterator[tuple[int, Any]]:
        """Yield each part and the places of its runs in ``codes``; skip runs without rows."""
        parts = self.part[codes]
        if len(self.batches) == 1 and len(codes) and parts.min() == 0:
            yield 0, slice(None)
            return
        for number in range(len(self.batches)):
            lanes = (parts == number).nonzero()[0]
            if len(lanes):
                yield number, lanes


@dataclass(frozen=True, slots=True)
class Picked:
    """Chosen rows of a table.

    Attributes:
        count: the number N of rows.
        places: the number of each part, which of the N rows lie in it, and which rows of it they
            are.
    """

    table: MappedTable
    count: int
    places: list[tuple[int, Any, Ints]]

    def values(self, column: str) -> NDArray[Any]:
        """Return the values [N] of a column without nulls."""
        gathered: NDArray[Any] | None = None
        for number, lanes, rows in self.places:
            values = self.table.column(number, column)
            if gathered is None:
                gathered = np.zeros(self.count, values.dtype)
            gathered[lanes] = values[rows]
        return np.zeros(self.count, np.int64) if gathered is None else gathered

    def nullable(self, column: str) -> Ints:
        """Return the values [N] of a column of int64, with NONE for null."""
        gathered = self.values(column)
        for number, lanes, rows in self.places:
            bits = self.table.batches[number].column(column).buffers()[0]
            if bits is not None:
                valid = (np.frombuffer(bits, np.uint8)[rows >> 3] >> (rows & 7)) & 1
                gathered[lanes] = np.where(valid, gathered[lanes], NONE)
        return gathered

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
        gathered = np.full(self.count, None, object)
        for number, lanes, rows in self.places:
            texts = self.table.batches[number].column(column)
            if texts.null_count < len(texts):
                gathered[lanes] = texts.take(pa.array(rows)).to_pylist()
        return gathered.tolist()

    def number_or_none(self, column: str) -> int | None:
        """Return the value of the only row in a column of int64 that may be null."""
        number, _, rows = self.places[0]
        return self.table.batches[number].column(column)[int(rows[0])].as_py()


def ragged(codes: Ints, first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all (code, offset) with first <= offset < end of each code, in order."""
    counts = np.maximum(end - first, 0)
    starts = np.cumsum(counts) - counts
    offsets = np.arange(counts.sum()) - np.repeat(starts - first, counts)
    return np.repeat(codes, counts), offsets


def _first_not_below(values: Ints, begin: Ints, end: Ints, targets: Ints) -> Ints:
    """Return per lane the first row in begin .. end with values[row] >= target, or end."""
    if not len(values):
        return begin
    below = begin - 1  # the last row known to be below the target
    step = 1 << max(int((end - begin).max(initial=0)).bit_length() - 1, 0)
    while step:
        tried = below + step
        inside = tried < end
        below += step * (inside & (values.take(tried, mode="clip") < targets))
        step >>= 1
    return below + 1


def _mapped(folder: Path, part: Part) -> pa.RecordBatch:
    schema, _ = PARTED[part.table]
    batch = read_batch(folder / part.file, schema)
    if batch.num_rows != part.rows:
        raise StoreDamaged(
            part.file,
            f"It has {batch.num_rows} rows, the manifest says {part.rows}.",
            "Was it exchanged? Ingest the log again.",
        )
    return batch


def read_batch(path: Path, schema: pa.Schema) -> pa.RecordBatch:
    """Map a file of the layout that holds one batch. Raises: StoreDamaged."""
    where = name_in_recording(path)
    try:
        batch = map_batch(path)
    except FileNotFoundError:
        raise StoreDamaged(where, "It is missing.", "Was it deleted?") from None
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise StoreDamaged(
            where, f"It cannot be read ({error}).", "Was it cut short, or is the disk full?"
        ) from error
    if batch.schema != schema:
        raise StoreDamaged(
            where,
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
