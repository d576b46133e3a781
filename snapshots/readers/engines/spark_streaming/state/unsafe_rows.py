"""Decode Spark's unsafe rows: little-endian, with a null bit and 8 bytes for each field.

The 8 bytes hold a number, or ``offset << 32 | size`` of any other value in the same row. An array
has its length, null bits and elements. A map is the array of its keys, then that of its values.

Source: Spark's UnsafeRow, UnsafeArrayData, UnsafeMapData.
"""

import math
import struct
from datetime import date, timedelta
from typing import Any

import orjson

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.sql_types import (
    Array,
    Map,
    Plain,
    SqlType,
    Struct,
)
from snapshots.readers.formats.cursor import Malformed

_FORMATS = {
    "byte": "<b",
    "short": "<h",
    "integer": "<i",
    "long": "<q",
    "float": "<f",
    "double": "<d",
    "date": "<i",
    "timestamp": "<q",
    "timestamp_ntz": "<q",
    "months": "<i",
    "microseconds": "<q",
}
_PACKED = {name: struct.Struct(code) for name, code in _FORMATS.items()}
_LONG = struct.Struct("<q")
_FIRST_DAY = date(1970, 1, 1)


def read_row(data: bytes, schema: Struct) -> dict[str, Json]:
    """Return one row as JSON. Raises: Malformed.

    Timestamps are epoch milliseconds, days ISO dates, decimals texts, bytes hexadecimal, maps
    lists of [key, value].
    """
    return _Row(data).struct(schema, 0, len(data))


class _Row:
    """A reader of one row. It bounds how much overlapping parts of the row can add up to."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._values_left = len(data) + 64
        self._bytes_left = 2 * len(data) + 64

    def struct(self, schema: Struct, start: int, size: int) -> dict[str, Json]:
        bitmap = (len(schema.columns) + 63) // 64 * 8
        if size < bitmap + 8 * len(schema.columns):
            raise Malformed(f"A row of {len(schema.columns)} fields has only {size} bytes", start)
        row = {}
        for index, (name, column) in enumerate(zip(schema.names, schema.columns, strict=True)):
            self._spend(start)
            at = start + bitmap + 8 * index
            is_null = self._is_null(start, index)
            row[name] = None if is_null else self._value(column.type, at, start, size)
        return row

    def _value(self, type: SqlType, at: int, start: int, size: int) -> Json:
        """Return the value whose slot is ``at``, in a row or array of ``size`` from ``start``."""
        if isinstance(type, Plain) and type.size is not None:
            return self._fixed(type, at)
        (slot,) = _LONG.unpack_from(self._data, at)
        offset, length = slot >> 32 & 0xFFFFFFFF, slot & 0xFFFFFFFF
        if offset + length > size:
            raise Malformed(f"{length} bytes from {offset} on are more than the row has", at)
        return self._variable(type, start + offset, length)

    def _variable(self, type: SqlType, start: int, length: int) -> Json:
        if isinstance(type, Struct):
            return self.struct(type, start, length)
        if isinstance(type, Array):
            return self._array(type.element, start, length)
        if isinstance(type, Map):
            return self._map(type, start, length)
        self._bytes_left -= length
        if self._bytes_left < 0:
            raise Malformed("The row's values overlap", start)
        return _text(type, self._data[start : start + length], start)

    def _array(self, element: SqlType, start: int, size: int) -> list[Json]:
        width = element.size if isinstance(element, Plain) and element.size is not None else 8
        count = self._length(start, size)
        first = 8 + (count + 63) // 64 * 8
        if first + count * width > size:
            raise Malformed(f"An array of {count} elements has only {size} bytes", start)
        values = []
        for index in range(count):
            self._spend(start)
            at = start + first + index * width
            is_null = self._is_null(start + 8, index)
            values.append(None if is_null else self._value(element, at, start, size))
        return values

    def _map(self, type: Map, start: int, size: int) -> list[list[Json]]:
        keys_size = self._length(start, size)
        if keys_size > size - 8:
            raise Malformed(f"The keys of a map take {keys_size} of {size} bytes", start)
        keys = self._array(type.key, start + 8, keys_size)
        values = self._array(type.value, start + 8 + keys_size, size - 8 - keys_size)
        if len(keys) != len(values):
            raise Malformed(f"A map has {len(keys)} keys and {len(values)} values", start)
        return sorted_map([list(pair) for pair in zip(keys, values, strict=True)])

    def _length(self, at: int, size: int) -> int:
        if size < 8:
            raise Malformed("An array or map is shorter than its length", at)
        length: int = _LONG.unpack_from(self._data, at)[0]
        if not 0 <= length <= 8 * size:
            raise Malformed(f"{length} elements are announced", at)
        return length

    def _is_null(self, bitmap: int, index: int) -> bool:
        return bool(self._data[bitmap + index // 8] >> index % 8 & 1)

    def _spend(self, at: int) -> None:
        self._values_left -= 1
        if self._values_left < 0:
            raise Malformed("The row's values overlap", at)

    def _fixed(self, type: Plain, at: int) -> Json:
        if type.name == "boolean":
            return self._data[at] != 0
        if type.name == "void":
            return None
        if type.name == "decimal":
            return decimal_text(_LONG.unpack_from(self._data, at)[0], type.scale)
        (number,) = _PACKED[type.name].unpack_from(self._data, at)
        return plain_value(type.name, number)


def plain_value(type: str, number: Any) -> Json:
    """Return a stored number of a type as JSON."""
    if type in ("timestamp", "timestamp_ntz"):
        return milliseconds(number)
    if type == "date":
        return _day(number)
    if type in ("float", "double") and not math.isfinite(number):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")
    return number


def milliseconds(microseconds: int) -> int | float:
    """Return epoch milliseconds, as an integer unless they have a fraction."""
    whole, rest = divmod(microseconds, 1000)
    return microseconds / 1000 if rest else whole


def _day(days: int) -> Json:
    try:
        return (_FIRST_DAY + timedelta(days=days)).isoformat()
    except OverflowError:
        return days  # outside of the years 1 to 9999


def sorted_map(pairs: list[list[Json]]) -> list[list[Json]]:
    """Sort the pairs of a map, which has no order of its own, by the JSON of their keys."""
    return sorted(pairs, key=lambda pair: orjson.dumps(pair[0], option=orjson.OPT_SORT_KEYS))


def decimal_text(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).zfill(scale + 1)
    sign = "-" if unscaled < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def _text(type: Plain, data: bytes, at: int) -> str:
    if type.name == "decimal":
        if len(data) > 16:
            raise Malformed(f"A decimal cannot have {len(data)} bytes", at)
        return decimal_text(int.from_bytes(data, "big", signed=True), type.scale)
    if type.name == "binary":
        return data.hex()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Malformed("A text is not valid UTF-8", at) from error
