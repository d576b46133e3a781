"""What a snapshot of RocksDB holds: keys and values out of its tables."""

from collections.abc import Sequence

from snapshots.readers.cursor import Malformed
from snapshots.readers.flink.keyed.table_merging import NamedTable, merged
from snapshots.readers.flink.keyed.tables import Table
from snapshots.readers.spark_streaming.files import DamagedFile, Files
from snapshots.readers.spark_streaming.limits import SparkLimits

BLOCK_BYTES = 16 * 2**20


def read_tables(files: Files, paths: Sequence[str], limits: SparkLimits) -> dict[bytes, bytes]:
    """Keys to values. Raises: DamagedFile, also where a table is not there or too large."""
    tables = [NamedTable(path, _table(files, path, limits)) for path in paths]
    pairs: dict[bytes, bytes] = {}
    left = limits.state_bytes
    for stored in merged(tables, _damaged):
        if stored.reason is not None:
            raise DamagedFile(paths[0], stored.reason)
        left -= len(stored.key) + len(stored.value)
        if left < 0:
            raise DamagedFile(paths[0], f"It holds more than {limits.state_bytes:,} bytes.")
        pairs[stored.key] = stored.value
    return pairs


def _table(files: Files, path: str, limits: SparkLimits) -> Table:
    if path not in files:
        raise DamagedFile(path, "This table is named by a snapshot, and is not there.")
    try:
        return Table(files.read(path, limits.state_bytes), BLOCK_BYTES, limits.state_bytes)
    except Malformed as error:
        raise DamagedFile(path, f"{error}.") from error


def _damaged(table: str, what: str) -> None:
    raise DamagedFile(table, what)
