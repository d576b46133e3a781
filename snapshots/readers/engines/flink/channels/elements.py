"""The elements in a channel: records, watermarks and what else Flink sends between subtasks.

Source: Flink, StreamElementSerializer, SpanningRecordSerializer's length prefix.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapshots.readers.formats.cursor import Cursor, Malformed

RECORD = "record"
WATERMARK = "watermark"
LATENCY_MARKER = "latency marker"
STATUS = "status"
ATTRIBUTES = "record attributes"
INTERNAL_WATERMARK = "internal watermark"
NO_TIME = -(2**63)  # the time stamp of a record without event time

_LENGTH_BYTES = 4
_KINDS = (RECORD, RECORD, WATERMARK, LATENCY_MARKER, STATUS, ATTRIBUTES, INTERNAL_WATERMARK)
_LEAST = (9, 1, 9, 29, 5, 2, 13)  # bytes of each, its tag included; all but records have no more


@dataclass(frozen=True, slots=True)
class Element:
    """One element. offset, size: in the channel's bytes, its length field left out.

    timestamp: ms, of a record, watermark or latency marker; None where there is none, NO_TIME
    where the job has no event time. value: of a record, in its unknown encoding. details: the
    other fields, by name (status: 0 active, -1 idle).
    """

    kind: str
    offset: int
    size: int
    timestamp: int | None
    value: bytes = b""
    details: dict[str, object] | None = None


class Elements(Sequence):
    """The elements of one channel, which are complete. Built by ``split``."""

    def __init__(self, data: bytes, ends: array) -> None:
        self.data = data
        self._ends = ends  # of each element

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> Element:
        """Raises: IndexError."""
        place = range(len(self))[place]
        return _element(Cursor(self.data, self._begin(place), self._ends[place]))

    def __iter__(self) -> Iterator[Element]:
        return (self[place] for place in range(len(self)))

    def _begin(self, place: int) -> int:
        return (self._ends[place - 1] if place else 0) + _LENGTH_BYTES

    def count(self, kind: str) -> int:
        """How many elements of a kind there are."""
        tags = {tag for tag, known in enumerate(_KINDS) if known == kind}
        return sum(self.data[self._begin(place)] in tags for place in range(len(self)))

    def wholly_before(self, size: int) -> int:
        """How many end within the first ``size`` bytes of the channel."""
        return bisect_right(self._ends, size)


def split(data: bytes) -> Elements:
    """The elements of a channel: input half, then output half.

    Raises: Malformed where a rest is left, or an element is not what its tag says.
    """
    ends = array("Q")
    position = 0
    while position < len(data):
        begin = position + _LENGTH_BYTES
        length = int.from_bytes(data[position:begin], "big", signed=True)
        if length < 1 or begin + length > len(data):
            left = max(len(data) - begin, 0)
            raise Malformed(
                f"An element of {length} bytes is announced and {left} are left", position
            )
        tag = data[begin]
        if tag >= len(_KINDS):
            raise Malformed(f"{tag} is the tag of no element", begin)
        if length < _LEAST[tag] or (length > _LEAST[tag] and _KINDS[tag] != RECORD):
            raise Malformed(f"A {_KINDS[tag]} cannot have {length} bytes", begin)
        position = begin + length
        ends.append(position)
    return Elements(data, ends)


def _element(cursor: Cursor) -> Element:
    begin, size = cursor.position, cursor.left
    tag = cursor.u8()
    kind, timestamp, value, details = _KINDS[tag], None, b"", None
    if kind == RECORD:
        timestamp = cursor.i64() if tag == 0 else None
        value = cursor.take(cursor.left)
    elif kind == WATERMARK:
        timestamp = cursor.i64()
    elif kind == LATENCY_MARKER:
        timestamp = cursor.i64()
        details = {"operator": cursor.take(16).hex(), "subtask": cursor.i32()}
    elif kind == STATUS:
        details = {"status": cursor.i32()}
    elif kind == ATTRIBUTES:
        details = {"backlog": cursor.u8() != 0}
    else:
        details = {"subpartition": cursor.i32()}
        timestamp = cursor.i64()
    return Element(kind, begin, size, timestamp, value, details)


def printable_runs(data: bytes, least: int = 4, most: int = 100) -> list[tuple[int, str]]:
    """(offset, text) of the first ``most`` runs of at least ``least`` ASCII characters."""
    found = re.finditer(rb"[\x20-\x7e]{%d,}" % least, data)
    return [(run.start(), run.group().decode()) for run, _ in zip(found, range(most), strict=False)]
