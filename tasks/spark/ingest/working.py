"""Write and read the large working tables of the ingest, which are small on disk.

Such a table is sorted by a code. Its file holds compressed batches of some thousand rows, and says
which codes are in each, so that a task decompresses only the batches with codes of its own. Whole
numbers are stored in as few bytes as the largest of a column needs.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.store.objects.paths import ObjectPath
from snapshots.store.packing import pack, unpack

ROWS_PER_BATCH = 4_096
_BLOCK = pa.schema([("block", pa.binary())])  # one row: a whole batch, packed at once
_BOUNDS = b"codes"  # in the metadata: int64[2, batches], the first and the last code of each batch
_ROWS, _STORED = b"rows", b"stored"  # there, too: the schema of the table, and of its batches
_NARROW = (pa.int8(), pa.int16(), pa.int32())


def write_sorted(path: Path, table: pa.Table, key: str) -> None:
    """Write a table with rows that is sorted by the column ``key``. Raises: OSError."""
    codes = table[key].to_numpy()
    begins = np.arange(0, len(codes), ROWS_PER_BATCH)
    ends = np.append(begins[1:], len(codes))
    bounds = np.stack([codes[begins], codes[ends - 1]]).astype(np.int64)
    narrow = _narrowed(table.combine_chunks())
    facts = {
        _BOUNDS: bounds.tobytes(),
        _ROWS: _described(table.schema),
        _STORED: _described(narrow.schema),
    }
    with (
        path.open("wb") as sink,
        pa.ipc.new_file(sink, _BLOCK.with_metadata(facts)) as writer,
    ):
        for batch in narrow.to_batches(max_chunksize=ROWS_PER_BATCH):
            block = pa.array([pack(batch.serialize())], pa.binary())
            writer.write_batch(pa.record_batch([block], _BLOCK))


def read_codes(path: Path, key: str, first: int, end: int) -> pa.Table:
    """Return the rows whose code in the column ``key`` is in [``first``, ``end``)."""
    with _opened(path) as source:
        file = pa.ipc.open_file(source)
        low, high = np.frombuffer(file.schema.metadata[_BOUNDS], np.int64).reshape(2, -1)
        begin, stop = np.searchsorted(high, first), np.searchsorted(low, end)
        table = _unpacked(file, range(begin, stop))
    bounds = np.searchsorted(table[key].to_numpy(), [first, end])
    return _widened(table.slice(bounds[0], bounds[1] - bounds[0]), file)


def read_all(path: Path) -> pa.Table:
    """Return all rows of a working table."""
    with _opened(path) as source:
        file = pa.ipc.open_file(source)
        return _widened(_unpacked(file, range(file.num_record_batches)), file)


def _narrowed(table: pa.Table) -> pa.Table:
    """Return the table with each column of whole numbers in as few bytes as it needs."""
    columns = [_narrow(column) for column in table.columns]
    fields = [
        field.with_type(column.type) for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, pa.schema(fields))


def _narrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    if not pa.types.is_integer(column.type):
        return column
    low, high = pc.min_max(column).values()
    for kind in _NARROW:
        most = 2 ** (kind.bit_width - 1)
        if not low.is_valid or (-most <= low.as_py() and high.as_py() < most):
            return column.cast(kind)
    return column


def _unpacked(file: pa.RecordBatchFileReader, numbers: Iterable[int]) -> pa.Table:
    """Return some batches of a file, as they are stored."""
    schema = pa.ipc.read_schema(pa.py_buffer(file.schema.metadata[_STORED]))
    blocks = (unpack(file.get_batch(number)[0][0].as_buffer()) for number in numbers)
    batches = [pa.ipc.read_record_batch(block, schema) for block in blocks]
    return pa.Table.from_batches(batches, schema)


def _widened(table: pa.Table, file: pa.RecordBatchFileReader) -> pa.Table:
    return table.cast(pa.ipc.read_schema(pa.py_buffer(file.schema.metadata[_ROWS])))


def _described(schema: pa.Schema) -> bytes:
    described: bytes = schema.serialize().to_pybytes()
    return described


def taken(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Return all rows of a table in this order. A column without values is not copied."""
    order = pa.array(rows)
    columns = [
        column if column.null_count == len(column) else column.take(order)
        for column in table.columns
    ]
    return pa.table(columns, table.schema)


def differences(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return each number minus the one before it of the same code; the first of a code stays.

    Rows are sorted by code. Numbers that rise along each code become small ones, which take less
    room on disk. ``summed`` gives them back.
    """
    begins, _ = runs_of(codes)
    found = numbers.copy()
    found[1:] -= numbers[:-1]
    found[begins] = numbers[begins]
    return found


def summed(steps: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the numbers of which ``differences`` made these, for all rows of some codes."""
    begins, counts = runs_of(codes)
    total = np.cumsum(steps)
    found: np.ndarray = total - np.repeat(total[begins] - steps[begins], counts)
    return found


def runs_of(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row and the rows of each run of equal codes in a sorted column."""
    is_first = np.ones(len(codes), bool)
    is_first[1:] = codes[1:] != codes[:-1]
    begins = np.flatnonzero(is_first)
    return begins, np.diff(begins, append=len(codes))


def _opened(path: Path) -> pa.NativeFile:
    """Map a working table, or open it to be read by ranges if it is on an object store."""
    if isinstance(path, ObjectPath):
        return pa.PythonFile(path.open("rb"), "r")
    return pa.memory_map(str(path))
