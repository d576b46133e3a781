"""Entries out of keys and values as bytes, as canonical savepoints and RocksDB have them.

Source: Flink, SerializedCompositeKeyBuilder, CompositeKeySerializationUtils, RocksDBMapState,
RocksDBListState.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snapshots.readers.engines.flink.keyed.entries import TIMERS, UNKNOWN, Entry, Limits
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.types.composites import TimerSerializer, as_object
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.opaque import Opaque

_LIST_DELIMITER = ord(",")
_MOST_OF_ONE_BYTE = 128  # key groups


@dataclass(frozen=True, slots=True)
class Pair:
    """A key and its value as bytes. state: None where it is not described; name: where known.

    reason: why the value cannot be told, where it cannot.
    """

    state: StateType | None
    name: str | None
    key: bytes
    value: bytes
    reason: str | None = None

    @property
    def size(self) -> int:
        return len(self.key) + len(self.value)


def prefix_length(max_parallelism: int) -> int:
    """Bytes of the key group before each key."""
    return 1 if max_parallelism <= _MOST_OF_ONE_BYTE else 2


def key_group_of(key: bytes, max_parallelism: int) -> int | None:
    """The key group that a stored key begins with; None where it is too short for one."""
    length = prefix_length(max_parallelism)
    return int.from_bytes(key[:length], "big") if len(key) >= length else None


def entries(pairs: Iterable[Pair], max_parallelism: int, limits: Limits) -> Iterator[Entry]:
    """One entry per pair; the pairs of one MAP that follow each other are one entry."""
    together: _Map | None = None
    for pair in pairs:
        one = _entry(pair, max_parallelism, limits)
        if together is not None and isinstance(one, _Map) and together.takes(one):
            together.join(one)
            continue
        if together is not None:
            yield together.entry()
            together = None
        if isinstance(one, Entry):
            yield one
        else:
            together = one
    if together is not None:
        yield together.entry()


class _Map:
    """User keys and values of one key. scope: the stored bytes before the user key."""

    def __init__(self, pair: Pair, group: int | None, cursor: Cursor, limit: int) -> None:
        """cursor: on the stored key, behind the key group. Raises: Malformed."""
        self._state = pair.state
        self._group = group
        self._limit = limit
        self._size = pair.size
        self._namespace, self._key = _scope(pair.state, cursor)
        self._scope = pair.key[: cursor.position]
        user_key = pair.state.user_key.decode(cursor)
        _refuse_rest(cursor, "key")
        self._pairs = [(user_key, _of_user_key(pair))]

    def takes(self, other: "_Map") -> bool:
        return self._state is other._state and self._scope == other._scope

    def join(self, other: "_Map") -> None:
        self._size += other._size
        if self._size <= self._limit:
            self._pairs += other._pairs

    def entry(self) -> Entry:
        value: object = as_object(self._pairs)
        if self._size > self._limit:
            value = Opaque(self._size, b"", f"The map has more than {self._limit:,} bytes.")
        state = self._state
        return Entry(
            state.name, state.kind, self._group, self._namespace, self._key, value, self._size
        )


def _entry(pair: Pair, max_parallelism: int, limits: Limits) -> Entry | _Map:
    group = key_group_of(pair.key, max_parallelism)
    try:
        return _decoded(pair, group, Cursor(pair.key, prefix_length(max_parallelism)), limits)
    except Malformed as malformed:
        reason = pair.reason or f"{malformed.what}."
    namespace, key = None, Opaque.of(pair.key, reason)
    try:
        if pair.state and pair.state.kind != TIMERS:
            namespace, key = _scope(pair.state, Cursor(pair.key, prefix_length(max_parallelism)))
    except Malformed:
        pass  # then neither key nor value is known
    return Entry(
        pair.name,
        pair.state.kind if pair.state else UNKNOWN,
        group,
        namespace,
        key,
        Opaque.of(pair.value, reason),
        pair.size,
        pair.key,
        pair.value,
    )


def _decoded(pair: Pair, group: int | None, cursor: Cursor, limits: Limits) -> Entry | _Map:
    """cursor: on the stored key, behind the key group. Raises: Malformed."""
    state = pair.state
    if pair.reason is not None or state is None:
        raise Undecodable(pair.reason or "The checkpoint does not describe the state", 0)
    if pair.size > limits.value_bytes:
        raise Undecodable(f"The entry has more than {limits.value_bytes:,} bytes", 0)
    if state.kind == "MAP":
        return _Map(pair, group, cursor, limits.value_bytes)
    if state.kind == TIMERS:
        namespace, key, value = _timer(state, cursor)
        value_cursor = Cursor(pair.value)
    else:
        namespace, key = _scope(state, cursor)
        value_cursor = Cursor(pair.value)
        value = (
            _elements(state, value_cursor)
            if state.kind == "LIST"
            else (state.value.decode(value_cursor))
        )
    _refuse_rest(cursor, "key")
    _refuse_rest(value_cursor, "value")
    return Entry(pair.name, state.kind, group, namespace, key, value, pair.size)


def _timer(state: StateType, cursor: Cursor) -> tuple[object, object, object]:
    """Namespace, key and time stamp; all of a timer is in the key."""
    if not isinstance(state.value, TimerSerializer):
        raise Undecodable("How timers are written is not known here", cursor.position)
    timer = state.value.decode(cursor)
    return timer["namespace"], timer["key"], timer["timestamp"]


def _scope(state: StateType, cursor: Cursor) -> tuple[object, object]:
    """Namespace and key; each is followed by its length if both can have any length."""
    ambiguous = state.key.fixed_length is None and state.namespace.fixed_length is None
    found = []
    for serializer in (state.key, state.namespace):
        start = cursor.position
        found.append(serializer.decode(cursor))
        if ambiguous:
            _expect_length(cursor, cursor.position - start)
    key, namespace = found
    return namespace, key


def _expect_length(cursor: Cursor, length: int) -> None:
    """The length, its low byte first, in as few bytes as it needs. Raises: Malformed."""
    at = cursor.position
    expected = length.to_bytes(max(1, (length.bit_length() + 7) // 8), "little")
    if cursor.take(len(expected)) != expected:
        raise Malformed(f"The length {length} does not follow the part of a key", at)


def _elements(state: StateType, cursor: Cursor) -> list[object]:
    """The elements of a LIST, a comma between them."""
    found = []
    while cursor.left:
        if found and cursor.u8() != _LIST_DELIMITER:
            raise Malformed("No comma stands between two elements", cursor.position - 1)
        found.append(state.element.decode(cursor))
    return found


def _of_user_key(pair: Pair) -> object:
    cursor = Cursor(pair.value)
    value = None if cursor.flag() else pair.state.element.decode(cursor)
    _refuse_rest(cursor, "value")
    return value


def _refuse_rest(cursor: Cursor, what: str) -> None:
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the {what}", cursor.position)
