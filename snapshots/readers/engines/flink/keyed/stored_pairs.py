"""Decode entries from stored keys and values, as canonical savepoints and RocksDB have them.

Source: Flink, SerializedCompositeKeyBuilder, CompositeKeySerializationUtils, RocksDBMapState,
RocksDBListState.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from snapshots.readers.engines.flink.keyed.entries import TIMERS, UNKNOWN, Entry, Limits
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.types.composites import TimerSerializer, as_object
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.opaque import Opaque

_LIST_DELIMITER = ord(",")
_MOST_OF_ONE_BYTE = 128  # key groups


@dataclass(frozen=True, slots=True)
class Pair:
    """A stored key and its value.

    Attributes:
        state: none if the checkpoint does not describe it.
        name: the name of the state; None if it is unknown.
        reason: why the value is unknown; None if it can be decoded.
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
    """Return how many bytes the key group takes before each key."""
    return 1 if max_parallelism <= _MOST_OF_ONE_BYTE else 2


def key_group_of(key: bytes, max_parallelism: int) -> int | None:
    """Return the key group that a stored key begins with; None if the key is too short."""
    length = prefix_length(max_parallelism)
    return int.from_bytes(key[:length], "big") if len(key) >= length else None


def entries(pairs: Iterable[Pair], max_parallelism: int, limits: Limits) -> Iterator[Entry]:
    """Yield one entry per pair; consecutive pairs of one MAP and key become one entry."""
    map_: _Map | None = None
    for pair in pairs:
        entry = _entry(pair, max_parallelism, limits)
        if map_ is not None and isinstance(entry, _Map) and map_.continues(entry):
            map_.join(entry)
            continue
        if map_ is not None:
            yield map_.entry()
            map_ = None
        if isinstance(entry, Entry):
            yield entry
        else:
            map_ = entry
    if map_ is not None:
        yield map_.entry()


class _Map:
    """The user keys and values that a MAP has under one key."""

    def __init__(
        self, state: StateType, pair: Pair, group: int | None, cursor: Cursor, limit: int
    ) -> None:
        """Decode the first user key and value. Raises: Malformed.

        Args:
            state: the state.
            pair: what is stored.
            group: the key group.
            cursor: on the stored key, behind the key group.
            limit: size in bytes of the largest map that is decoded.
        """
        self._state = state
        self._group = group
        self._limit = limit
        self._size = pair.size
        self._namespace, self._key = _namespace_and_key(state, cursor)
        self._scope = pair.key[: cursor.position]
        user_key = state.user_key.decode(cursor)
        _refuse_rest(cursor, "key")
        value_cursor = Cursor(pair.value)
        value = None if value_cursor.flag() else state.element.decode(value_cursor)
        _refuse_rest(value_cursor, "value")
        self._pairs = [(user_key, value)]

    def continues(self, other: "_Map") -> bool:
        """Tell whether another pair belongs to the same key."""
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
        damaged = not isinstance(malformed, NotReadHere)
        known = malformed.known if isinstance(malformed, Undecodable) else None
    namespace: object = None
    key: object = Opaque.of(pair.key, reason)
    try:
        if pair.state and pair.state.kind != TIMERS:
            cursor = Cursor(pair.key, prefix_length(max_parallelism))
            namespace, key = _namespace_and_key(pair.state, cursor)
    except Malformed:
        pass  # then neither key nor value is known
    return Entry(
        pair.name,
        pair.state.kind if pair.state else UNKNOWN,
        group,
        namespace,
        key,
        Opaque.of(pair.value, reason, damaged=damaged, known=known),
        pair.size,
        pair.key,
        pair.value,
    )


def _decoded(pair: Pair, group: int | None, cursor: Cursor, limits: Limits) -> Entry | _Map:
    """Decode a pair; ``cursor`` is on the stored key, behind the key group. Raises: Malformed."""
    state = pair.state
    if pair.reason is not None or state is None:
        raise Undecodable(pair.reason or "The checkpoint does not describe the state", 0)
    if pair.size > limits.value_bytes:
        raise Undecodable(f"The entry has more than {limits.value_bytes:,} bytes", 0)
    if state.kind == "MAP":
        return _Map(state, pair, group, cursor, limits.value_bytes)
    value_cursor = Cursor(pair.value)
    if state.kind == TIMERS:
        namespace, key, value = _timer(state, cursor)
    else:
        namespace, key = _namespace_and_key(state, cursor)
        decode = state.value.decode if state.kind != "LIST" else partial(_elements, state)
        value = decode(value_cursor)
    _refuse_rest(cursor, "key")
    _refuse_rest(value_cursor, "value")
    return Entry(pair.name, state.kind, group, namespace, key, value, pair.size)


def _timer(state: StateType, cursor: Cursor) -> tuple[object, object, object]:
    """Decode namespace, key and time stamp of a timer, all of which the stored key holds."""
    if not isinstance(state.value, TimerSerializer):
        raise Undecodable("The encoding of timers is unknown", cursor.position)
    timer = state.value.decode(cursor)
    return timer["namespace"], timer["key"], timer["timestamp"]


def _namespace_and_key(state: StateType, cursor: Cursor) -> tuple[object, object]:
    """Decode namespace and key. Each is followed by its length if neither has a fixed one."""
    ambiguous = state.key.fixed_length is None and state.namespace.fixed_length is None
    values = []
    for serializer in (state.key, state.namespace):
        start = cursor.position
        values.append(serializer.decode(cursor))
        if ambiguous:
            _expect_length(cursor, cursor.position - start)
    key, namespace = values
    return namespace, key


def _expect_length(cursor: Cursor, length: int) -> None:
    """Skip a length, little-endian in as few bytes as it needs. Raises: Malformed if it differs."""
    at = cursor.position
    expected = length.to_bytes(max(1, (length.bit_length() + 7) // 8), "little")
    if cursor.take(len(expected)) != expected:
        raise Malformed(f"The length {length} does not follow the part of a key", at)


def _elements(state: StateType, cursor: Cursor) -> list[object]:
    """Decode the elements of a LIST, which have commas between them."""
    values: list[object] = []
    while cursor.left:
        if values and cursor.u8() != _LIST_DELIMITER:
            raise Malformed("No comma stands between two elements", cursor.position - 1)
        values.append(state.element.decode(cursor))
    return values


def _refuse_rest(cursor: Cursor, subject: str) -> None:
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the {subject}", cursor.position)
