"""What prevents a restore, and what is not known of it, as sentences.

Source: Flink, Checkpoints.loadAndValidateCheckpoint, StateAssignmentOperation and
StreamGraphGenerator, which keeps exchanges between fixed pairs of subtasks, and broadcasts, out of
unaligned checkpoints.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from snapshots.domain.inventory.flow import vertex_name
from snapshots.domain.inventory.in_flight_plan import EdgePlan, size_in_words
from snapshots.domain.inventory.model import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.operator_plan import OperatorPlan
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.upgrade.upgrade import has_state
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_NAMED = 10
_DIVIDES_CHANNELS = 4  # from this version of _metadata on (Flink 1.16) all of it can be divided
_VERSION, _DISCARDED = "version of _metadata", "discarded"  # facts

Widths = Mapping[str, int]  # the new number of subtasks, by operator id


def problems_of(
    checkpoint: CheckpointInventory, operators: Sequence[OperatorPlan], edges: Sequence[EdgePlan]
) -> Iterator[str]:
    """Yield what prevents the restore of a checkpoint of Flink or SeaTunnel."""
    if checkpoint.status in (FAILED, IN_PROGRESS):
        yield (
            f"The {checkpoint.title} is {checkpoint.status}: only a completed one can be restored."
        )
    if checkpoint.path is None and dict(_facts(checkpoint)).get(_DISCARDED) == "yes":
        yield "Flink has discarded it, so its files are gone."
    yield from _too_wide(operators)
    too_wide = {plan.operator for plan in operators if is_too_wide(plan)}
    for plan in operators:
        if plan.problem is not None and plan.operator not in too_wide:
            yield plan.problem
    for edge in edges:
        if edge.problem is not None:
            yield edge.problem


def is_too_wide(plan: OperatorPlan) -> bool:
    """Tell whether an operator is to have more subtasks than key groups."""
    return plan.max_parallelism is not None and plan.parallelism_after > plan.max_parallelism


def _too_wide(operators: Sequence[OperatorPlan]) -> Iterator[str]:
    """Yield a sentence for each maximum that is exceeded, with all operators that have it."""
    names: dict[tuple[int, int], list[str]] = {}
    for plan in operators:
        if plan.problem is not None and plan.max_parallelism is not None and is_too_wide(plan):
            widths = plan.max_parallelism, plan.parallelism_after
            names.setdefault(widths, []).append(plan.name or plan.operator)
    for (most, width), own in names.items():
        verb = "has" if len(own) == 1 else "have"
        yield (
            f"{listed(own, MOST_NAMED)} {verb} a maximum parallelism of {most:,}, which the "
            f"checkpoint fixes. State is kept in that many key groups, a key group is never "
            f"divided, and so Flink refuses {width:,} subtasks."
        )


def unknowns_of(
    checkpoint: CheckpointInventory,
    operators: Sequence[OperatorInventory],
    after: Widths,
    edges: Sequence[EdgePlan],
    completeness: Completeness | None = None,
) -> Iterator[str]:
    """Yield what is not known, and decides whether a checkpoint of Flink can be restored.

    Args:
        operators: the operators that the restored job has.
    """
    yield from missing_parts(checkpoint, operators, completeness)
    yield from _unknown_maximum(checkpoint, operators, after)
    yield from _undivided(checkpoint, edges)


def missing_parts(
    checkpoint: CheckpointInventory,
    operators: Sequence[OperatorInventory],
    completeness: Completeness | None = None,
) -> Iterator[str]:
    """Yield which parts of the checkpoint the upload lacks, or has damaged.

    Args:
        completeness: whether all is there that a restore reads. None in uploads that an older
            release read; then the states tell whether they are damaged.
    """
    if checkpoint.status not in (COMPLETED, FAILED, IN_PROGRESS):
        yield "Whether it was completed is not known."
    if checkpoint.path is None:
        yield "Its files are not in the upload: only an answer of the REST API tells of it."
    elif checkpoint.problem is not None:
        yield checkpoint.problem
    if missing := checkpoint.missing:
        paths = listed([file.path for file in missing], 3)
        verb = "is" if len(missing) == 1 else "are"
        yield (
            f"{times(len(missing), 'file')} that it needs {verb} not in the upload ({paths}). "
            "Without all of them it cannot be restored; whether they are where the job runs is "
            "not known."
        )
    elif completeness is None:
        yield from _damaged(operators)
    elif checkpoint.path is not None and checkpoint.problem is None:
        yield from incomplete(completeness)


def incomplete(completeness: Completeness | None) -> Iterator[str]:
    """Yield in a sentence that not all is there that a restore reads; nothing if all is."""
    gap = None if completeness is None else completeness.gap()
    if completeness is None or gap is None:
        return
    if completeness.witnesses:
        yield (
            f"Not all that a restore reads is whole in the upload. {gap} Whether it is whole where "
            "the job runs is not known."
        )
    else:
        yield f"Not all that a restore reads could be checked. {gap}"


def _damaged(operators: Sequence[OperatorInventory]) -> Iterator[str]:
    damaged = [
        f"{operator.name or operator.id}.{state.name}"
        for operator in operators
        for state in operator.states
        if not state.complete
    ]
    if damaged:
        yield (
            f"The files of {listed(damaged, MOST_NAMED)} are missing or damaged in the upload. "
            "Whether they are whole where the job runs is not known."
        )


def _unknown_maximum(
    checkpoint: CheckpointInventory, operators: Sequence[OperatorInventory], after: Widths
) -> Iterator[str]:
    """Yield where the maximum parallelism decides and is not known, or may be another."""
    silent = [item.name or item.id for item in operators if item.max_parallelism is None]
    if silent and checkpoint.problem is None and checkpoint.path is not None:
        yield f"The maximum parallelism of {listed(silent, MOST_NAMED)} is not known."
    free = [
        item.name or item.id
        for item in operators
        if item.max_parallelism is not None
        and after[item.id] > item.max_parallelism
        and (item.finished or not has_state(item))
    ]
    if free:
        verb = "holds" if len(free) == 1 else "hold"
        yield (
            f"{listed(free, MOST_NAMED)} {verb} no state, but ran with a smaller maximum "
            "parallelism than the subtasks that are asked for. Flink refuses it if the job sets "
            "that maximum, and else chooses a larger one; the checkpoint does not say which."
        )


def _undivided(checkpoint: CheckpointInventory, edges: Sequence[EdgePlan]) -> Iterator[str]:
    """Yield where data in flight would be divided and it is not known whether Flink can."""
    version = dict(_facts(checkpoint)).get(_VERSION)
    divides = isinstance(version, int) and version >= _DIVIDES_CHANNELS
    if divides or checkpoint.problem is not None:
        return
    divided = [edge for edge in edges if edge.is_divided and edge.bytes != 0]
    if divided:
        yield (
            f"{size_in_words(divided)} in flight would have to be divided. Flink before 1.13 "
            "cannot do that, and the checkpoint does not say which version of Flink runs."
        )


def edges_of_removed(
    checkpoint: CheckpointInventory, without: Set[str], edges: Sequence[EdgePlan]
) -> Iterator[str]:
    """Yield where data in flight belongs to an operator that the restored job lacks."""
    removed = {vertex_name(item) for item in checkpoint.operators if item.id in without}
    affected = [edge for edge in edges if {edge.source, edge.target} & removed and edge.bytes != 0]
    if affected:
        yield (
            f"{size_in_words(affected)} are in flight to or from what is left out. Flink's "
            "documentation excludes changes of the job from unaligned checkpoints: take a "
            "savepoint."
        )


def _facts(checkpoint: CheckpointInventory) -> Iterator[tuple[str, object]]:
    for fact in checkpoint.facts:
        yield fact.name, fact.value
