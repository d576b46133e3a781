"""Keep every FENCE-th value of the searched columns, at which each binary search begins.

A search then touches one page of the table per run, and stays as fast when the recording grows.
There is one matrix per table, ``fences/<table>.npy``, with one row per searched column. A row holds
the value of the last row of every whole block, run after run in the order of their codes.
"""

import io
import math
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.layout import FENCES
from snapshots.store.objects.far import FarArray, far_file
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.outlines import SEARCHED, Outline, Runs
from snapshots.store.pages import map_file
from snapshots.store.parts import write_blocks

_READING_HEADERS = threading.Lock()
"""numpy reads a header as a Python literal, in which Python 3.11 fails if threads do so at once."""
_LONGEST_HEADER = 1024  # bytes before the numbers of a matrix, at most


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


def read_fences(folder: Path, table: str, count: int) -> dict[str, np.ndarray | FarArray]:
    """Map the ``count`` fences of each searched column. Raises: StoreDamaged."""
    path, shape = folder / FENCES / f"{table}.npy", (len(SEARCHED[table]), count)
    rows = _far_rows(path, shape) if isinstance(path, ObjectPath) else read_matrix(path, shape)
    return dict(zip(SEARCHED[table], rows, strict=True))


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
    with file.held(np.zeros(1, np.int64), np.array([min(_LONGEST_HEADER, file.size)])):
        (shape, _, dtype), begin = _header(file.memory[:_LONGEST_HEADER])
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
        (stored_shape, _, dtype), begin = _header(mapped[:_LONGEST_HEADER])
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
