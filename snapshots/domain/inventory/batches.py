"""Batches that were planned and not committed: what was in flight, and how far it had come."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What one source is to give to the batch: behind ``start`` up to ``end``, as JSON texts.

    description: for people. start, end: None where there is no offset yet; start_known: False where
    the batch before is not told. files: names of the first of them; files_total, rows: None where
    not known. offsets: how many lie between the two, None where they are no numbers.
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

    wrote, lacking: how many; the texts name them, as ``0 and 1``. store: its name, None where the
    operator has one.
    """

    operator: str
    store: str | None
    wrote: int
    lacking: int
    wrote_text: str
    lacking_text: str


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """kind: how far it had come, in a word; how_far, restart: sentences. rows, files: of all
    sources, None where not known."""

    kind: str
    how_far: str
    restart: str
    rows: int | None
    files: int | None
    sources: tuple[PlannedSource, ...]
    written: tuple[WrittenState, ...]


def spans_text(numbers: Iterable[int], most: int = 10) -> str:
    """For people: ``0 to 3, 5 and 7``; of more than ``most`` runs the first, and how many more.

    numbers: ascending, each once.
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
