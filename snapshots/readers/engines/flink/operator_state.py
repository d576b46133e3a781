"""Operator state of one subtask: the elements of its lists and broadcast maps.

Source: Flink, OperatorBackendSerializationProxy, OperatorStateRestoreOperation.
"""

from collections.abc import Callable
from dataclasses import dataclass

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import OperatorState
from snapshots.readers.engines.flink.types.composites import as_object
from snapshots.readers.engines.flink.types.serializers import Serializer, StateMeta, read_meta_info
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.opaque import Opaque
from snapshots.readers.formats.snappy import inflate_frames

LONGEST_ELEMENT = 64 * 2**20  # bytes, inflated
_VERSIONS = (5, 6)
_COMPRESSION_SINCE = 6


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a state: where it lies in the stream, its bytes there, and what they mean.

    value: JSON-able; a broadcast state is one map; Opaque where it is not known. size: in bytes;
    raw holds none of them where the stream is missing.
    """

    offset: int
    raw: memoryview
    value: object
    size: int


@dataclass(frozen=True, slots=True)
class StateElements:
    """One state. mode: as in handles.MODES. types: what its serializers are called, by role."""

    name: str
    mode: str
    types: dict[str, str]
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class OperatorStateInventory:
    """compressed: None where not known. problem: why values are not known, as a sentence.

    unread: bytes that belong to no element and are not understood.
    """

    states: tuple[StateElements, ...]
    compressed: bool | None = None
    problem: str | None = None
    unread: tuple[Opaque, ...] = ()


def read_operator_state(
    state: OperatorState, data: bytes | memoryview | Missing, *, raw: bool = False
) -> OperatorStateInventory:
    """The contents of ``state``, whose stream is ``data``. Never raises for what it holds.

    raw: raw operator state, whose content is private to the operator.
    """
    if isinstance(data, Missing):
        reason = f"{data.path}: {data.reason}"
        return OperatorStateInventory(_without_values(state, reason), problem=reason)
    data = memoryview(data)
    if raw:
        return _opaque(state, data, "Raw operator state is private to its operator.")
    if not state.states and not data:
        return OperatorStateInventory(())
    cursor = Cursor(data)
    try:
        compressed, metas = _frame(cursor)
    except Malformed as malformed:
        return _opaque(state, data, f"{malformed.what}.")
    return _decoded(state, data, cursor.position, compressed, metas)


def _without_values(state: OperatorState, reason: str) -> tuple[StateElements, ...]:
    """What the handle alone tells: how many elements there are, and of how many bytes."""
    size = state.stream.size
    return tuple(
        StateElements(
            each.name,
            each.mode,
            {},
            tuple(
                Element(begin, memoryview(b""), Opaque(end - begin, b"", reason), end - begin)
                for begin, end in places
            ),
        )
        for each, places in zip(state.states, _places(state, size), strict=True)
    )


def _frame(cursor: Cursor) -> tuple[bool, dict[str, StateMeta]]:
    """What stands before the first element. Raises: Malformed."""
    version = cursor.i32()
    if version not in _VERSIONS:
        raise Malformed(f"Operator state of version {version} is not read here", 0)
    compressed = version >= _COMPRESSION_SINCE and cursor.flag()
    metas = {}
    for _list_states_then_broadcast_states in range(2):
        at, count = cursor.position, cursor.i16()
        if count < 0:
            raise Malformed(f"{count} states are announced", at)
        for _ in range(count):
            meta = read_meta_info(cursor)
            metas[meta.name] = meta
    return compressed, metas


def _pieces(state: OperatorState, data: memoryview) -> list[list[tuple[int, memoryview]]]:
    """Per state, per element: its offset and bytes. No byte belongs to two elements."""
    return [
        [(begin, data[begin:end]) for begin, end in places] for places in _places(state, len(data))
    ]


def _places(state: OperatorState, size: int) -> list[list[tuple[int, int]]]:
    """Per state, per element: where it begins and ends in a stream of ``size`` bytes."""
    order = sorted(
        (offset, number, place)
        for number, each in enumerate(state.states)
        for place, offset in enumerate(each.offsets)
    )
    found = [[(0, 0)] * len(each.offsets) for each in state.states]
    ends = [*(offset for offset, *_ in order), size][1:]
    for (offset, number, place), end in zip(order, ends, strict=True):
        begin = min(max(offset, 0), size)
        found[number][place] = (begin, min(max(end, begin), size))
    return found


def _first(state: OperatorState, data: memoryview) -> int:
    """Where the first element begins."""
    return min((min(each.offsets) for each in state.states if each.offsets), default=len(data))


def _opaque(state: OperatorState, data: memoryview, reason: str) -> OperatorStateInventory:
    states = tuple(
        StateElements(
            each.name,
            each.mode,
            {},
            tuple(
                Element(offset, piece, Opaque.of(piece, reason, offset=offset), len(piece))
                for offset, piece in pieces
            ),
        )
        for each, pieces in zip(state.states, _pieces(state, data), strict=True)
    )
    before = Opaque.of(data[: _first(state, data)], reason, offset=0)
    return OperatorStateInventory(states, None, reason, (before,))


def _decoded(
    state: OperatorState,
    data: memoryview,
    begin: int,
    compressed: bool,
    metas: dict[str, StateMeta],
) -> OperatorStateInventory:
    """begin: where the frame ends, before which no element lies."""
    states = []
    for each, pieces in zip(state.states, _pieces(state, data), strict=True):
        meta = metas.get(each.name)
        decode = _decoder(each.mode, meta)
        elements = (
            Element(
                offset,
                piece,
                _value(piece, offset, offset >= begin, compressed, decode),
                len(piece),
            )
            for offset, piece in pieces
        )
        types = {role: one.name for role, one in meta.serializers.items()} if meta else {}
        states.append(StateElements(each.name, each.mode, types, tuple(elements)))
    gap = _gap(data, begin, _first(state, data), compressed)
    return OperatorStateInventory(tuple(states), compressed, None, gap)


def _gap(data: memoryview, begin: int, first: int, compressed: bool) -> tuple[Opaque, ...]:
    """What lies between the frame and the first element."""
    if first <= begin or (compressed and first == len(data)):
        return ()
    return (Opaque.of(data[begin:first], "No element of a state begins here.", offset=begin),)


def _value(
    piece: memoryview,
    offset: int,
    behind_frame: bool,
    compressed: bool,
    decode: Callable[[Cursor], object],
) -> object:
    try:
        if not behind_frame:
            raise Malformed("The element begins before the first one can", 0)
        cursor = Cursor(inflate_frames(bytes(piece), LONGEST_ELEMENT) if compressed else piece)
        value = decode(cursor)
        if cursor.left:
            raise Malformed(f"{cursor.left} bytes follow the value", cursor.position)
    except Malformed as malformed:
        return Opaque.of(piece, f"{malformed.what}.", offset=offset)
    return value


def _decoder(mode: str, meta: StateMeta | None) -> Callable[[Cursor], object]:
    value = meta and meta.serializers.get("VALUE_SERIALIZER")
    key = meta and meta.serializers.get("KEY_SERIALIZER")
    if not value or (mode == "BROADCAST" and not key):
        return _unknown
    if mode == "BROADCAST":
        return lambda cursor: _map(cursor, key, value)
    return value.decode


def _unknown(cursor: Cursor) -> object:
    raise Malformed("The stream does not say how this state is encoded", cursor.position)


def _map(cursor: Cursor, key: Serializer, value: Serializer) -> object:
    return as_object([(key.decode(cursor), value.decode(cursor)) for _ in range(cursor.count())])
