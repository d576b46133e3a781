"""Write the files of a stored recording: the parts of its tables, and the small tables.

Many processes may write parts at once, in any order, and more than once if a task is tried again:
names are unique, and only the parts that the manifest lists count. What a function here returns
belongs in ``Manifest.parts``.
"""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.store.encoding import encode
from snapshots.store.flights import reach_and_disorder
from snapshots.store.layout import (
    DISORDER_COLUMNS,
    EVENTS,
    FOLLOWING,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    NONE,
    PARTED,
)
from snapshots.store.manifest import Part
from snapshots.store.objects.paths import is_here
from snapshots.store.outlines import drop_outline, keep_outline, outline_of
from snapshots.store.pages import MappedFile, map_file

_DISORDER_OF = {MESSAGES: MESSAGE_DISORDER, MARKERS: MARKER_DISORDER}


def write_events(folder: Path, events: pa.Table) -> list[Part]:
    """Write one part of the events.

    ``events`` has EVENT_COLUMNS and holds whole processes, sorted by (process, index).
    """
    return _write_part(folder, EVENTS, events)


def write_messages(folder: Path, messages: pa.Table) -> list[Part]:
    """Write one part of the messages, and one of their disorder if there is any.

    ``messages`` has MESSAGE_COLUMNS without ``received_reach`` and holds whole channels, sorted by
    (channel, ordinal). It may lack the columns in FOLLOWING; then they are read from the events.
    """
    return _write_flights(folder, MESSAGES, messages)


def write_markers(folder: Path, markers: pa.Table) -> list[Part]:
    """Write one part of the markers as ``write_messages`` does, with MARKER_COLUMNS."""
    return _write_flights(folder, MARKERS, markers)


def _write_flights(folder: Path, table: str, flights: pa.Table) -> list[Part]:
    channel = flights["channel"].to_numpy()
    received = pc.fill_null(flights["received_index"], NONE).to_numpy()
    reach, disorder = reach_and_disorder(channel, received)
    columns = DISORDER_COLUMNS.names
    disordered = pa.table({name: getattr(disorder, name) for name in columns}, DISORDER_COLUMNS)
    complete = flights.append_column("received_reach", pa.array(reach))
    return [
        *_write_part(folder, table, complete),
        *_write_part(folder, _DISORDER_OF[table], disordered),
    ]


def _write_part(folder: Path, table: str, rows: pa.Table) -> list[Part]:
    if not rows.num_rows:
        return []
    schema, _ = PARTED[table]
    file = f"{table}/{secrets.token_hex(8)}.arrow"
    (folder / table).mkdir(exist_ok=True)
    write_batch(folder / file, encode(rows, _stored(table, rows, schema)))
    keep_outline(folder, file, outline_of(table, rows))
    return [Part(table, file, rows.num_rows)]


def _stored(table: str, rows: pa.Table, schema: pa.Schema) -> pa.Schema:
    """Return the columns that a part has: not those of messages that follow from the events."""
    following = set(FOLLOWING if table == MESSAGES else ()) - set(rows.column_names)
    return pa.schema([field for field in schema if field.name not in following])


def drop_parts(folder: Path, parts: Iterable[Part]) -> None:
    """Remove parts that no longer count, because others were written in their place."""
    for part in parts:
        (folder / part.file).unlink(missing_ok=True)
        drop_outline(folder, part.file)


@contextmanager
def synced(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing and force it to the disk at the end of the block."""
    with path.open("wb") as sink:
        yield sink
        sink.flush()
        os.fsync(sink.fileno())


def sync_folder(folder: Path) -> None:
    """Force the entries of a folder to the disk, or the bytes of a file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Force all files and folders below a folder, and its own entries, to the disk."""
    for path in folder.rglob("*"):
        sync_folder(path)
    sync_folder(folder)


def write_table(path: Path, rows: pa.Table, schema: pa.Schema) -> None:
    """Write one Arrow IPC file of one record batch and force it to the disk.

    ``rows`` has at least the columns of ``schema``, in any order.
    Raises: OSError if the disk is full; KeyError or pa.ArrowInvalid if rows do not fit the schema.
    """
    columns = rows.select(schema.names).cast(schema).combine_chunks().columns
    arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else [] for column in columns]
    write_batch(path, pa.RecordBatch.from_arrays(arrays, schema=schema))


def replace_table(path: Path, rows: pa.Table, schema: pa.Schema) -> None:
    """Write a file as ``write_table`` does, but at once: after a crash it is there or it is not."""
    if not is_here(path):
        write_table(path, rows, schema)
        return
    temporary = path.with_name(f".{path.name}")
    write_table(temporary, rows, schema)
    temporary.rename(path)


def write_batch(path: Path, batch: pa.RecordBatch) -> None:
    """Write one Arrow IPC file of this record batch and force it to the disk."""
    with synced(path) as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a whole file at once: after a crash it holds the old content or the new."""
    if not is_here(path):
        path.write_bytes(content)
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with synced(temporary) as sink:
            sink.write(content)
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_blocks(
    path: Path, shape: tuple[int, int], kind: np.dtype, blocks: Iterable[np.ndarray]
) -> None:
    """Write a matrix as ``numpy.save`` does and force it to the disk, holding one block at a time.

    ``blocks`` hold the numbers of the rows, one row after another, in any kind that fits ``kind``.
    """
    header = {"descr": kind.str, "fortran_order": False, "shape": shape}
    with synced(path) as sink:
        np.lib.format.write_array_header_1_0(sink, header)
        for block in blocks:
            sink.write(np.ascontiguousarray(block, kind).data)


def map_batch(path: Path) -> pa.RecordBatch:
    """Map a file that holds one record batch; the columns are views of its pages.

    One on an object store is read as a whole.

    Raises: FileNotFoundError; pa.ArrowInvalid if the file is not of this form.
    """
    return batch_of(map_file(path))


def batch_of(content: bytes | memoryview | MappedFile) -> pa.RecordBatch:
    """Return the record batch of a file with this content, as views of it.

    Raises: pa.ArrowInvalid if it is not of this form.
    """
    reader = pa.ipc.open_file(pa.py_buffer(content))
    if reader.num_record_batches != 1:
        raise pa.ArrowInvalid(f"{reader.num_record_batches} record batches, not 1")
    return reader.get_batch(0)
