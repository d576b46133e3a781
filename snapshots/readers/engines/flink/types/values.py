"""Decode values of Flink's simple types; ``Serializer`` is the interface of all types.

Decoded values can be written as JSON: ``byte[]`` becomes ``{"hex"}``; numbers beyond 64 bits,
times, NaN and the infinities become texts.
Source: Flink, org.apache.flink.api.common.typeutils.base.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere, unsigned

_LONGEST_NUMBER = 1_500  # bytes of a BigInteger; its decimal digits cost the square of that
_LONGEST_NAME = 200


class Undecodable(NotReadHere):
    """The bytes may be intact, but this product cannot read them; ``what`` says why.

    Attributes:
        known: the outermost value as far as it was read, for JSON; None if nothing was.
    """

    known: object = None


class Serializer:
    """The reader of the values of one type.

    name: the type, such as ``tuple<string,long>``; a very long name is cut and ends in "…".
    fixed_length: size of every value in bytes; None if sizes differ.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # real properties would become the defaults of a dataclass's fields

        @property
        def name(self) -> str: ...

        @property
        def fixed_length(self) -> int | None: ...

    def decode(self, cursor: Cursor) -> Any:
        """Return the next value. Raises: Malformed; Undecodable for a type that cannot be read."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Simple(Serializer):
    """A type that is not composed of others."""

    name: str
    fixed_length: int | None
    read: Callable[[Cursor], object]

    def decode(self, cursor: Cursor) -> object:
        return self.read(cursor)


@dataclass(frozen=True, slots=True)
class Unreadable(Serializer):
    """A type whose values cannot be read.

    Attributes:
        reason: a sentence.
    """

    name: str
    reason: str
    fixed_length: int | None = None

    def decode(self, cursor: Cursor) -> object:
        raise Undecodable(self.reason, cursor.position)


def named(outer: str, parts: tuple[Serializer, ...]) -> str:
    """Return ``outer<part,part>``, cut after _LONGEST_NAME characters."""
    text = outer + "<"
    for index, part in enumerate(parts):
        text += ("," if index else "") + part.name
        if len(text) >= _LONGEST_NAME:
            return text[: _LONGEST_NAME - 1] + "…"
    return text + ">"


def finite(number: float) -> float | str:
    """Return a finite number, or Java's text for one that JSON cannot express."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def shortest_f32(number: float) -> float | str:
    """Return the shortest decimal number that rounds to this 4-byte float."""
    for digits in range(6, 10):
        rounded = float(f"{number:.{digits}g}")
        try:
            if struct.pack(">f", rounded) == struct.pack(">f", number):
                return finite(rounded)
        except OverflowError:
            continue
    return finite(number)


def string(cursor: Cursor) -> str | None:
    """Return a text as StringValue writes it; unpaired surrogates become U+FFFD."""
    at, length = cursor.position, unsigned(cursor, 5) - 1
    if length < 0:
        return None
    if length > cursor.left:
        raise Malformed(f"A text of {length} characters does not fit into {cursor.left} bytes", at)
    plain = bytes(cursor.data[cursor.position : cursor.position + length])
    if plain.isascii():
        return cursor.take(length).decode()
    units = [_unit(cursor) for _ in range(length)]
    return struct.pack(f">{length}H", *units).decode("utf-16-be", "replace")


def _unit(cursor: Cursor) -> int:
    at, unit = cursor.position, unsigned(cursor, 3)
    if unit > 0xFFFF:
        raise Malformed(f"{unit} is not a UTF-16 character", at)
    return unit


def big_integer(cursor: Cursor) -> int | None:
    at, length = cursor.position, cursor.i32()
    if 0 <= length < 4:
        return (None, 0, 1, 10)[length]
    if length < 0 or length - 4 > cursor.left:
        raise Malformed(f"A number of {length - 4} bytes does not fit into {cursor.left} bytes", at)
    if length - 4 > _LONGEST_NUMBER:
        raise Undecodable(f"A number of {length - 4:,} bytes is not written out", at)
    return int.from_bytes(cursor.take(length - 4), "big", signed=True)


def decimal_text(digits: int, scale: int) -> str:
    """Return ``digits`` / 10**scale as the text that Java's BigDecimal gives."""
    decimals = tuple(int(digit) for digit in str(abs(digits)))
    return str(Decimal((int(digits < 0), decimals, -scale)))


def _big_integer_text(cursor: Cursor) -> str | None:
    number = big_integer(cursor)
    return None if number is None else str(number)


def _big_decimal(cursor: Cursor) -> str | None:
    digits = big_integer(cursor)
    return None if digits is None else decimal_text(digits, cursor.i32())


def _character(cursor: Cursor) -> str:
    return cursor.take(2).decode("utf-16-be", "replace")


def _float(cursor: Cursor) -> float | str:
    return shortest_f32(cursor.f32())


def _double(cursor: Cursor) -> float | str:
    return finite(cursor.f64())


def _void(cursor: Cursor) -> None:
    """Skip the void namespace, which is one zero byte."""
    at = cursor.position
    if cursor.u8():
        raise Malformed("The void namespace must be a zero byte", at)


def _global_window(cursor: Cursor) -> str:
    _void(cursor)
    return "global"


def _time_window(cursor: Cursor) -> dict[str, int]:
    return {"start": cursor.i64(), "end": cursor.i64()}


def hex_bytes(cursor: Cursor) -> dict[str, str]:
    """Return length-prefixed bytes as ``{"hex"}``."""
    return {"hex": cursor.take(cursor.count()).hex()}


def _array(bytes_each: int, element: Callable[[Cursor], object]) -> Callable[[Cursor], list]:
    def read(cursor: Cursor) -> list:
        return [element(cursor) for _ in range(cursor.count(bytes_each=bytes_each))]

    return read


def _utf8(cursor: Cursor) -> str:
    at = cursor.position
    try:
        return cursor.take(cursor.count()).decode()
    except UnicodeDecodeError:
        raise Malformed("A text is not valid UTF-8", at) from None


SIMPLE: dict[str, Serializer] = {
    name: Simple(name, length, read)
    for name, length, read in (
        ("long", 8, Cursor.i64),
        ("int", 4, Cursor.i32),
        ("short", 2, Cursor.i16),
        ("byte", 1, Cursor.i8),
        ("boolean", 1, Cursor.flag),
        ("double", 8, _double),
        ("float", 4, _float),
        ("char", 2, _character),
        ("string", None, string),
        ("biginteger", None, _big_integer_text),
        ("bigdecimal", None, _big_decimal),
        ("instant", 12, moments.instant),
        ("localdate", 6, moments.local_date),
        ("localtime", 7, moments.local_time),
        ("localdatetime", 13, moments.local_date_time),
        ("date", 8, moments.date),
        ("timestamp", 12, moments.timestamp),
        ("bytes", None, hex_bytes),
        ("longs", None, _array(8, Cursor.i64)),
        ("ints", None, _array(4, Cursor.i32)),
        ("shorts", None, _array(2, Cursor.i16)),
        ("booleans", None, _array(1, Cursor.flag)),
        ("doubles", None, _array(8, _double)),
        ("floats", None, _array(4, _float)),
        ("chars", None, _array(2, _character)),
        ("strings", None, _array(1, string)),
        ("void", 1, _void),
        ("timewindow", 16, _time_window),
        ("globalwindow", 1, _global_window),
        ("utf8", None, _utf8),
    )
}
