"""Every FENCE-th value of the columns that are searched: the top of each binary search.

Searches then touch one page of the table per run, and stay as fast when the recording grows. One
matrix per table, ``fences/<table>.npy``: one row per searched column; the runs one after the other
in the order of their codes, each with the value of the last row of every whole block.
"""

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.errors import StoreDamaged, place_of
from snapshots.store.layout import (
    EVENTS,
    FENCES,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
)
from snapshots.store.pages import map_file
from snapshots.store.parts import write_matrix

FENCE = 16  # rows in a block

_LONGEST_HEADER = 1024  # bytes before the numbers of a matrix

SEARCHED = {
    EVENTS: ("at", "step"),
    MESSAGES: ("sent_index", "received_reach"),
    MESSAGE_DISORDER: ("received_sorted", "received_floor", "lost"),
    MARKERS: ("sent_index", "received_reach"),
    MARKER_DISORDER: ("received_sorted", "received_floor", "lost"),
}


def write_fences(
    folder: Path, table: str, batches: list[pa.RecordBatch], runs: Iterable[tuple[int, int, int]]
) -> None:
    """runs: (part, begin, end) of the codes that have rows, in the order of the codes."""
    columns = [[batch.column(name).to_numpy() for batch in batches] for name in SEARCHED[table]]
    blocks = [
        [column[part][begin + FENCE - 1 : end : FENCE] for part, begin, end in runs]
        for column in columns
    ]
    none = np.zeros(0, np.int64)
    matrix = np.stack([np.concatenate([none, *column]) for column in blocks])
    (folder / FENCES).mkdir(exist_ok=True)
    write_matrix(folder / FENCES / f"{table}.npy", matrix)


def read_fences(folder: Path, table: str, count: int) -> dict[str, np.ndarray]:
    """The fences of every searched column, mapped; count: how many. Raises: StoreDamaged."""
    matrix = read_matrix(folder / FENCES / f"{table}.npy", (len(SEARCHED[table]), count))
    return dict(zip(SEARCHED[table], matrix, strict=True))


def read_matrix(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """A mapped matrix of that shape. Raises: StoreDamaged."""
    try:
        mapped = map_file(path)
        header = io.BytesIO(mapped[:_LONGEST_HEADER])
        np.lib.format.read_magic(header)
        found, _, dtype = np.lib.format.read_array_header_1_0(header)
        if found != shape:
            raise ValueError(f"its shape is {found}, not {shape}")
        values = np.frombuffer(mapped, dtype, shape[0] * shape[1], header.tell())
    except (OSError, ValueError) as error:
        raise StoreDamaged(
            place_of(path),
            f"It cannot be read ({error}).",
            "Was it deleted or cut short? Ingest the log again.",
        ) from error
    return values.reshape(shape)
