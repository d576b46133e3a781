"""Whether a Structured Streaming query can go on with another number of partitions.

Spark writes ``spark.sql.shuffle.partitions`` into the offset log before the first batch, and takes
it from there at every restart, because the partition of a key is its hash modulo that number.
Source: Spark, OffsetSeqMetadata.setSessionConf and StatefulOperatorPartitioning; the number is
changed by StreamingCheckpointManager.repartition alone, since Spark 4.2.
"""

from collections.abc import Iterator, Sequence

from snapshots.domain.inventory.batches import PlannedSource
from snapshots.domain.inventory.model import (
    COMPLETED,
    IN_PROGRESS,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.operator_plan import (
    NewSubtask,
    OldSubtask,
    OperatorPlan,
    StateMove,
    planned,
)
from snapshots.domain.inventory.positions import Position
from snapshots.domain.inventory.reading_again import SourceAgain
from snapshots.domain.inventory.restore_answer import RestorePlan, answer_of, headline_of
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.restore_obstacles import incomplete, missing_parts
from snapshots.domain.inventory.thrown_away import thrown_away
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

PARTITIONS = "spark.sql.shuffle.partitions"
UPLOAD_ITSELF = "the upload itself"  # the folder of a query that lies in no folder
EPOCH = "epoch"  # the kind of checkpoint in continuous processing
_STAYS = (
    "Each partition stays where it is: a key belongs to the partition that its hash modulo "
    "the number of partitions names."
)


def plan_query(
    batch: CheckpointInventory,
    parallelism: int,
    before: CheckpointInventory | None = None,
    without: frozenset[str] = frozenset(),
    completeness: Completeness | None = None,
) -> RestorePlan:
    """Plan a restart of a query from a batch with this number of partitions.

    Args:
        before: the batch before, whose state a batch that was not committed begins with.
        without: the ids of the operators that the query is to lack.
        completeness: whether all is there that a restart reads. None if that was not checked.
    """
    operators = reversed([item for item in batch.operators if item.id not in without])
    plans = tuple(_plan_operator(operator, parallelism, batch) for operator in operators)
    problems = [*_problems(batch, parallelism), *_removed(batch, without)]
    unknown = [] if problems else [*_unknowns(batch, before, completeness)]
    answer = answer_of(problems, unknown)
    yes = f"Yes: Spark {_begins(batch)} with {_partitions_kept(batch, parallelism)}."
    return RestorePlan(
        engine="spark",
        checkpoint=batch.id,
        parallelism=parallelism,
        kept=(),
        operators=plans,
        in_flight=(),
        edges=(),
        sources=tuple(_sources(batch)),
        read_again=tuple(_source(source, batch) for source in batch.ranges),
        sinks=tuple(_sinks(batch)),
        written_again=(),
        problems=tuple(problems),
        notes=tuple(_notes(batch)),
        answer=answer,
        headline=headline_of(yes, problems, unknown),
        reasons=tuple(_reasons(batch)) if answer == "yes" else (),
        unknown=tuple(unknown),
        without=tuple(item.id for item in batch.operators if item.id in without),
        thrown_away=thrown_away(batch, without),
    )


def fixed_partitions(batch: CheckpointInventory) -> int | None:
    """Return the number of partitions that the offset log fixes, or else that the state has."""
    text = batch.settings.get(PARTITIONS, "")
    if text.isdecimal() and len(text) < 10:
        return int(text)
    widths = [operator.parallelism for operator in batch.operators if operator.parallelism]
    return max(widths, default=None)


def _begins(batch: CheckpointInventory) -> str:
    if batch.status == COMPLETED:
        return f"goes on after batch {batch.id:,}"
    return f"runs batch {batch.id:,} again"


def _partitions_kept(batch: CheckpointInventory, parallelism: int) -> str:
    if not batch.operators:
        return "any number of partitions, because the query keeps no state"
    return f"the {times(parallelism, 'partition')} that its state has"


def _evidence(batch: CheckpointInventory) -> str:
    if PARTITIONS in batch.settings:
        return f"offsets/{batch.id} says {PARTITIONS} = {batch.settings[PARTITIONS]}"
    return "its state has as many partitions; the offset log of this batch does not say"


def _problems(batch: CheckpointInventory, parallelism: int) -> Iterator[str]:
    fixed = fixed_partitions(batch)
    if batch.operators and fixed is not None and fixed != parallelism:
        yield (
            f"The query is tied to {times(fixed, 'partition')} ({_evidence(batch)}). Spark puts a "
            "key into the partition that its hash modulo this number names, takes the number from "
            f"the offset log at every restart, and ignores {parallelism:,} in the session."
        )


def _removed(batch: CheckpointInventory, without: frozenset[str]) -> Iterator[str]:
    names = [item.name or f"operator {item.id}" for item in batch.operators if item.id in without]
    if names:
        yield (
            "Spark numbers stateful operators by their place in the query, and compares them with "
            f"the checkpoint: a query without {listed(names)} cannot go on from it."
        )


def _unknowns(
    batch: CheckpointInventory,
    before: CheckpointInventory | None,
    completeness: Completeness | None,
) -> Iterator[str]:
    if batch.kind == EPOCH:
        yield (
            "The query ran in continuous processing, where each partition of the source has a "
            "task: how many the source will have is not in the checkpoint."
        )
        return
    if batch.status == IN_PROGRESS:
        if before is not None:
            yield from missing_parts(before, before.operators, completeness)
        elif batch.id > 0 and batch.operators:
            yield "The batch before is not in the upload, and a restart begins with its state."
        else:
            yield from incomplete(completeness)
    else:
        yield from missing_parts(batch, batch.operators, completeness)
        if batch.operators and not any(operator.subtasks for operator in batch.operators):
            yield "The upload does not hold the files of the state."
    if batch.operators and fixed_partitions(batch) is None:
        yield f"How many partitions the state has is not known: no offset file says {PARTITIONS}."


def _reasons(batch: CheckpointInventory) -> Iterator[str]:
    if batch.operators:
        yield f"The number is the one that the checkpoint fixes: {_evidence(batch)}."
    else:
        yield "No operator keeps state, so that nothing depends on the number of partitions."
    yield "Executors and cores can be changed freely: they only share the partitions out."


def _notes(batch: CheckpointInventory) -> Iterator[str]:
    fixed = fixed_partitions(batch)
    if batch.operators:
        yield (
            "The number can only be changed while the query is stopped, with "
            "StreamingCheckpointManager.repartition of Spark 4.2 or newer, or by a new checkpoint "
            "that begins without state."
        )
    elif fixed is not None:
        yield f"Shuffles of the query go on with {times(fixed, 'partition')}: {_evidence(batch)}."


def _sources(batch: CheckpointInventory) -> Iterator[str]:
    if not batch.ranges:
        yield "What the batch read is not known: its offset file is not in the upload."
    elif batch.status == COMPLETED:
        yield "Each source goes on behind what this batch read, as the offset log has it."
    else:
        yield "The batch runs again with the same offsets, under the same number."


def _sinks(batch: CheckpointInventory) -> Iterator[str]:
    if batch.status != COMPLETED:
        yield (
            "The sink may be given the rows of this batch once more: it shows them twice unless it "
            "tells a repeated batch by its number, as the file sink does."
        )


def _source(source: PlannedSource, batch: CheckpointInventory) -> SourceAgain:
    is_over = batch.status == COMPLETED
    return SourceAgain(
        operator=source.source,
        name=source.description,
        states=(),
        inferred="The offset log lists it.",
        coordinated=False,
        rule="It goes on behind these offsets." if is_over else "It reads this range again.",
        splits=(_position(source, is_over=is_over),),
    )


def _position(source: PlannedSource, *, is_over: bool) -> Position:
    end = source.end or "no offset yet"
    if is_over:
        sentence = f"Source {source.source} goes on behind {end}."
        if source.end is None:
            sentence = f"Source {source.source} has no offset yet: it begins anew."
    else:
        start = (source.start or "the beginning") if source.start_known else "not known"
        sentence = f"Source {source.source} reads again what lies after {start}, up to {end}."
    return Position(source.source, None, None, None, sentence, "The offset log has it.")


# --- state ---------------------------------------------------------------------------------------


def _plan_operator(
    operator: OperatorInventory, parallelism: int, batch: CheckpointInventory
) -> OperatorPlan:
    """Plan one stateful operator: every partition stays, or nothing is restored."""
    fixed = fixed_partitions(batch)
    stays = fixed is None or fixed == parallelism or operator.parallelism == 1
    before = [OldSubtask(item.index, None, item.bytes) for item in operator.subtasks]
    after = [
        NewSubtask(item.index, ((item.index, item.index),), bytes=item.bytes)
        for item in operator.subtasks
    ]
    states = [
        StateMove(state.name, state.kind, _STAYS, state.entries, state.bytes)
        for state in operator.states
    ]
    problem = None
    if not stays:
        count = times(operator.parallelism or fixed or 0, "partition")
        problem = f"Its state is in {count}, and cannot be loaded into {parallelism:,}."
    kept = operator.parallelism or parallelism
    notes = _notes_of(operator)
    return planned(operator, kept, before, after if stays else [], states, notes, problem)


def _notes_of(operator: OperatorInventory) -> Sequence[str]:
    if operator.parallelism != 1:
        return ()
    return ("All its state is in one partition, whatever the number of the others.",)
