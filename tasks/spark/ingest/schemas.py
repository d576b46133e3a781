"""Working tables of the ingest, and what its stages tell each other.

They live in a folder beside the tables of the store and are gone when the ingest is done. Row,
here, is a place in a part of the events.
"""

from dataclasses import dataclass

import pyarrow as pa

from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import KINDS, MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
from snapshots.store.manifest import Part

ROWS_PER_PART = 1_000_000
MANY_ROWS = 100_000  # from here on, several parts pay

_text = pa.large_string()

# One chunk of the source, sorted by (process, line). Kinds and snapshots have codes of its own.
STAGED = pa.schema(
    [
        ("process", pa.int32()),
        ("line", pa.int64()),
        ("rank", pa.int64()),  # 0, 1, 2 … in the order of the chunk
        ("kind", pa.int32()),
        ("index", pa.int64()),  # null where the log leaves it out
        ("at", pa.int64()),  # likewise
        ("channel", pa.int32()),
        ("snapshot", pa.int32()),
        ("message", _text),
        ("value", _text),
        ("state", _text),
        ("messages", pa.list_(_text)),
        ("label", _text),
        ("extra", _text),
    ]
)

# The ends of messages and markers in one part of the events, sorted by (channel, row).
ENDS = pa.schema(
    [
        ("channel", pa.int32()),
        ("kind", pa.int32()),
        ("row", pa.int64()),
        ("process", pa.int32()),
        ("index", pa.int64()),
        ("at", pa.int64()),  # as logged; null where the log leaves it out
        ("step", pa.int64()),
        ("line", pa.int64()),
        ("snapshot", pa.int32()),
    ]
)

SEND_CODE, RECEIVE_CODE, MARKER_SEND_CODE, MARKER_RECEIVE_CODE = (
    KINDS.index(kind) for kind in (SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE)
)


@dataclass(frozen=True)
class Told:
    """Defects of one task, in order. unlisted: how many more there are than are listed."""

    listed: tuple[Defect, ...] = ()
    unlisted: int = 0

    @classmethod
    def of(cls, defects: Defects) -> "Told":
        return cls(defects.listed, defects.total - len(defects.listed))


@dataclass(frozen=True)
class Placed:
    """A defect and its place in the order in which the recording tells its kind of defect."""

    place: tuple[int, ...]
    defect: Defect


@dataclass(frozen=True)
class Staged:
    """One staged chunk.

    counts: process code -> rows. ends: channel code -> sends and receives, markers' too. kinds,
    snapshots: names by the chunk's own codes, in the order of first use. orderly: every row has a
    time and none lies before the one above it; first_at, last_at: those of an orderly chunk.
    """

    file: str
    rows: int
    counts: dict[int, int]
    ends: dict[int, int]
    kinds: tuple[str, ...]
    snapshots: tuple[str, ...]
    orderly: bool
    first_at: int
    last_at: int


@dataclass(frozen=True)
class Piece:
    """A staged chunk as the whole recording sees it.

    base: rows of the chunks before it. kinds, snapshots: the chunk's code -> the recording's.
    """

    file: str
    base: int
    kinds: tuple[int, ...]
    snapshots: tuple[int, ...]


@dataclass(frozen=True)
class Ordered:
    """One part of the events, in order.

    records, ends: files of RECORD_COLUMNS and ENDS, None where there are no such rows. in_step: the
    order of the source is the order within each process. order, clocks: defects of indexes, and of
    clocks that go back.
    """

    part: Part
    records: str | None
    ends: str | None
    in_step: bool
    order: Told
    clocks: Told


@dataclass(frozen=True)
class Matched:
    """The messages and markers of some channels.

    causal: every receive stands after its send in the order of the source. strays: STRAY_COLUMNS.
    """

    parts: tuple[Part, ...]
    causal: bool
    strays: pa.Table
    matching: Told
    early: tuple[Placed, ...]
    overtaken: Told
    unknown: tuple[Placed, ...]
    unlisted: int


def ranges(counts: list[int], most: int) -> list[tuple[int, int]]:
    """Contiguous half-open ranges of codes whose counts are about equal, none much above ``most``.

    counts: by code. A single code may exceed ``most``: it stays whole. No range is without counts.
    """
    total = sum(counts)
    if not total:
        return []
    parts = max(-(-total // most), min(8, total // MANY_ROWS), 1)
    goal = total / parts
    found: list[tuple[int, int]] = []
    begin = held = 0
    for code, count in enumerate(counts):
        if held and held + count / 2 > goal:
            found.append((begin, code))
            begin, held = code, 0
        held += count
    if held:
        found.append((begin, len(counts)))
    return found
