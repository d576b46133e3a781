"""Keyed state of one subtask: every entry, from whichever handle it comes.

Source: Flink, the restore operations of its state backends.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import (
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
    """What one handle holds.

    layout: ``heap``, ``full``, ``tables`` or ``changelog``; None where the bytes are missing.
    key: how keys are written, None where not known. states: as the checkpoint describes them.
    compressed: None where not known. entries: by key group, to be read once; ``notes`` grow
    meanwhile.
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
    """The keyed state behind a handle. Never raises for what it holds, nor do its entries.

    read: gives the bytes of a stream (Files.read with its folder). max_parallelism: the operator's.
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
            meta = read_keyed_meta(Cursor(data))
        if meta.problem:
            state.notes.say(meta.problem, complete=False)
        files = TableFiles(
            handle, meta, self._read, self._max_parallelism, self._limits, state.notes
        )
        state.layout, state.entries = TABLES, files.entries()
        state.key, state.states = meta.key, meta.states

    def _changelog(
        self, state: KeyedState, materialised: Sequence[Keyed], logs: Sequence[Keyed]
    ) -> None:
        before = [self.state(handle, state.notes) for handle in materialised]
        keys = (each.key for each in before if each.key is not None)
        state.key = next(keys, None) or likely_key(
            self._changes(logs, Notes()), self._max_parallelism, state.notes
        )
        replay = Replay(state.key, self._limits, state.notes)
        for change in self._changes(logs, state.notes):
            replay.apply(change)
        described = {each.name: each for one in before for each in one.states}
        described |= {each.name: each for each in replay.states.values()}
        state.layout, state.states = CHANGELOG, tuple(described.values())
        entries = heapq.merge(
            *(each.entries for each in before), key=lambda entry: entry.key_group or 0
        )
        state.entries = replay.over(entries)

    def _changes(self, logs: Sequence[Keyed], notes: Notes) -> Iterator:
        log = Log(self._read, self._limits, notes)
        known = (ChangesInMemory, ChangesInFiles)
        if not all(isinstance(handle, known) for handle in logs):
            notes.say("The changes are kept in a way that is not read here.", complete=False)
        return chain.from_iterable(
            log.changes(handle) for handle in logs if isinstance(handle, known)
        )
