"""The plan of one operator, whichever engine runs it."""

from collections.abc import Sequence
from dataclasses import dataclass

from snapshots.domain.inventory.dealing import Stretch
from snapshots.domain.inventory.model import COORDINATOR, OperatorInventory

Span = tuple[int, int]  # first and last, inclusive


@dataclass(frozen=True, slots=True)
class NewSubtask:
    """What a new subtask starts with.

    Attributes:
        sources: spans of the old subtasks whose key groups and list elements it gets, each as the
            first and the last. Union and broadcast state comes from all.
        key_groups: its first and its last key group.
        lists: the list elements that it gets, stretch by stretch.
        bytes: the size of its state; None where it is not known.
        keyed_bytes: the part of ``bytes`` that is keyed state, where it is known.
        operator_bytes: the part of ``bytes`` that is operator state, where it is known.
        estimated: whether the sizes of the key groups are not known, and are taken to be equal
            within an old subtask.
    """

    index: int
    sources: tuple[Span, ...] = ()
    key_groups: Span | None = None
    lists: tuple[Stretch, ...] = ()
    bytes: int | None = None
    keyed_bytes: int | None = None
    operator_bytes: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class OldSubtask:
    """What an old subtask had.

    Attributes:
        key_groups: its first and its last key group.
        bytes: the size of its state alone, measured as that of a new subtask.
    """

    index: int
    key_groups: Span | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class StateMove:
    """How one state is divided.

    Attributes:
        rule: how it is divided, as a sentence.
        elements: how many elements all old subtasks have together, or how many entries a keyed
            state has; None where it is not known.
    """

    state: str | None
    kind: str
    rule: str
    elements: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """Tells to which subtasks the state of one operator goes in a restore.

    Attributes:
        coordinator: the bytes that go to the one coordinator, whatever the parallelism; None where
            it has none.
        moved: how many new subtasks get key groups or list elements of others.
        skew_before: the bytes of the largest old subtask by those of the mean one; None where they
            are not known.
        skew_after: the bytes of the largest new subtask by those of the mean one; None where they
            are not known.
        notes: what else has to be said, as sentences.
        problem: why the operator cannot be restored like this.
    """

    operator: str
    name: str | None
    vertex: str | None
    parallelism_before: int | None
    parallelism_after: int
    max_parallelism: int | None
    before: tuple[OldSubtask, ...]
    after: tuple[NewSubtask, ...]
    states: tuple[StateMove, ...]
    coordinator: int | None
    moved: int
    skew_before: float | None
    skew_after: float | None
    notes: tuple[str, ...] = ()
    problem: str | None = None


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
    coordinators = [one.bytes or 0 for one in operator.subtasks if one.index == COORDINATOR]
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
        moved=sum(any(span != (one.index, one.index) for span in one.sources) for one in after),
        skew_before=skew([one.bytes for one in before]),
        skew_after=skew([one.bytes for one in after]),
        notes=tuple(notes),
        problem=problem,
    )


def skew(sizes: Sequence[int | None]) -> float | None:
    """Return the largest size by the mean size; None where one is not known, or all are 0."""
    if not sizes or None in sizes or not sum(sizes):
        return None
    return max(sizes) * len(sizes) / sum(sizes)


def spans(indexes: Sequence[int]) -> tuple[Span, ...]:
    """Return ascending numbers as spans of those that follow each other."""
    found: list[list[int]] = []
    for index in indexes:
        if found and index == found[-1][1] + 1:
            found[-1][1] = index
        else:
            found.append([index, index])
    return tuple((first, last) for first, last in found)
