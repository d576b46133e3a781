"""Whether a checkpoint can be restored with another parallelism, and where its state then goes.

Keyed state goes by key group, element lists in stretches, union and broadcast state to everybody,
data in flight with its channels; Spark's partitions stay. Source: Flink, StateAssignmentOperation,
KeyGroupRangeAssignment and RoundRobinOperatorStateRepartitioner; SeaTunnel,
CheckpointCoordinator.restoreTaskState. A plan changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from snapshots.domain.inventory.flink_plan import plan_operator
from snapshots.domain.inventory.flow import Flow, vertex_name
from snapshots.domain.inventory.in_flight_plan import (
    EdgePlan,
    Width,
    plan_in_flight,
    size_in_words,
)
from snapshots.domain.inventory.model import (
    LISTED,
    WHOLE,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.operator_plan import OperatorPlan, StoredSizes
from snapshots.domain.inventory.reading_again import (
    Positions,
    SourceAgain,
    sinks_of,
    sources_of,
)
from snapshots.domain.inventory.restore_answer import (
    YES,
    NotPlannable,
    RestorePlan,
    ThrownAway,
    answer_of,
    headline_of,
)
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.restore_obstacles import (
    edges_of_removed,
    missing_parts,
    problems_of,
    unknowns_of,
)
from snapshots.domain.inventory.seatunnel_plan import plan_action
from snapshots.domain.inventory.spark_plan import plan_query
from snapshots.domain.inventory.thrown_away import thrown_away
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

FLINK, SEATUNNEL, SPARK = "flink", "seatunnel", "spark"
MOST_PARALLELISM = 32_768
MOST_ROWS = 100_000  # subtasks of all operators of a plan
MOST_NAMED = 10
UNEVEN = 1.5  # times the mean, from which on state is called uneven
_TITLES = {FLINK: "Flink", SEATUNNEL: "SeaTunnel"}


@dataclass(frozen=True)
class Asked:
    """What is asked of a restore, and what the upload tells beside the checkpoint.

    Attributes:
        parallelism: the parallelism of every operator that does not keep its own.
        kept: the ids of the operators that keep their own parallelism.
        without: the ids of the operators that the restored job does not have.
        sizes: the sizes of state by operator id, as far as the entries give them.
        positions: the positions of the sources, as far as their form is known.
        flow: the edges between vertices, as far as they are known.
        before: the batch of Spark before this one.
        completeness: whether all is there that a restore reads. None if that was not checked.
    """

    parallelism: int
    kept: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    sizes: Mapping[str, StoredSizes] = field(default_factory=lambda: MappingProxyType({}))
    positions: Positions = field(default_factory=lambda: MappingProxyType({}))
    flow: Flow = field(default_factory=Flow)
    before: CheckpointInventory | None = None
    completeness: Completeness | None = None


def plan_restore(engine: str, checkpoint: CheckpointInventory, asked: Asked) -> RestorePlan:
    """Answer whether a checkpoint can be restored, and plan it. Raises: NotPlannable."""
    _require_parallelism(asked.parallelism)
    if engine == SPARK:
        _require_known(checkpoint, asked.kept | asked.without)
        return plan_query(
            checkpoint, asked.parallelism, asked.before, asked.without, asked.completeness
        )
    if engine not in _TITLES:
        raise NotPlannable(f"No restore of {engine[:100]} is planned here.")
    _require_known(checkpoint, asked.kept | asked.without)
    return _Planning(engine, checkpoint, asked).plan()


def _require_parallelism(parallelism: int) -> None:
    if not 1 <= parallelism <= MOST_PARALLELISM:
        raise NotPlannable(f"A parallelism lies between 1 and {MOST_PARALLELISM:,}.")


def _require_known(checkpoint: CheckpointInventory, ids: frozenset[str]) -> None:
    if unknown := ids - {operator.id for operator in checkpoint.operators}:
        raise NotPlannable(f"The checkpoint has no operator {min(unknown)[:100]}.")


class _Planning:
    """The plan of a restore by Flink or SeaTunnel, which divide state by rules of their own."""

    def __init__(self, engine: str, checkpoint: CheckpointInventory, asked: Asked) -> None:
        self._engine, self._checkpoint, self._asked = engine, checkpoint, asked
        self._operators = asked.flow.in_order(
            [item for item in checkpoint.operators if item.id not in asked.without]
        )
        self._after = {item.id: self._width(item) for item in self._operators}
        if sum(self._after.values()) > MOST_ROWS:
            raise NotPlannable(
                f"That makes more than {MOST_ROWS:,} subtasks in all operators, too many for a "
                "plan."
            )

    def _width(self, operator: OperatorInventory) -> int:
        own = operator.parallelism if operator.id in self._asked.kept else None
        return own or self._asked.parallelism

    def plan(self) -> RestorePlan:
        checkpoint, asked = self._checkpoint, self._asked
        plans = tuple(map(self._plan_operator, self._operators))
        edges = self._edges()
        problems = tuple(problems_of(checkpoint, plans, edges))
        unknown = () if problems else tuple(self._unknown(edges))
        dropped = thrown_away(checkpoint, asked.without)
        read_again = sources_of(checkpoint, asked.flow.first, asked.positions)
        written_again = sinks_of(checkpoint, asked.flow.last)
        answer = answer_of(problems, unknown)
        return RestorePlan(
            engine=self._engine,
            checkpoint=checkpoint.id,
            parallelism=asked.parallelism,
            kept=tuple(item.id for item in self._operators if item.id in asked.kept),
            operators=plans,
            in_flight=tuple(self._in_flight()),
            edges=edges,
            sources=self._sources(read_again),
            read_again=tuple(item for item in read_again if item.operator not in asked.without),
            sinks=() if written_again else (_NO_SINKS,),
            written_again=tuple(
                item for item in written_again if item.operator not in asked.without
            ),
            problems=problems,
            notes=tuple(_NOTES[self._engine]),
            answer=answer,
            headline=headline_of(self._yes(dropped), problems, unknown),
            reasons=tuple(self._reasons(edges)) if answer == YES else (),
            unknown=unknown,
            cautions=tuple(_cautions(plans)) if not problems else (),
            without=tuple(item.id for item in checkpoint.operators if item.id in asked.without),
            thrown_away=dropped,
        )

    def _sources(self, read_again: Sequence[SourceAgain]) -> tuple[str, ...]:
        """Return what is read again, or why that is not known."""
        if read_again:
            return _SOURCES[self._engine]
        return (_NO_FILES if self._checkpoint.path is None else _NO_SOURCES,)

    def _plan_operator(self, operator: OperatorInventory) -> OperatorPlan:
        plan_one = plan_operator if self._engine == FLINK else plan_action
        sizes = self._asked.sizes.get(operator.id, StoredSizes())
        return plan_one(operator, self._after[operator.id], sizes)

    def _edges(self) -> tuple[EdgePlan, ...]:
        """Return the plan of each edge with data in flight, in the order of the flow."""
        places = self._asked.flow.places()
        edges = plan_in_flight(self._checkpoint.channels, self._vertex_widths())
        return tuple(sorted(edges, key=lambda edge: places.get(edge.source or "", len(places))))

    def _vertex_widths(self) -> dict[str, Width]:
        """Return the width of each vertex: all its operators have the same number of subtasks."""
        return {
            vertex_name(item): Width(item.parallelism, self._after[item.id])
            for item in self._operators
        }

    def _unknown(self, edges: Sequence[EdgePlan]) -> Iterator[str]:
        checkpoint = self._checkpoint
        if not checkpoint.operators:
            yield "The upload does not say which operators this checkpoint has."
        if self._engine == FLINK:
            whole = self._asked.completeness
            yield from unknowns_of(checkpoint, self._operators, self._after, edges, whole)
            yield from edges_of_removed(checkpoint, self._asked.without, edges)
        else:
            yield from missing_parts(checkpoint, self._operators, self._asked.completeness)

    def _in_flight(self) -> Iterator[str]:
        checkpoint = self._checkpoint
        if not checkpoint.channels:
            if self._engine == FLINK and checkpoint.why_unknown is not None:
                yield f"It is not known what was in flight. {checkpoint.why_unknown}"
            return
        total, count = checkpoint.in_flight, times(len(checkpoint.channels), "channel")
        if any(channel.part != WHOLE for channel in checkpoint.channels):
            count += " or halves of channels"
        if total is not None:
            yield f"{times(total, 'byte')} in {count} are read back before anything else."
            return
        stated = checkpoint.in_flight_stated
        size = "" if stated is None else f", {times(stated, 'byte')} according to the metadata"
        yield (
            f"What was in flight in {count} is read back before anything else{size}; not all of "
            "it is in the upload."
        )

    def _yes(self, dropped: Sequence[ThrownAway]) -> str:
        title, checkpoint = _TITLES[self._engine], self._checkpoint
        with_ = times(self._asked.parallelism, "subtask")
        kept = sum(item.id in self._asked.kept for item in self._operators)
        others = f" ({times(kept, 'operator')} as before)" if kept else ""
        restores = f"{title} restores {checkpoint.title} with {with_}{others}"
        if not dropped:
            return f"Yes: {restores}."
        option = ", with allowNonRestoredState" if self._engine == FLINK else ""
        names = listed([item.name or item.operator for item in dropped], MOST_NAMED)
        return f"Yes{option}: {restores}, and throws away the state of {names}."

    def _reasons(self, edges: Sequence[EdgePlan]) -> Iterator[str]:
        if self._engine == SEATUNNEL:
            yield "SeaTunnel has no maximum parallelism: states are given out by their number."
            return
        limits = [item.max_parallelism for item in self._operators if item.max_parallelism]
        if limits:
            widest = max(self._after.values())
            yield (
                f"The smallest maximum parallelism of its operators is {min(limits):,}, and "
                f"{times(widest, 'subtask')} {'is' if widest == 1 else 'are'} not more."
            )
        if edges:
            yield _why_in_flight_allows(edges)
        elif self._checkpoint.why_empty is not None:
            yield f"Nothing is in flight. {self._checkpoint.why_empty}"


def _why_in_flight_allows(edges: Sequence[EdgePlan]) -> str:
    size = size_in_words(edges)
    exchanges = sorted({edge.exchange for edge in edges if edge.exchange is not None})
    if not any(edge.is_divided for edge in edges):
        return f"{size} in flight go back into the channels that they were in."
    rule = f" ({listed(exchanges)})" if exchanges else ""
    return f"{size} in flight are on exchanges{rule} that Flink can divide."


def _cautions(plans: Sequence[OperatorPlan]) -> Iterator[str]:
    """Yield which operators get uneven state, or fewer pieces of state than subtasks."""
    for own in plans:
        name = own.name or own.operator
        if any(item.key_groups for item in own.after):
            yield from _uneven(name, own)
        for state in own.states:
            if state.kind == LISTED and 0 < (state.elements or 0) < own.parallelism_after:
                idle = own.parallelism_after - (state.elements or 0)
                yield (
                    f"{name} has {times(state.elements or 0, 'element')} in the list "
                    f"{state.state} for {own.parallelism_after:,} subtasks: {idle:,} of them "
                    f"{'gets' if idle == 1 else 'get'} none."
                )


def _uneven(name: str, own: OperatorPlan) -> Iterator[str]:
    factor, before = own.skew_after, own.skew_before
    if factor is None or factor < UNEVEN:
        return
    was = f" (before: {before:.2f})" if before is not None else ""
    share = ""
    if own.heaviest_groups:
        group = own.heaviest_groups[0]
        share = (
            f" Its heaviest key group, {group.group:,}, holds {group.share:.0%} of its keyed "
            f"state and goes to subtask {group.subtask:,}."
        )
    yield f"The largest subtask of {name} gets {factor:.2f} times the mean{was}.{share}"


_SOURCES = {
    FLINK: (
        "Each source goes back to the positions that its splits had at this checkpoint: what it "
        "read later is read again.",
    ),
    SEATUNNEL: (
        "Splits go back to the enumerator with the offsets of this checkpoint, and are given out "
        "anew: what was read later is read again.",
    ),
}
_NO_SOURCES = (
    "Which operators are sources, and from where they read again, is not known: no name, no state "
    "and no plan of the job tells that of an operator in the checkpoint."
)
_NO_FILES = (
    "From which positions sources read is not known: the upload has no files of this checkpoint."
)
_NO_SINKS = (
    "Which operators are sinks, and whether they write again, is not known: no name, no state and "
    "no plan of the job tells that of an operator in the checkpoint."
)
_NOTES: dict[str, tuple[str, ...]] = {
    FLINK: (),
    SEATUNNEL: (
        "SeaTunnel finds state by the name of the action: an action that is renamed, or moved to "
        "another place in the configuration, begins without state.",
    ),
}
