"""Read the records in state files.

A record in a ``.delta`` or ``.snapshot`` of the HDFS-backed provider is a big-endian length, the
key, another length, and the value. A value's length of -1 deletes, a key's length of -1 ends the
file. A ``.changelog`` of RocksDB is the same in version 1. Versions 2 and 4 have a byte of type
before each record; 3 and 4 begin with the lineage of versions. Spark reads nothing behind the end.

Source: Spark's HDFSBackedStateStoreProvider, StateStoreChangelogWriter (versions 1 to 4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from snapshots.readers.engines.spark_streaming.files import FileNotRead, Files, damaged_by
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.blocks import unpack
from snapshots.readers.engines.spark_streaming.state.store_files import CHANGELOG, VersionFile
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere

STATE_BYTES = "bytes of state"
PUT, DELETE, MERGE = "put", "delete", "merge"
_TYPES = {0x01: PUT, 0x10: DELETE, 0x11: MERGE}
_END_OF_TYPED = 0x00
_END = _DELETED = -1
_TYPED, _WITH_LINEAGE = (2, 4), (3, 4)
_NEWEST_CHANGELOG = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One change; the value is None if it deletes."""

    action: str
    key: bytes
    value: bytes | None


def read_records(
    files: Files, file: VersionFile, codec: str, most: int, limits: SparkLimits
) -> tuple[list[Record], int]:
    """Return the changes in one file, and its unpacked size in bytes, at most ``most``.

    Raises: DamagedFile, also if the upload's budget for state is spent.
    """
    try:
        unpacked = unpack(files.read(file.path, limits.state_bytes), codec, most)
    except Malformed as error:
        raise damaged_by(file.path, error) from error
    data = unpacked.content
    files.spend(STATE_BYTES, file.path, len(data), limits.all_state_bytes, again=True)
    parse = _changelog if file.kind == CHANGELOG else _plain
    try:
        records = list(islice(parse(Cursor(data)), limits.state_records + 1))
    except NotReadHere as error:
        raise damaged_by(file.path, error) from error
    except Malformed as error:
        raise damaged_by(file.path, unpacked.damage or error) from error
    if len(records) > limits.state_records:
        raise FileNotRead(file.path, f"It holds more than {limits.state_records:,} changes.")
    return records, len(data)


def _plain(cursor: Cursor) -> Iterator[Record]:
    while (length := cursor.i32()) != _END:
        yield _record(cursor, PUT, length)


def _typed(cursor: Cursor) -> Iterator[Record]:
    while (kind := cursor.u8()) != _END_OF_TYPED:
        if (action := _TYPES.get(kind)) is None:
            raise Malformed(f"A record has the unknown type {kind}", cursor.position - 1)
        yield _record(cursor, action, cursor.i32())


def _record(cursor: Cursor, action: str, key_length: int) -> Record:
    key = cursor.take(key_length)
    size = cursor.i32()
    if size == _DELETED:
        return Record(DELETE, key, None)
    return Record(action, key, cursor.take(size))


def _changelog(cursor: Cursor) -> Iterator[Record]:
    version = changelog_version(cursor)
    if version in _WITH_LINEAGE:
        cursor.utf()  # the ids of the versions since the last snapshot, as JSON
    return _typed(cursor) if version in _TYPED else _plain(cursor)


def changelog_version(cursor: Cursor) -> int:
    """Read the header. Version 1 has none; it begins with a length or the mark of the end."""
    if bytes(cursor.data[:3]) != b"\x00\x02v":
        return 1
    name = cursor.utf()
    if not (name[1:].isdigit() and 2 <= int(name[1:]) <= _NEWEST_CHANGELOG):
        raise NotReadHere(f"A changelog has the version {name[:20]!r}, which is not known here", 0)
    return int(name[1:])
