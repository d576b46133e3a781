"""Batches that were planned and not committed: what was in flight, and how far they had come."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What one source is to give to the batch: what lies behind ``start``, up to ``end``.

    Attributes:
        description: the source in words for people.
        start: the offset behind which the batch begins, as JSON text; None where there is none yet.
        end: the last offset of the batch, as JSON text; None where there is none yet.
        start_known: False where the files do not tell the batch before.
        files: the names of the first files.
        files_total: how many files there are; None where it is not known.
        rows: how many rows there are; None where it is not known.
        offsets: how many offsets lie between ``start`` and ``end``; None where they are no numbers.
    """

    source: str
    description: str | None
    start: str | None
    end: str | None
    start_known: bool
    files: tuple[str, ...] = ()
    files_total: int | None = None
    rows: int | None = None
    offsets: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenState:
    """Which partitions of an operator wrote the state of the batch, and which did not.

    Attributes:
        store: the name of the state store; None where the operator has only one.
        wrote: how many partitions wrote it.
        lacking: how many partitions did not.
        wrote_text: the numbers of the partitions that wrote it, as ``0 and 1``.
        lacking_text: the numbers of the partitions that did not.
    """

    operator: str
    store: str | None
    wrote: int
    lacking: int
    wrote_text: str
    lacking_text: str


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch that was planned and not committed.

    Attributes:
        kind: how far it had come, in a word.
        how_far: how far it had come, as a sentence.
        restart: what a restart does with it, as a sentence.
        rows: how many rows all sources have; None where it is not known.
        files: how many files all sources have; None where it is not known.
    """

    kind: str
    how_far: str
    restart: str
    rows: int | None
    files: int | None
    sources: tuple[PlannedSource, ...]
    written: tuple[WrittenState, ...]


def spans_text(numbers: Iterable[int], most: int = 10) -> str:
    """Return ascending numbers in words, as ``0 to 3, 5 and 7``.

    At most ``most`` runs are named; the text says how many numbers are left.
    """
    named: list[str] = []
    left = 0
    for _, run in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        own = [number for _, number in run]
        if len(named) >= most:
            left += len(own)
        elif len(own) > 2:
            named.append(f"{own[0]} to {own[-1]}")
        else:
            named += map(str, own)
    if left:
        named.append(f"{left:,} more")
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
