"""Read the operator state of one subtask: the elements of its lists and broadcast maps.

Source: Flink, OperatorBackendSerializationProxy, OperatorStateRestoreOperation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import OperatorState
from snapshots.readers.engines.flink.types.composites import as_object
from snapshots.readers.engines.flink.types.state_meta import StateMeta, read_meta_infos
from snapshots.readers.engines.flink.types.values import Serializer, Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.opaque import Opaque
from snapshots.readers.formats.snappy import inflate_frames

LONGEST_ELEMENT = 64 * 2**20  # bytes, inflated
_VERSIONS = (5, 6)
_COMPRESSION_SINCE = 6


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a state.

    Attributes:
        offset: its offset in the stream.
        raw: its bytes in the stream; empty if the stream is missing.
        value: its value for JSON, Opaque if it is unknown. A broadcast state is one map.
        size: Bytes.
    """

    offset: int
    raw: memoryview
    value: object
    size: int


@dataclass(frozen=True, slots=True)
class StateElements:
    """The elements of one state.

    Attributes:
        mode: one of handles.MODES.
        types: the names of its serializers by role.
    """

    name: str
    mode: str
    types: dict[str, str]
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class OperatorStateInventory:
    """The operator state behind one handle.

    Attributes:
        compressed: none if it is unknown.
        problem: why values are unknown, as a sentence.
        unread: bytes that belong to no element.
        missing: the stream, if the upload lacks it, or it is not read.
    """

    states: tuple[StateElements, ...]
    compressed: bool | None = None
    problem: str | None = None
    unread: tuple[Opaque, ...] = ()
    missing: Missing | None = None


def read_operator_state(
    state: OperatorState, data: bytes | memoryview | Missing, *, raw: bool = False
) -> OperatorStateInventory:
    """Return the contents of an operator state. Damage is reported, never raised.

    Args:
        state: the handle.
        data: the bytes of its stream.
        raw: whether it is raw operator state, which only the operator can decode.
    """
    if isinstance(data, Missing):
        reason = f"{data.path}: {data.reason}"
        states = _without_values(state, reason)
        return OperatorStateInventory(states, problem=reason, missing=data)
    data = memoryview(data)
    if raw:
        return _opaque(state, data, "Raw operator state is private to its operator.")
    if not state.states and not data:
        return OperatorStateInventory(())
    cursor = Cursor(data)
    try:
        compressed, metas = _frame(cursor, _first_offset(state, data))
    except Malformed as malformed:
        return _opaque(state, data, f"{malformed.what}.")
    return _decoded(state, data, cursor.position, compressed, metas)


def _without_values(state: OperatorState, reason: str) -> tuple[StateElements, ...]:
    """Return the states with the number and sizes of their elements, which the handle has."""
    return tuple(
        StateElements(
            offsets.name,
            offsets.mode,
            {},
            tuple(
                Element(begin, memoryview(b""), Opaque(end - begin, b"", reason), end - begin)
                for begin, end in ranges
            ),
        )
        for offsets, ranges in zip(state.states, _ranges(state, state.stream.size), strict=True)
    )


def _frame(cursor: Cursor, end: int) -> tuple[bool, dict[str, StateMeta]]:
    """Read what stands before the first element, at ``end``. Raises: Malformed."""
    version = cursor.i32()
    if version not in _VERSIONS:
        raise Malformed(f"Operator state of version {version} cannot be read", 0)
    compressed = version >= _COMPRESSION_SINCE and cursor.flag()
    metas = {}
    for is_list in (True, False):  # then come the broadcast states
        at, count = cursor.position, cursor.i16()
        if count < 0:
            raise Malformed(f"{count} states are announced", at)
        for meta in read_meta_infos(cursor, count, end, before_count=is_list):
            metas[meta.name] = meta
    return compressed, metas


def _pieces(state: OperatorState, data: memoryview) -> list[list[tuple[int, memoryview]]]:
    """Return offset and bytes of each element of each state. No byte is in two elements."""
    return [
        [(begin, data[begin:end]) for begin, end in ranges] for ranges in _ranges(state, len(data))
    ]


def _ranges(state: OperatorState, size: int) -> list[list[tuple[int, int]]]:
    """Return begin and end of each element of each state in a stream of ``size`` bytes."""
    order = sorted(
        (offset, number, index)
        for number, offsets in enumerate(state.states)
        for index, offset in enumerate(offsets.offsets)
    )
    ranges = [[(0, 0)] * len(offsets.offsets) for offsets in state.states]
    ends = [*(offset for offset, *_ in order), size][1:]
    for (offset, number, index), end in zip(order, ends, strict=True):
        begin = min(max(offset, 0), size)
        ranges[number][index] = (begin, min(max(end, begin), size))
    return ranges


def _first_offset(state: OperatorState, data: memoryview) -> int:
    offsets = chain.from_iterable(offsets.offsets for offsets in state.states)
    return min(offsets, default=len(data))


def _opaque(state: OperatorState, data: memoryview, reason: str) -> OperatorStateInventory:
    states = tuple(
        StateElements(
            offsets.name,
            offsets.mode,
            {},
            tuple(
                Element(offset, piece, Opaque.of(piece, reason, offset=offset), len(piece))
                for offset, piece in pieces
            ),
        )
        for offsets, pieces in zip(state.states, _pieces(state, data), strict=True)
    )
    before = Opaque.of(data[: _first_offset(state, data)], reason, offset=0)
    return OperatorStateInventory(states, None, reason, (before,))


def _decoded(
    state: OperatorState,
    data: memoryview,
    begin: int,
    compressed: bool,
    metas: dict[str, StateMeta],
) -> OperatorStateInventory:
    """Decode all elements; ``begin`` is the end of the frame, before which none can lie."""
    states = []
    for offsets, pieces in zip(state.states, _pieces(state, data), strict=True):
        meta = metas.get(offsets.name)
        decode = _decoder(offsets.mode, meta)
        elements = tuple(
            Element(
                offset,
                piece,
                _value(piece, offset, offset >= begin, compressed, decode),
                len(piece),
            )
            for offset, piece in pieces
        )
        types = {role: type_.name for role, type_ in meta.serializers.items()} if meta else {}
        states.append(StateElements(offsets.name, offsets.mode, types, elements))
    gap = _gap(data, begin, _first_offset(state, data), compressed)
    return OperatorStateInventory(tuple(states), compressed, None, gap)


def _gap(data: memoryview, begin: int, first: int, compressed: bool) -> tuple[Opaque, ...]:
    """Return the bytes between the frame and the first element, if there are any."""
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
        damaged = not isinstance(malformed, NotReadHere)
        known = malformed.known if isinstance(malformed, Undecodable) else None
        return Opaque.of(piece, f"{malformed.what}.", offset=offset, damaged=damaged, known=known)
    return value


def _decoder(mode: str, meta: StateMeta | None) -> Callable[[Cursor], object]:
    serializers = meta.serializers if meta else {}
    value, key = serializers.get("VALUE_SERIALIZER"), serializers.get("KEY_SERIALIZER")
    if value and mode != "BROADCAST":
        return value.decode
    return partial(_map, key=key, value=value) if value and key else _unknown


def _unknown(cursor: Cursor) -> object:
    raise NotReadHere("The stream does not say how this state is encoded", cursor.position)


def _map(cursor: Cursor, key: Serializer, value: Serializer) -> object:
    return as_object([(key.decode(cursor), value.decode(cursor)) for _ in range(cursor.count())])
