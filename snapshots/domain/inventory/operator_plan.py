"""The plan of one operator, whichever engine runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from snapshots.domain.inventory.dealing import Elements, Stretch
from snapshots.domain.inventory.model import COORDINATOR, OperatorInventory

Span = tuple[int, int]  # first and last, inclusive


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """The sizes that the entries of an operator's states give."""

    key_groups: Mapping[int, int] | None = None
    """The bytes by key group. None if not all entries are known."""
    elements: Mapping[str, Elements] = field(default_factory=dict)
    """The elements of each of the operator's own states whose entries are all known."""


@dataclass(frozen=True, slots=True)
class NewSubtask:
    """What a new subtask starts with."""

    index: int
    """The number of the subtask."""
    sources: tuple[Span, ...] = ()
    """Spans of the old subtasks whose key groups and list elements it gets, each as the first and
    the last. Union and broadcast state comes from all.
    """
    key_groups: Span | None = None
    """The first and the last key group of the subtask. None if it has none."""
    lists: tuple[Stretch, ...] = ()
    """The list elements that it gets, stretch by stretch."""
    bytes: int | None = None
    """The size of its state. None if it is not known."""
    keyed_bytes: int | None = None
    """The part of ``bytes`` that is keyed state. None if it is not known."""
    operator_bytes: int | None = None
    """The part of ``bytes`` that is operator state. None if it is not known."""
    estimated: bool = False
    """Whether the sizes of key groups are not known, and are assumed to be equal within an old
    subtask.
    """


@dataclass(frozen=True, slots=True)
class OldSubtask:
    """What an old subtask had."""

    index: int
    """The number of the subtask."""
    key_groups: Span | None
    """The first and the last key group of the subtask. None if it had none."""
    bytes: int | None
    """The size of its state alone, measured as that of a new subtask. None if it is not known."""


@dataclass(frozen=True, slots=True)
class StateMove:
    """How one state is divided."""

    state: str | None
    """The name of the state. None if it has none."""
    kind: str
    """The engine's word for the kind of state."""
    rule: str
    """How the state is divided, as a sentence."""
    elements: int | None = None
    """How many elements all old subtasks have together, or how many entries a keyed state has.

    None if it is not known.
    """
    bytes: int | None = None
    """The size of these elements. None if it is not known."""


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """The subtasks to which the state of one operator goes in a restore."""

    operator: str
    """The engine's id of the operator."""
    name: str | None
    """The name of the operator. None if it is not known."""
    vertex: str | None
    """The vertex of the dataflow in which the operator runs. None if it has the operator's name."""
    parallelism_before: int | None
    """How many subtasks the operator had. None if it is not known."""
    parallelism_after: int
    """How many subtasks the operator will have."""
    max_parallelism: int | None
    """How many key groups the operator has. None if it is not known."""
    before: tuple[OldSubtask, ...]
    """What each old subtask had."""
    after: tuple[NewSubtask, ...]
    """What each new subtask starts with; empty if the operator is not restored."""
    states: tuple[StateMove, ...]
    """How each state is divided."""
    coordinator: int | None
    """The bytes that go to the one coordinator, whatever the parallelism. None if it has none."""
    moved: int
    """How many new subtasks get key groups or list elements of others."""
    skew_before: float | None
    """The size of the largest old subtask divided by the mean size. None if it is not known."""
    skew_after: float | None
    """The size of the largest new subtask divided by the mean size. None if it is not known."""
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""
    problem: str | None = None
    """Why the operator cannot be restored like this, as a sentence. None if it can."""


def planned(
    operator: OperatorInventory,
    parallelism: int,
    before: Sequence[OldSubtask],
    after: Sequence[NewSubtask],
    states: Sequence[StateMove],
    notes: Sequence[str] = (),
    problem: str | None = None,
) -> OperatorPlan:
    """Build the plan of an operator with the totals that all engines have in common."""
    coordinators = [
        subtask.bytes or 0 for subtask in operator.subtasks if subtask.index == COORDINATOR
    ]
    return OperatorPlan(
        operator=operator.id,
        name=operator.name,
        vertex=operator.vertex,
        parallelism_before=operator.parallelism,
        parallelism_after=parallelism,
        max_parallelism=operator.max_parallelism,
        before=tuple(before),
        after=tuple(after),
        states=tuple(states),
        coordinator=sum(coordinators) if coordinators else None,
        moved=sum(
            any(span != (subtask.index, subtask.index) for span in subtask.sources)
            for subtask in after
        ),
        skew_before=skew([subtask.bytes for subtask in before]),
        skew_after=skew([subtask.bytes for subtask in after]),
        notes=tuple(notes),
        problem=problem,
    )


def skew(sizes: Sequence[int | None]) -> float | None:
    """Return the largest size by the mean size; None if one is not known, or all are 0."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not sum(known):
        return None
    return max(known) * len(known) / sum(known)


def spans(indexes: Sequence[int]) -> tuple[Span, ...]:
    """Return ascending numbers as spans of consecutive ones."""
    ranges: list[list[int]] = []
    for index in indexes:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return tuple((first, last) for first, last in ranges)
