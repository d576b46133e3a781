"""Decode rows of Flink SQL: BinaryRowData and related formats, stored as they lie in memory.

A row becomes ``{"binaryRow": hex, "arity", "rowKind", "fields"}``; a field of a type that is not
read becomes ``{"unread": type}``. TIMESTAMP has no zone, so that no ``Z`` is behind it, which
TIMESTAMP_LTZ has. A row does not state its byte order. Little-endian is assumed,
since nearly all machines of clusters are.
Source: Flink, RowDataSerializer, BinaryRowData, BinarySegmentUtils.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.engines.flink.types.composites import ROW_KINDS
from snapshots.readers.engines.flink.types.values import (
    Serializer,
    decimal_text,
    finite,
    hex_bytes,
    shortest_f32,
)
from snapshots.readers.formats.cursor import Cursor, Malformed

_COMPACT_DIGITS = 18  # a decimal of at most so many digits fits in 8 bytes
_COMPACT_TIME = 3  # so does a time stamp with at most so many digits of a second


IN_SQL = {
    "BooleanType": "BOOLEAN",
    "TinyIntType": "TINYINT",
    "SmallIntType": "SMALLINT",
    "IntType": "INT",
    "BigIntType": "BIGINT",
    "FloatType": "FLOAT",
    "DoubleType": "DOUBLE",
    "DateType": "DATE",
    "TimeType": "TIME",
    "CharType": "CHAR",
    "VarCharType": "VARCHAR",
    "BinaryType": "BINARY",
    "VarBinaryType": "VARBINARY",
    "DecimalType": "DECIMAL",
    "TimestampType": "TIMESTAMP",
    "LocalZonedTimestampType": "TIMESTAMP_LTZ",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row. Precision, scale and length are 0 for types that have none.

    Attributes:
        type: the name of Flink's logical type, such as ``IntType``.
        nullable: whether it may be null; None where that is not told.
    """

    type: str
    precision: int = 0
    scale: int = 0
    length: int = 0
    nullable: bool | None = None

    @property
    def in_full(self) -> str:
        """The type as SQL writes it, ``DECIMAL(38, 0) NOT NULL``; the name where that is unknown.

        Flink compares all of it.
        """
        name = IN_SQL.get(self.type)
        if name is None or self.nullable is None:
            return self.type
        sizes = {"DECIMAL": f"({self.precision}, {self.scale})"}
        sizes |= dict.fromkeys(("CHAR", "VARCHAR", "BINARY", "VARBINARY"), f"({self.length})")
        sizes |= dict.fromkeys(("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"), f"({self.precision})")
        return f"{name}{sizes.get(name, '')}{'' if self.nullable else ' NOT NULL'}"


class _Row:
    """The bytes of one row, which begins at byte ``at`` of the stream."""

    def __init__(self, data: bytes, arity: int, at: int) -> None:
        self.data = data
        self.nulls = (arity + 71) // 64 * 8  # bytes of the kind and the mask of nulls
        self.at = at
        if len(data) < self.nulls + 8 * arity:
            raise Malformed(f"A row of {arity} fields does not fit into {len(data)} bytes", at)

    def kind(self) -> str:
        if self.data[0] >= len(ROW_KINDS):
            raise Malformed(f"{self.data[0]} is not a kind of row", self.at)
        return ROW_KINDS[self.data[0]]

    def is_null(self, index: int) -> bool:
        return bool(self.data[(index + 8) // 8] >> (index + 8) % 8 & 1)

    def slot(self, index: int) -> bytes:
        start = self.nulls + 8 * index
        return self.data[start : start + 8]

    def number(self, index: int, code: str = "q") -> Any:
        """Return the number of a field; ``code`` is its type for ``struct``."""
        return struct.unpack_from(f"<{code}", self.slot(index))[0]

    def part(self, offset: int, length: int) -> bytes:
        if offset + length > len(self.data):
            raise Malformed(
                f"{length} bytes from byte {offset} on are more than the row has", self.at
            )
        return self.data[offset : offset + length]

    def varying(self, index: int) -> bytes:
        """Return a field of any length: up to 7 bytes lie in its slot, more lie elsewhere."""
        slot = self.slot(index)
        if slot[7] & 0x80:
            return slot[: min(slot[7] & 0x7F, 7)]
        length, offset = struct.unpack("<II", slot)
        return self.part(offset, length)


def _text(row: _Row, index: int, column: Column) -> str:
    try:
        return row.varying(index).decode()
    except UnicodeDecodeError:
        raise Malformed("A text is not valid UTF-8", row.at) from None


def _decimal(row: _Row, index: int, column: Column) -> str:
    if column.precision <= _COMPACT_DIGITS:
        return decimal_text(row.number(index), column.scale)
    length, offset = struct.unpack("<II", row.slot(index))
    if length > 16:  # 38 digits, SQL's most
        raise Malformed(f"A decimal cannot have {length} bytes", row.at)
    return decimal_text(int.from_bytes(row.part(offset, length), "big", signed=True), column.scale)


def _instant(row: _Row, index: int, column: Column) -> str:
    if column.precision <= _COMPACT_TIME:
        return _moment(row.number(index), 0, row.at)
    nanos, offset = struct.unpack("<II", row.slot(index))
    (millis,) = struct.unpack("<q", row.part(offset, 8))
    return _moment(millis, nanos, row.at)


def _timestamp(row: _Row, index: int, column: Column) -> str:
    return _without_zone(_instant(row, index, column))


def _without_zone(instant: str) -> str:
    """Return the reading of a clock that Flink stores as if its zone were UTC."""
    return instant.removesuffix("Z")


def _moment(millis: int, nanos: int, at: int) -> str:
    """Return a moment as text; ``nanos`` counts within the millisecond. Raises: Malformed."""
    if not 0 <= nanos < 1_000_000:
        raise Malformed(f"A millisecond does not have {nanos} ns", at)
    return moments.instant_text(millis // 1000, millis % 1000 * 1_000_000 + nanos, at)


def _boolean(row: _Row, index: int, column: Column) -> bool:
    return row.number(index, "B") != 0


def _number(code: str) -> Callable[[_Row, int, Column], object]:
    return lambda row, index, column: row.number(index, code)


_READ: dict[str, Callable[[_Row, int, Column], object]] = {
    "BooleanType": _boolean,
    "TinyIntType": _number("b"),
    "SmallIntType": _number("h"),
    "IntType": _number("i"),
    "BigIntType": _number("q"),
    "FloatType": lambda row, index, column: shortest_f32(row.number(index, "f")),
    "DoubleType": lambda row, index, column: finite(row.number(index, "d")),
    "DateType": lambda row, index, column: moments.day_text(row.number(index, "i")),
    "TimeType": lambda row, index, column: moments.time_of_day_text(row.number(index, "i"), row.at),
    "CharType": _text,
    "VarCharType": _text,
    "BinaryType": lambda row, index, column: {"hex": row.varying(index).hex()},
    "VarBinaryType": lambda row, index, column: {"hex": row.varying(index).hex()},
    "DecimalType": _decimal,
    "TimestampType": _timestamp,
    "LocalZonedTimestampType": _instant,
}


@dataclass(frozen=True, slots=True)
class RowDataSerializer(Serializer):
    """RowDataSerializer: the length of a BinaryRowData in bytes, then its bytes."""

    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        types = ",".join(column.type for column in self.columns[:20])
        return f"rowdata<{types}>" if len(self.columns) <= 20 else f"rowdata<{types},…>"

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        at = cursor.position
        row = _Row(cursor.take(cursor.count()), len(self.columns), at)
        return {
            "binaryRow": row.data.hex(),
            "arity": len(self.columns),
            "rowKind": row.kind(),
            "fields": [self._field(row, index) for index in range(len(self.columns))],
        }

    def _field(self, row: _Row, index: int) -> object:
        column = self.columns[index]
        if row.is_null(index):
            return None
        read = _READ.get(column.type)
        return {"unread": column.type} if read is None else read(row, index, column)


@dataclass(frozen=True, slots=True)
class DecimalDataSerializer(Serializer):
    """DecimalDataSerializer: the unscaled number, in 8 bytes or length-prefixed."""

    precision: int
    scale: int

    @property
    def name(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def fixed_length(self) -> int | None:
        return 8 if self.precision <= _COMPACT_DIGITS else None

    def decode(self, cursor: Cursor) -> str:
        if self.fixed_length:
            return decimal_text(cursor.i64(), self.scale)
        at, length = cursor.position, cursor.count()
        if not 0 < length <= 16:
            raise Malformed(f"A decimal cannot have {length} bytes", at)
        digits = int.from_bytes(cursor.take(length), "big", signed=True)
        return decimal_text(digits, self.scale)


@dataclass(frozen=True, slots=True)
class TimestampDataSerializer(Serializer):
    """TimestampDataSerializer: milliseconds; with a precision above 3 also nanoseconds.

    Flink writes TIMESTAMP and TIMESTAMP_LTZ with it, and does not say which, so that no zone can be
    shown.
    """

    precision: int

    @property
    def name(self) -> str:
        return f"timestamp({self.precision})"

    @property
    def fixed_length(self) -> int:
        return 8 if self.precision <= _COMPACT_TIME else 12

    def decode(self, cursor: Cursor) -> str:
        at, millis = cursor.position, cursor.i64()
        nanos = cursor.i32() if self.fixed_length == 12 else 0
        return _without_zone(_moment(millis, nanos, at))


@dataclass(frozen=True, slots=True)
class BytesData(Serializer):
    """ArrayDataSerializer and MapDataSerializer: length-prefixed bytes that are not decoded."""

    name: str

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, str]:
        return hex_bytes(cursor)
