"""The ways in which a job can be restored, side by side, and what each reads again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snapshots.domain.inventory.batches import PlannedSource
from snapshots.domain.inventory.model import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    CheckpointInventory,
)
from snapshots.domain.inventory.positions import (
    OFFSET,
    OFFSETS,
    RECORD,
    ReadAgain,
    SourceSplits,
    distance,
)
from snapshots.domain.inventory.reading_again import SourceAgain
from snapshots.domain.inventory.restore_answer import RestorePlan, ThrownAway
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class RestoreVariant:
    """One way to restore a job, in short.

    Attributes:
        title: which checkpoint is restored, and without what, for people.
        number: the place of the checkpoint in the upload.
        checkpoint: the engine's id of the checkpoint.
        without: the ids of the operators that the restored job does not have.
        answer: ``yes``, ``no`` or ``not-known``.
        headline: the answer with its first reason, as a sentence.
        thrown_away: the state that the restored job does not have.
        again: what is read again, compared with the newest checkpoint of the job in the upload.
        is_asked: whether it is the variant that was asked for.
    """

    title: str
    number: int
    checkpoint: int
    without: tuple[str, ...]
    answer: str
    headline: str
    thrown_away: tuple[ThrownAway, ...]
    again: ReadAgain | None
    is_asked: bool


def variant_of(plan: RestorePlan, title: str, number: int, *, is_asked: bool) -> RestoreVariant:
    """Return a plan in short. ``number`` is the place of its checkpoint in the upload."""
    return RestoreVariant(
        title=title,
        number=number,
        checkpoint=plan.checkpoint,
        without=plan.without,
        answer=plan.answer,
        headline=plan.headline,
        thrown_away=plan.thrown_away,
        again=plan.again,
        is_asked=is_asked,
    )


def read_by_sources(
    sources: Sequence[SourceAgain], newest: Mapping[str, SourceSplits], newest_title: str
) -> ReadAgain:
    """Return what a restore of Flink reads again that the newest checkpoint has behind it.

    ``newest`` holds the splits of its sources, by the id of the operator.
    """
    steps = {source: _step(source, newest) for source in sources}
    known = [step for step in steps.values() if step is not None]
    silent = [source.name or source.operator for source, step in steps.items() if step is None]
    count = sum(known)
    has_offsets = any(split.unit == OFFSETS for source in sources for split in source.splits)
    unit = OFFSET if has_offsets else RECORD
    if not known:
        return ReadAgain(
            None,
            unit,
            f"How many records read before {newest_title} are read again is not known: no source "
            "has positions of a form that is known here.",
        )
    sentence = (
        f"{times(count, unit)} read before {newest_title} "
        f"{'is' if count == 1 else 'are'} read again, and so is all that was read after it."
    )
    if silent:
        sentence += f" Not counted, because not known: those of {listed(silent, MOST_NAMED)}."
    return ReadAgain(None if silent else count, unit, sentence)


def _step(source: SourceAgain, newest: Mapping[str, SourceSplits]) -> int | None:
    later = newest.get(source.operator)
    if later is None or source.unknown or later.unknown:
        return None
    return distance(source.splits, later.splits)


def newest_of(whole: str) -> ReadAgain:
    """Return what is read again behind the newest checkpoint of a ``job`` or ``pipeline``."""
    return ReadAgain(
        None,
        RECORD,
        f"It is the newest of its {whole} that was completed and has files in the upload. What was "
        "read after it is read again; how much that was is not known.",
    )


def why_not_read(checkpoint: CheckpointInventory) -> ReadAgain | None:
    """Return why nothing tells what a checkpoint reads again; None if its files may tell."""
    if checkpoint.status in (FAILED, IN_PROGRESS):
        sentence = f"It is {checkpoint.status}: no source can go back to it."
    elif checkpoint.path is None:
        sentence = (
            "What is read again is not known: its files, which hold the positions of its sources, "
            "are not in the upload."
        )
    elif checkpoint.status != COMPLETED:
        sentence = "What is read again is not known: nor is whether it was completed."
    else:
        return None
    return ReadAgain(None, RECORD, sentence)


IN_THE_CONNECTOR = ReadAgain(
    None,
    RECORD,
    "How many records are read again is not known: only the connector knows what the offsets in "
    "its splits count.",
)
_REMOVED = "The files of later batches in offsets and commits have to be removed first."


def run_again(own: CheckpointInventory, later: Sequence[CheckpointInventory]) -> ReadAgain:
    """Return what is read again if Spark goes on from a batch.

    ``later``: the batches after it, as far as the upload holds them.
    """
    batches = [*([] if own.status == COMPLETED else [own]), *later]
    if not batches:
        sentence = "It is the newest batch, and is committed: nothing is read again."
        return ReadAgain(0, RECORD, sentence)
    counts = list(_counts(batches))
    known = [count for count, _ in counts if count is not None]
    records = sum(known) if len(known) == len(counts) else None
    unit = OFFSET if any(is_offset for _, is_offset in counts) else RECORD
    how_much = _how_much(records, unit, batches)
    if not later:
        sentence = f"Batch {own.id:,} runs again with the same offsets{how_much}"
        return ReadAgain(records, unit, sentence)
    ranges = _ranges(batches[0].id, batches[-1].id)
    return ReadAgain(records, unit, f"{ranges} read again{how_much} {_REMOVED}{_otherwise(later)}")


def _how_much(records: int | None, unit: str, batches: Sequence[CheckpointInventory]) -> str:
    """Return the end of a sentence about what batches read: rows, else files, else not known."""
    if records is not None:
        return f": {times(records, unit)}."
    counts = [source.files_total for batch in batches for source in batch.ranges]
    files = sum(count or 0 for count in counts)
    if files and None not in counts and all(batch.ranges for batch in batches):
        return f": {times(files, 'file')}; the number of their records is not known."
    return "; how much is not known."


def _otherwise(later: Sequence[CheckpointInventory]) -> str:
    """Say what a restart does with the files as they are, if just the last batch is in flight."""
    if [batch.id for batch in later if batch.status != COMPLETED] != [later[-1].id]:
        return ""
    if later[-1].status != IN_PROGRESS:
        return ""
    return f" Otherwise a restart runs batch {later[-1].id:,} again."


def too_many_batches(own: CheckpointInventory, last: int) -> ReadAgain:
    """Return what is read again up to the batch ``last``, without counting it."""
    ranges = _ranges(own.id + (own.status == COMPLETED), last)
    sentence = f"{ranges} read again: too many batches to count it. {_REMOVED}"
    return ReadAgain(None, RECORD, sentence)


def _ranges(first: int, last: int) -> str:
    if first == last:
        return f"The range of batch {first:,} is"
    return f"The ranges of batches {first:,} to {last:,} are"


def _counts(batches: Sequence[CheckpointInventory]) -> Iterator[tuple[int | None, bool]]:
    """Yield how much each source gives to each batch, and whether that counts offsets."""
    for batch in batches:
        if not batch.ranges:
            yield None, False
        for source in batch.ranges:
            yield _count(source)


def _count(source: PlannedSource) -> tuple[int | None, bool]:
    """Return how much lies in a range: nothing between an equal start and end."""
    if source.start_known and source.start == source.end:
        return 0, False
    if source.rows is not None:
        return source.rows, False
    return source.offsets, source.offsets is not None
