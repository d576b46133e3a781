"""Decode VARIANT of Flink SQL: a value with types of its own, and the names in it.

Decoded values can be written as JSON: an object, a list, a text, a number. A decimal that no
number of JSON holds exactly becomes a text, as times do; binary values become ``{"hex"}``.
All numbers are little-endian. Source: Flink,
BinaryVariantUtil; the encoding is that of Parquet's and Spark's variants.
"""

import struct
from decimal import Decimal
from typing import Any

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.engines.flink.types.values import (
    Undecodable,
    decimal_text,
    finite,
    shortest_f32,
)
from snapshots.readers.formats.cursor import Malformed

_VERSION = 1
_MOST_NESTED = 100
_MOST_TEXT = 2**24  # characters of names; as many bytes as a variant has at most
_SHORT_TEXT, _OBJECT, _ARRAY = 1, 2, 3
_NUMBERS = {3: "<b", 4: "<h", 5: "<i", 6: "<q"}
_DECIMAL_BYTES = {8: 4, 9: 8, 10: 16}


def variant(value: bytes, metadata: bytes, at: int) -> object:
    """Return a variant as JSON. Raises: Malformed, at ``at``; Undecodable if it is too deep."""
    return _Variant(value, metadata, at).value(0, 0)


class _Variant:
    def __init__(self, value: bytes, metadata: bytes, at: int) -> None:
        self._data = value
        self._metadata = metadata
        self._at = at
        self._left = len(value) + 1  # values that can be there; parts of a whole one never overlap
        self._text = _MOST_TEXT
        if not metadata or metadata[0] & 15 != _VERSION:
            raise Malformed("The names of a variant are not of version 1", at)
        self._size = (metadata[0] >> 6) + 1
        self._count = self._number(metadata, 1, self._size)

    def value(self, begin: int, depth: int) -> object:
        self._left -= 1
        if self._left < 0:
            raise Malformed("Parts of a variant overlap", self._at)
        if depth > _MOST_NESTED:
            raise Undecodable(f"A variant is nested more than {_MOST_NESTED} deep", self._at)
        (head,) = self._part(self._data, begin, 1)
        kind, info = head & 3, head >> 2
        if kind == _SHORT_TEXT:
            return self._string(begin + 1, info)
        if kind == _OBJECT:
            return self._object(begin + 1, info, depth)
        if kind == _ARRAY:
            count, begin, size = self._counted(begin + 1, info >> 2 & 1, info & 3)
            return [self.value(place, depth + 1) for place in self._places(begin, count, size)]
        return self._primitive(begin + 1, info)

    def _object(self, begin: int, info: int, depth: int) -> dict[str, object]:
        count, begin, size = self._counted(begin, info >> 4 & 1, info & 3)
        width = (info >> 2 & 3) + 1
        self._part(self._data, begin, count * width)
        names = [
            self._name(self._number(self._data, begin + width * index, width))
            for index in range(count)
        ]
        places = self._places(begin + width * count, count, size)
        pairs = zip(names, places, strict=True)
        return {name: self.value(place, depth + 1) for name, place in pairs}

    def _counted(self, begin: int, is_large: int, size: int) -> tuple[int, int, int]:
        """Return the number of parts, where what follows it begins, and the bytes of an offset."""
        width = 4 if is_large else 1
        return self._number(self._data, begin, width), begin + width, size + 1

    def _places(self, begin: int, count: int, size: int) -> list[int]:
        """Return where parts begin, whose offsets stand at ``begin``."""
        first = begin + size * (count + 1)
        self._part(self._data, begin, size * (count + 1))
        return [first + self._number(self._data, begin + size * i, size) for i in range(count)]

    def _name(self, number: int) -> str:
        if number >= self._count:
            raise Malformed(f"A variant has no name of the number {number}", self._at)
        first = 1 + self._size * (self._count + 2)
        begin, end = (
            first + self._number(self._metadata, 1 + self._size * (number + i), self._size)
            for i in (1, 2)
        )
        self._text -= max(end - begin, 0)
        if self._text < 0:
            raise Undecodable("The names in a variant are too long together", self._at)
        return self._decoded(self._part(self._metadata, begin, end - begin))

    def _primitive(self, begin: int, kind: int) -> object:
        if kind in (0, 1, 2):
            return (None, True, False)[kind]
        if kind in _NUMBERS:
            return self._unpacked(begin, _NUMBERS[kind])
        if kind in _DECIMAL_BYTES:
            (scale,) = self._part(self._data, begin, 1)
            digits = self._part(self._data, begin + 1, _DECIMAL_BYTES[kind])
            text = decimal_text(int.from_bytes(digits, "little", signed=True), scale)
            return float(text) if Decimal(float(text)) == Decimal(text) else text
        match kind:
            case 7:
                return finite(self._unpacked(begin, "<d"))
            case 11:
                return moments.day_text(self._unpacked(begin, "<i"))
            case 12 | 13:
                seconds, micros = divmod(self._unpacked(begin, "<q"), 10**6)
                text = moments.instant_text(seconds, micros * 1000, self._at)
                return text if kind == 12 else text.removesuffix("Z")
            case 14:
                return shortest_f32(self._unpacked(begin, "<f"))
            case 15:
                return {"hex": self._long(begin).hex()}
            case 16:
                return self._decoded(self._long(begin))
        raise Undecodable(f"A variant has a value of the unknown type {kind}", self._at)

    def _long(self, begin: int) -> bytes:
        return self._charged(begin + 4, self._number(self._data, begin, 4))

    def _string(self, begin: int, length: int) -> str:
        return self._decoded(self._charged(begin, length))

    def _charged(self, begin: int, length: int) -> bytes:
        self._left -= length
        return self._part(self._data, begin, length)

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Malformed("A text is not valid UTF-8", self._at) from None

    def _unpacked(self, begin: int, code: str) -> Any:
        return struct.unpack(code, self._part(self._data, begin, struct.calcsize(code)))[0]

    def _number(self, data: bytes, begin: int, width: int) -> int:
        return int.from_bytes(self._part(data, begin, width), "little")

    def _part(self, data: bytes, begin: int, length: int) -> bytes:
        if length < 0 or begin + length > len(data):
            raise Malformed(
                f"{length} bytes from byte {begin} on are more than there are", self._at
            )
        return data[begin : begin + length]
