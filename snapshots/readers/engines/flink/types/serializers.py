"""Read the descriptions of serializers in a checkpoint: the types of its states.

Each class of Flink has an entry: how its description is read, and what reads its values.
"""

from functools import partial

from snapshots.readers.engines.flink.types import (
    composites,
    operators,
    snapshot_forms,
    sql_snapshots,
)
from snapshots.readers.engines.flink.types.snapshot_forms import (
    Read,
    UnknownSerializer,
    class_name,
    composite,
    fields,
    simple,
)
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Simple, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed

__all__ = ["ENVELOPE_VERSION", "MOST_NESTED", "UnknownSerializer", "read_envelope", "read_snapshot"]

MOST_NESTED = 40
ENVELOPE_VERSION = 2
_FLINK = "org.apache.flink."
_PYTHON = ".serializers.python"  # a package whose classes have names of others


def read_envelope(cursor: Cursor) -> Serializer:
    """Read an envelope's version and a serializer. Raises: Malformed, UnknownSerializer."""
    snapshot_forms.expect(cursor, ENVELOPE_VERSION, "The envelope of a serializer")
    return read_snapshot(cursor)


def read_snapshot(cursor: Cursor, depth: int = 0) -> Serializer:
    """Read a serializer without envelope. Raises: Malformed, UnknownSerializer.

    ``depth`` is how many serializers it is nested in.
    """
    at, name = cursor.position, cursor.utf()
    if depth >= MOST_NESTED:
        raise Malformed(f"Serializers are nested more than {MOST_NESTED} deep", at)
    read = _reader(name)
    if read is None:
        raise UnknownSerializer(name, at)
    return read(cursor, cursor.i32(), partial(read_snapshot, depth=depth + 1))


def _reader(full_name: str) -> Read | None:
    package, _, name = full_name.rpartition(".")
    if not full_name.startswith(_FLINK):
        return None
    return (_OF_PYTHON if package.endswith(_PYTHON) else _READ).get(name)


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
    "NullValueSerializer$NullValueSerializerSnapshot": "nullvalue",
    "NullSerializer$NullSerializerSnapshot": "null",
    "Tuple0SerializerSnapshot": "tuple0",
    "DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot": "deweynumber",
    "EventId$EventIdSerializer$EventIdSerializerSnapshot": "eventid",
    "SortedLongSerializer$SortedLongSerializerSnapshot": "sortedlong",
    "CountWindow$Serializer$CountWindowSerializerSnapshot": "countwindow",
}

_READ: dict[str, Read] = {
    **{f"{name}${name}Snapshot": simple(SIMPLE[type_]) for name, type_ in _SIMPLE.items()},
    "TimeWindow$Serializer$TimeWindowSerializerSnapshot": simple(SIMPLE["timewindow"]),
    "GlobalWindow$Serializer$GlobalWindowSerializerSnapshot": simple(SIMPLE["globalwindow"]),
    "JavaSerializer$JavaSerializerSnapshot": simple(
        Simple("java", None, snapshot_forms.java_object)
    ),
    "ListSerializerSnapshot": composite(1, lambda _, parts: composites.ListSerializer(*parts)),
    "MapSerializerSnapshot": composite(2, lambda _, parts: composites.MapSerializer(*parts)),
    "GenericArraySerializerSnapshot": composite(
        1, lambda _, parts: composites.ArraySerializer(parts[0]), class_name
    ),
    "TupleSerializerSnapshot": composite(
        None, lambda _, parts: composites.TupleSerializer(parts), class_name
    ),
    "ScalaCaseClassSerializerSnapshot": snapshot_forms.case_class(None),
    "Tuple2CaseClassSerializerSnapshot": snapshot_forms.case_class(2),
    "NothingSerializerSnapshot": simple(Unreadable("nothing", "The type has no values")),
    "UnitSerializer$UnitSerializerSnapshot": simple(operators.SIMPLE["null"]),
    "ScalaEnumSerializerSnapshot": snapshot_forms.scala_enum,
    "ScalaOptionSerializerSnapshot": composite(
        1, lambda _, parts: composites.OptionSerializer(*parts)
    ),
    "ScalaTrySerializerSnapshot": composite(2, lambda _, parts: composites.TrySerializer(*parts)),
    "TraversableSerializerSnapshot": composite(
        1,
        lambda _, parts: composites.ArraySerializer(parts[0], "traversable"),
        class_name,
    ),
    "RowSerializer$RowSerializerSnapshot": composite(
        None, lambda kind, parts: composites.RowSerializer(parts, kind), snapshot_forms.row_kind
    ),
    "NullableSerializer$NullableSerializerSnapshot": composite(
        1,
        lambda padding, parts: composites.NullableSerializer(parts[0], padding),
        snapshot_forms.padding,
    ),
    "JavaEitherSerializerSnapshot": composite(
        2, lambda _, parts: composites.EitherSerializer(*parts)
    ),
    "ScalaEitherSerializerSnapshot": composite(
        2, lambda _, parts: composites.EitherSerializer(*parts)
    ),
    "TimerSerializerSnapshot": composite(2, lambda _, parts: composites.TimerSerializer(*parts)),
    "TtlStateFactory$TtlSerializerSnapshot": composite(
        2, lambda _, parts: composites.TtlSerializer(parts[1], parts[0])
    ),
    "TtlAwareSerializerSnapshot": snapshot_forms.ttl_aware,
    "PojoSerializerSnapshot": snapshot_forms.pojo,
    "KryoSerializerSnapshot": snapshot_forms.kryo,
    "EnumSerializer$EnumSerializerSnapshot": snapshot_forms.enum,
    "RowDataSerializer$RowDataSerializerSnapshot": sql_snapshots.row_data,
    "DecimalDataSerializer$DecimalSerializerSnapshot": sql_snapshots.decimal_data,
    **{name: simple(operators.SIMPLE[type_]) for name, type_ in _OF_OPERATORS.items()},
    "SetSerializerSnapshot": composite(1, lambda _, parts: operators.SetSerializer(*parts)),
    "ArrayListSerializerSnapshot": composite(1, lambda _, parts: composites.ListSerializer(*parts)),
    "LinkedListSerializer$LinkedListSerializerSnapshot": composite(
        1,
        lambda nulls, parts: operators.LinkedListSerializer(parts[0], nulls),
        snapshot_forms.has_null_mask,
    ),
    "NullAwareMapSerializerSnapshot": composite(
        2, lambda _, parts: operators.NullAwareMapSerializer(*parts)
    ),
    "ListViewSerializerSnapshot": composite(1, lambda _, parts: parts[0]),
    "MapViewSerializerSnapshot": composite(1, lambda _, parts: parts[0]),
    "SingleThreadAccessCheckingTypeSerializer$SingleThreadAccessCheckingTypeSerializerSnapshot": (
        composite(1, lambda _, parts: parts[0])
    ),
    "ExternalSerializer$ExternalSerializerSnapshot": composite(
        1, lambda _, parts: parts[0], sql_snapshots.data_type
    ),
    "RawValueDataSerializer$RawValueDataSerializerSnapshot": composite(
        1, lambda _, parts: operators.RawValueSerializer(*parts)
    ),
    "SortedMapSerializerSnapshot": sql_snapshots.sorted_map,
    "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot": sql_snapshots.binary_row,
    "RowDataKeySerializerSnapshot": sql_snapshots.row_data_key,
    "CopyableValueSerializer$CopyableValueSerializerSnapshot": snapshot_forms.of_a_class,
    "ValueSerializer$ValueSerializerSnapshot": snapshot_forms.of_a_class,
    "CoGroupedStreams$UnionSerializerSnapshot": composite(
        2, lambda _, parts: operators.UnionSerializer(*parts)
    ),
    "TwoPhaseCommitSinkFunction$StateSerializerSnapshot": composite(
        2, lambda _, parts: operators.TwoPhaseCommitStateSerializer(*parts)
    ),
    "StreamElementSerializer$StreamElementSerializerSnapshot": composite(
        1, lambda _, parts: operators.StreamElementSerializer(*parts)
    ),
    "IntervalJoinOperator$BufferEntrySerializerSnapshot": composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "joined", ("hasBeenJoined", "element"), (SIMPLE["boolean"], *parts)
        ),
    ),
    "LockableTypeSerializerSnapshot": composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "lockable", ("refCounter", "element"), (SIMPLE["int"], *parts)
        ),
    ),
    "NodeId$NodeIdSerializer$NodeIdSerializerSnapshot": composite(
        1, lambda _, parts: operators.NodeIdSerializer(*parts)
    ),
    "SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot": fields(
        "sharedbufferedge", "target", "version"
    ),
    "SharedBufferNodeSerializerSnapshotV2": composite(
        1, lambda _, parts: operators.SharedBufferNodeSerializer(*parts)
    ),
    "NFAStateSerializerSnapshot": composite(
        3,
        lambda has_time, parts: operators.NfaStateSerializer(
            parts[0], parts[1], parts[2], has_time
        ),
        snapshot_forms.has_previous_time,
    ),
    "WindowKeySerializer$WindowKeySerializerSnapshot": composite(
        1,
        lambda _, parts: operators.FieldsSerializer(
            "windowkey", ("window", "key"), (SIMPLE["long"], *parts)
        ),
    ),
    "MetaSqnInfoSerializer$MetaSqnInfoSerializerSnapshot": fields("metasqn", "highSqn", "size"),
    "RowSqnInfoSerializer$RowSqnInfoSerializerSnapshot": fields("rowsqn", "firstSqn", "lastSqn"),
    "NodeSerializer$NodeSerializerSnapshot": fields(
        "node", "row", "sqn", "prevSqn", "nextSqn", "nextSqnForRecord", "timestamp"
    ),
    "TimestampDataSerializer$TimestampDataSerializerSnapshot": sql_snapshots.timestamp_data,
    "ArrayDataSerializer$ArrayDataSerializerSnapshot": sql_snapshots.array_data,
    "MapDataSerializer$MapDataSerializerSnapshot": sql_snapshots.map_data,
}

_FOR_WORKERS = "It has PyFlink's form for its worker processes, which is not read"
_OF_PYTHON: dict[str, Read] = {
    "StringSerializer$StringSerializerSnapshot": simple(SIMPLE["utf8"]),
    "BigDecSerializer$BigDecSerializerSnapshot": simple(SIMPLE["utf8"]),
    "DateSerializer$DateSerializerSnapshot": simple(operators.SIMPLE["days"]),
    "TimeSerializer$TimeSerializerSnapshot": simple(operators.SIMPLE["millisofday"]),
    "TimestampSerializer$TimestampSerializerSnapshot": sql_snapshots.timestamp_data,
    "DecimalDataSerializer$DecimalSerializerSnapshot": sql_snapshots.decimal_text,
    "RowDataSerializer$RowDataSerializerSnapshot": sql_snapshots.unread(
        "python", sql_snapshots.row_data, _FOR_WORKERS
    ),
    "ArrayDataSerializer$ArrayDataSerializerSnapshot": sql_snapshots.unread(
        "python", sql_snapshots.array_data, _FOR_WORKERS
    ),
    "MapDataSerializer$BaseMapSerializerSnapshot": sql_snapshots.unread(
        "python", sql_snapshots.map_data, _FOR_WORKERS
    ),
}
