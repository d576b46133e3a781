"""The forms in which Flink describes a serializer: alone, of parts, with fields, by a class.

A description has no length, so that the end of an unknown class is not known. Only the fields and
subclasses of a POJO have a length. Source: Flink, TypeSerializerSnapshot,
CompositeTypeSerializerSnapshot, NestedSerializersSnapshotDelegate.
"""

from collections.abc import Callable
from typing import Any

from snapshots.readers.engines.flink.types import composites, operators
from snapshots.readers.engines.flink.types.composites import EnumSerializer, PojoSerializer
from snapshots.readers.engines.flink.types.kryo_values import KryoSerializer
from snapshots.readers.engines.flink.types.values import Serializer, Undecodable, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream

_OUTER_MAGIC, _NESTED_MAGIC, _MAP_MAGIC = 911108, 1333245, 0x4F2C69A3D70
_NESTED_VERSION = 1

Inner = Callable[[Cursor], Serializer]  # reads a serializer that is nested in this one
Read = Callable[[Cursor, int, Inner], Serializer]  # int: version of the snapshot


class UnknownSerializer(Undecodable):
    """The class of a serializer is not known; ``class_name`` is as the checkpoint has it.

    Attributes:
        so_far: the outermost serializer as far as it is known; what is not known is Unreadable.
    """

    def __init__(self, class_name: str, offset: int) -> None:
        super().__init__(f"The serializer {class_name[:200]} is unknown", offset)
        self.class_name = class_name
        self.so_far: Serializer = Unreadable(
            class_name.rpartition(".")[2][:100] or "unknown", self.what
        )


def expect(cursor: Cursor, number: int, subject: str) -> None:
    at, actual = cursor.position, cursor.i32()
    if actual != number:
        raise Malformed(f"{subject} begins with {actual} instead of {number}", at)


def nested(cursor: Cursor, inner: Inner) -> tuple[tuple[Serializer, ...], UnknownSerializer | None]:
    """Return the parts, and the reason why they are not known from one part on."""
    expect(cursor, _NESTED_MAGIC, "A list of serializers")
    expect(cursor, _NESTED_VERSION, "A list of serializers")
    count = cursor.count(bytes_each=6)
    parts: list[Serializer] = []
    for _ in range(count):
        try:
            parts.append(inner(cursor))
        except UnknownSerializer as unknown:
            behind = Unreadable("unknown", f"{unknown.what}, and this is described behind it")
            return (*parts, unknown.so_far, *[behind] * (count - len(parts) - 1)), unknown
    return tuple(parts), None


def whole(serializer: Serializer, unknown: UnknownSerializer | None) -> Serializer:
    """Return a serializer whose parts are all known. Raises: UnknownSerializer."""
    if unknown is not None:
        unknown.so_far = serializer
        raise unknown
    return serializer


def simple(serializer: Serializer) -> Read:
    def read(cursor: Cursor, version: int, inner: Inner) -> Serializer:
        if version not in (2, 3):
            raise Malformed(
                f"Version {version} of a serializer's snapshot is unknown", cursor.position
            )
        if version == 2:
            cursor.utf()  # the class again
        return serializer

    return read


def _no_outer_part(cursor: Cursor, version: int) -> None:
    pass


def class_name(cursor: Cursor, version: int) -> str:
    return cursor.utf()


def row_kind(cursor: Cursor, version: int) -> bool:
    return cursor.flag() if version >= 4 else False


def padding(cursor: Cursor, version: int) -> int:
    at, padding = cursor.position, cursor.i32()
    if not 0 <= padding <= 2**16:
        raise Malformed(f"{padding} bytes of padding are not possible", at)
    return padding


def composite(
    count: int | None,
    build: Callable[[Any, tuple[Serializer, ...]], Serializer],
    read_outer: Callable[[Cursor, int], object] = _no_outer_part,
) -> Read:
    """Return the reader of a composite serializer.

    Args:
        count: how many parts it has; None if any number but zero. A type without parts would have
            values of no bytes, and a few bytes could announce any number of them.
        build: makes the serializer from its outer part and its parts.
        read_outer: reads the outer part.
    """

    def read(cursor: Cursor, version: int, inner: Inner) -> Serializer:
        if version >= 3:
            expect(cursor, _OUTER_MAGIC, "A composite serializer")
            version = cursor.i32()
        outer = read_outer(cursor, version)
        at, (parts, unknown) = cursor.position, nested(cursor, inner)
        if len(parts) != count and not (parts and count is None):
            raise Malformed(f"The serializer cannot have {len(parts)} parts", at)
        return whole(build(outer, parts), unknown)

    return read


def pojo(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    class_name = cursor.utf()
    fields, registered, others = (optional_map(cursor) for _ in range(3))
    return PojoSerializer(
        class_name,
        tuple((_field_name(name, key), framed(value, inner)) for name, key, value in fields),
        tuple((name, framed(value, inner)) for name, _, value in registered),
        tuple((name, framed(value, inner)) for name, _, value in others),
    )


def optional_map(cursor: Cursor) -> list[tuple[str, Cursor | None, Cursor | None]]:
    """Return name, key and value of each entry; absent keys and values are None."""
    at = cursor.position
    if cursor.i64() != _MAP_MAGIC:
        raise Malformed("A map of serializers has a wrong beginning", at)
    return [
        (cursor.utf(), _frame(cursor), _frame(cursor)) for _ in range(cursor.count(bytes_each=4))
    ]


def _frame(cursor: Cursor) -> Cursor | None:
    if not cursor.flag():
        return None
    length = cursor.count()
    start = cursor.position
    cursor.take(length)
    return Cursor(cursor.data, start, start + length)


def _field_name(name: str, key: Cursor | None) -> str:
    if key is None:
        return name
    key.utf()  # the field's class
    return key.utf()


def framed(frame: Cursor | None, inner: Inner) -> Serializer:
    """Return a serializer with a known end, Unreadable if its description cannot be read."""
    if frame is None:
        return Unreadable("unknown", "The checkpoint does not describe the serializer")
    try:
        serializer = inner(frame)
    except UnknownSerializer as unknown:
        return unknown.so_far
    except Malformed as error:
        return Unreadable("unknown", error.what)
    if frame.left:
        return Unreadable("unknown", "More bytes describe the serializer than it takes")
    return serializer


def kryo(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    class_name = cursor.utf()
    for _ in range(3):
        optional_map(cursor)
    return KryoSerializer(class_name)


def enum(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    class_name = cursor.utf()
    constants = tuple(cursor.utf() for _ in range(cursor.count(bytes_each=2)))
    return EnumSerializer(class_name, constants)


def scala_enum(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    name = cursor.utf()
    pairs = [(cursor.utf(), cursor.i32()) for _ in range(cursor.count(bytes_each=6))]
    return composites.ScalaEnumSerializer(name, tuple(pairs))


def case_class(count: int | None) -> Read:
    """Return the reader of a Scala case class with so many fields, None for any number."""
    return composite(
        count,
        lambda name, parts: composites.TupleSerializer(parts, f"case {name}"[:100]),
        class_name,
    )


def ttl_aware(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    cursor.flag()  # whether time-to-live is on; the serializer says that too
    return inner(cursor)


def java_object(cursor: Cursor) -> object:
    contents = java_stream.skip(cursor)
    return contents[0] if len(contents) == 1 else contents


def of_a_class(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    name = cursor.utf()
    return Unreadable(
        name.rpartition(".")[2][:100] or "unknown", f"The class {name[:200]} wrote the value"
    )


def has_null_mask(cursor: Cursor, version: int) -> bool:
    return version == 2 or (version > 2 and cursor.flag())


def has_previous_time(cursor: Cursor, version: int) -> bool:
    return version >= 2 and cursor.flag()


def fields(outer: str, *names: str) -> Read:
    return composite(len(names), lambda _, parts: operators.FieldsSerializer(outer, names, parts))
