"""Decode rows, arrays and maps of Flink SQL, which are stored as they lie in memory.

A field of a type that is not read becomes ``{"unread": type, "hex"}``. TIMESTAMP has no zone, so
that no ``Z`` is behind it, which TIMESTAMP_LTZ has. Nothing states the byte order. Little-endian is
assumed, since nearly all machines of clusters are. Source: Flink, BinaryRowData, BinaryArrayData,
BinaryMapData, BinarySegmentUtils.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.engines.flink.types.composites import ROW_KINDS, as_object
from snapshots.readers.engines.flink.types.sql_columns import Column
from snapshots.readers.engines.flink.types.values import decimal_text, finite, shortest_f32
from snapshots.readers.engines.flink.types.variants import variant
from snapshots.readers.formats.cursor import Malformed

COMPACT_DIGITS = 18  # a decimal of at most so many digits fits in 8 bytes
COMPACT_TIME = 3  # so does a time stamp with at most so many digits of a second
_MOST_NESTED = 40
_SLOT = 8  # bytes of a field of a row
_WIDTHS = {  # bytes of an element of an array, where they are not those of a slot
    "BooleanType": 1,
    "TinyIntType": 1,
    "SmallIntType": 2,
    "IntType": 4,
    "FloatType": 4,
    "DateType": 4,
    "TimeType": 4,
    "YearMonthIntervalType": 4,
}


class Block:
    """Bytes within which offsets count: of a row, an array or a map.

    Attributes:
        at: where the outermost one begins, for what is said of damage.
    """

    def __init__(self, data: bytes, at: int, room: list[int] | None = None) -> None:
        self.data = data
        self.at = at
        self._room = [_MOST_NESTED * (len(data) + _SLOT)] if room is None else room

    def number(self, place: int, code: str = "q") -> Any:
        """Return the number at a place; ``code`` is its type for ``struct``."""
        return struct.unpack(f"<{code}", self.part(place, struct.calcsize(f"<{code}")))[0]

    def part(self, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > len(self.data):
            raise Malformed(
                f"{length} bytes from byte {offset} on are more than the row has", self.at
            )
        return self.data[offset : offset + length]

    def block(self, offset: int, length: int) -> "Block":
        """Return a part within which offsets count. Raises: Malformed if parts overlap."""
        self._room[0] -= length
        if self._room[0] < 0:
            raise Malformed("Parts of a row overlap", self.at)
        return Block(self.part(offset, length), self.at, self._room)

    def far(self, place: int) -> "Block":
        """Return the part whose length and offset stand at a place."""
        length, offset = struct.unpack("<II", self.part(place, _SLOT))
        return self.block(offset, length)

    def varying(self, place: int) -> bytes:
        """Return a value of any length: up to 7 bytes lie at the place, more lie elsewhere."""
        slot = self.part(place, _SLOT)
        return slot[: min(slot[7] & 0x7F, 7)] if slot[7] & 0x80 else self.far(place).data

    def is_set(self, begin: int, bit: int) -> bool:
        return bool(self.data[begin + bit // 8] >> bit % 8 & 1)


def row_kind(block: Block) -> str:
    if block.data[0] >= len(ROW_KINDS):
        raise Malformed(f"{block.data[0]} is not a kind of row", block.at)
    return ROW_KINDS[block.data[0]]


def row_fields(block: Block, columns: Sequence[Column]) -> list[object]:
    """Return the fields of a row, of which the first byte is its kind."""
    begin = (len(columns) + 71) // 64 * 8  # behind the kind and the mask of nulls
    if len(block.data) < begin + _SLOT * len(columns):
        raise Malformed(
            f"A row of {len(columns)} fields does not fit into {len(block.data)} bytes", block.at
        )
    return [
        None if block.is_set(0, index + 8) else _value(block, begin + _SLOT * index, column)
        for index, column in enumerate(columns)
    ]


def array_elements(block: Block, column: Column) -> list[object]:
    """Return the elements of an array."""
    count = block.number(0, "i")
    begin = 4 + (count + 31) // 32 * 4
    width = _WIDTHS.get(_source(column).type, _SLOT)
    if count < 0 or begin + width * count > len(block.data):
        raise Malformed(
            f"An array of {count} elements does not fit into {len(block.data)} bytes", block.at
        )
    return [
        None if block.is_set(4, index) else _value(block, begin + width * index, column)
        for index in range(count)
    ]


def map_entries(block: Block, key: Column, value: Column) -> object:
    """Return a map: two arrays behind the length of the first one."""
    length = block.number(0, "i")
    keys = array_elements(block.block(4, length), key)
    values = array_elements(block.block(4 + length, len(block.data) - 4 - length), value)
    if len(keys) != len(values):
        raise Malformed(f"A map has {len(keys)} keys and {len(values)} values", block.at)
    return as_object(zip(keys, values, strict=True))


def _source(column: Column) -> Column:
    """Return the type that a distinct type has."""
    while column.type == "DistinctType" and column.inner:
        (column,) = column.inner
    return column


def _value(block: Block, place: int, column: Column) -> object:
    column = _source(column)
    read = _READ.get(column.type)
    if read is None:
        return {"unread": column.type, "hex": block.part(place, _SLOT).hex()}
    return read(block, place, column)


def _text(block: Block, place: int, column: Column) -> str:
    try:
        return block.varying(place).decode()
    except UnicodeDecodeError:
        raise Malformed("A text is not valid UTF-8", block.at) from None


def _bytes(block: Block, place: int, column: Column) -> object:
    return {"hex": block.varying(place).hex()}


def _decimal(block: Block, place: int, column: Column) -> str:
    if column.precision <= COMPACT_DIGITS:
        return decimal_text(block.number(place), column.scale)
    digits = block.far(place).data
    if len(digits) > 16:  # 38 digits, SQL's most
        raise Malformed(f"A decimal cannot have {len(digits)} bytes", block.at)
    return decimal_text(int.from_bytes(digits, "big", signed=True), column.scale)


def _instant(block: Block, place: int, column: Column) -> str:
    if column.precision <= COMPACT_TIME:
        return moment(block.number(place), 0, block.at)
    nanos, offset = struct.unpack("<II", block.part(place, _SLOT))
    return moment(block.number(offset), nanos, block.at)


def _timestamp(block: Block, place: int, column: Column) -> str:
    return without_zone(_instant(block, place, column))


def without_zone(instant: str) -> str:
    """Return the reading of a clock that Flink stores as if its zone were UTC."""
    return instant.removesuffix("Z")


def moment(millis: int, nanos: int, at: int) -> str:
    """Return a moment as text; ``nanos`` counts within the millisecond. Raises: Malformed."""
    if not 0 <= nanos < 1_000_000:
        raise Malformed(f"A millisecond does not have {nanos} ns", at)
    return moments.instant_text(millis // 1000, millis % 1000 * 1_000_000 + nanos, at)


def _boolean(block: Block, place: int, column: Column) -> bool:
    return bool(block.number(place, "B"))


def _number(code: str) -> Callable[[Block, int, Column], object]:
    return lambda block, place, column: block.number(place, code)


def _array(block: Block, place: int, column: Column) -> object:
    return array_elements(block.far(place), column.inner[0])


def _map(block: Block, place: int, column: Column) -> object:
    return map_entries(block.far(place), *column.inner)


def _multiset(block: Block, place: int, column: Column) -> object:
    return map_entries(block.far(place), column.inner[0], Column("IntType"))


def _row(block: Block, place: int, column: Column) -> object:
    fields = row_fields(block.far(place), column.inner)
    return dict(zip(column.names, fields, strict=True))


def _variant(block: Block, place: int, column: Column) -> object:
    data = block.far(place).data
    length = int.from_bytes(data[:4], "big")
    return variant(data[4 + length :], data[4 : 4 + length], block.at)


def _far_bytes(block: Block, place: int, column: Column) -> object:
    return {"unread": column.type, "hex": block.far(place).data.hex()}


def _raw(block: Block, place: int, column: Column) -> object:
    """Read a RAW value: None for a view of an aggregate, whose content is in its own state."""
    return None if column.inner else _far_bytes(block, place, column)


_READ: dict[str, Callable[[Block, int, Column], object]] = {
    "BooleanType": _boolean,
    "TinyIntType": _number("b"),
    "SmallIntType": _number("h"),
    "IntType": _number("i"),
    "BigIntType": _number("q"),
    "YearMonthIntervalType": _number("i"),
    "DayTimeIntervalType": _number("q"),
    "FloatType": lambda block, place, column: shortest_f32(block.number(place, "f")),
    "DoubleType": lambda block, place, column: finite(block.number(place, "d")),
    "DateType": lambda block, place, column: moments.day_text(block.number(place, "i")),
    "TimeType": lambda block, place, column: moments.time_of_day_text(
        block.number(place, "i"), block.at
    ),
    "CharType": _text,
    "VarCharType": _text,
    "BinaryType": _bytes,
    "VarBinaryType": _bytes,
    "DecimalType": _decimal,
    "TimestampType": _timestamp,
    "LocalZonedTimestampType": _instant,
    "ArrayType": _array,
    "MapType": _map,
    "MultisetType": _multiset,
    "RowType": _row,
    "StructuredType": _row,
    "VariantType": _variant,
    "RawType": _raw,
    "TypeInformationRawType": _far_bytes,
    "BitmapType": _far_bytes,
}
