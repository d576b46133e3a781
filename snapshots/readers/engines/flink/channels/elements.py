"""Split the bytes of a channel into elements: records, watermarks and Flink's other signals.

Source: Flink, StreamElementSerializer, SpanningRecordSerializer's length prefix.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

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
_LEAST = (9, 1, 9, 29, 5, 2, 13)  # bytes of each with its tag; only records can have more


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a channel.

    Attributes:
        offset: the offset of its tag in the channel's bytes, behind its length.
        size: Bytes, without its length.
        timestamp: the time of a record, watermark or latency marker in ms. NO_TIME if the job has
            no event time, None if the element has no time stamp.
        value: the bytes of a record, in an encoding that is not stored.
        details: its other fields by name. A status is 0 (active) or -1 (idle).
    """

    kind: str
    offset: int
    size: int
    timestamp: int | None
    value: bytes = b""
    details: dict[str, object] | None = None


class Elements(Sequence[Element]):
    """The complete elements of one channel, as ``split`` returns them."""

    def __init__(self, data: bytes, ends: "array[int]") -> None:
        self.data = data
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> Element:  # type: ignore[override]  # no slices
        """Return one element. Raises: IndexError."""
        index = range(len(self))[index]
        return _element(Cursor(self.data, self._begin(index), self._ends[index]))

    def __iter__(self) -> Iterator[Element]:
        return (self[index] for index in range(len(self)))

    def _begin(self, index: int) -> int:
        return (self._ends[index - 1] if index else 0) + _LENGTH_BYTES

    def count(self, kind: str) -> int:
        """Return how many elements of a kind there are."""
        tags = {tag for tag, tag_kind in enumerate(_KINDS) if tag_kind == kind}
        return sum(self.data[self._begin(index)] in tags for index in range(len(self)))

    def wholly_before(self, size: int) -> int:
        """Return how many elements end within the first ``size`` bytes of the channel."""
        return bisect_right(self._ends, size)


def split(data: bytes) -> Elements:
    """Return the elements of a channel, whose data are the input half, then the output half.

    Raises: Malformed if bytes are left over, or an element's size does not fit its tag.
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
            raise Malformed(f"{tag} is not the tag of an element", begin)
        if length < _LEAST[tag] or (length > _LEAST[tag] and _KINDS[tag] != RECORD):
            raise Malformed(f"A {_KINDS[tag]} cannot have {length} bytes", begin)
        position = begin + length
        ends.append(position)
    return Elements(data, ends)


def _element(cursor: Cursor) -> Element:
    begin, size = cursor.position, cursor.left
    tag = cursor.u8()
    kind, timestamp, value = _KINDS[tag], None, b""
    details: dict[str, object] | None = None
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
    """Return (offset, text) of the first ``most`` runs of at least ``least`` ASCII characters."""
    runs = re.finditer(rb"[\x20-\x7e]{%d,}" % least, data)
    return [(run.start(), run.group().decode()) for run in islice(runs, most)]
