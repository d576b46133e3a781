"""Read Protostuff's native encoding: protobuf's tags, with groups for objects, lists and maps.

Every tag is ``field << 3 | wire``; numbers are little-endian.
Source: docs/formats/seatunnel-files.md, "7. Binary format".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Cursor, Malformed

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
MOST_NESTED = 32  # groups in groups; a checkpoint has 8
MOST_FIELDS = 1_000_000
_LONGEST_VARINT = 10  # bytes


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        wire: the wire type, such as VARINT.
        value: an int of 0 .. 2**64 - 1, bytes, or for a GROUP its fields.
        offset: the offset of its tag.
    """

    number: int
    wire: int
    value: "int | bytes | tuple[Field, ...]"
    offset: int

    @property
    def integer(self) -> int:
        assert isinstance(self.value, int)  # unless its wire is BYTES or GROUP
        return self.value

    @property
    def content(self) -> bytes:
        assert isinstance(self.value, bytes)  # if its wire is BYTES
        return self.value

    @property
    def group(self) -> "tuple[Field, ...]":
        assert isinstance(self.value, tuple)  # if its wire is GROUP
        return self.value


def parse(
    data: bytes, start: int = 0, end: int | None = None, room: Room | None = None
) -> tuple[Field, ...]:
    """Return the fields of the message that fills ``data[start:end]``. Raises: Malformed.

    ``room`` is a budget of fields that several messages can share.
    """
    reader = _Reader(Cursor(data, start, end), room or Room("fields", MOST_FIELDS))
    fields, group = reader.fields(0)
    if group is not None:
        raise Malformed(f"The group {group} ends without having begun", reader.cursor.position)
    return fields


def signed(value: int) -> int:
    """Return a varint as Java's int or long."""
    return value - 2**64 if value >= 2**63 else value


class _Reader:
    def __init__(self, cursor: Cursor, room: Room) -> None:
        self.cursor = cursor
        self._room = room

    def fields(self, depth: int) -> tuple[tuple[Field, ...], int | None]:
        """Read to the end of the data or group; return the fields and the ended group's number."""
        fields: list[Field] = []
        while self.cursor.left:
            at = self.cursor.position
            number, wire = divmod(self._varint(), 8)
            if number == 0 or number >= 2**29:
                raise Malformed(f"{number} is not a valid field number", at)
            if wire == END_GROUP:
                return tuple(fields), number
            self._room.take(1)
            fields.append(Field(number, wire, self._value(number, wire, at, depth), at))
        return tuple(fields), None

    def _value(
        self, number: int, wire: int, at: int, depth: int
    ) -> int | bytes | tuple[Field, ...]:
        if wire == VARINT:
            return self._varint()
        if wire == BYTES:
            return self.cursor.take(self._varint())
        if wire in (FIXED32, FIXED64):
            return int.from_bytes(self.cursor.take(4 if wire == FIXED32 else 8), "little")
        if wire != GROUP:
            raise Malformed(f"{wire} is not a valid wire type", at)
        if depth >= MOST_NESTED:
            raise Malformed(f"Groups are nested more than {MOST_NESTED} deep", at)
        inner, end = self.fields(depth + 1)
        if end != number:
            raise Malformed(
                f"The group {number} does not end, or another one ends in its place", at
            )
        return inner

    def _varint(self) -> int:
        at, number = self.cursor.position, 0
        for index in range(_LONGEST_VARINT):
            byte = self.cursor.u8()
            number |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                if number >= 2**64:
                    break
                return number
        raise Malformed("A number does not fit into 64 bits", at)


def list_items(group: tuple[Field, ...]) -> Iterator[Field | int]:
    """Yield the elements of a list, and for each run of nulls their number. Raises: Malformed."""
    for field in group:
        if field.number == 1:
            yield field
        elif field.number == 2 and field.wire == VARINT:
            yield field.integer
        else:
            raise Malformed(f"A list holds the unexpected field {field.number}", field.offset)


def flags(group: tuple[Field, ...]) -> tuple[bool, ...]:
    """Return an array of booleans. Raises: Malformed.

    Field 1 is its length; a field 2 stands for each element.
    """
    numbers = [field.number for field in group]
    if numbers[:1] != [1] or any(number != 2 for number in numbers[1:]):
        raise Malformed("An array of flags is not in order", group[0].offset if group else 0)
    if any(field.wire != VARINT for field in group) or group[0].value != len(group) - 1:
        raise Malformed(
            "An array of flags does not have the length that it states", group[0].offset
        )
    return tuple(field.value != 0 for field in group[1:])


def map_items(group: tuple[Field, ...]) -> Iterator[tuple[Field | None, Field | None]]:
    """Yield key and value of each entry of a map, in the order of the file. Raises: Malformed."""
    for entry in group:
        if entry.number != 1 or entry.wire != GROUP:
            raise Malformed(f"A map holds the unexpected field {entry.number}", entry.offset)
        inner = {field.number: field for field in entry.group}
        if len(inner) != len(entry.group) or not set(inner) <= {1, 2}:
            raise Malformed("An entry of a map has more than a key and a value", entry.offset)
        yield inner.get(1), inner.get(2)
