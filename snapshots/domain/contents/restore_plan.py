"""Where the state of a checkpoint goes when its job is started with another parallelism.

Keyed state goes by key group, element lists in turn, union and broadcast state to everybody, data
in flight with the keys of its channel. Source: Flink, StateAssignmentOperation,
KeyGroupRangeAssignment and RoundRobinOperatorStateRepartitioner; SeaTunnel,
CheckpointCoordinator.restoreTaskState. Nothing is changed anywhere: a plan is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from snapshots.domain.contents.model import (
    BROADCAST,
    COORDINATOR,
    KEYED,
    LISTED,
    OPERATOR,
    RAW,
    TIMERS,
    UNION,
    CheckpointContents,
    OperatorContents,
    StateContents,
    SubtaskContents,
)
from snapshots.domain.defects import times
from snapshots.domain.key_groups import key_group_range

FLINK, SEATUNNEL = "flink", "seatunnel"
MOST_PARALLELISM = 32_768

ByKeyGroup = Mapping[int, int]  # bytes of each key group


class NotPlannable(ValueError):
    """The question cannot be answered for this checkpoint; says why in a sentence."""

    permanent = True


@dataclass(frozen=True, slots=True)
class NewSubtask:
    """What a subtask starts with. key_groups: first and last; sources: the old subtasks that its
    state comes from. bytes: None where not known; estimated: the key groups' sizes are not known,
    and taken to be equal within an old subtask."""

    index: int
    sources: tuple[int, ...]
    key_groups: tuple[int, int] | None = None
    bytes: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class OldSubtask:
    """bytes: of state alone, measured as those of NewSubtask are."""

    index: int
    key_groups: tuple[int, int] | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class StateMove:
    """How one state is divided. rule: a sentence."""

    state: str | None
    kind: str
    rule: str


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """skew_before, skew_after: the largest subtask by the mean one; None where not known.

    problem: why the operator cannot be restored like this.
    """

    operator: str
    name: str | None
    parallelism_before: int | None
    parallelism_after: int
    max_parallelism: int | None
    before: tuple[OldSubtask, ...]
    after: tuple[NewSubtask, ...]
    states: tuple[StateMove, ...]
    moved: int | None
    skew_before: float | None
    skew_after: float | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """parallelism: asked for. in_flight: what becomes of data in flight, sentences; sources,
    sinks: what is read again, and what that does at the sinks. problems: what prevents it all."""

    engine: str
    checkpoint: int
    parallelism: int
    operators: tuple[OperatorPlan, ...]
    in_flight: tuple[str, ...]
    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def plan_restore(
    engine: str,
    checkpoint: CheckpointContents,
    parallelism: int,
    sizes: Mapping[str, ByKeyGroup],
) -> RestorePlan:
    """Every operator at this parallelism. sizes: by operator id, where the entries tell.

    Raises: NotPlannable.
    """
    if engine not in (FLINK, SEATUNNEL):
        raise NotPlannable(
            "The number of partitions of a Structured Streaming query is fixed by its checkpoint: "
            "it cannot be restored with another."
        )
    if not 1 <= parallelism <= MOST_PARALLELISM:
        raise NotPlannable(f"A parallelism lies between 1 and {MOST_PARALLELISM:,}.")
    if not checkpoint.operators:
        raise NotPlannable("The upload does not tell the operators of this checkpoint.")
    plan_one = _flink_operator if engine == FLINK else _seatunnel_action
    operators = tuple(
        plan_one(operator, parallelism, sizes.get(operator.id)) for operator in checkpoint.operators
    )
    problems = [plan.problem for plan in operators if plan.problem]
    problems += [f"The file {file.path} is missing: {file.reason}" for file in checkpoint.missing]
    if checkpoint.problem:
        problems.append(checkpoint.problem)
    return RestorePlan(
        engine=engine,
        checkpoint=checkpoint.id,
        parallelism=parallelism,
        operators=operators,
        in_flight=_in_flight(checkpoint, parallelism),
        sources=_SOURCES[engine],
        sinks=_SINKS,
        problems=tuple(problems),
    )


# --- Flink -----------------------------------------------------------------------------------


def _flink_operator(
    operator: OperatorContents, parallelism: int, sizes: ByKeyGroup | None
) -> OperatorPlan:
    groups = operator.max_parallelism
    own = [subtask for subtask in operator.subtasks if subtask.index != COORDINATOR]
    is_keyed = groups is not None and any(item.parts.get(KEYED) for item in own)
    sizes = sizes if is_keyed else None
    before = tuple(_old_subtask(item, sizes) for item in own)
    if operator.finished:
        return _plan(operator, parallelism, before, ())
    if groups is not None and parallelism > groups:
        return _plan(
            operator,
            parallelism,
            before,
            (),
            problem=f"{operator.name or operator.id} has {groups:,} key groups (its maximum "
            f"parallelism): it cannot run with {parallelism:,} subtasks.",
        )
    after = tuple(
        _flink_subtask(index, parallelism, operator, own, sizes, is_keyed)
        for index in range(parallelism)
    )
    return _plan(operator, parallelism, before, after)


def _old_subtask(item: SubtaskContents, sizes: ByKeyGroup | None) -> OldSubtask:
    keyed = item.parts.get(KEYED, 0)
    if sizes is not None and item.key_groups is not None:
        first, last = item.key_groups
        keyed = sum(sizes.get(group, 0) for group in range(first, last + 1))
    return OldSubtask(item.index, item.key_groups, keyed + item.parts.get(OPERATOR, 0))


def _flink_subtask(
    index: int,
    parallelism: int,
    operator: OperatorContents,
    own: Sequence[SubtaskContents],
    sizes: ByKeyGroup | None,
    is_keyed: bool,
) -> NewSubtask:
    other = _share_of_lists(index, parallelism, operator, own)
    if not is_keyed:
        return NewSubtask(index, _dealt(index, parallelism, own), bytes=other)
    range_ = key_group_range(index, parallelism, operator.max_parallelism)
    holders = [item for item in own if _common(item, range_)]
    if not len(range_):
        return NewSubtask(index, (), bytes=other)
    known = sizes is not None
    keyed = sum(sizes.get(group, 0) for group in range_) if known else _estimated(holders, range_)
    total = None if keyed is None else keyed + (other or 0)
    return NewSubtask(
        index,
        tuple(item.index for item in holders),
        (range_.start, range_.stop - 1),
        total,
        estimated=not known and keyed is not None,
    )


def _common(subtask: SubtaskContents, range_: range) -> int:
    """How many key groups of the range the subtask had."""
    if subtask.key_groups is None:
        return 0
    first, last = subtask.key_groups
    return max(0, min(last + 1, range_.stop) - max(first, range_.start))


def _estimated(holders: Sequence[SubtaskContents], range_: range) -> int | None:
    total = 0.0
    for item in holders:
        held = item.parts.get(KEYED)
        if held is None:
            return None
        first, last = item.key_groups
        total += held * _common(item, range_) / (last - first + 1)
    return round(total)


def _share_of_lists(
    index: int, parallelism: int, operator: OperatorContents, own: Sequence[SubtaskContents]
) -> int | None:
    """Bytes of operator state: union and broadcast state in full, lists in equal shares."""
    held = [item.parts.get(OPERATOR, 0) for item in own]
    if not any(held):
        return 0
    if any(state.kind == UNION for state in operator.states):
        return sum(held)
    if all(state.kind == BROADCAST for state in _of_operator(operator)):
        return max(held)
    whole, rest = divmod(sum(held), parallelism)
    return whole + (index < rest)


def _of_operator(operator: OperatorContents) -> list[StateContents]:
    return [state for state in operator.states if state.kind in (UNION, BROADCAST, LISTED)]


def _dealt(index: int, parallelism: int, own: Sequence[SubtaskContents]) -> tuple[int, ...]:
    """From whom the elements of lists may come: with the same number of subtasks from oneself."""
    indexes = [item.index for item in own]
    return (index,) if len(indexes) == parallelism and index in indexes else tuple(indexes)


# --- SeaTunnel -------------------------------------------------------------------------------


def _seatunnel_action(
    action: OperatorContents, parallelism: int, sizes: ByKeyGroup | None
) -> OperatorPlan:
    """The j-th of P gets the old states j, j + P, j + 2P …"""
    own = [subtask for subtask in action.subtasks if subtask.index != COORDINATOR]
    after = []
    for index in range(parallelism):
        given = [item for item in own if item.index % parallelism == index and not item.finished]
        bytes_ = [item.bytes for item in given]
        total = None if None in bytes_ else sum(bytes_)
        after.append(NewSubtask(index, tuple(item.index for item in given), None, total))
    before = tuple(OldSubtask(item.index, None, item.bytes) for item in own)
    return _plan(action, parallelism, before, tuple(after))


# --- both ------------------------------------------------------------------------------------


def _plan(
    operator: OperatorContents,
    parallelism: int,
    before: tuple[OldSubtask, ...],
    after: tuple[NewSubtask, ...],
    problem: str | None = None,
) -> OperatorPlan:
    return OperatorPlan(
        operator=operator.id,
        name=operator.name,
        parallelism_before=operator.parallelism,
        parallelism_after=parallelism,
        max_parallelism=operator.max_parallelism,
        before=before,
        after=after,
        states=tuple(StateMove(state.name, state.kind, _rule(state)) for state in operator.states),
        moved=_moved(after),
        skew_before=_skew([item.bytes for item in before]),
        skew_after=_skew([item.bytes for item in after]),
        problem=problem,
    )


def _moved(after: tuple[NewSubtask, ...]) -> int | None:
    """How many subtasks read state that was not their own."""
    return sum(any(source != item.index for source in item.sources) for item in after)


def _skew(sizes: Sequence[int | None]) -> float | None:
    if not sizes or None in sizes or not sum(sizes):
        return None
    return max(sizes) * len(sizes) / sum(sizes)


_RULES = {
    UNION: "Every subtask gets all elements of all subtasks.",
    BROADCAST: "Every subtask gets the same copy.",
    LISTED: "The elements of all subtasks are dealt out in turn.",
    RAW: "What the operator wrote by itself, in its own way: only it can tell.",
    TIMERS: "Timers go with the key group of their key.",
    "coordinator": "The one coordinator of the source gets it whole.",
    "enumerator": "The one enumerator gets it whole.",
    "splits": "Splits go back to the enumerator, which hands them out anew.",
    "committer": "The one committer gets it whole, and commits it again.",
}


def _rule(state: StateContents) -> str:
    return _RULES.get(state.kind, "Entries go with the key group of their key.")


def _in_flight(checkpoint: CheckpointContents, parallelism: int) -> tuple[str, ...]:
    if not checkpoint.channels:
        return ()
    total = sum(channel.bytes for channel in checkpoint.channels)
    targets = {channel.target for channel in checkpoint.channels}
    sentences = [
        f"{times(total, 'byte')} in {times(len(checkpoint.channels), 'channel')} to "
        f"{times(len(targets), 'subtask')} are read back before anything else."
    ]
    changed = [
        operator
        for operator in checkpoint.operators
        if operator.parallelism not in (None, parallelism) and not operator.finished
    ]
    if not changed:
        sentences.append("The parallelism stays as it was: each channel gets its own data back.")
    else:
        sentences.append(
            "On edges by key each new subtask reads the buffers of all old channels that may hold "
            "keys of its key groups, and drops the records of others. On edges without keys "
            "(rebalance) the channels are dealt out. Forward, rescale and broadcast edges never "
            "have data in flight in a checkpoint."
        )
    return tuple(sentences)


_SOURCES = {
    FLINK: (
        "Each source goes back to the offsets that its splits had at this checkpoint (state "
        "SourceReaderState, or the source's own list): what it read later is read again.",
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
