"""Columns that grow at their end, in files without a name, so that memory need not hold them.

Rows that were written are changed in one case only: when a message arrives (see ``following.py``).
A column that outgrows its file gets one twice as large. Whoever still reads the smaller one finds
there what was in it.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints

_FIRST_ROWS = 1024
_FIRST_BYTES = 2**16
_FIRST_OF_RUN = 8  # rows that a run has room for at first


def _mapped(folder: Path, count: int, kind: type) -> Any:
    """Return zeros in a file that goes away with them. Raises: OSError.

    Its blocks are on the disk at once: to write into a hole would end the process on a full disk.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, count * np.dtype(kind).itemsize)
        return np.memmap(file, kind, "r+", shape=(count,))


class Heap:
    """Texts one behind the other. A text is known by where it begins, and by its bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.bytes: NDArray[np.uint8] = _mapped(folder, _FIRST_BYTES, np.uint8)
        self.used = 0

    def add(self, texts: list[str | None]) -> tuple[list[int], list[int]]:
        """Add texts; return where each begins, and its bytes, NONE for null."""
        begins, sizes, pieces = [], [], []
        at = self.used
        for text in texts:
            piece = b"" if text is None else text.encode()
            begins.append(at)
            sizes.append(NONE if text is None else len(piece))
            pieces.append(piece)
            at += len(piece)
        self._make_room(at)
        self.bytes[self.used : at] = np.frombuffer(b"".join(pieces), np.uint8)
        self.used = at
        return begins, sizes

    def _make_room(self, end: int) -> None:
        if end > len(self.bytes):
            larger = _mapped(self._folder, max(end, 2 * len(self.bytes)), np.uint8)
            larger[: self.used] = self.bytes[: self.used]
            self.bytes = larger


class GrowingTable:
    """Rows of several runs, each run in a region of its own, with columns of numbers and texts.

    A run that outgrows its region moves into one twice as large. The old region is not used again,
    so an older view of the table stays as it was.

    Attributes:
        columns: the numbers; of a text, where it begins and its bytes, as ``name.begin`` and
            ``name.size``.
        begin: int64[runs], the first row of each run.
        length: int64[runs], how many rows each run has.
    """

    def __init__(
        self, folder: Path, numbers: tuple[str, ...], texts: tuple[str, ...], runs: int
    ) -> None:
        self._folder = folder
        self.texts = texts
        names = [*numbers, *(f"{text}.{part}" for text in texts for part in ("begin", "size"))]
        self.columns: dict[str, Ints] = {
            name: _mapped(folder, _FIRST_ROWS, np.int64) for name in names
        }
        self.heap = Heap(folder) if texts else None
        self.begin, self.length = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
        self._room = np.zeros(runs, np.int64)
        self._used = 0

    def append(
        self, run: int, rows: dict[str, list[int]], texts: dict[str, list[str | None]]
    ) -> None:
        """Add rows at the end of a run: lists of equal length, for each column. Raises: OSError."""
        count = len(next(iter(rows.values())))
        first = self._place(run, count)
        part = slice(first, first + count)
        for name, values in rows.items():
            self.columns[name][part] = values
        for name, some in texts.items():
            assert self.heap is not None  # a table with texts has one
            begins, sizes = self.heap.add(some)
            self.columns[f"{name}.begin"][part] = begins
            self.columns[f"{name}.size"][part] = sizes
        self.length[run] += count

    def rows(self, run: int, first: int, end: int) -> slice:
        """Return where the rows ``first`` .. ``end`` - 1 of a run are now."""
        begin = int(self.begin[run])
        return slice(begin + first, begin + end)

    def _place(self, run: int, count: int) -> int:
        """Make room for more rows of a run, and return the first of them."""
        length = int(self.length[run])
        if length + count > self._room[run]:
            room = max(_FIRST_OF_RUN, 2 * (length + count))
            self._make_room(self._used + room)
            old, new = self.rows(run, 0, length), slice(self._used, self._used + length)
            for column in self.columns.values():
                column[new] = column[old]
            self.begin[run], self._room[run] = self._used, room
            self._used += room
        return int(self.begin[run]) + length

    def _make_room(self, rows: int) -> None:
        present = len(next(iter(self.columns.values())))
        if rows <= present:
            return
        for name, column in self.columns.items():
            larger = _mapped(self._folder, max(rows, 2 * present), np.int64)
            larger[: self._used] = column[: self._used]
            self.columns[name] = larger


def texts_of(heap: NDArray[np.uint8], begins: Ints, sizes: Ints) -> list[str | None]:
    """Return texts by their places in a heap."""
    return [
        None if size == NONE else heap[begin : begin + size].tobytes().decode()
        for begin, size in zip(begins.tolist(), sizes.tolist(), strict=True)
    ]


def as_array(texts: list[str | None]) -> pa.Array:
    """Return an Arrow column of texts, of which some may be null."""
    return pa.array(texts, pa.large_string())
