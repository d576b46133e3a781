"""Read keyed state from the table files of RocksDB or ForSt.

A column family has the name of a state and holds its entries. Source: Flink,
RocksIncrementalSnapshotStrategy, RocksDBKeyedStateBackend.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import Incremental, Stream
from snapshots.readers.engines.flink.keyed.entries import Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.keyed_meta import KeyedMeta
from snapshots.readers.engines.flink.keyed.stored_pairs import Pair, entries, key_group_of
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.rocksdb.table_merging import NamedTable, merged
from snapshots.readers.formats.rocksdb.tables import Table

_SUFFIX = ".sst"
_LONGEST_NAME = 60


class TableFiles:
    """The table files of one incremental handle; it names exactly those that are live."""

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
        self._problem = meta.problem or "The checkpoint does not describe the state."
        self._max_parallelism = max_parallelism
        self._limits = limits
        self._notes = notes
        self._families: dict[str | None, list[NamedTable]] = defaultdict(list)
        self._unread: list[Entry] = []
        files = [file for file in handle.shared + handle.private if file.name.endswith(_SUFFIX)]
        if len(files) > limits.tables:
            sentence = f"Of {len(files):,} tables the first {limits.tables:,} are read."
            self._notes.say(sentence, complete=False)
            files = files[: limits.tables]
        self._block_bytes = min(limits.block_bytes, limits.alive_bytes // max(1, len(files)))
        for file in files:
            self._open(file.name[:_LONGEST_NAME], read(file.stream))

    def _open(self, name: str, data: bytes | memoryview | Missing) -> None:
        if isinstance(data, Missing):
            self._notes.miss(data)
            return
        try:
            limits = self._limits
            table = Table(data, self._block_bytes, limits.table_bytes, limits.room)
        except Malformed as malformed:
            self._lose(name, malformed)
            self._unread.append(unread(data, f"The table {name}: {malformed.what}."))
            return
        self._families[table.column_family].append(NamedTable(name, table))

    def _lose(self, name: str, damage: Malformed) -> None:
        self._notes.lose(f"The table {name}", damage)

    def entries(self) -> Iterator[Entry]:
        """Yield the entries by key group, then by state; last the files that are no tables."""
        families = [
            entries(self._pairs(name, tables), self._max_parallelism, self._limits)
            for name, tables in sorted(self._families.items(), key=lambda item: item[0] or "")
        ]
        yield from heapq.merge(*families, key=lambda entry: entry.key_group or 0)
        yield from self._unread

    def _pairs(self, name: str | None, tables: list[NamedTable]) -> Iterator[Pair]:
        """Yield the pairs of one column family, as Flink without those of other key groups."""
        state = self._states.get(name) if name is not None else None
        outside = 0
        for stored in merged(tables, self._lose):
            group = key_group_of(stored.key, self._max_parallelism)
            if group is not None and group not in self._groups:
                outside += 1
                continue
            reason = stored.reason if state else self._problem
            yield Pair(state, name, stored.key, stored.value, reason)
        if outside:
            self._notes.say(f"{name}: {outside:,} keys of other key groups are left out.")
