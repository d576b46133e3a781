"""Read the descriptions of serializers in a checkpoint: the types of its states.

A description has no length, so an unknown class makes all that follows unreadable. Only the fields
and subclasses of a POJO have a length. Source: Flink, TypeSerializerSnapshot,
CompositeTypeSerializerSnapshot, StateMetaInfoSnapshotReadersWriters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapshots.readers.engines.flink.types import composites, sql_rows
from snapshots.readers.engines.flink.types.composites import EnumSerializer, PojoSerializer
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Simple, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream

BACKEND_TYPES = ("KEY_VALUE", "OPERATOR", "BROADCAST", "PRIORITY_QUEUE", "KEY_VALUE_V2")
MOST_NESTED = 40
_OUTER_MAGIC, _NESTED_MAGIC, _MAP_MAGIC = 911108, 1333245, 0x4F2C69A3D70
_FLINK = "org.apache.flink."
_ENVELOPE_VERSION, _NESTED_VERSION = 2, 1
_MOST_DIGITS = 100  # more than any type of SQL can have


class UnknownSerializer(Malformed):
    """The class of a serializer is not known; ``class_name`` is as the checkpoint has it."""

    def __init__(self, class_name: str, offset: int) -> None:
        super().__init__(f"The serializer {class_name[:200]} is unknown", offset)
        self.class_name = class_name


@dataclass(frozen=True, slots=True)
class StateMeta:
    """The description of one state in a checkpoint.

    Attributes:
        backend_type: one of BACKEND_TYPES.
        options: values by Flink's names of options, such as ``KEYED_STATE_TYPE``.
        serializers: serializers by Flink's names of roles, such as ``VALUE_SERIALIZER``.
    """

    name: str
    backend_type: str
    options: dict[str, str]
    serializers: dict[str, Serializer]


def read_meta_info(cursor: Cursor) -> StateMeta:
    """Read name, kind and serializers of one state. Raises: Malformed, UnknownSerializer."""
    name = cursor.utf()
    at, backend_type = cursor.position, cursor.i32()
    if not 0 <= backend_type < len(BACKEND_TYPES):
        raise Malformed(f"{backend_type} is not a kind of state", at)
    options = [(cursor.utf(), cursor.utf()) for _ in range(cursor.count(bytes_each=4))]
    count = cursor.count(bytes_each=6)
    serializers = [(cursor.utf(), read_envelope(cursor)) for _ in range(count)]
    return StateMeta(name, BACKEND_TYPES[backend_type], dict(options), dict(serializers))


def read_envelope(cursor: Cursor) -> Serializer:
    """Read an envelope's version and a serializer. Raises: Malformed, UnknownSerializer."""
    _expect(cursor, _ENVELOPE_VERSION, "The envelope of a serializer")
    return read_snapshot(cursor)


def read_snapshot(cursor: Cursor, depth: int = 0) -> Serializer:
    """Read a serializer without envelope. Raises: Malformed, UnknownSerializer.

    ``depth`` is how many serializers it is nested in.
    """
    at, class_name = cursor.position, cursor.utf()
    if depth >= MOST_NESTED:
        raise Malformed(f"Serializers are nested more than {MOST_NESTED} deep", at)
    read = _READ.get(class_name.rpartition(".")[2])
    if read is None or not class_name.startswith(_FLINK):
        raise UnknownSerializer(class_name, at)
    return read(cursor, cursor.i32(), depth)


_Read = Callable[[Cursor, int, int], Serializer]  # cursor, version of the snapshot, depth


def _expect(cursor: Cursor, number: int, subject: str) -> None:
    at, actual = cursor.position, cursor.i32()
    if actual != number:
        raise Malformed(f"{subject} begins with {actual} instead of {number}", at)


def _nested(cursor: Cursor, depth: int) -> tuple[Serializer, ...]:
    _expect(cursor, _NESTED_MAGIC, "A list of serializers")
    _expect(cursor, _NESTED_VERSION, "A list of serializers")
    count = cursor.count(bytes_each=6)
    return tuple(read_snapshot(cursor, depth + 1) for _ in range(count))


def _simple(serializer: Serializer) -> _Read:
    def read(cursor: Cursor, version: int, depth: int) -> Serializer:
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


def _class_name(cursor: Cursor, version: int) -> str:
    return cursor.utf()


def _row_kind(cursor: Cursor, version: int) -> bool:
    return cursor.flag() if version >= 4 else False


def _padding(cursor: Cursor, version: int) -> int:
    at, padding = cursor.position, cursor.i32()
    if not 0 <= padding <= 2**16:
        raise Malformed(f"{padding} bytes of padding are not possible", at)
    return padding


def _composite(
    count: int | None,
    build: Callable[[Any, tuple[Serializer, ...]], Serializer],
    read_outer: Callable[[Cursor, int], object] = _no_outer_part,
) -> _Read:
    """Return the reader of a composite serializer.

    Args:
        count: how many parts it has; None if any number but zero. A type without parts would have
            values of no bytes, and a few bytes could announce any number of them.
        build: makes the serializer from its outer part and its parts.
        read_outer: reads the outer part.
    """

    def read(cursor: Cursor, version: int, depth: int) -> Serializer:
        if version >= 3:
            _expect(cursor, _OUTER_MAGIC, "A composite serializer")
            version = cursor.i32()
        outer = read_outer(cursor, version)
        at, parts = cursor.position, _nested(cursor, depth)
        if len(parts) != count and not (parts and count is None):
            raise Malformed(f"The serializer cannot have {len(parts)} parts", at)
        return build(outer, parts)

    return read


def _pojo(cursor: Cursor, version: int, depth: int) -> Serializer:
    class_name = cursor.utf()
    fields, registered, others = (_optional_map(cursor) for _ in range(3))
    return PojoSerializer(
        class_name,
        tuple((_field_name(name, key), _framed(value, depth)) for name, key, value in fields),
        tuple((name, _framed(value, depth)) for name, _, value in registered),
        tuple((name, _framed(value, depth)) for name, _, value in others),
    )


def _optional_map(cursor: Cursor) -> list[tuple[str, Cursor | None, Cursor | None]]:
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


def _framed(frame: Cursor | None, depth: int) -> Serializer:
    """Return a serializer with a known end, Unreadable if its description cannot be read."""
    if frame is None:
        return Unreadable("unknown", "The checkpoint does not describe the serializer")
    try:
        serializer = read_snapshot(frame, depth + 1)
    except UnknownSerializer as unknown:
        return Unreadable(unknown.class_name.rpartition(".")[2][:100], unknown.what)
    except Malformed as error:
        return Unreadable("unknown", error.what)
    if frame.left:
        return Unreadable("unknown", "More bytes describe the serializer than it takes")
    return serializer


def _kryo(cursor: Cursor, version: int, depth: int) -> Serializer:
    class_name = cursor.utf()
    for _ in range(3):
        _optional_map(cursor)
    short = class_name.rpartition(".")[2][:100]
    return Unreadable(f"kryo {short}", f"Kryo wrote the value, a {class_name[:200]}")


def _enum(cursor: Cursor, version: int, depth: int) -> Serializer:
    class_name = cursor.utf()
    constants = tuple(cursor.utf() for _ in range(cursor.count(bytes_each=2)))
    return EnumSerializer(class_name, constants)


def _ttl_aware(cursor: Cursor, version: int, depth: int) -> Serializer:
    cursor.flag()  # whether time-to-live is on; the serializer says that too
    return read_snapshot(cursor, depth + 1)


def _row_data(cursor: Cursor, version: int, depth: int) -> Serializer:
    columns = tuple(_column(cursor) for _ in range(cursor.count(bytes_each=5)))
    _nested(cursor, depth)
    return sql_rows.RowDataSerializer(columns)


def _column(cursor: Cursor) -> sql_rows.Column:
    """Read a logical type, which is stored as a Java object."""
    at, contents = cursor.position, java_stream.skip(cursor)
    logical_type = contents[0] if contents and isinstance(contents[0], dict) else {}
    fields, class_name = logical_type.get("fields"), logical_type.get("class")
    if not isinstance(fields, dict) or not isinstance(class_name, str):
        raise Malformed("The type of a column is not a Java object", at)
    name = class_name.rpartition(".")[2][:100]
    precision, scale = (_digits(fields.get(key)) for key in ("precision", "scale"))
    length, nullable = fields.get("length"), fields.get("isNullable")
    return sql_rows.Column(
        name,
        precision,
        scale,
        length if type(length) is int else 0,
        nullable if isinstance(nullable, bool) else None,
    )


def _digits(number: object) -> int:
    return number if isinstance(number, int) and 0 <= number <= _MOST_DIGITS else 0


def _decimal_data(cursor: Cursor, version: int, depth: int) -> Serializer:
    return sql_rows.DecimalDataSerializer(_digits_at(cursor), _digits_at(cursor))


def _timestamp_data(cursor: Cursor, version: int, depth: int) -> Serializer:
    return sql_rows.TimestampDataSerializer(_digits_at(cursor))


def _digits_at(cursor: Cursor) -> int:
    at, number = cursor.position, cursor.i32()
    if not 0 <= number <= _MOST_DIGITS:
        raise Malformed(f"A number cannot have {number} digits", at)
    return number


def _java_objects(count: int, serializer: Serializer) -> _Read:
    def read(cursor: Cursor, version: int, depth: int) -> Serializer:
        for _ in range(count):
            java_stream.skip(cursor)
        return serializer

    return read


def _java_object(cursor: Cursor) -> object:
    contents = java_stream.skip(cursor)
    return contents[0] if len(contents) == 1 else contents


_SIMPLE = {
    "BooleanSerializer": "boolean",
    "ByteSerializer": "byte",
    "ShortSerializer": "short",
    "IntSerializer": "int",
    "LongSerializer": "long",
    "FloatSerializer": "float",
    "DoubleSerializer": "double",
    "CharSerializer": "char",
    "StringSerializer": "string",
    "BigIntSerializer": "biginteger",
    "BigDecSerializer": "bigdecimal",
    "DateSerializer": "date",
    "SqlDateSerializer": "date",
    "SqlTimeSerializer": "date",
    "SqlTimestampSerializer": "timestamp",
    "InstantSerializer": "instant",
    "LocalDateSerializer": "localdate",
    "LocalTimeSerializer": "localtime",
    "LocalDateTimeSerializer": "localdatetime",
    "VoidNamespaceSerializer": "void",
    "BooleanPrimitiveArraySerializer": "booleans",
    "BytePrimitiveArraySerializer": "bytes",
    "ByteArrayWrapperSerializer": "bytes",  # the keys of a map of PyFlink
    "CharPrimitiveArraySerializer": "chars",
    "ShortPrimitiveArraySerializer": "shorts",
    "IntPrimitiveArraySerializer": "ints",
    "LongPrimitiveArraySerializer": "longs",
    "FloatPrimitiveArraySerializer": "floats",
    "DoublePrimitiveArraySerializer": "doubles",
    "StringArraySerializer": "strings",
    "StringDataSerializer": "utf8",
}

_READ: dict[str, _Read] = {
    **{f"{name}${name}Snapshot": _simple(SIMPLE[type_]) for name, type_ in _SIMPLE.items()},
    "TimeWindow$Serializer$TimeWindowSerializerSnapshot": _simple(SIMPLE["timewindow"]),
    "GlobalWindow$Serializer$GlobalWindowSerializerSnapshot": _simple(SIMPLE["globalwindow"]),
    "JavaSerializer$JavaSerializerSnapshot": _simple(Simple("java", None, _java_object)),
    "ListSerializerSnapshot": _composite(1, lambda _, parts: composites.ListSerializer(*parts)),
    "MapSerializerSnapshot": _composite(2, lambda _, parts: composites.MapSerializer(*parts)),
    "GenericArraySerializerSnapshot": _composite(
        1, lambda _, parts: composites.ArraySerializer(*parts), _class_name
    ),
    "TupleSerializerSnapshot": _composite(
        None, lambda _, parts: composites.TupleSerializer(parts), _class_name
    ),
    "ScalaCaseClassSerializerSnapshot": _composite(
        None,
        lambda name, parts: composites.TupleSerializer(parts, f"case {name}"[:100]),
        _class_name,
    ),
    "RowSerializer$RowSerializerSnapshot": _composite(
        None, lambda kind, parts: composites.RowSerializer(parts, kind), _row_kind
    ),
    "NullableSerializer$NullableSerializerSnapshot": _composite(
        1, lambda padding, parts: composites.NullableSerializer(parts[0], padding), _padding
    ),
    "JavaEitherSerializerSnapshot": _composite(
        2, lambda _, parts: composites.EitherSerializer(*parts)
    ),
    "ScalaEitherSerializerSnapshot": _composite(
        2, lambda _, parts: composites.EitherSerializer(*parts)
    ),
    "TimerSerializerSnapshot": _composite(2, lambda _, parts: composites.TimerSerializer(*parts)),
    "TtlStateFactory$TtlSerializerSnapshot": _composite(
        2, lambda _, parts: composites.TtlSerializer(parts[1], parts[0])
    ),
    "TtlAwareSerializerSnapshot": _ttl_aware,
    "PojoSerializerSnapshot": _pojo,
    "KryoSerializerSnapshot": _kryo,
    "EnumSerializer$EnumSerializerSnapshot": _enum,
    "RowDataSerializer$RowDataSerializerSnapshot": _row_data,
    "DecimalDataSerializer$DecimalDataSerializerSnapshot": _decimal_data,
    "TimestampDataSerializer$TimestampDataSerializerSnapshot": _timestamp_data,
    "ArrayDataSerializer$ArrayDataSerializerSnapshot": _java_objects(
        2, sql_rows.BytesData("arraydata")
    ),
    "MapDataSerializer$MapDataSerializerSnapshot": _java_objects(4, sql_rows.BytesData("mapdata")),
}
