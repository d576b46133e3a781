"""What stands at last for each key in several tables of one column family.

Source: RocksDB, db/merge_helper.cc, db/range_del_aggregator.cc; the merge operator is Flink's,
StringAppendOperator with a comma.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.rocksdb.tables import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
    Table,
    Version,
)

MOST_RANGES = 1_000  # deleted ranges of one column family
_DELIMITER = b","

Lose = Callable[[str, str], None]  # is told a table's name and what of it cannot be read


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table and what the backend called its file."""

    name: str
    table: Table


@dataclass(frozen=True, slots=True)
class Stored:
    """A key that is not deleted. reason: why its value is not known, None where it is."""

    key: bytes
    value: bytes
    reason: str | None = None


def merged(tables: Sequence[NamedTable], lose: Lose) -> Iterator[Stored]:
    """In the order of the keys' bytes. Damaged blocks are left out and told to ``lose``."""
    ranges = _deleted_ranges(tables, lose)
    versions = heapq.merge(
        *(_versions(table, lose) for table in tables),
        key=lambda version: (version.key, -version.sequence),
    )
    for _, of_key in groupby(versions, key=lambda version: version.key):
        found = _newest(list(of_key), ranges)
        if found is not None:
            yield found


def _versions(named: NamedTable, lose: Lose) -> Iterator[Version]:
    try:
        for handle in named.table.blocks():
            try:
                yield from named.table.versions(handle)
            except Malformed as malformed:
                lose(named.name, malformed.what)
    except Malformed as malformed:
        lose(named.name, malformed.what)


def _deleted_ranges(tables: Sequence[NamedTable], lose: Lose) -> list[Version]:
    found: list[Version] = []
    for named in tables:
        try:
            found += named.table.ranges()
        except Malformed as malformed:
            lose(named.name, malformed.what)
    if len(found) > MOST_RANGES:
        lose(tables[0].name, f"Of {len(found):,} deleted ranges {MOST_RANGES:,} are heeded")
    return found[:MOST_RANGES]


def _newest(versions: list[Version], ranges: Sequence[Version]) -> Stored | None:
    """versions: of one key, the newest first. Merged values are joined, the oldest first."""
    key = versions[0].key
    deleted = max((each.sequence for each in ranges if each.key <= key < each.value), default=-1)
    parts: list[bytes] = []
    for version in versions:
        if version.sequence < deleted or version.kind in (DELETION, SINGLE_DELETION):
            break
        if version.kind not in (VALUE, MERGE):
            reason = f"The table has a version of the unknown kind {version.kind} of this key."
            return Stored(key, version.value, reason)
        parts.append(version.value)
        if version.kind == VALUE:
            break
    return Stored(key, _DELIMITER.join(reversed(parts))) if parts else None
