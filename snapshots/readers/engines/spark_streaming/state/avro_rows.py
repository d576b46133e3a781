"""Decode rows of state in Avro. Before the value of a column is its branch, 0 for null.

Source: Spark's AvroStateEncoder, SchemaConverters.toAvroType; Avro 1.12, "Binary encoding".
"""

import struct
from collections.abc import Iterator

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.sql_types import (
    Array,
    Map,
    Plain,
    SqlType,
    Struct,
)
from snapshots.readers.engines.spark_streaming.state.unsafe_rows import (
    decimal_text,
    plain_value,
    sorted_map,
)
from snapshots.readers.formats.cursor import Cursor, Malformed

_REAL = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
_MOST_BITS = 63
_VOID = Plain("void", 8)


def read_avro(data: bytes, schema: Struct) -> dict[str, Json]:
    """Return one row as JSON, as ``unsafe_rows.read_row`` does. Raises: Malformed."""
    cursor = Cursor(data)
    row = _struct(cursor, schema)
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the row", cursor.position)
    return row


def _struct(cursor: Cursor, type: Struct) -> dict[str, Json]:
    columns = zip(type.names, type.columns, strict=True)
    return {name: _value(cursor, column.type) for name, column in columns}


def _value(cursor: Cursor, type: SqlType) -> Json:
    """Decode the value of a column."""
    if type == _VOID or not _branch(cursor):
        return None
    return _there(cursor, type)


def _item(cursor: Cursor, type: SqlType) -> Json:
    """Decode an item of an array or map. Spark writes none that is null, unless it is composed."""
    return _there(cursor, type) if isinstance(type, Plain) else _value(cursor, type)


def _there(cursor: Cursor, type: SqlType) -> Json:
    if isinstance(type, Struct):
        return _struct(cursor, type)
    if isinstance(type, Array):
        return [_item(cursor, type.element) for _ in _items(cursor)]
    if isinstance(type, Map):
        return sorted_map([[_text(cursor), _item(cursor, type.value)] for _ in _items(cursor)])
    return _plain(cursor, type)


def _branch(cursor: Cursor) -> bool:
    branch = _number(cursor)
    if branch not in (0, 1):
        raise Malformed(f"A value has the unknown branch {branch}", cursor.position)
    return branch == 1


def _plain(cursor: Cursor, type: Plain) -> Json:
    if type.name == "boolean":
        return cursor.u8() != 0
    if type.name in _REAL:
        real = _REAL[type.name]
        return plain_value(type.name, real.unpack(cursor.take(real.size))[0])
    if type.name == "decimal":
        size = _decimal_bytes(type.precision)
        return decimal_text(int.from_bytes(cursor.take(size), "big", signed=True), type.scale)
    if type.name == "binary":
        return cursor.take(_number(cursor)).hex()
    if type.name == "string":
        return _text(cursor)
    return plain_value(type.name, _number(cursor))


def _decimal_bytes(precision: int) -> int:
    """Return the fewest bytes that hold all numbers of so many digits."""
    return ((10**precision - 1).bit_length() + 8) // 8


def _text(cursor: Cursor) -> str:
    at = cursor.position
    try:
        return cursor.take(_number(cursor)).decode()
    except UnicodeDecodeError as error:
        raise Malformed("A text is not valid UTF-8", at) from error


def _items(cursor: Cursor) -> Iterator[int]:
    """Yield once for each item of an array or map, whose blocks have their numbers of items."""
    while count := _number(cursor):
        if count < 0:  # the size of the block in bytes follows
            _number(cursor)
        if abs(count) > cursor.left:
            raise Malformed(
                f"{abs(count):,} items are announced and fewer are left", cursor.position
            )
        yield from range(abs(count))


def _number(cursor: Cursor) -> int:
    """Read a whole number of up to 64 bits, 7 in a byte, with its sign in the lowest."""
    number = 0
    for shift in range(0, _MOST_BITS + 1, 7):
        byte = cursor.u8()
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)
    raise Malformed("A number has more than 64 bits", cursor.position)
