"""Merges several tables of one column family into the final value of each key.

Source: RocksDB, db/merge_helper.cc, db/range_del_aggregator.cc; the merge operator is
StringAppendOperator, in Flink with a comma between values.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from snapshots.readers.formats.cursor import Malformed, NotReadHere
from snapshots.readers.formats.rocksdb.tables import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
    Table,
    Version,
)

MOST_RANGES = 1_000  # deleted ranges of one column family
COMMA = b","

Lose = Callable[[str, Malformed], None]
"""Takes a table's name, and what cannot be read of it."""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table, and the name that the backend gave its file."""

    name: str
    table: Table


@dataclass(frozen=True, slots=True)
class Stored:
    """A key that is not deleted.

    Attributes:
        reason: why the value is unknown. None means that it is known.
    """

    key: bytes
    value: bytes
    reason: str | None = None


def merged(tables: Sequence[NamedTable], lose: Lose, delimiter: bytes = COMMA) -> Iterator[Stored]:
    """Yield the keys that are left, in the order of their bytes.

    Args:
        lose: takes damaged blocks.
        delimiter: what stands between values that were merged.
    """
    ranges = _deleted_ranges(tables, lose)
    versions = heapq.merge(
        *(_versions(table, lose) for table in tables),
        key=lambda version: (version.key, -version.sequence),
    )
    for _, same_key in groupby(versions, key=lambda version: version.key):
        if (stored := _newest(list(same_key), ranges, delimiter)) is not None:
            yield stored


def _versions(named: NamedTable, lose: Lose) -> Iterator[Version]:
    try:
        for handle in named.table.blocks():
            try:
                yield from named.table.versions(handle)
            except Malformed as malformed:
                lose(named.name, malformed)
    except Malformed as malformed:
        lose(named.name, malformed)


def _deleted_ranges(tables: Sequence[NamedTable], lose: Lose) -> list[Version]:
    ranges: list[Version] = []
    for named in tables:
        try:
            ranges += named.table.ranges()
        except Malformed as malformed:
            lose(named.name, malformed)
    if len(ranges) > MOST_RANGES:
        sentence = f"Of {len(ranges):,} deleted ranges {MOST_RANGES:,} are heeded"
        lose(tables[0].name, NotReadHere(sentence, 0))
    return ranges[:MOST_RANGES]


def _newest(versions: list[Version], ranges: Sequence[Version], delimiter: bytes) -> Stored | None:
    """Return what is left of one key, None if it is deleted; ``versions`` begin with the newest.

    Values to be merged are joined, the oldest first.
    """
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
    return Stored(key, delimiter.join(reversed(parts))) if parts else None
