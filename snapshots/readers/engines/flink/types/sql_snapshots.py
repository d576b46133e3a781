"""How serializers of Flink's SQL are described: with the types of columns as Java objects.

Source: Flink, RowDataSerializer, DecimalDataSerializer, TimestampDataSerializer,
ArrayDataSerializer, MapDataSerializer, SortedMapSerializer and their snapshots.
"""

from snapshots.readers.engines.flink.types import composites, operators, sql_rows
from snapshots.readers.engines.flink.types.snapshot_forms import Inner, Read, nested, whole
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream

_MOST_COLUMNS = 100_000
_MOST_DIGITS = 100  # more than any type of SQL can have


def row_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    columns = tuple(_column(cursor) for _ in range(cursor.count(bytes_each=5)))
    _, unknown = nested(cursor, inner)
    return whole(sql_rows.RowDataSerializer(columns), unknown)


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


def decimal_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    return sql_rows.DecimalDataSerializer(_digits_at(cursor), _digits_at(cursor))


def decimal_text(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    _digits_at(cursor)
    _digits_at(cursor)
    return SIMPLE["utf8"]


def unread_row(reason: str) -> Read:
    def read(cursor: Cursor, version: int, inner: Inner) -> Serializer:
        row = row_data(cursor, version, inner)
        return Unreadable(f"python {row.name}", reason)

    return read


def timestamp_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    return sql_rows.TimestampDataSerializer(_digits_at(cursor))


def _digits_at(cursor: Cursor) -> int:
    at, number = cursor.position, cursor.i32()
    if not 0 <= number <= _MOST_DIGITS:
        raise Malformed(f"A number cannot have {number} digits", at)
    return number


def java_objects(count: int, serializer: Serializer) -> Read:
    def read(cursor: Cursor, version: int, inner: Inner) -> Serializer:
        for _ in range(count):
            java_stream.skip(cursor)
        return serializer

    return read


def data_type(cursor: Cursor, version: int) -> None:
    java_stream.skip(cursor)
    cursor.flag()  # whether the value is already in SQL's own form


def binary_row(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    at, arity = cursor.position, cursor.i32()
    if not 0 <= arity <= _MOST_COLUMNS:
        raise Malformed(f"A row cannot have {arity} columns", at)
    return operators.BinaryRow(arity)


def sorted_map(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    java_stream.skip(cursor)  # the order of the keys
    at, (parts, unknown) = cursor.position, nested(cursor, inner)
    if len(parts) != 2:
        raise Malformed(f"A map cannot have {len(parts)} serializers", at)
    return whole(composites.MapSerializer(*parts), unknown)


def row_data_key(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    for _generated_class in range(2):  # that compares rows, and that hashes them
        cursor.take(cursor.count())
    return inner(cursor)
