"""The places in a source's input from which a restore reads on, and what is then read again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

NUMBERS, OFFSETS = "number", "offset"  # what positions count
RECORD, OFFSET = "record", "offset"  # what is read again


@final
@dataclass(frozen=True, slots=True)
class Position:
    """The place at which the reading of one split, partition or source goes on.

    Attributes:
        split: the split, in the words of the source, such as ``orders-3`` for a Kafka partition.
        next: the number or offset that is read first. None if it is not a number.
        end: the last number or offset of the split. None if it has no end, or that is not known.
        unit: what ``next`` counts: ``number`` or ``offset``. None if it counts nothing.
        sentence: where the reading goes on, as a sentence.
        inferred: by what the form of the position was recognised, as a sentence.
    """

    split: str
    next: int | None
    end: int | None
    unit: str | None
    sentence: str
    inferred: str


@final
@dataclass(frozen=True, slots=True)
class SourceSplits:
    """The splits of one source in a checkpoint.

    Attributes:
        splits: where each split goes on; empty if none has a form that is known.
        waiting: how many of them the coordinator keeps, because no reader has them yet. None if
            that is not known.
        unknown: how many further splits have a form that is not known.
    """

    splits: tuple[Position, ...] = ()
    waiting: int | None = None
    unknown: int = 0


@final
@dataclass(frozen=True, slots=True)
class ReadAgain:
    """What one restore reads again that the newest checkpoint of the job has already behind it.

    Attributes:
        records: how many records, or offsets where only these are known. None if that is not
            known.
        unit: what is counted: ``record``, or ``offset`` where not every offset need have a record.
        sentence: what is read again, as a sentence.
    """

    records: int | None
    unit: str
    sentence: str


def distance(earlier: Sequence[Position], later: Sequence[Position]) -> int | None:
    """Return how many records lie between the positions of a source in two checkpoints.

    It is None if some split lacks a number in either, or is only in one of the two.
    """
    begins = {position.split: position.next for position in earlier}
    ends = {position.split: position.next for position in later}
    if not begins or begins.keys() != ends.keys():
        return None
    steps = [_step(begins[split], ends[split]) for split in begins]
    known = [step for step in steps if step is not None]
    return sum(known) if len(known) == len(steps) else None


def _step(begin: int | None, end: int | None) -> int | None:
    """Return the distance of two positions. Marks such as "the earliest" are negative."""
    if begin is None or end is None or not 0 <= begin <= end:
        return None
    return end - begin
