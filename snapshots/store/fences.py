"""Keep every FENCE-th value of the searched columns, at which each binary search begins.

A search then touches one page of the table per run, and stays as fast when the recording grows.
There is one matrix per table, ``fences/<table>.npy``, with one row per searched column. A row holds
the value of the last row of every whole block, run after run in the order of their codes.
"""

import io
import math
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.layout import FENCES
from snapshots.store.objects import catalogues
from snapshots.store.objects.catalogues import LONGEST_HEADER
from snapshots.store.objects.far import MOST_BYTES, FarArray, far_file
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.outlines import SEARCHED, Outline, Runs
from snapshots.store.pages import map_file
from snapshots.store.parts import write_blocks

Ints = NDArray[np.int64]

_READING_HEADERS = threading.Lock()
"""numpy reads a header as a Python literal, in which Python 3.11 fails if threads do so at once."""
_STRETCH = 512
"""The values on a page of the file: one of each is kept in memory to find the page."""
_SEARCHED_AT_ONCE = min(32 * 2**20, MOST_BYTES // 8)
"""Bytes of far fences that are fetched at once; of more, each step of a search reads its own.

They come in a few requests. The steps would depend on each other, and each waits for the store.
"""


def write_fences(folder: Path, table: str, outlines: Sequence[Outline], runs: Runs) -> None:
    """Write the fences of one table, from the outlines of its parts and their merged runs."""
    pieces = _pieces(runs)
    blocks = (
        outlines[part].fences[column, first:end]
        for column in range(len(SEARCHED[table]))
        for part, first, end in pieces
    )
    shape = len(SEARCHED[table]), sum(end - first for _, first, end in pieces)
    (folder / FENCES).mkdir(exist_ok=True)
    write_blocks(folder / FENCES / f"{table}.npy", shape, np.dtype(np.int64), blocks)


def _pieces(runs: Runs) -> list[tuple[int, int, int]]:
    """Return (part, first, end) of the fences in the order of the codes; neighbours are joined."""
    if not len(runs.part):
        return []
    follows = runs.part[1:] == runs.part[:-1]
    follows &= runs.first_fence[1:] == runs.end_fence[:-1]
    first = np.flatnonzero(np.append(True, ~follows))
    last = np.append(first[1:], len(runs.part)) - 1
    columns = runs.part[first], runs.first_fence[first], runs.end_fence[last]
    return list(zip(*(column.tolist() for column in columns), strict=True))


class Fences:
    """The fences of one column, run after run. Safe for threads: nothing changes but a cache."""

    def __init__(self, values: np.ndarray | FarArray) -> None:
        self._values = values

    def first_not_below(self, begin: Ints, end: Ints, targets: Ints) -> Ints:
        """Return what the function ``first_not_below`` does.

        A search in long runs first finds the stretch, whose last values are kept in memory. So it
        touches one or two pages of the file, and not one for each of its steps.
        """
        if isinstance(self._values, FarArray) or (end - begin).max(initial=0) <= _STRETCH:
            return first_not_below(self._values, begin, end, targets)
        # The stretches whose last value lies in the run.
        first, last = begin // _STRETCH, end // _STRETCH
        found = first_not_below(self._coarse, first, last, targets) * _STRETCH
        begin, end = np.maximum(begin, found), np.minimum(end, found + _STRETCH - 1)
        return first_not_below(self._values, begin, end, targets)

    def fetch(self) -> None:
        """Read all of them if they are far, unless a search would not do so either."""
        if isinstance(self._values, FarArray):
            whole = np.zeros(1, np.int64), np.array([len(self._values)])
            self._values.fetch(*whole, _SEARCHED_AT_ONCE)

    @cached_property
    def _coarse(self) -> Ints:
        """Return the last value of every whole stretch."""
        return np.array(self._values[_STRETCH - 1 :: _STRETCH])


def first_not_below(values: Ints | FarArray, begin: Ints, end: Ints, targets: Ints) -> Ints:
    """Return per lane the first row in begin .. end with values[row] >= target, or end."""
    if not len(values):
        return begin
    if isinstance(values, FarArray):
        values.fetch(begin, end, _SEARCHED_AT_ONCE)
    below = begin - 1  # the last row known to be below the target
    step = 1 << max(int((end - begin).max(initial=0)).bit_length() - 1, 0)
    while step:
        tried = below + step
        inside = tried < end
        below += step * (inside & (values.take(tried, mode="clip") < targets))
        step >>= 1
    return below + 1


def read_fences(folder: Path, table: str, count: int) -> dict[str, Fences]:
    """Map the ``count`` fences of each searched column. Raises: StoreDamaged."""
    path, shape = folder / FENCES / f"{table}.npy", (len(SEARCHED[table]), count)
    rows = _far_rows(path, shape) if isinstance(path, ObjectPath) else read_matrix(path, shape)
    return dict(zip(SEARCHED[table], map(Fences, rows), strict=True))


def _far_rows(path: ObjectPath, shape: tuple[int, int]) -> list[FarArray]:
    """Return the rows of a matrix on an object store. Raises: StoreDamaged, StoreUnreachable."""
    try:
        numbers = far_numbers(path)
        if len(numbers) != shape[0] * shape[1]:
            raise ValueError(f"it has {len(numbers)} numbers, not {shape}")
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return [numbers.part(row * shape[1], shape[1]) for row in range(shape[0])]


def far_numbers(path: ObjectPath) -> FarArray:
    """Open a ``.npy`` file on an object store as one sequence of numbers.

    Raises: FileNotFoundError, ValueError, StoreUnreachable.
    """
    file = far_file(path)
    known = catalogues.entry(path.bucket, path.key)
    head = known.head if known else b""
    (shape, _, dtype), begin = _header(head or file.between(0, min(LONGEST_HEADER, file.size)))
    return FarArray(file, np.frombuffer(file.memory, dtype, math.prod(shape), begin))


def _header(content: bytes) -> tuple[tuple[tuple[int, ...], bool, np.dtype], int]:
    """Return shape, order and type of a ``.npy`` file, and where its numbers begin."""
    header = io.BytesIO(content)
    np.lib.format.read_magic(header)
    with _READING_HEADERS:
        return np.lib.format.read_array_header_1_0(header), header.tell()


def read_matrix(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Map a matrix of the given shape. Raises: StoreDamaged."""
    try:
        mapped = map_file(path)
        (stored_shape, _, dtype), begin = _header(mapped[:LONGEST_HEADER])
        if stored_shape != shape:
            raise ValueError(f"its shape is {stored_shape}, not {shape}")
        values = np.frombuffer(mapped, dtype, shape[0] * shape[1], begin)
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return values.reshape(shape)


def _damaged(path: Path, error: Exception) -> StoreDamaged:
    return StoreDamaged(
        name_in_recording(path),
        f"It cannot be read ({error}).",
        "Was it deleted or cut short? Ingest the log again.",
    )
