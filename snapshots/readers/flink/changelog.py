"""Keyed state of the changelog backend: what was materialised, and the changes since, replayed.

Only whole values that are set or cleared are replayed. After any other operation the value of its
key is not known until it is set again; after a change whose key cannot be told, all values of
its state in its key group.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from json import dumps

from snapshots.readers.cursor import Cursor, Malformed
from snapshots.readers.flink.changes import METADATA, OPERATIONS, described_state
from snapshots.readers.flink.entries import TIMERS, Entry, Limits, Notes, unread
from snapshots.readers.flink.handles import Change
from snapshots.readers.flink.key_groups import key_group
from snapshots.readers.flink.keyed_meta import StateType
from snapshots.readers.flink.values import SIMPLE, Serializer, Unreadable
from snapshots.readers.opaque import Opaque

CLEAR, SET, SET_INTERNAL = 0, 1, 2
_KEY_TYPES = ("string", "long", "int", "short", "byte", "boolean", "double")
_MOST_TRIED = 10_000  # changes that a type of keys is tried on
_UNKNOWN_KEY = Unreadable("unknown", "The changelog does not say how its keys are written")

Name = tuple[str, str, str]  # of a value: its state, and namespace and key as JSON


@dataclass(slots=True)
class _Group:
    """What the changes do to one key group.

    values: the last change of each; None where it was cleared. lost: why all values of a state
    are not known; of all states for the name None. unread: the changes that could not be read.
    """

    values: dict[Name, Entry | None] = field(default_factory=dict)
    lost: dict[str | None, str] = field(default_factory=dict)
    unread: list[Entry] = field(default_factory=list)

    def lose(self, state: str | None, reason: str) -> None:
        """Values of the state before this are not known, but those set later will be."""
        self.lost.setdefault(state, reason)
        for name, entry in self.values.items():
            if entry is not None and state in (None, name[0]):
                self.values[name] = _without_value(entry, reason)


_NO_CHANGES = _Group()


class Replay:
    """The changes, replayed; at most ``limits.changed_keys`` keys are held."""

    def __init__(self, key: Serializer, limits: Limits, notes: Notes) -> None:
        self.states: dict[int, StateType] = {}
        self._key = key
        self._to_hold = limits.changed_keys
        self._notes = notes
        self._groups: dict[int, _Group] = {}

    def apply(self, change: Change) -> None:
        """In the order in which they were made."""
        if change.key_group < 0:
            self._describe(change)
            return
        group = self._groups.setdefault(change.key_group, _Group())
        state = None
        try:
            if self._to_hold <= 0:
                raise Malformed("There are more changes than can be held here", 0)
            self._to_hold -= 1
            cursor = Cursor(change.data)
            operation, number = cursor.u8(), cursor.i16()
            state = self.states.get(number)
            if state is None:
                raise Malformed(f"The changelog does not describe state {number}", 1)
            self._change(change, operation, state, cursor, group)
        except Malformed as malformed:
            name = state.name if state else None
            reason = f"A change that cannot be replayed was logged: {malformed.what}."
            group.lose(name, reason)
            group.unread.append(unread(change.data, reason, name, change.key_group))
            self._notes.say(reason, complete=False)

    def _describe(self, change: Change) -> None:
        try:
            if change.data[:1] != bytes([METADATA]):
                raise Malformed("Something other than a state's description is there", 0)
            number, state = described_state(change, self._key)
            self.states[number] = state
        except Malformed as malformed:
            self._notes.say(f"A state in the changelog: {malformed.what}.", complete=False)

    def _change(
        self, change: Change, operation: int, state: StateType, cursor: Cursor, group: _Group
    ) -> None:
        """Raises: Malformed where it cannot be told what changes."""
        if state.kind == TIMERS or operation not in OPERATIONS:
            raise Malformed(f"{OPERATIONS.get(operation, operation)} of {state.kind}", 0)
        key, namespace = state.key.decode(cursor), state.namespace.decode(cursor)
        name = (state.name, dumps(namespace), dumps(key))
        entry = Entry(
            state.name, state.kind, change.key_group, namespace, key, None, len(change.data)
        )
        if operation == CLEAR:
            group.values[name] = None
        else:
            group.values[name] = replace(entry, **_value(operation, state, cursor))

    def over(self, materialised: Iterable[Entry]) -> Iterator[Entry]:
        """The entries after the changes. materialised: by key group, as they were before."""
        waiting = sorted(self._groups, reverse=True)
        for number, entries in groupby(materialised, key=lambda entry: entry.key_group):
            while waiting and number is not None and waiting[-1] < number:
                yield from self._left(waiting.pop())
            yield from self._unchanged(number, entries)
            if waiting and waiting[-1] == number:
                yield from self._left(waiting.pop())
        while waiting:
            yield from self._left(waiting.pop())

    def _unchanged(self, number: int | None, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Those of a key group that no change has touched."""
        group = self._groups.get(number, _NO_CHANGES)
        for entry in entries:
            if _name(entry) not in group.values:
                lost = group.lost.get(entry.state) or group.lost.get(None)
                yield entry if lost is None else _without_value(entry, lost)

    def _left(self, number: int) -> Iterator[Entry]:
        """What the changes have left in a key group."""
        group = self._groups[number]
        yield from (entry for entry in group.values.values() if entry is not None)
        yield from group.unread


def _name(entry: Entry) -> Name | None:
    if entry.kind == TIMERS or isinstance(entry.key, Opaque):
        return None
    return entry.state or "", dumps(entry.namespace), dumps(entry.key)


def _value(operation: int, state: StateType, cursor: Cursor) -> dict[str, object]:
    """The fields of the entry that a change leaves."""
    raw = bytes(cursor.data[cursor.position : cursor.end])
    try:
        if operation not in (SET, SET_INTERNAL):
            raise Malformed(f"{OPERATIONS[operation]} was logged since, which is not replayed", 0)
        value = state.value.decode(cursor)
        if cursor.left:
            raise Malformed(f"{cursor.left} bytes follow the value", cursor.position)
    except Malformed as malformed:
        return {"value": Opaque.of(raw, f"{malformed.what}."), "raw_value": raw}
    return {"value": value}


def _without_value(entry: Entry, reason: str) -> Entry:
    """raw_value stays what it was: the bytes are not those of the value looked for."""
    return replace(entry, value=Opaque(entry.size, b"", reason), raw_value=b"")


def likely_key(changes: Iterable[Change], max_parallelism: int, notes: Notes) -> Serializer:
    """The one simple type that the keys of all changes can have, where nothing says it.

    Every change has to decode to its end, and every key has to belong to the key group under
    which its change was logged. Where no or more than one type does, it is not known.
    """
    changes = list(islice(changes, _MOST_TRIED))
    fitting = [name for name in _KEY_TYPES if _fits(changes, SIMPLE[name], max_parallelism)]
    if len(fitting) != 1:
        return _UNKNOWN_KEY
    notes.say(
        f"The changelog does not say how its keys are written. They are taken for {fitting[0]}: "
        "with no other simple type do all changes decode and all keys belong to their key groups."
    )
    return SIMPLE[fitting[0]]


def _fits(changes: list[Change], key: Serializer, max_parallelism: int) -> bool:
    replay = Replay(key, Limits(), Notes())
    tried = 0
    for change in changes:
        if change.key_group < 0:
            replay.apply(change)
            continue
        cursor = Cursor(change.data)
        try:
            operation, number = cursor.u8(), cursor.i16()
            state = replay.states.get(number)
            if operation not in (SET, SET_INTERNAL) or state is None:
                continue
            of_change = key.decode(cursor)
            state.namespace.decode(cursor)
            state.value.decode(cursor)
        except Malformed:
            return False
        if cursor.left or key_group(of_change, key, max_parallelism) != change.key_group:
            return False
        tried += 1
    return tried > 0
