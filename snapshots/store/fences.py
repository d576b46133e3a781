"""Keep every FENCE-th value of the searched columns, at which each binary search begins.

A search then touches one page of the table per run, and stays as fast when the recording grows.
There is one matrix per table, ``fences/<table>.npy``, with one row per searched column. A row holds
the value of the last row of every whole block, run after run in the order of their codes.
"""

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from snapshots.store.decoding import StoredPart
from snapshots.store.errors import StoreDamaged, name_in_recording
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

_LONGEST_HEADER = 1024  # bytes before the numbers of a matrix, at most

SEARCHED = {
    EVENTS: ("at", "step"),
    MESSAGES: ("sent_index", "received_reach"),
    MESSAGE_DISORDER: ("received_sorted", "received_floor", "lost"),
    MARKERS: ("sent_index", "received_reach"),
    MARKER_DISORDER: ("received_sorted", "received_floor", "lost"),
}


def write_fences(
    folder: Path, table: str, parts: list[StoredPart], runs: Iterable[tuple[int, int, int]]
) -> None:
    """Write the fences of one table.

    Args:
        parts: the parts of the table.
        runs: (part, begin, end) of each code that has rows, in the order of the codes.
    """
    rows = [(part, np.arange(begin + FENCE - 1, end, FENCE)) for part, begin, end in runs]
    blocks = [
        [parts[part].numbers(name, chosen) for part, chosen in rows] for name in SEARCHED[table]
    ]
    none = np.zeros(0, np.int64)
    matrix = np.stack([np.concatenate([none, *column]) for column in blocks])
    (folder / FENCES).mkdir(exist_ok=True)
    write_matrix(folder / FENCES / f"{table}.npy", matrix)


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
