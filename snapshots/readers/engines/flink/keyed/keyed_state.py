"""Read the keyed state of one subtask from a handle of any kind.

Source: Flink, the restore operations of its state backends.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import (
    Change,
    Changelog,
    ChangesInFiles,
    ChangesInMemory,
    Incremental,
    Keyed,
    KeyGroups,
    Stream,
)
from snapshots.readers.engines.flink.keyed.changelog import Replay, likely_key
from snapshots.readers.engines.flink.keyed.changes import Log
from snapshots.readers.engines.flink.keyed.entries import Entry, Limits, Notes
from snapshots.readers.engines.flink.keyed.key_group_stream import KeyGroupStream
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType, no_meta, read_keyed_meta
from snapshots.readers.engines.flink.keyed.table_files import TableFiles
from snapshots.readers.engines.flink.types.values import Serializer, Unreadable
from snapshots.readers.formats.cursor import Cursor

TABLES, CHANGELOG = "tables", "changelog"
Read = Callable[[Stream], bytes | memoryview | Missing]


@dataclass(slots=True)
class KeyedState:
    """The keyed state behind one handle.

    Attributes:
        notes: Remarks; more are added while entries are read.
        layout: ``heap``, ``full``, ``tables`` or ``changelog``; None if the bytes are missing.
        key: the type of the keys; None if it is unknown.
        compressed: none if it is unknown.
        entries: the entries by key group; they can be read once.
    """

    key_groups: range
    notes: Notes
    layout: str | None = None
    key: Serializer | None = None
    states: tuple[StateType, ...] = ()
    compressed: bool | None = None
    entries: Iterator[Entry] = field(default_factory=lambda: iter(()), repr=False)


def read_keyed(
    handle: Keyed, read: Read, max_parallelism: int, limits: Limits | None = None
) -> KeyedState:
    """Return the keyed state behind a handle. Damage is reported in its notes, never raised.

    Args:
        handle: the handle of a subtask.
        read: returns the bytes of a stream, as ``Files.read`` does.
        max_parallelism: that of the operator.
        limits: upper bounds; the defaults if None.
    """
    return _Reading(read, max_parallelism, limits or Limits()).state(handle, Notes())


class _Reading:
    def __init__(self, read: Read, max_parallelism: int, limits: Limits) -> None:
        self._read = read
        self._max_parallelism = max_parallelism
        self._limits = limits

    def state(self, handle: Keyed, notes: Notes) -> KeyedState:
        state = KeyedState(range(handle.first, handle.first + handle.count), notes)
        match handle:
            case KeyGroups():
                self._key_groups(state, handle)
            case Incremental():
                self._incremental(state, handle)
            case Changelog():
                self._changelog(state, handle.materialised, handle.changes)
            case ChangesInMemory() | ChangesInFiles():
                self._changelog(state, (), (handle,))
        if isinstance(state.key, Unreadable):
            state.key = None
        return state

    def _key_groups(self, state: KeyedState, handle: KeyGroups) -> None:
        data = self._read(handle.stream)
        if isinstance(data, Missing):
            state.notes.miss(data)
            return
        stream = KeyGroupStream(handle, data, self._max_parallelism, self._limits, state.notes)
        state.layout, state.entries = stream.layout, stream.entries()
        state.key, state.states = stream.meta.key, stream.meta.states
        state.compressed = stream.meta.compressed

    def _incremental(self, state: KeyedState, handle: Incremental) -> None:
        data = self._read(handle.meta)
        if isinstance(data, Missing):
            state.notes.miss(data)
            meta = no_meta(f"The description of the states is missing: {data.reason}")
        else:
            meta = read_keyed_meta(Cursor(data), len(data))
        if meta.problem:
            state.notes.say(meta.problem, complete=False, is_whole=not meta.is_damaged)
        files = TableFiles(
            handle, meta, self._read, self._max_parallelism, self._limits, state.notes
        )
        state.layout, state.entries = TABLES, files.entries()
        state.key, state.states = meta.key, meta.states

    def _changelog(
        self, state: KeyedState, materialised: Sequence[Keyed], logs: Sequence[Keyed]
    ) -> None:
        bases = [self.state(handle, state.notes) for handle in materialised]
        key = next((base.key for base in bases if base.key is not None), None) or likely_key(
            self._changes(logs, Notes()), self._max_parallelism, state.notes
        )
        replay = Replay(key, self._limits, state.notes)
        for change in self._changes(logs, state.notes):
            replay.apply(change)
        types = (*chain.from_iterable(base.states for base in bases), *replay.states.values())
        state.layout, state.key = CHANGELOG, key
        state.states = tuple({type_.name: type_ for type_ in types}.values())
        state.entries = replay.over(
            heapq.merge(*(base.entries for base in bases), key=lambda entry: entry.key_group or 0)
        )

    def _changes(self, logs: Sequence[Keyed], notes: Notes) -> Iterator[Change]:
        log = Log(self._read, self._limits, notes)
        readable = [log_ for log_ in logs if isinstance(log_, ChangesInMemory | ChangesInFiles)]
        if len(readable) < len(logs):
            notes.say("The changes are stored in a form that cannot be read.", complete=False)
        return chain.from_iterable(map(log.changes, readable))
