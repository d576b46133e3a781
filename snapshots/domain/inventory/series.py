"""Compares two checkpoints of a series: operators, key groups, states, bytes and files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from snapshots.domain.inventory.model import (
    COORDINATOR,
    ChannelContents,
    CheckpointInventory,
    FileUse,
    MissingFile,
    OperatorInventory,
    StateInventory,
)

ADDED, REMOVED, CHANGED, SAME, UNKNOWN = "added", "removed", "changed", "same", "unknown"
BEFORE, AFTER, BOTH = "before", "after", "both"  # which checkpoint needs a file

KeyGroupBytes = Mapping[int, int] | None
"""Bytes by key group; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A number in both checkpoints.

    Attributes:
        before: the number in the first checkpoint. None if it is not known, or if there is none.
        after: the number in the second checkpoint. None if it is not known, or if there is none.
    """

    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """How one state differs between the two checkpoints.

    Attributes:
        name: the name of the state. None if it has none.
        change: ``added``, ``removed``, ``changed`` if its kind or type differs, else ``same``,
            whatever its entries are; ``unknown`` if one checkpoint may have had it.
        kind: the engine's word for the kind of state, in the second checkpoint if both have it.
        kind_before: the kind in the first checkpoint. None if the state is not in it.
        type_before: the type of key and value in the first checkpoint. None if it is not known.
        type_after: the type of key and value in the second checkpoint. None if it is not known.
        entries: how many entries there are.
        bytes: the size of all entries.
        counts: how many keys were ``added``, ``removed``, ``changed``, are ``unknown`` or the
            ``same``. None if they were not counted.
        notes: what the counts leave out, or why there are none, as sentences.
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
    """A key group whose subtask or bytes differ.

    Attributes:
        key_group: the number of the key group.
        subtask: the subtask that has the key group.
        bytes: the size of the key group's state.
    """

    key_group: int
    subtask: Pair
    bytes: Pair


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """How one operator differs between the two checkpoints.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        change: ``added``, ``removed``, ``changed`` if any number, state or key differs, else
            ``same``; ``unknown`` if one checkpoint may have had it.
        parallelism: how many subtasks the operator has.
        max_parallelism: how many key groups the operator has.
        bytes: the size of the operator's state.
        finished_before: whether the operator had ended before the first checkpoint.
        finished_after: whether the operator had ended before the second checkpoint.
        moved: how many key groups belong to another subtask. None if the files do not say to which
            they belong.
        subtasks: the number and the bytes of each subtask; -1 is the coordinator.
        key_groups: the key groups that differ.
        states: how each state differs.
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
class ChannelChange:
    """The data in flight of one channel in both checkpoints.

    A number is 0 if it is known that the channel held nothing, and None if that is not known.

    Attributes:
        source: the sending subtask. None if it is not known.
        target: the receiving subtask. None if it is not known.
        part: ``whole``, ``input half`` or ``output half``.
        change: ``added`` or ``removed`` if only one checkpoint has data in the channel, ``changed``
            if the sizes differ, ``same`` if they do not, whatever the data is, ``unknown`` if it is
            not known what one of them has.
        bytes: the size of the data.
        elements: how many records and other elements there are.
        number: the place of the channel among the stored channels of each checkpoint. None if the
            checkpoint has no data in it.
    """

    source: str | None
    target: str | None
    part: str
    change: str
    bytes: Pair
    elements: Pair
    number: Pair


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that one of the two checkpoints needs.

    Attributes:
        path: the path of the file in the upload.
        bytes: the size of the file.
        role: what the file is for, in a word.
        needed: which of the two needs the file: ``before``, ``after`` or ``both``.
    """

    path: str
    bytes: int
    role: str
    needed: str


@dataclass(frozen=True, slots=True)
class FileTotals:
    """How many files there are, and their bytes.

    Attributes:
        files: how many files there are.
        bytes: the size of all these files.
    """

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointChange:
    """How two checkpoints of an upload differ.

    Attributes:
        before: the id of the first checkpoint.
        after: the id of the second checkpoint.
        bytes: the size of the checkpoint.
        in_flight: the size of the data in flight. None if it is not known.
        channels: how many channels hold data in flight. None if it is not known.
        operators: how each operator differs.
        files: the files that either checkpoint needs, by path.
        totals: the totals of ``files`` by ``needed``. The second checkpoint still needs those of
            ``both``, and no longer those of ``before``.
        missing_before: the files of the first checkpoint that the upload lacks.
        missing_after: the files of the second checkpoint that the upload lacks.
        notes: what cannot be compared, as sentences.
        in_channels: the data in flight of each channel that holds some in either checkpoint.
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
    in_channels: tuple[ChannelChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two checkpoints, with its number in the upload.

    ``key_groups``: bytes by operator and key group.
    """

    number: int
    inventory: CheckpointInventory
    key_groups: Mapping[str, KeyGroupBytes] = field(default_factory=dict)


def compare_checkpoints(before: Side, after: Side, files: Iterable[FileUse]) -> CheckpointChange:
    """Compare two checkpoints of a job by operators, states and files."""
    first, second = before.inventory, after.inventory
    needed = tuple(_files(files, before.number, after.number))
    return CheckpointChange(
        before=first.id,
        after=second.id,
        bytes=Pair(first.bytes, second.bytes),
        in_flight=Pair(first.in_flight, second.in_flight),
        channels=Pair(_channels(first), _channels(second)),
        operators=tuple(_operators(before, after)),
        files=needed,
        totals=_totals(needed),
        missing_before=first.missing,
        missing_after=second.missing,
        notes=tuple(_notes(first, second)),
        in_channels=tuple(_in_channels(first, second)),
    )


def _channels(checkpoint: CheckpointInventory) -> int | None:
    """Return how many channels held data; None if it is not known whether any did."""
    return len(checkpoint.channels) or checkpoint.in_other_channels


def _in_channels(
    first: CheckpointInventory, second: CheckpointInventory
) -> Iterable[ChannelChange]:
    """Pair the channels by their ends. Channels whose ends are not known are paired by their id."""
    both = [{_ends(channel): channel for channel in each.channels} for each in (first, second)]
    absent = [each.in_other_channels for each in (first, second)]
    for ends in dict.fromkeys((*both[0], *both[1])):
        pair = [channels.get(ends) for channels in both]
        latest = pair[1] or pair[0]
        assert latest is not None  # the ends are those of a channel in one of both
        sizes = _of_both(pair, absent, lambda channel: channel.bytes)
        if (sizes.before, sizes.after) == (0, 0):
            continue
        yield ChannelChange(
            source=latest.source,
            target=latest.target,
            part=latest.part,
            change=_channel_change(sizes),
            bytes=sizes,
            elements=_of_both(pair, absent, lambda channel: channel.elements),
            number=_of_both(pair, [None, None], lambda channel: channel.number),
        )


def _ends(channel: ChannelContents) -> tuple[str | None, ...]:
    if channel.source is None or channel.target is None:
        return (channel.id, channel.part)
    return (channel.source, channel.target, channel.id, channel.part)


def _of_both(
    pair: Sequence[ChannelContents | None],
    absent: Sequence[int | None],
    number: Callable[[ChannelContents], int | None],
) -> Pair:
    """Return a number of both channels; ``absent`` has it for the side that lacks the channel."""
    sides = zip(pair, absent, strict=True)
    return Pair(*(size if channel is None else number(channel) for channel, size in sides))


def _channel_change(sizes: Pair) -> str:
    if sizes.before is None or sizes.after is None:
        return UNKNOWN
    if not sizes.before or not sizes.after:
        return REMOVED if sizes.before else ADDED
    return SAME if sizes.before == sizes.after else CHANGED


def _why_unknown(checkpoint: CheckpointInventory) -> str | None:
    """Return why a checkpoint may have had operators and states that are not listed."""
    return checkpoint.problem or checkpoint.why_state_unknown


def _notes(first: CheckpointInventory, second: CheckpointInventory) -> Iterable[str]:
    for checkpoint in (first, second):
        if reason := _why_unknown(checkpoint):
            yield f"{checkpoint.title.capitalize()}: {reason}"
    if first.job != second.job:
        yield "They are of two jobs."


def _operators(before: Side, after: Side) -> Iterable[OperatorChange]:
    """Compare the operators of the first checkpoint in their order, then those that are new."""
    first = {operator.id: operator for operator in before.inventory.operators}
    second = {operator.id: operator for operator in after.inventory.operators}
    reasons = _why_unknown(before.inventory), _why_unknown(after.inventory)
    for id_ in dict.fromkeys((*first, *second)):
        old, new = first.get(id_), second.get(id_)
        owners = _owners(old), _owners(new)
        sizes = before.key_groups.get(id_), after.key_groups.get(id_)
        change = _unless_unknown(_operator(old, new, owners, sizes), *reasons)
        is_whole = _is_whole(old, before.inventory) and _is_whole(new, after.inventory)
        yield replace(change, change=UNKNOWN) if change.change == SAME and not is_whole else change


def _is_whole(operator: OperatorInventory | None, checkpoint: CheckpointInventory) -> bool:
    """Tell whether no missing file can hold more of the operator's state."""
    if operator is None or not checkpoint.missing:
        return True
    readable = all(state.complete and not state.undecoded for state in operator.states)
    return readable and bool(operator.states or not operator.bytes)


def _unless_unknown(
    operator: OperatorChange, before: str | None, after: str | None
) -> OperatorChange:
    """Mark as unknown what a checkpoint may have had.

    Args:
        before, after: why that is not known of the first and of the second checkpoint; None if it
            is known.
    """
    unknown = {change for change, problem in ((ADDED, before), (REMOVED, after)) if problem}
    states = tuple(
        replace(state, change=UNKNOWN) if state.change in unknown else state
        for state in operator.states
    )
    change = UNKNOWN if operator.change in unknown or (before or after) else operator.change
    return replace(operator, states=states, change=change)


def _operator(
    old: OperatorInventory | None,
    new: OperatorInventory | None,
    owners: tuple[dict[int, int], dict[int, int]],
    sizes: tuple[KeyGroupBytes, KeyGroupBytes],
) -> OperatorChange:
    latest = new or old
    assert latest is not None  # the id is that of an operator in one of both
    first, second = owners
    in_both = old is not None and new is not None
    moved = None
    if in_both and first and second:
        moved = sum(first.get(group) != second.get(group) for group in first.keys() | second.keys())
    operator = OperatorChange(
        operator=latest.id,
        name=latest.name,
        change=ADDED if old is None else REMOVED,
        parallelism=Pair(old and old.parallelism, new and new.parallelism),
        max_parallelism=Pair(old and old.max_parallelism, new and new.max_parallelism),
        bytes=Pair(old and old.bytes, new and new.bytes),
        finished_before=bool(old and old.finished),
        finished_after=bool(new and new.finished),
        moved=moved,
        subtasks=tuple(_subtasks(old, new)),
        key_groups=tuple(_key_groups(owners, sizes)),
        states=tuple(_states(old.states if old else (), new.states if new else ())),
    )
    return replace(operator, change=_change(operator)) if in_both else operator


def with_counts(operator: OperatorChange, states: Sequence[StateChange]) -> OperatorChange:
    """Return the operator with its states' keys counted: if any key differs, it has changed."""
    counted = replace(operator, states=tuple(states))
    differ = any(s.counts and sum(s.counts.values()) > s.counts[SAME] for s in states)
    return replace(counted, change=CHANGED) if differ and counted.change == SAME else counted


def _change(operator: OperatorChange) -> str:
    """Tell whether an operator of both checkpoints differs in anything besides entries."""
    pairs = (operator.parallelism, operator.max_parallelism, operator.bytes)
    differs = (
        any(pair.before != pair.after for pair in pairs)
        or operator.finished_before != operator.finished_after
        or any(pair.before != pair.after for _, pair in operator.subtasks)
        or any(state.change != SAME for state in operator.states)
        or bool(operator.key_groups)
    )
    return CHANGED if differs else SAME


def _owners(operator: OperatorInventory | None) -> dict[int, int]:
    """Return the subtask of each key group, as the handles say."""
    owners: dict[int, int] = {}
    if operator is None:
        return owners
    for subtask in operator.subtasks:
        if subtask.key_groups is not None:
            first, last = subtask.key_groups
            for group in range(max(first, 0), min(last + 1, operator.max_parallelism or 0)):
                owners.setdefault(group, subtask.index)
    return owners


def _subtasks(
    old: OperatorInventory | None, new: OperatorInventory | None
) -> Iterable[tuple[int, Pair]]:
    first, second = (
        {item.index: item for item in (operator.subtasks if operator else ())}
        for operator in (old, new)
    )
    for index in sorted(first.keys() | second.keys(), key=lambda i: (i == COORDINATOR, i)):
        before, after = first.get(index), second.get(index)
        yield index, Pair(before and before.bytes, after and after.bytes)


def _key_groups(
    owners: tuple[Mapping[int, int], Mapping[int, int]],
    sizes: tuple[KeyGroupBytes, KeyGroupBytes],
) -> Iterable[KeyGroupChange]:
    groups: set[int] = set().union(*owners, *(of_side or () for of_side in sizes))
    for group in sorted(groups):
        subtask = Pair(*(of_side.get(group) for of_side in owners))
        size = Pair(*(None if of_side is None else of_side.get(group, 0) for of_side in sizes))
        if subtask.before != subtask.after or size.before != size.after:
            yield KeyGroupChange(group, subtask, size)


def _states(old: Sequence[StateInventory], new: Sequence[StateInventory]) -> Iterable[StateChange]:
    first, second = ({state.name: state for state in states} for states in (old, new))
    for name in dict.fromkeys((*first, *second)):
        before, after = first.get(name), second.get(name)
        latest = after or before
        assert latest is not None  # the name is that of a state in one of both
        change = ADDED if before is None else REMOVED if after is None else SAME
        if before is not None and after is not None:
            is_same = (before.kind, before.type) == (after.kind, after.type)
            change = SAME if is_same else CHANGED
        yield StateChange(
            name=name,
            change=change,
            kind=latest.kind,
            kind_before=before and before.kind,
            type_before=before and before.type,
            type_after=after and after.type,
            entries=Pair(before and before.entries, after and after.entries),
            bytes=Pair(before and before.bytes, after and after.bytes),
        )


def _files(files: Iterable[FileUse], before: int, after: int) -> Iterable[FileChange]:
    for file in files:
        needs = before in file.checkpoints, after in file.checkpoints
        if any(needs):
            needed = BOTH if all(needs) else BEFORE if needs[0] else AFTER
            yield FileChange(file.path, file.bytes, file.role, needed)


def _totals(files: Sequence[FileChange]) -> dict[str, FileTotals]:
    totals = {}
    for needed in (BEFORE, AFTER, BOTH):
        sizes = [file.bytes for file in files if file.needed == needed]
        totals[needed] = FileTotals(len(sizes), sum(sizes))
    return totals
