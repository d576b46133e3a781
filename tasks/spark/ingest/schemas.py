"""Define the working tables of the ingest and the results of its stages.

The tables live in a folder beside those of the store until the ingest is done. A row, here, is an
index into a part of the events.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import (
    KINDS,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    SEND,
    Restored,
)
from snapshots.store.manifest import Part
from tasks.spark.capacity import HERE, Capacity

ROWS_PER_PART = 1_000_000
TEXT_BYTES_PER_ROW = 256  # of texts; rows with more count as several where a part is limited

_text = pa.large_string()

# One chunk of the source, sorted by (process, line), with its own codes for kinds and snapshots. On
# disk lines, indices, ranks and times are less, as ``parse.for_disk`` says. Messages, values and
# states may be held as numbers, as ``readers.formats.numerals`` says.
STAGED = pa.schema(
    [
        ("process", pa.int32()),
        ("line", pa.int64()),
        ("rank", pa.int64()),  # 0, 1, 2 … in the order of the chunk
        ("kind", pa.int32()),
        ("index", pa.int64()),  # null if the log leaves it out
        ("at", pa.int64()),  # null if the log leaves it out
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

# The ends of messages and markers in one part of the events, sorted by (channel, row). All else of
# them is in that part. On disk a row is the ``working.differences`` to the one before.
ENDS = pa.schema([("channel", pa.int32()), ("row", pa.int64())])

SEND_CODE, RECEIVE_CODE, MARKER_SEND_CODE, MARKER_RECEIVE_CODE = (
    KINDS.index(kind) for kind in (SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE)
)


@dataclass(frozen=True)
class ListedDefects:
    """The defects of one task, in order; ``unlisted`` counts those beyond the listed ones."""

    listed: tuple[Defect, ...] = ()
    unlisted: int = 0

    @classmethod
    def of(cls, defects: Defects) -> "ListedDefects":
        return cls(defects.listed, defects.total - len(defects.listed))


@dataclass(frozen=True)
class Placed:
    """A defect and its sort key among the recording's defects of its kind."""

    place: tuple[int, ...]
    defect: Defect


@dataclass(frozen=True)
class Staged:
    """One staged chunk of the source.

    Args:
        counts: rows by process code.
        sizes: bytes of the texts by process code.
        ends: sends and receives, of markers too, by channel code.
        kinds, snapshots: names by the chunk's own codes, in the order of first use.
        orderly: whether every row has a time and none is earlier than the row before it.
        first_at, last_at: the first and last time of an orderly chunk.
    """

    file: str
    rows: int
    counts: dict[int, int]
    sizes: dict[int, int]
    ends: dict[int, int]
    kinds: tuple[str, ...]
    snapshots: tuple[str, ...]
    orderly: bool
    first_at: int
    last_at: int


@dataclass(frozen=True)
class Piece:
    """A staged chunk with the numbers that place it in the whole recording.

    Args:
        base: rows of the chunks before it.
        kinds, snapshots: the recording's code for each code of the chunk.
    """

    file: str
    base: int
    kinds: tuple[int, ...]
    snapshots: tuple[int, ...]


@dataclass(frozen=True)
class Ordered:
    """One sorted part of the events.

    Args:
        records, ends: files of RECORD_COLUMNS and ENDS; None if there are no such rows.
        restores: those with an epoch, each with the codes of its process and snapshot.
        in_step: whether the order of the source is the order within each process.
        order: defects of indexes.
        clocks: defects of clocks that go back.
    """

    part: Part
    records: str | None
    ends: str | None
    restores: tuple[tuple[int, int, Restored], ...]
    in_step: bool
    order: ListedDefects
    clocks: ListedDefects


@dataclass(frozen=True)
class Matched:
    """The messages and markers of some channels.

    Args:
        causal: whether every receive comes after its send in the order of the source.
        strays: STRAY_COLUMNS.
        again: for each channel and restore of its target, what was received again after that.
    """

    parts: tuple[Part, ...]
    causal: bool
    strays: pa.Table
    matching: ListedDefects
    early: tuple[Placed, ...]
    overtaken: ListedDefects
    unknown: tuple[Placed, ...]
    unlisted: int
    again: dict[tuple[int, int], tuple[int | None, Hashable | None]]


def ranges(counts: list[int], most: int, capacity: Capacity = HERE) -> list[tuple[int, int]]:
    """Split codes into contiguous half-open ranges of about equal counts, none much above ``most``.

    There are enough of them to occupy a session of this capacity. A single code may exceed
    ``most``, because it stays whole. No range is without counts.
    """
    total = sum(counts)
    if not total:
        return []
    goal = total / capacity.parts(total, most)
    spans: list[tuple[int, int]] = []
    begin = held = 0
    for code, count in enumerate(counts):
        if held and held + count / 2 > goal:
            spans.append((begin, code))
            begin, held = code, 0
        held += count
    if held:
        spans.append((begin, len(counts)))
    return spans


def runs(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """Return (code, begin, end) of each run of equal codes in a sorted column."""
    if not len(codes):
        return []
    begins = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
    ends = np.append(begins[1:], len(codes))
    return list(zip(codes[begins].tolist(), begins.tolist(), ends.tolist(), strict=True))
