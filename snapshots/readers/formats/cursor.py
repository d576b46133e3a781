"""Reads binary data that may be damaged: big-endian numbers, never past the end."""

import struct
from typing import Any

_PACKED = {
    name: struct.Struct(f">{code}")
    for name, code in zip(
        ("u8", "i8", "u16", "i16", "u32", "i32", "i64", "f32", "f64"), "BbHhIiqfd", strict=True
    )
}


class Malformed(ValueError):
    """The bytes are not what they should be."""

    def __init__(self, what: str, offset: int) -> None:
        """Keep the beginning of a sentence, and the byte of the data that it is about."""
        super().__init__(f"{what} (at byte {offset})")
        self.what = what
        self.offset = offset


class NotReadHere(Malformed):
    """The bytes may be intact: they are of a form, or of a size, that is not read here."""


class Cursor:
    """A position between ``start`` and ``end`` of ``data``; all offsets count from data[0]."""

    __slots__ = ("data", "end", "position")

    def __init__(self, data: bytes | memoryview, start: int = 0, end: int | None = None) -> None:
        self.data = memoryview(data)
        self.end = len(self.data) if end is None else end
        self.position = start
        if not 0 <= start <= self.end <= len(self.data):
            raise Malformed(f"Bytes {start} to {self.end} of {len(self.data)} are asked for", start)

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return self.end - self.position

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes. Raises: Malformed if there are fewer."""
        if not 0 <= length <= self.left:
            raise Malformed(f"{length} bytes are announced and {self.left} are left", self.position)
        start = self.position
        self.position += length
        return bytes(self.data[start : self.position])

    def _number(self, name: str) -> Any:
        packed = _PACKED[name]
        if packed.size > self.left:
            raise Malformed(
                f"A number of {packed.size} bytes is expected and {self.left} are left",
                self.position,
            )
        (number,) = packed.unpack_from(self.data, self.position)
        self.position += packed.size
        return number

    def u8(self) -> int:
        return self._number("u8")

    def i8(self) -> int:
        return self._number("i8")

    def u16(self) -> int:
        return self._number("u16")

    def i16(self) -> int:
        return self._number("i16")

    def u32(self) -> int:
        return self._number("u32")

    def i32(self) -> int:
        return self._number("i32")

    def i64(self) -> int:
        return self._number("i64")

    def f32(self) -> float:
        return self._number("f32")

    def f64(self) -> float:
        return self._number("f64")

    def flag(self) -> bool:
        """Read one byte that is 0 or 1. Raises: Malformed for any other."""
        at, number = self.position, self.u8()
        if number > 1:
            raise Malformed(f"A flag of 0 or 1 is expected and {number} is there", at)
        return number == 1

    def count(self, *, bytes_each: int = 1) -> int:
        """Read an i32 that says how many items follow, each of at least ``bytes_each`` bytes.

        Raises: Malformed if it is negative, or more than the bytes left can hold.
        """
        at, number = self.position, self.i32()
        if number < 0 or number * bytes_each > self.left:
            raise Malformed(f"{number} items are announced and {self.left} bytes are left", at)
        return number

    def utf(self) -> str:
        """Read Java's modified UTF-8 behind its u16 length in bytes."""
        return modified_utf8(self.take(self.u16()), self.position)


def unsigned(cursor: Cursor, most_bytes: int) -> int:
    """Read a number in groups of 7 bits, the low ones first. Raises: Malformed."""
    number = 0
    for shift in range(0, 7 * most_bytes, 7):
        byte = cursor.u8()
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number
    raise Malformed(f"A number takes more than {most_bytes} bytes", cursor.position)


def modified_utf8(data: bytes, offset: int = 0) -> str:
    """Decode Java's modified UTF-8: U+0000 takes two bytes, each surrogate of a pair three.

    A surrogate without its other half becomes U+FFFD. Raises: Malformed, at ``offset``.
    """
    try:
        text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise Malformed("Bytes that are no text stand where a text is expected", offset) from None
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
