"""Read the description before keyed state: the type of its keys, and its states.

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
    """The types of one keyed state.

    Attributes:
        kind: one of entries.KINDS.
        value: the type of a whole value.
        element: the type of an element of a LIST, and of what a MAP stores under one user key.
        user_key: the type of the user keys of a MAP.
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
    """The description of keyed state.

    Attributes:
        key: the type of the keys of all states.
        states: the states by number; up to the one that could not be read, if there is a problem.
        compressed: none if it is unknown.
        end: the offset behind the description; None if it is unknown.
        problem: why the description could be read only in part, as a sentence.
    """

    key: Serializer
    states: tuple[StateType, ...]
    compressed: bool | None
    end: int | None
    problem: str | None = None


def no_meta(problem: str) -> KeyedMeta:
    """Return the description of a stream of which nothing is known, for a reason."""
    return KeyedMeta(_NOT_DESCRIBED, (), None, None, problem)


def read_keyed_meta(cursor: Cursor) -> KeyedMeta:
    """Read a description. It raises nothing; damage is reported as ``problem``."""
    key: Serializer = _NOT_DESCRIBED
    states: list[StateType] = []
    compressed = None
    try:
        at, version = cursor.position, cursor.i32()
        if version != _VERSION:
            raise Malformed(f"Keyed state of version {version} cannot be read", at)
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
                name = Cursor(cursor.data, start, cursor.end).utf()
                states.append(state_type(StateMeta(name, "KEY_VALUE", {}, {}), key))
                raise
    except Malformed as malformed:
        return KeyedMeta(key, tuple(states), compressed, None, f"{malformed.what}.")
    return KeyedMeta(key, tuple(states), compressed, cursor.position)


def state_type(meta: StateMeta, key: Serializer) -> StateType:
    """Return the types of a state from its description and the type of its keys."""
    value = meta.serializers.get("VALUE_SERIALIZER", _NOT_DESCRIBED)
    namespace = meta.serializers.get("NAMESPACE_SERIALIZER", _NOT_DESCRIBED)
    user_key = meta.serializers.get("USER_KEY_SERIALIZER", _NOT_DESCRIBED)
    element = value
    if meta.backend_type == "KEY_VALUE_V2":
        if _kind(meta) == "LIST":
            value = ListSerializer(value)
        elif _kind(meta) == "MAP":
            value = MapSerializer(user_key, value)
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
