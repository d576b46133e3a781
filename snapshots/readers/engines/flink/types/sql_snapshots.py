"""How serializers of Flink's SQL are described: with the types of columns as Java objects.

Source: Flink, RowDataSerializer, DecimalDataSerializer, TimestampDataSerializer,
ArrayDataSerializer, MapDataSerializer, SortedMapSerializer and their snapshots.
"""

from typing import Any

from snapshots.readers.engines.flink.types import composites, operators, sql_rows
from snapshots.readers.engines.flink.types.snapshot_forms import Inner, Read, nested, whole
from snapshots.readers.engines.flink.types.sql_columns import Column
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Unreadable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream

_MOST_COLUMNS = 100_000
_MOST_NESTED = 40
_NAMED = {"RowType": "fields", "StructuredType": "attributes"}
_OF_NOTHING = ".NullSerializer"  # of a view whose content is in a state of its own
_INNER = ("elementType", "keyType", "valueType", "sourceType")
_PARTS = {"ArrayType": 1, "MultisetType": 1, "DistinctType": 1, "MapType": 2}
_MOST_DIGITS = 100  # more than any type of SQL can have


def row_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    columns = tuple(_column(cursor) for _ in range(cursor.count(bytes_each=5)))
    _, unknown = nested(cursor, inner)
    return whole(sql_rows.RowDataSerializer(columns), unknown)


def _column(cursor: Cursor) -> Column:
    """Read a logical type, which is stored as a Java object."""
    at, contents = cursor.position, java_stream.skip(cursor)
    column = _column_of(contents[0] if contents else None, 0)
    if column is None:
        raise Malformed("The type of a column is not a Java object", at)
    return column


def _column_of(value: object, depth: int) -> Column | None:
    """Return a logical type, with those in it; None if the object is none."""
    fields = value.get("fields") if isinstance(value, dict) else None
    class_name = value.get("class") if isinstance(value, dict) else None
    if not isinstance(fields, dict) or not isinstance(class_name, str) or depth > _MOST_NESTED:
        return None
    name = class_name.rpartition(".")[2][:100]
    precision, scale = (_digits(fields.get(key)) for key in ("precision", "scale"))
    length, nullable = fields.get("length"), fields.get("isNullable")
    names, inner = _inner(name, fields)
    columns = [_column_of(part, depth + 1) for part in inner]
    whole_inner = tuple(column for column in columns if column is not None)
    if name == "RawType" and _class_of(fields.get("serializer")).endswith(_OF_NOTHING):
        return Column(name, nullable=None, inner=(Column("NullType"),))
    if len(whole_inner) < len(columns) or len(columns) != _PARTS.get(name, len(columns)):
        name, whole_inner, names = f"{name} of unknown types", (), ()
    return Column(
        name,
        precision,
        scale,
        length if type(length) is int else 0,
        nullable if isinstance(nullable, bool) else None,
        whole_inner,
        names,
    )


def _inner(name: str, fields: dict[str, Any]) -> tuple[tuple[str, ...], list[object]]:
    """Return the names of the fields in a logical type, and the types in it."""
    if name in _NAMED:
        own = [part["fields"] for part in _listed(fields.get(_NAMED[name]))]
        names = tuple(str(part.get("name"))[:200] for part in own)
        return names, [part.get("type") for part in own]
    return (), [fields[key] for key in _INNER if key in fields]


def _class_of(value: object) -> str:
    name = value.get("class") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def _listed(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of Java, which may be in a list that cannot be changed."""
    if isinstance(value, list):
        return [part for part in value if isinstance(part, dict) and "fields" in part]
    if not isinstance(value, dict):
        return []
    for part in (value.get("written") or {}).values():
        return _listed(part)
    fields = value.get("fields") or {}
    return next((_listed(fields[key]) for key in ("list", "c", "a") if key in fields), [])


def _digits(number: object) -> int:
    return number if isinstance(number, int) and 0 <= number <= _MOST_DIGITS else 0


def decimal_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    return sql_rows.DecimalDataSerializer(_digits_at(cursor), _digits_at(cursor))


def decimal_text(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    _digits_at(cursor)
    _digits_at(cursor)
    return SIMPLE["utf8"]


def timestamp_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    return sql_rows.TimestampDataSerializer(_digits_at(cursor))


def _digits_at(cursor: Cursor) -> int:
    at, number = cursor.position, cursor.i32()
    if not 0 <= number <= _MOST_DIGITS:
        raise Malformed(f"A number cannot have {number} digits", at)
    return number


def array_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    element = _column(cursor)
    java_stream.skip(cursor)  # the serializer of the elements
    return sql_rows.ArrayDataSerializer(element)


def map_data(cursor: Cursor, version: int, inner: Inner) -> Serializer:
    key, value = _column(cursor), _column(cursor)
    for _serializer in range(2):
        java_stream.skip(cursor)
    return sql_rows.MapDataSerializer(key, value)


def unread(kind: str, read: Read, reason: str) -> Read:
    """Return a reader of what another reader reads, whose values have a form that is not read."""

    def described(cursor: Cursor, version: int, inner: Inner) -> Serializer:
        return Unreadable(f"{kind} {read(cursor, version, inner).name}", reason)

    return described


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
