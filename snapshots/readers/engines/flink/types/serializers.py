"""Read the descriptions of serializers in a checkpoint: the types of its states.

A description has no length, so that the end of an unknown class is not known. Only the fields and
subclasses of a POJO have a length. Source: Flink, TypeSerializerSnapshot,
CompositeTypeSerializerSnapshot.
"""

from collections.abc import Callable
from typing import Any

from snapshots.readers.engines.flink.types import composites, operators, sql_rows
from snapshots.readers.engines.flink.types.composites import EnumSerializer, PojoSerializer
from snapshots.readers.engines.flink.types.values import (
    SIMPLE,
    Serializer,
    Simple,
    Undecodable,
    Unreadable,
)
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream

MOST_NESTED = 40
_OUTER_MAGIC, _NESTED_MAGIC, _MAP_MAGIC = 911108, 1333245, 0x4F2C69A3D70
_FLINK = "org.apache.flink."
ENVELOPE_VERSION, _NESTED_VERSION = 2, 1
_MOST_COLUMNS = 100_000
_MOST_DIGITS = 100  # more than any type of SQL can have


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


def read_envelope(cursor: Cursor) -> Serializer:
    """Read an envelope's version and a serializer. Raises: Malformed, UnknownSerializer."""
    _expect(cursor, ENVELOPE_VERSION, "The envelope of a serializer")
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


def _nested(cursor: Cursor, depth: int) -> tuple[tuple[Serializer, ...], UnknownSerializer | None]:
    """Return the parts, and the reason why they are not known from one part on."""
    _expect(cursor, _NESTED_MAGIC, "A list of serializers")
    _expect(cursor, _NESTED_VERSION, "A list of serializers")
    count = cursor.count(bytes_each=6)
    parts: list[Serializer] = []
    for _ in range(count):
        try:
            parts.append(read_snapshot(cursor, depth + 1))
        except UnknownSerializer as unknown:
            behind = Unreadable("unknown", f"{unknown.what}, and this is described behind it")
            return (*parts, unknown.so_far, *[behind] * (count - len(parts) - 1)), unknown
    return tuple(parts), None


def _whole(serializer: Serializer, unknown: UnknownSerializer | None) -> Serializer:
    """Return a serializer whose parts are all known. Raises: UnknownSerializer."""
    if unknown is not None:
        unknown.so_far = serializer
        raise unknown
    return serializer


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
        at, (parts, unknown) = cursor.position, _nested(cursor, depth)
        if len(parts) != count and not (parts and count is None):
            raise Malformed(f"The serializer cannot have {len(parts)} parts", at)
        return _whole(build(outer, parts), unknown)

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
        return unknown.so_far
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
    _, unknown = _nested(cursor, depth)
    return _whole(sql_rows.RowDataSerializer(columns), unknown)


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


def _of_a_class(cursor: Cursor, version: int, depth: int) -> Serializer:
    name = cursor.utf()
    return Unreadable(name.rpartition(".")[2][:100], f"The class {name[:200]} wrote the value")


def _of_a_value(cursor: Cursor, version: int, depth: int) -> Serializer:
    name = cursor.utf()
    _optional_map(cursor)
    return Unreadable(name.rpartition(".")[2][:100], f"The class {name[:200]} wrote the value")


def _has_null_mask(cursor: Cursor, version: int) -> bool:
    return version == 2 or (version > 2 and cursor.flag())


def _has_previous_time(cursor: Cursor, version: int) -> bool:
    return version >= 2 and cursor.flag()


def _data_type(cursor: Cursor, version: int) -> None:
    java_stream.skip(cursor)
    cursor.flag()  # whether the value is already in SQL's own form


def _binary_row(cursor: Cursor, version: int, depth: int) -> Serializer:
    at, arity = cursor.position, cursor.i32()
    if not 0 <= arity <= _MOST_COLUMNS:
        raise Malformed(f"A row cannot have {arity} columns", at)
    return operators.BinaryRow(arity)


def _sorted_map(cursor: Cursor, version: int, depth: int) -> Serializer:
    java_stream.skip(cursor)  # the order of the keys
    at, (parts, unknown) = cursor.position, _nested(cursor, depth)
    if len(parts) != 2:
        raise Malformed(f"A map cannot have {len(parts)} serializers", at)
    return _whole(composites.MapSerializer(*parts), unknown)


def _row_data_key(cursor: Cursor, version: int, depth: int) -> Serializer:
    for _generated_class in range(2):  # that compares rows, and that hashes them
        cursor.take(cursor.count())
    return read_snapshot(cursor, depth + 1)


def _fields(outer: str, *names: str) -> _Read:
    return _composite(len(names), lambda _, parts: operators.FieldsSerializer(outer, names, parts))


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
    "BooleanValueSerializer": "boolean",
    "ByteValueSerializer": "byte",
    "ShortValueSerializer": "short",
    "IntValueSerializer": "int",
    "LongValueSerializer": "long",
    "FloatValueSerializer": "float",
    "DoubleValueSerializer": "double",
    "CharValueSerializer": "char",
    "StringValueSerializer": "string",
}
_OF_OPERATORS = {
    "BitmapSerializer$BitmapSerializerSnapshot": "bitmap",
    "VariantSerializer$VariantSerializerSnapshot": "variant",
    "VoidSerializer$VoidSerializerSnapshot": "null",
    "NullValueSerializer$NullValueSerializerSnapshot": "null",
    "NullSerializer$NullSerializerSnapshot": "null",
    "Tuple0SerializerSnapshot": "tuple0",
    "DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot": "deweynumber",
    "EventId$EventIdSerializer$EventIdSerializerSnapshot": "eventid",
    "SortedLongSerializer$SortedLongSerializerSnapshot": "sortedlong",
    "CountWindow$Serializer$CountWindowSerializerSnapshot": "countwindow",
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
    "DecimalDataSerializer$DecimalSerializerSnapshot": _decimal_data,
    **{name: _simple(operators.SIMPLE[type_]) for name, type_ in _OF_OPERATORS.items()},
    "SetSerializerSnapshot": _composite(1, lambda _, parts: operators.SetSerializer(*parts)),
    "ArrayListSerializerSnapshot": _composite(
        1, lambda _, parts: composites.ListSerializer(*parts)
    ),
    "LinkedListSerializer$LinkedListSerializerSnapshot": _composite(
        1, lambda nulls, parts: operators.LinkedListSerializer(parts[0], nulls), _has_null_mask
    ),
    "NullAwareMapSerializerSnapshot": _composite(
        2, lambda _, parts: operators.NullAwareMapSerializer(*parts)
    ),
    "ListViewSerializerSnapshot": _composite(1, lambda _, parts: parts[0]),
    "MapViewSerializerSnapshot": _composite(1, lambda _, parts: parts[0]),
    "SingleThreadAccessCheckingTypeSerializer$SingleThreadAccessCheckingTypeSerializerSnapshot": (
        _composite(1, lambda _, parts: parts[0])
    ),
    "ExternalSerializer$ExternalSerializerSnapshot": _composite(
        1, lambda _, parts: parts[0], _data_type
    ),
    "RawValueDataSerializer$RawValueDataSerializerSnapshot": _composite(
        1, lambda _, parts: operators.RawValueSerializer(*parts)
    ),
    "SortedMapSerializerSnapshot": _sorted_map,
    "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot": _binary_row,
    "RowDataKeySerializerSnapshot": _row_data_key,
    "CopyableValueSerializer$CopyableValueSerializerSnapshot": _of_a_class,
    "ValueSerializer$ValueSerializerSnapshot": _of_a_value,
    "CoGroupedStreams$UnionSerializerSnapshot": _composite(
        2, lambda _, parts: operators.UnionSerializer(*parts)
    ),
    "TwoPhaseCommitSinkFunction$StateSerializerSnapshot": _composite(
        2, lambda _, parts: operators.TwoPhaseCommitStateSerializer(*parts)
    ),
    "StreamElementSerializer$StreamElementSerializerSnapshot": _composite(
        1, lambda _, parts: operators.StreamElementSerializer(*parts)
    ),
    "IntervalJoinOperator$BufferEntrySerializerSnapshot": _composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "joined", ("hasBeenJoined", "element"), (SIMPLE["boolean"], *parts)
        ),
    ),
    "LockableTypeSerializerSnapshot": _composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "lockable", ("refCounter", "element"), (SIMPLE["int"], *parts)
        ),
    ),
    "NodeId$NodeIdSerializer$NodeIdSerializerSnapshot": _composite(
        1, lambda _, parts: operators.NodeIdSerializer(*parts)
    ),
    "SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot": _fields(
        "sharedbufferedge", "target", "version"
    ),
    "SharedBufferNodeSerializerSnapshotV2": _composite(
        1, lambda _, parts: operators.SharedBufferNodeSerializer(*parts)
    ),
    "NFAStateSerializerSnapshot": _composite(
        3,
        lambda has_time, parts: operators.NfaStateSerializer(
            parts[0], parts[1], parts[2], has_time
        ),
        _has_previous_time,
    ),
    "WindowKeySerializer$WindowKeySerializerSnapshot": _composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "windowkey", ("window", "key"), (SIMPLE["long"], *parts)
        ),
    ),
    "MetaSqnInfoSerializer$MetaSqnInfoSerializerSnapshot": _fields("metasqn", "highSqn", "size"),
    "RowSqnInfoSerializer$RowSqnInfoSerializerSnapshot": _fields("rowsqn", "firstSqn", "lastSqn"),
    "NodeSerializer$NodeSerializerSnapshot": _fields(
        "node", "row", "sqn", "prevSqn", "nextSqn", "nextSqnForRecord", "timestamp"
    ),
    "TimestampDataSerializer$TimestampDataSerializerSnapshot": _timestamp_data,
    "ArrayDataSerializer$ArrayDataSerializerSnapshot": _java_objects(
        2, sql_rows.BytesData("arraydata")
    ),
    "MapDataSerializer$MapDataSerializerSnapshot": _java_objects(4, sql_rows.BytesData("mapdata")),
}
