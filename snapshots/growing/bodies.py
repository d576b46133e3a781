"""Read a body of events with the checks of the native format."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from orjson import OPT_SORT_KEYS, dumps, loads

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import (
    MOST_LISTED,
    REFUSED,
    Defect,
    Defects,
    defect,
    index_twice,
)
from snapshots.readers.logs.checks import absent_field
from snapshots.readers.logs.native import parse_each_line, parse_lines

_FEW_BYTES = 2**17  # below, reading line by line is quicker than starting to read columns
_PIECE = _FEW_BYTES  # bytes that are read together; a body may have many more faulty lines
_Place = tuple[int, int, int, bytes]  # process, index, line, and the event as canonical JSON


@dataclass(frozen=True, slots=True)
class Came:
    """Events of one process that came in a body, with indices that follow each other.

    Attributes:
        process: the place of the process in the header.
        first: the index of the first event.
        events: the events, each as canonical JSON.
        lines: for each event its line in the body, from 1.
    """

    process: int
    first: int
    events: list[bytes]
    lines: list[int]


def read_body(body: bytes, header: Header, longest_line: int) -> list[Came]:
    """Return what a body holds, sorted by process and index.

    An event that is in the body twice counts once. Two events are the same if they are the same
    JSON, in whatever order their fields stand.

    Args:
        body: lines of the native format.
        header: the header of the recording.
        longest_line: the most bytes of an event as canonical JSON, as which it is kept.

    Raises: InputRefused with the lines and fields that are wrong, also if two different events are
        at one place.
    """
    defects = Defects()
    places: list[_Place] = []
    for first_line, piece in _pieces(body):
        places += _read(piece, first_line, header, longest_line, defects)
        if defects.refused_total >= MOST_LISTED:
            break
    defects.raise_refused()
    places.sort()
    joined = _joined(places, header, defects)
    defects.raise_refused()
    return joined


def parse(lines: bytes, header: Header, first_line: int = 1) -> tuple[pa.RecordBatch, list[Defect]]:
    """Return events as columns.RAW, and the defects, in the way that is quicker for so many."""
    if len(lines) < _FEW_BYTES:
        return parse_each_line(lines, first_line, header)
    return parse_lines(lines, first_line, header)


def _pieces(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of whole lines, each with the number of its first line, from 1."""
    begin, line = 0, 1
    while begin < len(body):
        end = body.find(b"\n", begin + _PIECE) + 1 or len(body)
        piece = body[begin:end]
        yield line, piece
        begin, line = end, line + piece.count(b"\n")


def _read(
    piece: bytes, first_line: int, header: Header, longest_line: int, defects: Defects
) -> list[_Place]:
    """Return the events of a piece, and add what is wrong with it to ``defects``."""
    batch, found = parse(piece, header, first_line)
    defects.extend(each for each in found if each.severity == REFUSED)
    columns = (batch[name].to_pylist() for name in ("process", "index", "line"))
    texts = piece.split(b"\n")
    places = []
    for process, index, line in zip(*columns, strict=True):
        event = canonical(texts[line - first_line])
        if index is None:
            defects.add(absent_field("index", line))
        elif len(event) > longest_line:
            defects.add(_too_long(line, len(event), longest_line))
        else:
            places.append((process, index, line, event))
    return places


def _too_long(line: int, size: int, longest: int) -> Defect:
    return defect(
        "line-too-long",
        f"The event takes {size:,} bytes as it is stored. A line may have at most {longest:,}.",
        line=line,
    )


def _joined(places: Iterable[_Place], header: Header, defects: Defects) -> list[Came]:
    """Join events whose indices follow each other; ``places`` are sorted."""
    all_of_them: list[Came] = []
    came: Came | None = None
    for process, index, line, event in places:
        end = None if came is None else came.first + len(came.events)
        if came is None or process != came.process or index > (end or 0):
            came = Came(process, index, [event], [line])
            all_of_them.append(came)
        elif index == end:
            came.events.append(event)
            came.lines.append(line)
        elif event != came.events[-1]:
            name = header.topology.processes[process].id
            defects.add(
                index_twice(process=name, index=index, earlier_line=came.lines[-1], line=line)
            )
    return all_of_them


def canonical(text: bytes) -> bytes:
    """Return the line of an event with its fields sorted, without spaces."""
    return dumps(loads(text), option=OPT_SORT_KEYS)
