"""Batches that were planned and not committed: what was in flight, and how far they had come."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from snapshots.domain.model.listing import listed


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What one source is to give to a batch: what lies behind ``start``, up to ``end``."""

    source: str
    """The number or name by which the engine calls the source."""
    description: str | None
    """The source in words for people. None if the files do not say."""
    start: str | None
    """The offset behind which the batch begins, as JSON text. None if there is none yet."""
    end: str | None
    """The last offset of the batch, as JSON text. None if there is none yet."""
    start_known: bool
    """False if the files do not tell the batch before, so that ``start`` is not known."""
    files: tuple[str, ...] = ()
    """The names of the first files that the batch reads."""
    files_total: int | None = None
    """How many files there are. None if it is not known."""
    rows: int | None = None
    """How many rows there are. None if it is not known."""
    offsets: int | None = None
    """How many offsets lie between ``start`` and ``end``. None if they are no numbers."""


@dataclass(frozen=True, slots=True)
class WrittenState:
    """Which partitions of an operator wrote the state of a batch, and which did not."""

    operator: str
    """The name of the operator."""
    store: str | None
    """The name of the state store. None if the operator has only one."""
    wrote: int
    """How many partitions wrote the state."""
    lacking: int
    """How many partitions did not write it."""
    wrote_text: str
    """The numbers of the partitions that wrote it, such as ``0 and 1``."""
    lacking_text: str
    """The numbers of the partitions that did not write it."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch that was planned and not committed."""

    kind: str
    """How far the batch had come, in a word."""
    how_far: str
    """How far the batch had come, as a sentence."""
    restart: str
    """What a restart does with the batch, as a sentence."""
    rows: int | None
    """How many rows all sources have. None if it is not known."""
    files: int | None
    """How many files all sources have. None if it is not known."""
    sources: tuple[PlannedSource, ...]
    """What each source is to give to the batch."""
    written: tuple[WrittenState, ...]
    """Which partitions of each operator wrote the state of the batch."""


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
