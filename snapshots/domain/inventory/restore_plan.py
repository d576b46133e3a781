"""Where the state of a checkpoint goes when its job is started with another parallelism.

Keyed state goes by key group, element lists in stretches, union and broadcast state to everybody,
data in flight with its channels. Source: Flink, StateAssignmentOperation, KeyGroupRangeAssignment
and RoundRobinOperatorStateRepartitioner; SeaTunnel, CheckpointCoordinator.restoreTaskState.
A plan changes nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from snapshots.domain.inventory.flink_plan import plan_operator
from snapshots.domain.inventory.in_flight_plan import EdgePlan, Width, plan_in_flight
from snapshots.domain.inventory.model import (
    FAILED,
    IN_PROGRESS,
    WHOLE,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.operator_plan import OperatorPlan, StoredSizes
from snapshots.domain.inventory.reading_again import SinkAgain, SourceAgain, sinks_of, sources_of
from snapshots.domain.inventory.seatunnel_plan import plan_action
from snapshots.domain.model.defects import times

FLINK, SEATUNNEL = "flink", "seatunnel"
MOST_PARALLELISM = 32_768
MOST_ROWS = 100_000  # subtasks of all operators of a plan


class NotPlannable(ValueError):
    """The restore cannot be planned for this checkpoint. The message says why in a sentence."""

    permanent = True


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The subtasks to which the state of a checkpoint goes when it is restored at a parallelism.

    Attributes:
        engine: ``flink`` or ``seatunnel``.
        checkpoint: the engine's id of the checkpoint.
        parallelism: the parallelism that was asked for.
        kept: the ids of the operators that keep their own parallelism.
        operators: the plan of each operator.
        in_flight: what becomes of data in flight, as sentences.
        edges: what becomes of data in flight, edge by edge.
        sources: what is read again, as sentences.
        read_again: the sources that read again.
        sinks: what reading again does at the sinks, as sentences.
        written_again: the sinks that may write again.
        problems: what prevents the restore, as sentences.
        notes: further remarks, as sentences.
    """

    engine: str
    checkpoint: int
    parallelism: int
    kept: tuple[str, ...]
    operators: tuple[OperatorPlan, ...]
    in_flight: tuple[str, ...]
    edges: tuple[EdgePlan, ...]
    sources: tuple[str, ...]
    read_again: tuple[SourceAgain, ...]
    sinks: tuple[str, ...]
    written_again: tuple[SinkAgain, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def plan_restore(
    engine: str,
    checkpoint: CheckpointInventory,
    parallelism: int,
    sizes: Mapping[str, StoredSizes],
    *,
    kept: Collection[str] = (),
    first: Set[str] = frozenset(),
    last: Set[str] = frozenset(),
) -> RestorePlan:
    """Plan a restore of every operator at this parallelism, those of ``kept`` at their own.

    Args:
        sizes: by operator id, as far as the entries give them.
        first, last: the vertices at the ends of the dataflow, as far as they are known.

    Raises: NotPlannable.
    """
    _require_plannable(engine, checkpoint, parallelism, kept)
    after = {
        operator.id: (operator.parallelism or parallelism) if operator.id in kept else parallelism
        for operator in checkpoint.operators
    }
    if sum(after.values()) > MOST_ROWS:
        raise NotPlannable(
            f"That makes more than {MOST_ROWS:,} subtasks in all operators, too many for a plan."
        )
    plan_one = plan_operator if engine == FLINK else plan_action
    operators = tuple(
        plan_one(operator, after[operator.id], sizes.get(operator.id, StoredSizes()))
        for operator in checkpoint.operators
    )
    edges = plan_in_flight(checkpoint.channels, _widths(checkpoint.operators, after))
    return RestorePlan(
        engine=engine,
        checkpoint=checkpoint.id,
        parallelism=parallelism,
        kept=tuple(operator.id for operator in checkpoint.operators if operator.id in kept),
        operators=operators,
        in_flight=_in_flight(checkpoint),
        edges=edges,
        sources=_SOURCES[engine],
        read_again=sources_of(checkpoint, first),
        sinks=_SINKS,
        written_again=sinks_of(checkpoint, last),
        problems=tuple(_problems(checkpoint, operators, edges)),
        notes=tuple(_notes(checkpoint)),
    )


def _require_plannable(
    engine: str, checkpoint: CheckpointInventory, parallelism: int, kept: Collection[str]
) -> None:
    if engine not in (FLINK, SEATUNNEL):
        raise NotPlannable(
            "The number of partitions of a Structured Streaming query is fixed by its checkpoint: "
            "it cannot be restored with another."
        )
    if not 1 <= parallelism <= MOST_PARALLELISM:
        raise NotPlannable(f"A parallelism lies between 1 and {MOST_PARALLELISM:,}.")
    if not checkpoint.operators:
        raise NotPlannable("The upload does not say which operators this checkpoint has.")
    if unknown := set(kept) - {operator.id for operator in checkpoint.operators}:
        raise NotPlannable(f"The checkpoint has no operator {min(unknown)[:100]}.")


def _widths(operators: Sequence[OperatorInventory], after: Mapping[str, int]) -> dict[str, Width]:
    """Return the width of each vertex: all its operators have the same number of subtasks."""
    return {
        operator.vertex or operator.name or operator.id: Width(
            operator.parallelism, after[operator.id]
        )
        for operator in operators
    }


def _problems(
    checkpoint: CheckpointInventory,
    operators: Sequence[OperatorPlan],
    edges: Sequence[EdgePlan],
) -> list[str]:
    plans: list[OperatorPlan | EdgePlan] = [*operators, *edges]
    problems = [plan.problem for plan in plans if plan.problem]
    if checkpoint.status in (FAILED, IN_PROGRESS):
        problems.append(f"It is {checkpoint.status}: only a completed checkpoint can be restored.")
    return problems


def _notes(checkpoint: CheckpointInventory) -> Iterator[str]:
    """Yield what else has to be known. What the upload lacks may well be where the job runs."""
    if checkpoint.problem:
        yield checkpoint.problem
    if count := len(checkpoint.missing):
        yield (
            f"{times(count, 'file')} that it needs {'is' if count == 1 else 'are'} not in the "
            "upload, or not whole. Without them it cannot be restored."
        )


def _in_flight(checkpoint: CheckpointInventory) -> tuple[str, ...]:
    if not checkpoint.channels:
        if checkpoint.why_unknown is None:
            return ()
        return (f"It is not known what was in flight. {checkpoint.why_unknown}",)
    total, count = checkpoint.in_flight, times(len(checkpoint.channels), "channel")
    if any(channel.part != WHOLE for channel in checkpoint.channels):
        count += " or halves of channels"
    if total is None:
        stated = checkpoint.in_flight_stated
        size = "" if stated is None else f", {times(stated, 'byte')} according to the metadata"
        return (
            f"What was in flight in {count} is read back before anything else{size}; not all of "
            "it is in the upload.",
        )
    return (f"{times(total, 'byte')} in {count} are read back before anything else.",)


_SOURCES = {
    FLINK: (
        "Each source goes back to the offsets that its splits had at this checkpoint: what it read "
        "later is read again.",
    ),
    SEATUNNEL: (
        "Splits go back to the enumerator with the offsets of this checkpoint, and are handed out "
        "anew: what was read later is read again.",
    ),
}
_SINKS = (
    "Plain sinks: what was written after this checkpoint is written a second time.",
    "Idempotent sinks: it is written again over the same keys; meanwhile older values can be seen.",
    "Two-phase-commit sinks: transactions of this checkpoint are committed (once more), later ones "
    "are aborted, nothing is seen twice.",
)
