"""The plan of one operator, whichever engine runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from snapshots.domain.inventory.dealing import Elements, Stretch
from snapshots.domain.inventory.model import COORDINATOR, OperatorInventory
from snapshots.domain.model.topology import JsonText

Span = tuple[int, int]  # first and last, inclusive


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """The sizes that the entries of an operator's states give.

    Attributes:
        key_groups: the bytes by key group. None if not all entries are known.
        elements: the elements of each of the operator's own states whose entries are all known.
        keys: the keys with the most bytes in all keyed states together, the heaviest first.
    """

    key_groups: Mapping[int, int] | None = None
    elements: Mapping[str, Elements] = field(default_factory=dict)
    keys: "tuple[StoredKey, ...]" = ()


@final
@dataclass(frozen=True, slots=True)
class StoredKey:
    """The size of one key in all keyed states of an operator.

    Attributes:
        key: the key as JSON text. None if it cannot be decoded.
        group: the key group of the key.
        bytes: the size of its entries.
        entries: how many entries it has.
    """

    key: JsonText | None
    group: int
    bytes: int
    entries: int


@final
@dataclass(frozen=True, slots=True)
class HeavyGroup:
    """A key group that is among the heaviest of its operator.

    Attributes:
        group: the number of the key group.
        bytes: the size of its keyed state.
        share: the part of the operator's keyed state that it holds, from 0 to 1.
        subtask: the new subtask that gets it.
    """

    group: int
    bytes: int
    share: float
    subtask: int


@final
@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key that is among the heaviest of its operator.

    Attributes:
        key: the key as JSON. None if it cannot be decoded.
        group: the key group of the key.
        bytes: the size of its entries in all keyed states of the operator.
        entries: how many entries it has.
        subtask: the new subtask that gets it.
    """

    key: JsonText | None
    group: int
    bytes: int
    entries: int
    subtask: int


@dataclass(frozen=True, slots=True)
class NewSubtask:
    """What a new subtask starts with.

    Attributes:
        index: the number of the subtask.
        sources: spans of the old subtasks whose key groups and list elements it gets, each as the
            first and the last. Union and broadcast state comes from all.
        key_groups: the first and the last key group of the subtask. None if it has none.
        lists: the list elements that it gets, stretch by stretch.
        bytes: the size of its state. None if it is not known.
        keyed_bytes: the part of ``bytes`` that is keyed state. None if it is not known.
        operator_bytes: the part of ``bytes`` that is operator state. None if it is not known.
        estimated: whether the sizes of key groups are not known, and are assumed to be equal within
            an old subtask.
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
        index: the number of the subtask.
        key_groups: the first and the last key group of the subtask. None if it had none.
        bytes: the size of its state alone, measured as that of a new subtask. None if it is not
            known.
    """

    index: int
    key_groups: Span | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class StateMove:
    """How one state is divided.

    Attributes:
        state: the name of the state. None if it has none.
        kind: the engine's word for the kind of state.
        rule: how the state is divided, as a sentence.
        elements: how many elements all old subtasks have together, or how many entries a keyed
            state has. None if it is not known.
        bytes: the size of these elements. None if it is not known.
    """

    state: str | None
    kind: str
    rule: str
    elements: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """The subtasks to which the state of one operator goes in a restore.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        vertex: the vertex of the dataflow in which the operator runs. None if it has the operator's
            name.
        parallelism_before: how many subtasks the operator had. None if it is not known.
        parallelism_after: how many subtasks the operator will have.
        max_parallelism: how many key groups the operator has. None if it is not known.
        before: what each old subtask had.
        after: what each new subtask starts with; empty if the operator is not restored.
        states: how each state is divided.
        coordinator: the bytes that go to the one coordinator, whatever the parallelism. None if it
            has none.
        moved: how many new subtasks get key groups or list elements of others.
        skew_before: the size of the largest old subtask divided by the mean size. None if it is not
            known.
        skew_after: the size of the largest new subtask divided by the mean size. None if it is not
            known.
        notes: further remarks, as sentences.
        problem: why the operator cannot be restored like this, as a sentence. None if it can.
        heaviest_groups: the key groups with the most bytes; empty if sizes are not known.
        heaviest_keys: the keys with the most bytes; empty if they are not known.
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
    heaviest_groups: tuple[HeavyGroup, ...] = ()
    heaviest_keys: tuple[HeavyKey, ...] = ()


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
