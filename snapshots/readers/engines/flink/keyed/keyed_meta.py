"""Read the description before keyed state: the type of its keys, and its states.

Source: Flink, KeyedBackendSerializationProxy, RegisteredKeyValueStateBackendMetaInfo.
"""

from dataclasses import dataclass

from snapshots.readers.engines.flink.keyed.entries import KINDS, TIMERS, UNKNOWN
from snapshots.readers.engines.flink.types.composites import ListSerializer, MapSerializer
from snapshots.readers.engines.flink.types.serializers import UnknownSerializer, read_envelope
from snapshots.readers.engines.flink.types.state_meta import (
    StateMeta,
    read_meta_infos,
    skip_to_count,
)
from snapshots.readers.engines.flink.types.values import Serializer, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere

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
        is_damaged: whether the description contradicts itself, and is not of a form or class that
            is not read here.
    """

    key: Serializer
    states: tuple[StateType, ...]
    compressed: bool | None
    end: int | None
    problem: str | None = None
    is_damaged: bool = False


def no_meta(problem: str) -> KeyedMeta:
    """Return the description of a stream of which nothing is known, for a reason."""
    return KeyedMeta(_NOT_DESCRIBED, (), None, None, problem)


def read_keyed_meta(cursor: Cursor, end: int | None = None) -> KeyedMeta:
    """Read a description. It raises nothing; damage is reported as ``problem``.

    Args:
        end: where the description ends; None if that is not known. It is used where the last
            serializer is not known.
    """
    key: Serializer = _NOT_DESCRIBED
    states: list[StateType] = []
    compressed = None
    try:
        at, version = cursor.position, cursor.i32()
        if version != _VERSION:
            raise NotReadHere(f"Keyed state of version {version} cannot be read", at)
        compressed = cursor.flag()
        key = _read_key(cursor, end)
        at, count = cursor.position, cursor.i16()
        if count < 0:
            raise Malformed(f"{count} states are announced", at)
        start = cursor.position
        try:
            for meta in read_meta_infos(cursor, count, end):
                states.append(state_type(meta, key))
                start = cursor.position
        except Malformed:
            if len(states) < count:
                states += _named_state(cursor, start, key)
            raise
    except Malformed as malformed:
        is_damaged = not isinstance(malformed, NotReadHere)
        problem = f"{malformed.what}."
        return KeyedMeta(key, tuple(states), compressed, None, problem, is_damaged)
    return KeyedMeta(key, tuple(states), compressed, cursor.position)


def _read_key(cursor: Cursor, end: int | None) -> Serializer:
    try:
        return read_envelope(cursor)
    except UnknownSerializer as unknown:
        skip_to_count(cursor, end)
        return unknown.so_far


def _named_state(cursor: Cursor, start: int, key: Serializer) -> list[StateType]:
    """Return the state whose description begins at ``start`` and cannot be read, by its name."""
    try:
        name = Cursor(cursor.data, start, cursor.end).utf()
    except Malformed:
        return []
    return [state_type(StateMeta(name, "KEY_VALUE", {}, {}), key)]


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
