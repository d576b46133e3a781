"""Decode rows of Flink SQL and related formats.

A row becomes ``{"binaryRow": hex, "arity", "rowKind", "fields"}``. Source: Flink,
RowDataSerializer, DecimalDataSerializer, TimestampDataSerializer, ArrayDataSerializer,
MapDataSerializer.
"""

from dataclasses import dataclass

from snapshots.readers.engines.flink.types import sql_blocks
from snapshots.readers.engines.flink.types.sql_blocks import Block
from snapshots.readers.engines.flink.types.sql_columns import Column
from snapshots.readers.engines.flink.types.values import Serializer, decimal_text
from snapshots.readers.formats.cursor import Cursor, Malformed


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
        block = _block(cursor)
        fields = sql_blocks.row_fields(block, self.columns)
        return {
            "binaryRow": block.data.hex(),
            "arity": len(self.columns),
            "rowKind": sql_blocks.row_kind(block),
            "fields": fields,
        }


def _block(cursor: Cursor) -> Block:
    at = cursor.position
    return Block(cursor.take(cursor.count()), at)


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
        return 8 if self.precision <= sql_blocks.COMPACT_DIGITS else None

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
        return 8 if self.precision <= sql_blocks.COMPACT_TIME else 12

    def decode(self, cursor: Cursor) -> str:
        at, millis = cursor.position, cursor.i64()
        nanos = cursor.i32() if self.fixed_length == 12 else 0
        return sql_blocks.without_zone(sql_blocks.moment(millis, nanos, at))


@dataclass(frozen=True, slots=True)
class ArrayDataSerializer(Serializer):
    """ArrayDataSerializer: the length of a BinaryArrayData in bytes, then its bytes."""

    element: Column

    @property
    def name(self) -> str:
        return f"arraydata<{self.element.type}>"

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        return sql_blocks.array_elements(_block(cursor), self.element)


@dataclass(frozen=True, slots=True)
class MapDataSerializer(Serializer):
    """MapDataSerializer: the length of a BinaryMapData in bytes, then its bytes."""

    key: Column
    value: Column

    @property
    def name(self) -> str:
        return f"mapdata<{self.key.type},{self.value.type}>"

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        return sql_blocks.map_entries(_block(cursor), self.key, self.value)
