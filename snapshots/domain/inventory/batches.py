"""Batches that were planned and not committed: what was in flight, and how far they had come."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from snapshots.domain.model.listing import listed

NEWER_FIRST = "and newer batches first."
"""The end of the note that names batches whose state was not read."""


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What one source gives to a batch: what lies behind ``start``, up to ``end``.

    Attributes:
        source: the number or name by which the engine calls the source.
        description: the source in words for people. None if the files do not say.
        start: the offset behind which the batch begins, as JSON text. None if there is none yet.
        end: the last offset of the batch, as JSON text. None if there is none yet.
        start_known: false if the files do not tell the batch before, so that ``start`` is not
            known.
        files: the names of the first files that the batch reads.
        files_total: how many files there are. None if it is not known.
        rows: how many rows there are. None if it is not known.
        offsets: how many offsets lie between ``start`` and ``end``. None if they are no numbers.
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
    """Which partitions of an operator wrote the state of a batch, and which did not.

    Attributes:
        operator: the name of the operator.
        store: the name of the state store. None if the operator has only one.
        wrote: how many partitions wrote the state.
        lacking: how many partitions did not write it.
        wrote_text: the numbers of the partitions that wrote it, such as ``0 and 1``.
        lacking_text: the numbers of the partitions that did not write it.
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
        kind: how far the batch had come, in a word.
        how_far: how far the batch had come, as a sentence.
        restart: what a restart does with the batch, as a sentence.
        rows: how many rows all sources have. None if it is not known.
        files: how many files all sources have. None if it is not known.
        sources: what each source is to give to the batch.
        written: which partitions of each operator wrote the state of the batch.
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
    names: list[str] = []
    left = 0
    for _, group in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        run = [number for _, number in group]
        if len(names) >= most:
            left += len(run)
        elif len(run) > 2:
            names.append(f"{run[0]} to {run[-1]}")
        else:
            names += map(str, run)
    return listed([*names, f"{left:,} more"] if left else names)
