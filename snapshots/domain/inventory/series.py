"""Two checkpoints of a series side by side: operators, key groups, states, bytes and files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from snapshots.domain.inventory.model import (
    COORDINATOR,
    CheckpointInventory,
    FileUse,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)

ADDED, REMOVED, CHANGED, SAME, UNKNOWN = "added", "removed", "changed", "same", "unknown"
BEFORE, AFTER, BOTH = "before", "after", "both"  # which checkpoint needs a file

KeyGroupBytes = Mapping[int, int] | None  # by key group; None: not known


@dataclass(frozen=True, slots=True)
class Pair:
    """A number in both checkpoints; None where it is not known, or where there is none."""

    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """How one state differs between the two checkpoints.

    Attributes:
        change: ``added``, ``removed``, ``changed`` where its kind or type differs, else ``same``,
            whatever its entries are; ``unknown`` where the files of one checkpoint are missing.
        counts: how many keys were ``added``, ``removed``, ``changed``, are ``unknown`` or the
            ``same``; None where they were not counted.
        notes: what the counts leave out, or why there are none.
    """

    name: str | None
    change: str
    kind: str
    kind_before: str | None
    type_before: str | None
    type_after: str | None
    entries: Pair
    bytes: Pair
    counts: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyGroupChange:
    """A key group whose subtask or bytes differ."""

    key_group: int
    subtask: Pair
    bytes: Pair


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """How one operator differs between the two checkpoints.

    Attributes:
        change: ``added``, ``removed``, ``changed`` where any number, state or key differs, else
            ``same``; ``unknown`` where the files of one checkpoint are missing.
        moved: how many key groups belong to another subtask; None where the files do not say whose
            they are.
        subtasks: each subtask's number and bytes; -1 is the coordinator.
        key_groups: the key groups that differ.
    """

    operator: str
    name: str | None
    change: str
    parallelism: Pair
    max_parallelism: Pair
    bytes: Pair
    finished_before: bool
    finished_after: bool
    moved: int | None
    subtasks: tuple[tuple[int, Pair], ...]
    key_groups: tuple[KeyGroupChange, ...]
    states: tuple[StateChange, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that one of the two checkpoints needs.

    Attributes:
        needed: which of the two needs it: ``before``, ``after`` or ``both``.
    """

    path: str
    bytes: int
    role: str
    needed: str


@dataclass(frozen=True, slots=True)
class FileTotals:
    """How many files there are, and their bytes."""

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointChange:
    """How two checkpoints of an upload differ.

    Attributes:
        before: the id of the first checkpoint.
        after: the id of the second checkpoint.
        files: the files that either needs, by path.
        totals: the totals of ``files`` by who needs them. The second checkpoint still needs those
            of ``both``, and no longer those of ``before``.
        missing_before: files of the first checkpoint that the upload lacks.
        missing_after: files of the second checkpoint that the upload lacks.
        notes: what cannot be told, as sentences.
    """

    before: int
    after: int
    bytes: Pair
    in_flight: Pair
    channels: Pair
    operators: tuple[OperatorChange, ...]
    files: tuple[FileChange, ...]
    totals: Mapping[str, FileTotals]
    missing_before: tuple[MissingFile, ...]
    missing_after: tuple[MissingFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two checkpoints, with its number in the upload.

    Attributes:
        key_groups: its bytes by operator and key group.
    """

    number: int
    inventory: CheckpointInventory
    key_groups: Mapping[str, KeyGroupBytes] = field(default_factory=dict)


def compare_checkpoints(before: Side, after: Side, files: Iterable[FileUse]) -> CheckpointChange:
    """Compare two checkpoints of a job by operators, states and files."""
    one, other = before.inventory, after.inventory
    needed = tuple(_files(files, before.number, after.number))
    return CheckpointChange(
        before=one.id,
        after=other.id,
        bytes=Pair(one.bytes, other.bytes),
        in_flight=Pair(_in_flight(one), _in_flight(other)),
        channels=Pair(len(one.channels), len(other.channels)),
        operators=tuple(_operators(before, after)),
        files=needed,
        totals=_totals(needed),
        missing_before=one.missing,
        missing_after=other.missing,
        notes=tuple(_notes(one, other)),
    )


def _in_flight(checkpoint: CheckpointInventory) -> int | None:
    if not checkpoint.channels and checkpoint.problem:
        return None
    return sum(channel.bytes for channel in checkpoint.channels)


def _notes(one: CheckpointInventory, other: CheckpointInventory) -> Iterable[str]:
    for checkpoint in (one, other):
        if checkpoint.problem:
            yield f"{checkpoint.kind.capitalize()} {checkpoint.id}: {checkpoint.problem}"
    if one.job != other.job:
        yield "They are of two jobs."


def _operators(before: Side, after: Side) -> Iterable[OperatorChange]:
    """Those of the first in their order, then those that are new."""
    one = {operator.id: operator for operator in before.inventory.operators}
    other = {operator.id: operator for operator in after.inventory.operators}
    for id_ in dict.fromkeys((*one, *other)):
        found = _operator(
            one.get(id_),
            other.get(id_),
            before.key_groups.get(id_),
            after.key_groups.get(id_),
        )
        found = _unless_unknown(found, before.inventory.problem, after.inventory.problem)
        whole = _is_whole(one.get(id_), before.inventory) and _is_whole(
            other.get(id_), after.inventory
        )
        yield replace(found, change=UNKNOWN) if found.change == SAME and not whole else found


def _is_whole(operator: OperatorInventory | None, checkpoint: CheckpointInventory) -> bool:
    """Whether no file that lacks can hold more of the operator's state."""
    if operator is None or not checkpoint.missing:
        return True
    known = all(state.complete and not state.undecoded for state in operator.states)
    return known and bool(operator.states or not operator.bytes)


def _unless_unknown(found: OperatorChange, before: str | None, after: str | None) -> OperatorChange:
    """What a checkpoint without its files lacks may have been there."""
    unknown = {change for change, problem in ((ADDED, before), (REMOVED, after)) if problem}
    states = tuple(
        replace(state, change=UNKNOWN) if state.change in unknown else state
        for state in found.states
    )
    change = UNKNOWN if found.change in unknown or (before or after) else found.change
    return replace(found, states=states, change=change)


def _operator(
    one: OperatorInventory | None,
    other: OperatorInventory | None,
    sizes_before: KeyGroupBytes,
    sizes_after: KeyGroupBytes,
) -> OperatorChange:
    known = one or other
    first, second = _owners(one), _owners(other)
    in_both = one is not None and other is not None
    moved = None
    if in_both and first and second:
        moved = sum(first.get(group) != second.get(group) for group in first.keys() | second.keys())
    found = OperatorChange(
        operator=known.id,
        name=(other or one).name,
        change=ADDED if one is None else REMOVED,
        parallelism=Pair(one and one.parallelism, other and other.parallelism),
        max_parallelism=Pair(one and one.max_parallelism, other and other.max_parallelism),
        bytes=Pair(one and one.bytes, other and other.bytes),
        finished_before=bool(one and one.finished),
        finished_after=bool(other and other.finished),
        moved=moved,
        subtasks=tuple(_subtasks(one, other)),
        key_groups=tuple(_key_groups((first, second), (sizes_before, sizes_after))),
        states=tuple(_states(one.states if one else (), other.states if other else ())),
    )
    return replace(found, change=_change(found)) if in_both else found


def with_counts(operator: OperatorChange, states: Sequence[StateChange]) -> OperatorChange:
    """states: the operator's, with their keys counted: where any differs, so does the operator."""
    found = replace(operator, states=tuple(states))
    differ = any(sum(counts.values()) > counts[SAME] for counts in _known_counts(states))
    return replace(found, change=CHANGED) if differ and found.change == SAME else found


def _known_counts(states: Sequence[StateChange]) -> list[Mapping[str, int]]:
    return [state.counts for state in states if state.counts is not None]


def _change(found: OperatorChange) -> str:
    """Of what is in both: whether anything but entries is another."""
    pairs = (found.parallelism, found.max_parallelism, found.bytes)
    differs = (
        any(pair.before != pair.after for pair in pairs)
        or found.finished_before != found.finished_after
        or any(pair.before != pair.after for _, pair in found.subtasks)
        or any(state.change != SAME for state in found.states)
        or bool(found.key_groups)
    )
    return CHANGED if differs else SAME


def _owners(operator: OperatorInventory | None) -> dict[int, int]:
    """The subtask of each key group, as the handles say."""
    found: dict[int, int] = {}
    most = (operator and operator.max_parallelism) or 0
    for subtask in operator.subtasks if operator else ():
        if subtask.key_groups is not None:
            first, last = subtask.key_groups
            for group in range(max(first, 0), min(last + 1, most)):
                found.setdefault(group, subtask.index)
    return found


def _subtasks(
    one: OperatorInventory | None, other: OperatorInventory | None
) -> Iterable[tuple[int, Pair]]:
    first, second = (
        {item.index: item for item in (operator.subtasks if operator else ())}
        for operator in (one, other)
    )
    for index in sorted(first.keys() | second.keys(), key=lambda i: (i == COORDINATOR, i)):
        yield index, Pair(_bytes(first.get(index)), _bytes(second.get(index)))


def _bytes(subtask: SubtaskInventory | None) -> int | None:
    return None if subtask is None else subtask.bytes


def _key_groups(
    owners: tuple[Mapping[int, int], Mapping[int, int]],
    sizes: tuple[KeyGroupBytes, KeyGroupBytes],
) -> Iterable[KeyGroupChange]:
    groups = owners[0].keys() | owners[1].keys()
    for own in sizes:
        groups |= (own or {}).keys()
    for group in sorted(groups):
        subtask = Pair(owners[0].get(group), owners[1].get(group))
        size = Pair(*(None if own is None else own.get(group, 0) for own in sizes))
        if subtask.before != subtask.after or size.before != size.after:
            yield KeyGroupChange(group, subtask, size)


def _states(
    one: Sequence[StateInventory], other: Sequence[StateInventory]
) -> Iterable[StateChange]:
    first, second = ({state.name: state for state in states} for states in (one, other))
    for name in dict.fromkeys((*first, *second)):
        before, after = first.get(name), second.get(name)
        change = ADDED if before is None else REMOVED if after is None else SAME
        if before is not None and after is not None:
            is_same = (before.kind, before.type) == (after.kind, after.type)
            change = SAME if is_same else CHANGED
        yield StateChange(
            name=name,
            change=change,
            kind=(after or before).kind,
            kind_before=before and before.kind,
            type_before=before and before.type,
            type_after=after and after.type,
            entries=Pair(before and before.entries, after and after.entries),
            bytes=Pair(before and before.bytes, after and after.bytes),
        )


def _files(files: Iterable[FileUse], before: int, after: int) -> Iterable[FileChange]:
    for file in files:
        by = before in file.checkpoints, after in file.checkpoints
        if any(by):
            needed = BOTH if all(by) else BEFORE if by[0] else AFTER
            yield FileChange(file.path, file.bytes, file.role, needed)


def _totals(files: Sequence[FileChange]) -> dict[str, FileTotals]:
    found = {}
    for needed in (BEFORE, AFTER, BOTH):
        own = [file.bytes for file in files if file.needed == needed]
        found[needed] = FileTotals(len(own), sum(own))
    return found
