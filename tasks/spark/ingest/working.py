"""Write and read the large working tables of the ingest, which are small on disk.

Such a table is sorted by a code. Its file holds compressed batches of some thousand rows, and says
which codes are in each, so that a task decompresses only the batches with codes of its own.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.objects.paths import ObjectPath

ROWS_PER_BATCH = 4_096
_OPTIONS = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
_BOUNDS = b"codes"  # in the metadata: int64[2, batches], the first and the last code of each batch


def write_sorted(path: Path, table: pa.Table, key: str) -> None:
    """Write a table with rows that is sorted by the column ``key``. Raises: OSError."""
    codes = table[key].to_numpy()
    begins = np.arange(0, len(codes), ROWS_PER_BATCH)
    ends = np.append(begins[1:], len(codes))
    bounds = np.stack([codes[begins], codes[ends - 1]]).astype(np.int64)
    table = table.combine_chunks().replace_schema_metadata({_BOUNDS: bounds.tobytes()})
    with (
        path.open("wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=_OPTIONS) as writer,
    ):
        writer.write_table(table, max_chunksize=ROWS_PER_BATCH)


def read_codes(path: Path, key: str, first: int, end: int) -> pa.Table:
    """Return the rows whose code in the column ``key`` is in [``first``, ``end``)."""
    with _opened(path) as source:
        file = pa.ipc.open_file(source)
        low, high = np.frombuffer(file.schema.metadata[_BOUNDS], np.int64).reshape(2, -1)
        begin, stop = np.searchsorted(high, first), np.searchsorted(low, end)
        batches = [file.get_batch(number) for number in range(begin, stop)]
        table = pa.Table.from_batches(batches, file.schema.remove_metadata())
    bounds = np.searchsorted(table[key].to_numpy(), [first, end])
    return table.slice(bounds[0], bounds[1] - bounds[0])


def read_all(path: Path) -> pa.Table:
    """Return all rows of a working table."""
    with _opened(path) as source:
        return pa.ipc.open_file(source).read_all().replace_schema_metadata()


def differences(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return each number minus the one before it of the same code; the first of a code stays.

    Rows are sorted by code. Numbers that rise along each code become small ones, which take less
    room on disk. ``summed`` gives them back.
    """
    is_first = np.diff(codes, prepend=codes[:1] - 1) != 0
    found: np.ndarray = numbers - np.where(is_first, 0, np.roll(numbers, 1))
    return found


def summed(steps: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the numbers of which ``differences`` made these, for all rows of some codes."""
    first = np.searchsorted(codes, codes)
    total = np.cumsum(steps)
    found: np.ndarray = total - (total - steps)[first]
    return found


def _opened(path: Path) -> pa.NativeFile:
    """Map a working table, or open it to be read by ranges if it is on an object store."""
    if isinstance(path, ObjectPath):
        return pa.PythonFile(path.open("rb"), "r")
    return pa.memory_map(str(path))
