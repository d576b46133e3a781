"""What stands before keyed state: how its keys are written, and which states there are.

Source: Flink, KeyedBackendSerializationProxy, RegisteredKeyValueStateBackendMetaInfo.
"""

from dataclasses import dataclass

from snapshots.readers.engines.flink.keyed.entries import KINDS, TIMERS, UNKNOWN
from snapshots.readers.engines.flink.types.composites import ListSerializer, MapSerializer
from snapshots.readers.engines.flink.types.serializers import (
    StateMeta,
    read_envelope,
    read_meta_info,
)
from snapshots.readers.engines.flink.types.values import Serializer, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed

_VERSION = 6
_NOT_DESCRIBED = Unreadable("unknown", "The checkpoint does not say how this is written")


@dataclass(frozen=True, slots=True)
class StateType:
    """A keyed state. kind: one of entries.KINDS. types: of its serializers, by role.

    value: of a whole value, in the heap layout. element: of a LIST; of a MAP what one user key has.
    user_key: of a MAP. is_null_marked: whether a mark stands before the element of a MAP.
    """

    name: str
    kind: str
    key: Serializer
    namespace: Serializer
    value: Serializer
    element: Serializer
    user_key: Serializer

    @property
    def value_type(self) -> str:
        return self.value.name


@dataclass(frozen=True, slots=True)
class KeyedMeta:
    """key: of all states. states: by their number. end: the offset behind all this.

    compressed: None where not known. problem: a sentence where the description could be read
    only in part; the states then are those before it, and ``end`` is not known.
    """

    key: Serializer
    states: tuple[StateType, ...]
    compressed: bool | None
    end: int | None
    problem: str | None = None


def no_meta(problem: str) -> KeyedMeta:
    """Nothing is known. problem: why, as a sentence."""
    return KeyedMeta(_NOT_DESCRIBED, (), None, None, problem)


def read_keyed_meta(cursor: Cursor) -> KeyedMeta:
    """Never raises for what the bytes hold."""
    key, states, compressed = _NOT_DESCRIBED, [], None
    try:
        at, version = cursor.position, cursor.i32()
        if version != _VERSION:
            raise Malformed(f"Keyed state of version {version} is not read here", at)
        compressed = cursor.flag()
        key = read_envelope(cursor)
        at, count = cursor.position, cursor.i16()
        if count < 0:
            raise Malformed(f"{count} states are announced", at)
        for _ in range(count):
            start = cursor.position
            try:
                states.append(state_type(read_meta_info(cursor), key))
            except Malformed:
                states.append(_only_named(Cursor(cursor.data, start, cursor.end), key))
                raise
    except Malformed as malformed:
        return KeyedMeta(key, tuple(states), compressed, None, f"{malformed.what}.")
    return KeyedMeta(key, tuple(states), compressed, cursor.position)


def _only_named(cursor: Cursor, key: Serializer) -> StateType:
    """A state of which the name can be read and not the serializers. Raises: Malformed."""
    return state_type(StateMeta(cursor.utf(), "KEY_VALUE", {}, {}), key)


def state_type(meta: StateMeta, key: Serializer) -> StateType:
    """How the values of a state are written, whose keys are written by ``key``."""
    value = meta.serializers.get("VALUE_SERIALIZER", _NOT_DESCRIBED)
    namespace = meta.serializers.get("NAMESPACE_SERIALIZER", _NOT_DESCRIBED)
    user_key = meta.serializers.get("USER_KEY_SERIALIZER", _NOT_DESCRIBED)
    element = value
    if meta.backend_type == "KEY_VALUE_V2":
        whole = {"LIST": ListSerializer(value), "MAP": MapSerializer(user_key, value)}
        value = whole.get(_kind(meta), value)
    elif isinstance(value, ListSerializer):
        element = value.element
    elif isinstance(value, MapSerializer):
        user_key, element = value.key, value.value
    return StateType(meta.name, _kind(meta), key, namespace, value, element, user_key)


def _kind(meta: StateMeta) -> str:
    if meta.backend_type == "PRIORITY_QUEUE":
        return TIMERS
    kind = meta.options.get("KEYED_STATE_TYPE", UNKNOWN)
    return kind if kind in KINDS and kind != TIMERS else UNKNOWN
