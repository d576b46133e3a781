"""Replay the changes of the changelog backend over the materialised keyed state.

Only operations that set or clear a whole value are replayed. Any other operation makes the value
of its key unknown until it is set again. A change whose key cannot be read does so for all values
of its state in its key group.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from json import dumps

from snapshots.readers.engines.flink.handles import Change
from snapshots.readers.engines.flink.keyed.changes import METADATA, OPERATIONS, described_state
from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.key_groups import key_group
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Undecodable, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.opaque import Opaque

CLEAR, SET, SET_INTERNAL = 0, 1, 2
_KEY_TYPES = ("string", "long", "int", "short", "byte", "boolean", "double")
_MOST_TRIED = 10_000  # changes that a type of keys is tried on
_LONGEST_TRIED = 2**16  # bytes of such a change
_UNKNOWN_KEY = Unreadable("unknown", "The changelog does not say how its keys are written")

Name = tuple[str, str, str]  # identifies a value: its state, and namespace and key as JSON


@dataclass(frozen=True, slots=True)
class _LastChange:
    """The last change of one value.

    Attributes:
        order: its position among the changes of its key group, from 1.
        entry: the changed entry, without its value.
        raw: the bytes of the value.
    """

    order: int
    operation: int
    state: StateType
    entry: Entry
    raw: memoryview

    def result(self, lost: str | None, longest: int) -> Entry:
        """Return the entry after the change.

        Args:
            lost: why the value is unknown, None if it is known.
            longest: size in bytes of the longest value that is decoded.
        """
        try:
            if lost is not None:
                raise Malformed(lost, 0)
            return replace(self.entry, value=self._value(longest))
        except Malformed as malformed:
            value = Opaque.of(self.raw, f"{malformed.what.removesuffix('.')}.")
            return replace(self.entry, value=value, raw_value=b"" if lost else self.raw)

    def _value(self, longest: int) -> object:
        """Decode the value. Raises: Malformed."""
        if self.operation not in (SET, SET_INTERNAL):
            name = OPERATIONS[self.operation]
            raise Malformed(f"{name} was logged since, which is not replayed", 0)
        if len(self.raw) > longest:
            raise Malformed(f"The value has more than {longest:,} bytes", 0)
        cursor = Cursor(self.raw)
        value = self.state.value.decode(cursor)
        if cursor.left:
            raise Malformed(f"{cursor.left} bytes follow the value", cursor.position)
        return value


@dataclass(slots=True)
class _Group:
    """The changes of one key group.

    Attributes:
        lost: for each state (None for all states) the order of the last change that could not be
            read, and why. Values that were set before it are unknown.
        unread: the changes that could not be read.
    """

    count: int = 0
    values: dict[Name, _LastChange] = field(default_factory=dict)
    lost: dict[str | None, tuple[int, str]] = field(default_factory=dict)
    unread: list[Entry] = field(default_factory=list)

    def why_lost(self, state: str | None, order: int = -1) -> str | None:
        """Return why a value is unknown that the change with that order set; None if it is known.

        Order -1 stands for a value that was set before all changes.
        """
        for name in (state, None):
            if name in self.lost and self.lost[name][0] > order:
                return self.lost[name][1]
        return None


_NO_CHANGES = _Group()


class Replay:
    """A replay of changes that holds at most ``limits.changed_keys`` keys."""

    def __init__(self, key: Serializer, limits: Limits, notes: Notes) -> None:
        self.states: dict[int, StateType] = {}
        self._key = key
        self._to_hold = limits.changed_keys
        self._longest = limits.value_bytes
        self._notes = notes
        self._groups: dict[int, _Group] = {}

    def apply(self, change: Change) -> None:
        """Apply the next change; changes come in the order in which they were made."""
        if change.key_group < 0:
            self._describe(change)
            return
        group = self._groups.setdefault(change.key_group, _Group())
        group.count += 1
        state = None
        try:
            cursor = Cursor(change.data)
            operation, number = cursor.u8(), cursor.i16()
            state = self.states.get(number)
            if state is None:
                raise Malformed(f"The changelog does not describe state {number}", 1)
            self._change(change, operation, state, cursor, group)
        except Malformed as malformed:
            name = state.name if state else None
            reason = f"A change that cannot be replayed was logged: {malformed.what}."
            group.lost[name] = (group.count, reason)
            group.unread.append(unread(change.data, reason, name, change.key_group))
            self._notes.say(reason, complete=False, is_whole=True)

    def _describe(self, change: Change) -> None:
        try:
            if change.data[:1] != bytes([METADATA]):
                raise Malformed("A state's description is expected", 0)
            number, state = described_state(change, self._key)
            self.states[number] = state
        except Malformed as malformed:
            self._notes.say(f"A state in the changelog: {malformed.what}.", complete=False)

    def _change(
        self, change: Change, operation: int, state: StateType, cursor: Cursor, group: _Group
    ) -> None:
        """Note a change behind its operation and state. Raises: Malformed if it cannot be read."""
        if state.kind == TIMERS or operation not in OPERATIONS:
            raise Malformed(
                f"{OPERATIONS.get(operation, operation)} of {state.kind} is not replayed", 0
            )
        key, namespace = state.key.decode(cursor), state.namespace.decode(cursor)
        name = (state.name, dumps(namespace), dumps(key))
        if name not in group.values:
            if self._to_hold <= 0:
                raise Malformed("There are more changed keys than the limit", 0)
            self._to_hold -= 1
        size = len(change.data)
        entry = Entry(state.name, state.kind, change.key_group, namespace, key, None, size)
        raw = cursor.data[cursor.position : cursor.end]
        group.values[name] = _LastChange(group.count, operation, state, entry, raw)

    def over(self, materialised: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the entries after the changes; ``materialised`` are those before, by key group."""
        waiting = sorted(self._groups, reverse=True)
        for number, entries in groupby(materialised, key=lambda entry: entry.key_group):
            while waiting and number is not None and waiting[-1] < number:
                yield from self._changed(waiting.pop())
            yield from self._unchanged(number, entries)
            if waiting and waiting[-1] == number:
                yield from self._changed(waiting.pop())
        while waiting:
            yield from self._changed(waiting.pop())

    def _unchanged(self, number: int | None, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the entries of a key group that no change touches."""
        group = _NO_CHANGES if number is None else self._groups.get(number, _NO_CHANGES)
        for entry in entries:
            if _name(entry) not in group.values:
                lost = group.why_lost(entry.state)
                yield entry if lost is None else _without_value(entry, lost)

    def _changed(self, number: int) -> Iterator[Entry]:
        """Yield the entries of a key group that changes have set."""
        group = self._groups[number]
        for last in group.values.values():
            if last.operation != CLEAR:
                lost = group.why_lost(last.state.name, last.order)
                yield last.result(lost, self._longest)
        yield from group.unread


def _name(entry: Entry) -> Name | None:
    if entry.kind == TIMERS or isinstance(entry.key, Opaque):
        return None
    return entry.state or "", dumps(entry.namespace), dumps(entry.key)


def _without_value(entry: Entry, reason: str) -> Entry:
    # Its bytes would be those of an older value.
    return replace(entry, value=Opaque(entry.size, b"", reason), raw_value=b"")


def likely_key(changes: Iterable[Change], max_parallelism: int, notes: Notes) -> Serializer:
    """Return the one simple type that fits the keys of all changes, where nothing describes it.

    With a fitting type every change decodes to its end, and every key belongs to the key group of
    its change. The type is unknown if none fits, or more than one.
    """
    changes = list(islice(changes, _MOST_TRIED))
    fitting = [name for name in _KEY_TYPES if _fits(changes, SIMPLE[name], max_parallelism)]
    if len(fitting) != 1:
        return _UNKNOWN_KEY
    notes.say(
        f"The changelog does not say how its keys are written. They are taken for {fitting[0]}, "
        "the only simple type that decodes all changes and puts all keys into their key groups."
    )
    return SIMPLE[fitting[0]]


def _fits(changes: list[Change], key: Serializer, max_parallelism: int) -> bool:
    replay = Replay(key, Limits(), Notes())
    tried = 0
    for change in changes:
        if change.key_group < 0:
            replay.apply(change)
        elif len(change.data) <= _LONGEST_TRIED:
            fits = _fits_change(change, key, replay.states, max_parallelism)
            if fits is False:
                return False
            tried += fits is True
    return tried > 0


def _fits_change(
    change: Change, key: Serializer, states: dict[int, StateType], max_parallelism: int
) -> bool | None:
    """Tell whether a type of keys fits a change.

    None if the change cannot tell: its state is unknown, or its operation sets no whole value.
    """
    cursor = Cursor(change.data)
    try:
        operation, number = cursor.u8(), cursor.i16()
        state = states.get(number)
        if operation not in (SET, SET_INTERNAL) or state is None:
            return None
        if key_group(key.decode(cursor), key, max_parallelism) != change.key_group:
            return False
        state.namespace.decode(cursor)
        state.value.decode(cursor)
    except Undecodable:
        return True  # the key fitted, and the value cannot be checked
    except Malformed:
        return False
    return cursor.left == 0
