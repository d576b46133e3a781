"""Decode the values of Java's own classes that Kryo writes in a form that no setting changes.

Kryo writes the number of a class, or its name, then a mark of whether the value is new, then the
value. Only classes without subclasses are read, so that the number need not be known. Source:
Kryo 5, DefaultSerializers, TimeSerializers, OptionalSerializers; Flink 2, KryoSerializer. Flink 1
has Kryo 2, which writes these classes in other ways, mostly ones that cannot be taken for these.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.engines.flink.types.values import (
    Serializer,
    Undecodable,
    finite,
    shortest_f32,
)
from snapshots.readers.formats.cursor import Cursor, Malformed, unsigned

_NULL, _NAME = 0, 1  # instead of the number of a class
_NEW = 1  # the value is not a repetition
_MOST_NESTED = 20
_LAST = 0x80
_RFC_VERSIONS = ("1", "4", "7")


@dataclass(frozen=True, slots=True)
class KryoSerializer(Serializer):
    """KryoSerializer of one class; a value of any other class cannot be read."""

    class_name: str

    @property
    def name(self) -> str:
        return f"kryo {self.class_name.rpartition('.')[2][:100]}"

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        read = _OF_CLASS.get(self.class_name)
        if read is None:
            raise _unread(self.class_name, cursor.position)
        at, number = cursor.position, unsigned(cursor, 5)
        if number == _NULL:
            return None
        if number == _NAME and (written := _class_name(cursor)) != self.class_name:
            raise _unread(written, at)
        return _new(cursor, read, 0)


def _unread(class_name: str, at: int) -> Undecodable:
    return Undecodable(f"Kryo wrote the value, a {class_name[:200]}", at)


_Read = Callable[[Cursor, int], object]  # the number says how many values it is nested in


def _new(cursor: Cursor, read: _Read, depth: int) -> object:
    """Read the mark of a value, then the value."""
    at, mark = cursor.position, unsigned(cursor, 5)
    if mark == _NULL:
        return None
    if mark != _NEW:
        raise Undecodable("Kryo wrote that the value is one before it", at)
    return read(cursor, depth)


def _of_any_class(cursor: Cursor, depth: int) -> object:
    """Read a value with its class in front of it."""
    at, number = cursor.position, unsigned(cursor, 5)
    if number == _NULL:
        return None
    if number in _OF_NUMBER:
        return _OF_NUMBER[number](cursor)
    if number == _NAME and depth < _MOST_NESTED:
        class_name = _class_name(cursor)
        if class_name in _OF_CLASS:
            return _new(cursor, _OF_CLASS[class_name], depth + 1)
        raise _unread(class_name, at)
    raise Undecodable("Kryo wrote the value, of a class that it names by a number", at)


def _class_name(cursor: Cursor) -> str:
    at = cursor.position
    if unsigned(cursor, 5):
        raise Undecodable("Kryo wrote the value, of a class that it has named before", at)
    return _string(cursor) or ""


def _string(cursor: Cursor) -> str | None:
    """Read a text: ASCII with a mark on its last byte, or a length and each UTF-16 unit."""
    at, first = cursor.position, cursor.u8()
    if not first & _LAST:
        letters = bytearray([first])
        while not letters[-1] & _LAST:
            letters.append(cursor.u8())
        letters[-1] ^= _LAST
        return letters.decode("ascii", "replace")
    length, shift, byte = first & 0x3F, 6, first << 1 & _LAST
    while byte & _LAST and shift < 32:
        byte = cursor.u8()
        length |= (byte & 0x7F) << shift
        shift += 7
    if length == 0:
        return None
    if length - 1 > cursor.left:
        raise Malformed(f"A text of {length - 1} letters does not fit into {cursor.left}", at)
    units = [_unit(cursor) for _ in range(length - 1)]
    return struct.pack(f">{len(units)}H", *units).decode("utf-16-be", "replace")


def _unit(cursor: Cursor) -> int:
    first = cursor.u8()
    if first >> 5 == 6:
        return (first & 0x1F) << 6 | cursor.u8() & 0x3F
    if first >> 4 == 14:
        return (first & 0xF) << 12 | (cursor.u8() & 0x3F) << 6 | cursor.u8() & 0x3F
    return first & 0x7F


def _zigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _signed(cursor: Cursor) -> int:
    """Read an int whose negative numbers take five bytes."""
    number = unsigned(cursor, 5) & 2**32 - 1
    return number - 2**32 if number >= 2**31 else number


def _long(cursor: Cursor) -> int:
    """Read a long of up to nine bytes, of which the ninth has eight bits."""
    number = 0
    for index in range(9):
        byte = cursor.u8()
        number |= (byte if index == 8 else byte & 0x7F) << 7 * index
        if not byte & 0x80:
            break
    return number


def _signed_long(cursor: Cursor) -> int:
    number = _long(cursor)
    return number - 2**64 if number >= 2**63 else number


def _fixed_long(cursor: Cursor) -> int:
    return int(struct.unpack("<q", cursor.take(8))[0])


def _date(cursor: Cursor) -> str:
    return moments.date_text(_signed(cursor), cursor.i8(), cursor.i8(), cursor.position)


def _time(cursor: Cursor) -> str:
    """Read a time of day, which ends with the first part behind which all are zero."""
    at, parts = cursor.position, [0, 0, 0]
    for index in range(3):
        parts[index] = cursor.i8()
        if parts[index] < 0:
            parts[index] = ~parts[index]
            return moments.clock_text(parts[0], parts[1], parts[2], 0, at)
    return moments.clock_text(parts[0], parts[1], parts[2], unsigned(cursor, 5), at)


def _duration(cursor: Cursor) -> str:
    at, seconds, nanos = cursor.position, _fixed_long(cursor), unsigned(cursor, 5)
    return moments.duration_text(seconds, nanos, at)


def _instant(cursor: Cursor) -> str:
    at, seconds = cursor.position, _signed_long(cursor)
    return moments.instant_text(seconds, unsigned(cursor, 5), at)


def _offset(cursor: Cursor) -> str:
    """Read how far a zone is from UTC: quarters of an hour, or all seconds."""
    at, quarters = cursor.position, cursor.i8()
    seconds = _fixed_int(cursor) if quarters == 127 else quarters * 900
    if abs(seconds) > 18 * 3600:
        raise Malformed(f"A zone is not {seconds} s from UTC", at)
    if not seconds:
        return "Z"
    minutes, second = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{second:02}" if second else text


def _uuid(cursor: Cursor) -> object:
    """Read a UUID; both readings if it could be Flink 1's, whose bytes are in another order.

    Nearly always one of both orders has the marks that UUIDs have, and the other has not.
    """
    data = cursor.take(16)
    orders = (data[7::-1] + data[:7:-1], data)
    texts = [str(UUID(bytes=order)) for order in orders]
    fitting = [text for text in texts if _is_rfc(text)]
    if len(fitting) == 1:
        return fitting[0]
    return {"if Flink 2 wrote it": texts[0], "if Flink 1 wrote it": texts[1]}


def _is_rfc(text: str) -> bool:
    return text[14] in _RFC_VERSIONS and text[19] in "89ab"


def _float(cursor: Cursor) -> float | str:
    return shortest_f32(struct.unpack("<f", cursor.take(4))[0])


def _double(cursor: Cursor) -> float | str:
    return finite(struct.unpack("<d", cursor.take(8))[0])


def _fixed_int(cursor: Cursor) -> int:
    return int(struct.unpack("<i", cursor.take(4))[0])


def _date_time(cursor: Cursor) -> str:
    return f"{_date(cursor)}T{_time(cursor)}"


def _zoned(cursor: Cursor) -> str:
    moment, zone = _date_time(cursor), _string(cursor) or ""
    return moment + zone if zone == "Z" or zone[:1] in "+-" else f"{moment}[{zone}]"


def _period(cursor: Cursor) -> str:
    pairs = [(_signed(cursor), unit) for unit in "YMD"]
    return "P" + ("".join(f"{number}{unit}" for number, unit in pairs if number) or "0D")


def _plain(read: Callable[[Cursor], object]) -> _Read:
    return lambda cursor, depth: read(cursor)


def _or_none(read: Callable[[Cursor], object]) -> _Read:
    return lambda cursor, depth: read(cursor) if cursor.flag() else None


_JAVA_TIME: dict[str, Callable[[Cursor], object]] = {
    "LocalDate": _date,
    "LocalTime": _time,
    "LocalDateTime": _date_time,
    "Duration": _duration,
    "Instant": _instant,
    "ZoneOffset": _offset,
    "ZonedDateTime": _zoned,
    "OffsetDateTime": lambda cursor: _date_time(cursor) + _offset(cursor),
    "OffsetTime": lambda cursor: _time(cursor) + _offset(cursor),
    "Year": _signed,
    "YearMonth": lambda cursor: f"{_signed(cursor):04}-{cursor.i8():02}",
    "MonthDay": lambda cursor: f"--{cursor.i8():02}-{cursor.i8():02}",
    "Period": _period,
}
_OF_CLASS: dict[str, _Read] = {
    **{f"java.time.{name}": _plain(read) for name, read in _JAVA_TIME.items()},
    "java.util.UUID": _plain(_uuid),
    "java.util.Optional": _of_any_class,
    "java.util.OptionalInt": _or_none(_fixed_int),
    "java.util.OptionalLong": _or_none(_fixed_long),
    "java.util.OptionalDouble": _or_none(_double),
}
_OF_NUMBER: dict[int, Callable[[Cursor], object]] = {  # the numbers that Kryo itself gives
    2: lambda cursor: _zigzag(unsigned(cursor, 5)),
    3: lambda cursor: _new(cursor, _plain(_string), 0),
    4: _float,
    5: Cursor.flag,
    9: lambda cursor: _zigzag(_long(cursor)),
    10: _double,
}
