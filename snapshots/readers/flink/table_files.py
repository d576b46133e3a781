"""Keyed state in the table files of RocksDB or ForSt: the newest version of each key.

Source: Flink, RocksIncrementalSnapshotStrategy, RocksDBKeyedStateBackend; RocksDB's merging of
levels. One column family holds one state and has its name.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from snapshots.readers.cursor import Malformed
from snapshots.readers.flink.entries import Entry, Limits, Notes, unread
from snapshots.readers.flink.files import Missing
from snapshots.readers.flink.handles import Incremental, Stream
from snapshots.readers.flink.keyed_meta import KeyedMeta
from snapshots.readers.flink.stored_pairs import Pair, entries, key_group_of
from snapshots.readers.flink.tables import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
    Table,
    Version,
)

_SUFFIX = ".sst"
_MOST_RANGES = 1_000  # deleted ranges of one column family


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table and what the backend called its file."""

    name: str
    table: Table


class TableFiles:
    """The entries of one incremental handle. unread: files that cannot be read as tables."""

    def __init__(
        self,
        handle: Incremental,
        meta: KeyedMeta,
        read: Callable[[Stream], bytes | memoryview | Missing],
        max_parallelism: int,
        limits: Limits,
        notes: Notes,
    ) -> None:
        self._groups = range(handle.first, handle.first + handle.count)
        self._states = {state.name: state for state in meta.states}
        self._problem = meta.problem
        self._max_parallelism = max_parallelism
        self._limits = limits
        self._notes = notes
        self._families: dict[str | None, list[OpenTable]] = defaultdict(list)
        self._unread: list[Entry] = []
        for file in handle.shared + handle.private:
            if file.name.endswith(_SUFFIX):
                self._open(file.name, read(file.stream))

    def _open(self, name: str, data: bytes | memoryview | Missing) -> None:
        if isinstance(data, Missing):
            self._notes.miss(data)
            return
        try:
            table = Table(data, self._limits.block_bytes, self._limits.table_bytes)
        except Malformed as malformed:
            self._lose(name, malformed)
            self._unread.append(unread(data, f"{name[:60]}: {malformed.what}."))
            return
        self._families[table.column_family].append(OpenTable(name, table))

    def _lose(self, name: str, malformed: Malformed) -> None:
        self._notes.say(f"The table {name[:60]}: {malformed.what}.", complete=False)

    def entries(self) -> Iterator[Entry]:
        """By key group, then by state; at the end what could not be read at all."""
        families = [
            entries(self._pairs(name, tables), self._max_parallelism, self._limits)
            for name, tables in sorted(self._families.items(), key=lambda item: item[0] or "")
        ]
        yield from heapq.merge(*families, key=lambda entry: entry.key_group or 0)
        yield from self._unread

    def _pairs(self, name: str | None, tables: list[OpenTable]) -> Iterator[Pair]:
        """The keys of one column family that are left, in the order of their bytes."""
        state = self._states.get(name) if name is not None else None
        ranges = self._deleted_ranges(tables)
        versions = heapq.merge(
            *(self._versions(table) for table in tables),
            key=lambda version: (version.key, -version.sequence),
        )
        outside = 0
        for key, of_key in groupby(versions, key=lambda version: version.key):
            group = key_group_of(key, self._max_parallelism)
            if group is not None and group not in self._groups:
                outside += 1
                continue
            found = _newest(list(of_key), ranges)
            if found is not None:
                value, reason = found
                if state is None:
                    reason = self._problem or "The checkpoint does not describe the state."
                yield Pair(state, name, key, value, reason)
        if outside:
            self._notes.say(
                f"{name}: {outside:,} keys in the tables belong to other key groups and are "
                "left out, as Flink does."
            )

    def _versions(self, opened: OpenTable) -> Iterator[Version]:
        """All versions in a table; damaged blocks are left out and said."""
        try:
            for handle in opened.table.blocks():
                try:
                    yield from opened.table.versions(handle)
                except Malformed as malformed:
                    self._lose(opened.name, malformed)
        except Malformed as malformed:
            self._lose(opened.name, malformed)

    def _deleted_ranges(self, tables: list[OpenTable]) -> list[Version]:
        found: list[Version] = []
        for opened in tables:
            try:
                found += opened.table.ranges()
            except Malformed as malformed:
                self._lose(opened.name, malformed)
        if len(found) > _MOST_RANGES:
            self._notes.say(
                f"{len(found):,} ranges of keys are deleted; {_MOST_RANGES:,} of them are heeded.",
                complete=False,
            )
        return found[:_MOST_RANGES]


def _newest(versions: list[Version], ranges: Iterable[Version]) -> tuple[bytes, str | None] | None:
    """The value that stands at last, or why it is not known; None for a deleted key.

    versions: of one key, the newest first. Merged values are joined, the oldest first.
    """
    key = versions[0].key
    deleted = max((each.sequence for each in ranges if each.key <= key < each.value), default=-1)
    merged: list[bytes] = []
    for version in versions:
        if version.sequence < deleted or version.kind in (DELETION, SINGLE_DELETION):
            break
        merged.append(version.value)
        if version.kind == VALUE:
            break
        if version.kind != MERGE:
            return version.value, f"The table has a version of kind {version.kind} of this key."
    return (b",".join(reversed(merged)), None) if merged else None
