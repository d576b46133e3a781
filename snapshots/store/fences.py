"""Keep every FENCE-th value of the searched columns, at which each binary search begins.

A search then touches one page of the table per run, and stays as fast when the recording grows.
There is one matrix per table, ``fences/<table>.npy``, with one row per searched column. A row holds
the value of the last row of every whole block, run after run in the order of their codes.
"""

import io
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.layout import FENCES
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


def read_fences(folder: Path, table: str, count: int) -> dict[str, np.ndarray]:
    """Map the ``count`` fences of each searched column. Raises: StoreDamaged."""
    matrix = read_matrix(folder / FENCES / f"{table}.npy", (len(SEARCHED[table]), count))
    return dict(zip(SEARCHED[table], matrix, strict=True))


def read_matrix(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Map a matrix of the given shape. Raises: StoreDamaged."""
    try:
        mapped = map_file(path)
        header = io.BytesIO(mapped[:_LONGEST_HEADER])
        np.lib.format.read_magic(header)
        with _READING_HEADERS:
            stored_shape, _, dtype = np.lib.format.read_array_header_1_0(header)
        if stored_shape != shape:
            raise ValueError(f"its shape is {stored_shape}, not {shape}")
        values = np.frombuffer(mapped, dtype, shape[0] * shape[1], header.tell())
    except (OSError, ValueError) as error:
        raise StoreDamaged(
            name_in_recording(path),
            f"It cannot be read ({error}).",
            "Was it deleted or cut short? Ingest the log again.",
        ) from error
    return values.reshape(shape)
