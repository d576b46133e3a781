"""Read the keys and values in the tables of a RocksDB snapshot."""

from collections.abc import Sequence

from snapshots.readers.engines.spark_streaming.files import (
    DamagedFile,
    FileNotRead,
    Files,
    damaged_by,
)
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.deltas import STATE_BYTES
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Malformed, NotReadHere
from snapshots.readers.formats.rocksdb.table_merging import NamedTable, merged
from snapshots.readers.formats.rocksdb.tables import Table

BLOCK_BYTES = 16 * 2**20
MOST_TABLES = 1_000
NO_DELIMITER = b""  # the elements of a list have their lengths before them
_CHECKSUMS = range(1, 5)  # CRC-32C, xxHash, its 64 bits, XXH3


def read_tables(files: Files, paths: Sequence[str], limits: SparkLimits) -> dict[bytes, bytes]:
    """Return values by key. Raises: DamagedFile, also if a table is missing, or they are too large.

    ``paths`` are those of the tables, relative to the checkpoint.
    """
    stored_bytes = sum(files.entries[path].size for path in paths if path in files)
    is_too_large = len(paths) > MOST_TABLES or stored_bytes > limits.state_bytes
    if is_too_large or len(set(paths)) < len(paths):
        raise FileNotRead(
            paths[0],
            f"It is one of {len(paths):,} tables with {stored_bytes:,} bytes, or named twice; at "
            f"most {MOST_TABLES:,} with {limits.state_bytes:,} are read.",
        )
    room = Room("bytes of a snapshot's tables", 2 * limits.state_bytes)
    block_bytes = min(BLOCK_BYTES, limits.state_bytes // max(1, len(paths)))
    tables = [NamedTable(path, _table(files, path, block_bytes, room)) for path in paths]
    pairs: dict[bytes, bytes] = {}
    size = 0
    for stored in merged(tables, _damaged, NO_DELIMITER):
        if stored.reason is not None:
            raise DamagedFile(paths[0], stored.reason)
        size += len(stored.key) + len(stored.value)
        if size > limits.state_bytes:
            raise FileNotRead(paths[0], f"It holds more than {limits.state_bytes:,} bytes.")
        if len(pairs) == limits.state_records:
            raise FileNotRead(paths[0], f"It holds more than {limits.state_records:,} keys.")
        pairs[stored.key] = stored.value
    if paths:
        files.spend(STATE_BYTES, paths[0], size, limits.all_state_bytes, again=True)
    return pairs


def _table(files: Files, path: str, block_bytes: int, room: Room) -> Table:
    if path not in files:
        raise DamagedFile(path, "A snapshot names this table, but it is missing.")
    try:
        data = files.read(path, files.entries[path].size)
        table = Table(data, block_bytes, room.most, room)
        if table.checksums not in _CHECKSUMS:
            raise DamagedFile(path, "Its blocks have no checksums, which Spark always writes.")
        return table
    except Malformed as error:
        raise damaged_by(path, error) from error


def _damaged(table: str, damage: Malformed) -> None:
    kind = FileNotRead if isinstance(damage, NotReadHere) else DamagedFile
    raise kind(table, damage.what)
