"""Write keyed state by the format's page, for what no real file has."""

from snapshots.readers.engines.flink.handles import Inline, KeyGroups
from tests.readers.engines.flink import types
from tests.readers.engines.flink.writing import i32, i64, utf

STRING, LONG = types.SIMPLE_KINDS[7], types.SIMPLE_KINDS[0]
VOID = types.simple_snapshot(
    "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"
)
KRYO = (
    utf(types._JAVA + "kryo.KryoSerializerSnapshot")
    + i32(2)
    + utf("demo.Odd")
    + types.optional_map([]) * 3
)
UNKNOWN = utf("com.example.OwnSerializerSnapshot") + i32(1)


def i16(number: int) -> bytes:
    return number.to_bytes(2, "big", signed=True)


def state(
    name: str, value: bytes, kind: str = "VALUE", namespace: bytes = VOID, backend_type: int = 0,
    **further: bytes,
) -> bytes:  # fmt: skip
    """Write the description of a state; ``further`` has snapshots of serializers by role."""
    serializers = {"NAMESPACE_SERIALIZER": namespace, "VALUE_SERIALIZER": value, **further}
    written = b"".join(
        utf(role) + types.envelope(snapshot) for role, snapshot in serializers.items()
    )
    options = i32(1) + utf("KEYED_STATE_TYPE") + utf(kind) if kind else i32(0)
    return utf(name) + i32(backend_type) + options + i32(len(serializers)) + written


def meta(*states: bytes, key: bytes = STRING.snapshot, compressed: bool = False) -> bytes:
    head = i32(6) + bytes([compressed]) + types.envelope(key)
    return head + i16(len(states)) + b"".join(states)


def handle(description: bytes, groups: dict[int, bytes], savepoint: bool = False) -> KeyGroups:
    """Return a handle on a description and the bytes of consecutive key groups.

    A key group of b"" has the offset 0.
    """
    data, offsets = description, []
    for content in groups.values():
        offsets.append(len(data) if content else 0)
        data += content
    return KeyGroups(min(groups), tuple(offsets), Inline("", data), savepoint)


def inline(stream: Inline) -> bytes:
    return stream.data


def heap_group(number: int, *states: tuple[int, list[bytes]]) -> bytes:
    """Write a key group of the heap layout from numbers and entries of states."""
    written = (i16(state) + i32(len(entries)) + b"".join(entries) for state, entries in states)
    return i32(number) + b"".join(written)


def full_group(*states: tuple[int, list[tuple[bytes, bytes]]]) -> bytes:
    """Write a key group of the full layout from numbers and pairs of states, none of them empty."""
    data = i16(states[0][0])
    following = [number for number, _ in states[1:]] + [-1]
    for (_, pairs), successor in zip(states, following, strict=True):
        for index, (key, value) in enumerate(pairs):
            is_last = index == len(pairs) - 1
            key = bytes([key[0] | 0x80 * is_last]) + key[1:]
            data += i32(len(key)) + key + i32(len(value)) + value
        data += i16(successor)
    return data


def entry(key: str, value: bytes, namespace: bytes = b"\x00") -> bytes:
    """Write an entry of the heap layout."""
    return namespace + types.string(key) + value


def long(number: int) -> bytes:
    return i64(number)
