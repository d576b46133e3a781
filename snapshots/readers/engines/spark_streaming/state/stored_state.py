"""Decode the state of one partition from its files, without Spark.

It reads HDFS-backed stores, and RocksDB's without column families.
"""

import struct
from dataclasses import dataclass, replace

from snapshots.readers.engines.spark_streaming.checkpoint import CONF, SparkCheckpoint
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.files import DamagedFile, damaged_by
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.deltas import MERGE, Record, read_records
from snapshots.readers.engines.spark_streaming.state.readings import (
    DEFAULT,
    JOIN_SIDE,
    STORE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.rocksdb_tables import read_tables
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import read_zip
from snapshots.readers.engines.spark_streaming.state.schemas import ColumnFamily
from snapshots.readers.engines.spark_streaming.state.sql_types import Struct
from snapshots.readers.engines.spark_streaming.state.store_files import (
    CHANGELOG,
    ZIP,
    Chain,
    PartitionFiles,
    VersionFile,
    chain,
)
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import read_row
from snapshots.readers.formats.cursor import Malformed, NotReadHere

UPDATE, DELETE = "update", "delete"
_LENGTH = struct.Struct("<I")
_JOIN_COLUMNS = {"key": "index", "value": "matched"}  # which a join adds to the rows of a side


class NotDecodable(Exception):
    """Only Spark can read this state, or nothing can; the message is a sentence."""


@dataclass
class Left:
    """How much may still be read of one state at one batch, over all its partitions."""

    bytes: int
    records: int

    @classmethod
    def of(cls, limits: SparkLimits) -> "Left":
        return cls(limits.state_bytes, limits.state_records)


@dataclass(frozen=True)
class Place:
    """One partition of one store of one operator."""

    operator: int
    store: str
    partition: int


def read_partition(
    checkpoint: SparkCheckpoint,
    operator: int,
    reading: Reading,
    partition: int,
    version: int,
    limits: SparkLimits,
    left: Left | None = None,
) -> list[dict[str, Json]]:
    """Return the rows of one version of a state, with ``key`` and ``value``, in no order.

    Args:
        checkpoint: the checkpoint.
        operator, reading, partition, version: which state.
        limits: upper bounds.
        left: what may be read, if several partitions share it; it is reduced.

    Raises: NotDecodable, DamagedFile.
    """
    left = left or Left.of(limits)
    place = _place(operator, reading, partition)
    family = family_of(checkpoint, place)
    needed = chain_of(checkpoint, place, version)
    if needed.lacking:
        raise NotDecodable(
            f"Partition {partition} lacks {needed.missing}"
            + (f" and {needed.lacking - 1:,} more files" if needed.lacking > 1 else "")
            + f", so that version {version} of its state cannot be put together."
        )
    state: dict[bytes, bytes] = {}
    for file in needed.files:
        if file.kind == ZIP:
            state = read_snapshot(checkpoint, file, limits)
            left.bytes -= sum(len(key) + len(value) for key, value in state.items())
            continue
        records, size = checked_records(checkpoint, file, max(0, left.bytes), limits)
        left.bytes -= size
        for record in records:
            if record.value is None:
                state.pop(record.key, None)
            else:
                state[record.key] = record.value
    left.records -= len(state)
    if left.bytes < 0 or left.records < 0:
        raise NotDecodable(
            f"Up to partition {partition} this state has more than {limits.state_records:,} keys "
            f"or {limits.state_bytes:,} bytes, the most that is read of its files."
        )
    is_join_side = reading.kind == JOIN_SIDE
    last = needed.files[-1] if needed.files else None
    return [_row(family, last, key, value, is_join_side) for key, value in state.items()]


def read_changes(
    checkpoint: SparkCheckpoint,
    operator: int,
    reading: Reading,
    partition: int,
    batches: range,
    limits: SparkLimits,
    left: Left | None = None,
) -> list[dict[str, Json]]:
    """Return the changes of batches, in order: rows of ``batch``, ``change``, ``key``, ``value``.

    ``change`` is UPDATE or DELETE; the value of a DELETE is None. The arguments are those of
    ``read_partition``. Raises: NotDecodable, DamagedFile.
    """
    place = _place(operator, reading, partition)
    family = family_of(checkpoint, place)
    left = left or Left.of(limits)
    changes = []
    for batch in batches:
        ids = ids_of(checkpoint, place)
        file = listed(checkpoint, place).changes(batch + 1, ids)
        if file is None:
            raise NotDecodable(f"Partition {partition} has no file of what batch {batch} changed.")
        records, size = checked_records(checkpoint, file, max(0, left.bytes), limits)
        left.bytes -= size
        left.records -= len(records)
        if left.records < 0:
            raise NotDecodable(
                f"Up to partition {partition} there are more than {limits.state_records:,} "
                "changes, the most that are read of files."
            )
        for record in records:
            row = _row(family, file, record.key, record.value, False)
            change = DELETE if record.value is None else UPDATE
            changes.append({"batch": batch, "change": change, **row})
    return changes


def _place(operator: int, reading: Reading, partition: int) -> Place:
    if reading.kind not in (DEFAULT, STORE, JOIN_SIDE):
        raise NotDecodable("Only Spark can read state variables and timers.")
    return Place(operator, reading.store, partition)


def family_of(checkpoint: SparkCheckpoint, place: Place) -> ColumnFamily:
    """Return the types of a store's keys and values. Raises: NotDecodable."""
    schema = checkpoint.schemas.get((place.operator, place.store))
    if schema is None:
        raise NotDecodable(
            f"There is no readable schema of the store {place.store!r} of operator "
            f"{place.operator}, and without it its bytes have no meaning."
        )
    if schema.version > 2:
        raise NotDecodable("The store has column families, which only Spark can read.")
    settings = checkpoint.settings
    if settings.get(CONF + "encodingFormat", "unsaferow") != "unsaferow":
        raise NotDecodable("The state is not encoded as Spark's unsafe rows.")
    if settings.get(CONF + "rowChecksum.enabled") == "true":
        raise NotDecodable("The rows have checksums, which only Spark can read.")
    return replace(schema.default, prefix_columns=_prefix_columns(checkpoint, place))


def _prefix_columns(checkpoint: SparkCheckpoint, place: Place) -> int:
    operator = next((one for one in checkpoint.operators if one.id == place.operator), None)
    stores = (operator.stores or ()) if operator is not None else ()
    return max(0, next((one.prefix_columns for one in stores if one.name == place.store), 0))


def chain_of(checkpoint: SparkCheckpoint, place: Place, version: int) -> Chain:
    """Return the files that make up a version. Raises: NotDecodable if there is no partition."""
    return chain(listed(checkpoint, place), version, ids_of(checkpoint, place))


def listed(checkpoint: SparkCheckpoint, place: Place) -> PartitionFiles:
    """Return the state files of a partition. Raises: NotDecodable if there are none."""
    partitions = checkpoint.versions.get(place.operator, {}).get(place.store, {})
    if place.partition not in partitions:
        raise NotDecodable(
            f"There are no files of partition {place.partition} of the store {place.store!r}."
        )
    return partitions[place.partition]


def ids_of(checkpoint: SparkCheckpoint, place: Place) -> dict[int, str]:
    return checkpoint.state_ids(place.operator, place.store, place.partition)


def checked_records(
    checkpoint: SparkCheckpoint, file: VersionFile, most: int, limits: SparkLimits
) -> tuple[list[Record], int]:
    """Return the records of one file, and its unpacked size in bytes, at most ``most``.

    Raises: NotDecodable, also if a record appends to a list; DamagedFile.
    """
    records, size = read_records(checkpoint.files, file, checkpoint.codec, most, limits)
    if any(record.action == MERGE for record in records):
        raise NotDecodable(f"{file.path} appends to lists, which only Spark can read.")
    return records, size


def _row(
    family: ColumnFamily,
    file: VersionFile | None,
    key: bytes,
    value: bytes | None,
    is_join_side: bool,
) -> dict[str, Json]:
    is_rocksdb = file is not None and file.kind in (CHANGELOG, ZIP)
    try:
        row: dict[str, Json] = {
            "key": _key(key, family, is_rocksdb),
            "value": None if value is None else read_row(_payload(value, is_rocksdb), family.value),
        }
    except Malformed as error:
        path = file.path if file else "state"
        if isinstance(error, NotReadHere):
            raise damaged_by(path, error) from error
        raise DamagedFile(path, f"A row is damaged: {error}.") from error
    if is_join_side:
        for part, column in _JOIN_COLUMNS.items():
            row[part].pop(column, None)
    return row


def _key(data: bytes, family: ColumnFamily, is_rocksdb: bool) -> dict[str, Json]:
    """Decode a key. For a prefix scan it is the length of its first part, and two rows.

    Source: Spark's PrefixKeyScanStateEncoder, which writes the length in the machine's own order;
    all machines that Spark is built for are little-endian.
    """
    if not is_rocksdb or not family.prefix_columns:
        return read_row(_payload(data, is_rocksdb), family.key)
    if len(data) < _LENGTH.size:
        raise Malformed("A key for a prefix scan is shorter than its length", 0)
    (length,) = _LENGTH.unpack_from(data)
    first, rest = data[_LENGTH.size :][:length], data[_LENGTH.size + length :]
    if len(first) < length:
        raise Malformed(f"A prefix of {length:,} bytes is announced and fewer are left", 0)
    count, key = family.prefix_columns, family.key
    parts = (
        (first, Struct(key.columns[:count], key.names[:count])),
        (rest, Struct(key.columns[count:], key.names[count:])),
    )
    row: dict[str, Json] = {}
    for part, schema in parts:
        row |= read_row(_payload(part, is_rocksdb), schema)
    return row


def _payload(data: bytes, is_rocksdb: bool) -> bytes:
    """Return a row without the byte of its encoding, which RocksDB's rows have; it is always 0."""
    if not is_rocksdb:
        return data
    if data[:1] != b"\0":
        raise NotReadHere("A row has an encoding that is not read here", 0)
    return data[1:]


def read_snapshot(
    checkpoint: SparkCheckpoint, file: VersionFile, limits: SparkLimits
) -> dict[bytes, bytes]:
    """Return the keys and values in a snapshot of RocksDB. Raises: DamagedFile."""
    snapshot = read_zip(checkpoint.files, file.path, limits)
    return read_tables(checkpoint.files, snapshot.tables, limits)


def check_state(
    checkpoint: SparkCheckpoint, place: Place, file: VersionFile, limits: SparkLimits
) -> None:
    """Check one state file, as far as it can be read without Spark. Raises: DamagedFile."""
    pairs: list[tuple[bytes, bytes | None]]
    if file.kind == ZIP:
        pairs = [*read_snapshot(checkpoint, file, limits).items()]
    else:
        records, _ = read_records(
            checkpoint.files, file, checkpoint.codec, limits.state_bytes, limits
        )
        pairs = [(record.key, record.value) for record in records]
    try:
        family = family_of(checkpoint, place)
    except NotDecodable:
        return
    for key, value in pairs:
        _row(family, file, key, value, False)
