"""Writing files of a stored recording: parts (by anyone, in any order) and the small tables.

Parts may be written by many processes at once and more than once (a task that is tried again):
names are unique, and only the parts that the manifest lists count. What a function here returns
belongs into ``Manifest.parts``.
"""

import os
import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.store.flights import reach_and_disorder
from snapshots.store.layout import (
    DISORDER_COLUMNS,
    EVENTS,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    NONE,
    PARTED,
)
from snapshots.store.manifest import Part
from snapshots.store.pages import map_file

_DISORDER_OF = {MESSAGES: MESSAGE_DISORDER, MARKERS: MARKER_DISORDER}


def write_events(folder: Path, events: pa.Table) -> list[Part]:
    """Write one part of the events. events: EVENT_COLUMNS, whole processes, sorted as they say."""
    return _write_part(folder, EVENTS, events)


def write_messages(folder: Path, messages: pa.Table) -> list[Part]:
    """Write one part of the messages, and of their disorder where there is any.

    messages: MESSAGE_COLUMNS without ``received_reach``, whole channels, by (channel, ordinal).
    """
    return _write_flights(folder, MESSAGES, messages)


def write_markers(folder: Path, markers: pa.Table) -> list[Part]:
    """As ``write_messages``, with MARKER_COLUMNS."""
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
    write_table(folder / file, rows, schema)
    return [Part(table, file, rows.num_rows)]


def write_table(path: Path, rows: pa.Table, schema: pa.Schema) -> None:
    """Write one Arrow IPC file of one record batch and see it to the disk.

    rows: at least the columns of ``schema``, in any order. Raises: OSError (disk full), KeyError or
    pa.ArrowInvalid for rows that do not fit the schema.
    """
    columns = rows.select(schema.names).cast(schema).combine_chunks().columns
    arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else [] for column in columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(batch)
        sink.flush()
        os.fsync(sink.fileno())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a whole file at once: after a crash it holds the old content or the new."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with temporary.open("wb") as sink:
        sink.write(content)
        sink.flush()
        os.fsync(sink.fileno())
    temporary.rename(path)


def write_matrix(path: Path, matrix: np.ndarray) -> None:
    """Write one ``.npy`` file and see it to the disk."""
    with path.open("wb") as sink:
        np.save(sink, np.ascontiguousarray(matrix))
        sink.flush()
        os.fsync(sink.fileno())


def map_batch(path: Path) -> pa.RecordBatch:
    """The one record batch of a file, mapped: columns are pages of the file.

    Raises: FileNotFoundError; pa.ArrowInvalid if it is no such file.
    """
    reader = pa.ipc.open_file(pa.py_buffer(map_file(path)))
    if reader.num_record_batches != 1:
        raise pa.ArrowInvalid(f"{reader.num_record_batches} record batches, not 1")
    return reader.get_batch(0)
