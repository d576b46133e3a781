"""Divide the bytes of a checkpoint by operator, part, state, and key group or subtask.

Two sizes are never mixed. *Stored* bytes are those of files, as the inventory has them: of the
checkpoint, its operators and their parts. *Entry* bytes are those of keys and values: of states,
key groups and keys. Files also hold names, types and indexes, and may be compressed, so that
neither size follows from the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from snapshots.domain.inventory.model import (
    BROADCAST,
    FAILED,
    IN_PROGRESS,
    LISTED,
    RAW,
    UNDIVIDED,
    UNION,
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.series import Pair

COLLECTIONS = ("map", "list", "MapState", "ListState")  # kinds of which elements are counted
WITHOUT_KEYS = (LISTED, UNION, BROADCAST, RAW, "coordinator", "per subtask", "of the coordinator")
MOST_KEYS = 50  # by each measure

OLDER_RELEASE = "An older release read this upload. Read the file again to see its entries' bytes."
NO_EARLIER = "The upload has no earlier checkpoint of its job that lists the same operators."
NOT_WHOLE = (
    "It did not complete, so that its sizes are only those of what had been written by then."
)
NOT_SAID = "The files do not say what of it was new with this checkpoint."
NOT_READ = "The entries were not read, so their bytes are not known."

Weights = Mapping[str, Mapping[str, Any]]
"""What ``Weights.summary`` says of the states of a checkpoint, by operator and state."""


@dataclass(frozen=True, slots=True)
class PartBytes:
    """One part of an operator's stored bytes, such as keyed state.

    Attributes:
        name: the name of the part.
        bytes: the size of the part.
        new: how many of the bytes the checkpoint itself added. The others were there for an earlier
            checkpoint already. None if it is not known.
    """

    name: str
    bytes: int
    new: int | None


@dataclass(frozen=True, slots=True)
class PlaceBytes:
    """The entries of a state in one key group, or in one subtask if the state has no key groups.

    Attributes:
        key_group: the number of the key group. None if the state has none.
        subtask: the number of the subtask; -1 is the coordinator. None if there is a key group.
        bytes: the size of the entries, before and now.
        entries: how many entries there are now.
    """

    key_group: int | None
    subtask: int | None
    bytes: Pair
    entries: int


@dataclass(frozen=True, slots=True)
class StateBytes:
    """The entries of one state.

    Attributes:
        name: the name of the state. None if it has none.
        kind: the engine's word for the kind of state.
        entries: how many entries there are. None if it is not known.
        bytes: the size of all entries, before and now.
        reason: why the size is not known, or not of all entries. None if it is known.
        places: the size of the entries by key group or subtask; empty if it is not known.
    """

    name: str | None
    kind: str
    entries: int | None
    bytes: Pair
    reason: str | None
    places: tuple[PlaceBytes, ...]


@dataclass(frozen=True, slots=True)
class OperatorBytes:
    """The bytes of one operator.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        bytes: the stored size of the operator's state, before and now.
        new: how many of the bytes now the checkpoint itself added. None if it is not known.
        entry_bytes: the size of all entries of which the size is known. None if there is no such
            state.
        parts: the parts of the stored bytes.
        states: the states of the operator.
    """

    operator: str
    name: str | None
    bytes: Pair
    new: int | None
    entry_bytes: int | None
    parts: tuple[PartBytes, ...]
    states: tuple[StateBytes, ...]


@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key of one state, and what its entries take.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        state: the name of the state.
        key: the key as JSON text, with at most 1,000 characters. None if it cannot be decoded.
        characters: how many characters the JSON text of the key has. None without a key.
        head: the first bytes of a key that cannot be decoded, in hexadecimal digits.
        key_group: the key group of the key. None if the state has none.
        bytes: the size of the key's entries.
        entries: how many entries the key has; in a list or map each element counts. None if it is
            not known.
    """

    operator: str
    name: str | None
    state: str
    key: str | None
    characters: int | None
    head: str | None
    key_group: int | None
    bytes: int
    entries: int | None


@dataclass(frozen=True, slots=True)
class HeavyKeys:
    """The keys of all states that take most.

    Attributes:
        by_bytes: the keys with the most bytes.
        by_entries: the keys with the most entries.
        keys: how many keys there are in all states among the entries that were looked at.
        looked_at: how many entries were looked at.
        entries: how many entries the states with keys have. None if it is not known of all.
        notes: which states are left out and why, as sentences.
    """

    by_bytes: tuple[HeavyKey, ...]
    by_entries: tuple[HeavyKey, ...]
    keys: int
    looked_at: int
    entries: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckpointBytes:
    """Whose the bytes of a checkpoint are.

    Attributes:
        id: the engine's number of the checkpoint.
        since: the engine's number of the earlier checkpoint. None if there is none.
        bytes: the stored size of the checkpoint, before and now.
        new: how many of the bytes now the checkpoint itself added. None if it is not known.
        why_new_unknown: why it is not known how many bytes are new. None if it is known.
        why_growth_unknown: why it is not known how much was there before. None if it is known.
        entry_bytes: the size of all entries of which the size is known. None if there are none.
        unknown_states: how many states have a size that is not known, or not of all entries.
        operators: the bytes of each operator.
        heaviest: the keys that take most.
    """

    id: int
    since: int | None
    bytes: Pair
    new: int | None
    why_new_unknown: str | None
    why_growth_unknown: str | None
    entry_bytes: int | None
    unknown_states: int
    operators: tuple[OperatorBytes, ...]
    heaviest: HeavyKeys


@dataclass(frozen=True, slots=True)
class Weighed:
    """A checkpoint with the weights of its entries.

    Attributes:
        inventory: the checkpoint.
        weights: the weights of its entries. None if an older release stored the inventory.
    """

    inventory: CheckpointInventory
    weights: Weights | None


def byte_shares(now: Weighed, before: Weighed | None) -> CheckpointBytes:
    """Divide the bytes of a checkpoint, with what was there in an earlier checkpoint."""
    checkpoint = now.inventory
    is_whole = checkpoint.status not in (FAILED, IN_PROGRESS)
    before = before if is_whole else None
    operators = tuple(_operator(item, now, before) for item in checkpoint.operators)
    states = [state for operator in operators for state in operator.states]
    news = [operator.new for operator in operators]
    new = known_sum(news) if operators or checkpoint.bytes == 0 else None
    return CheckpointBytes(
        id=checkpoint.id,
        since=None if before is None else before.inventory.id,
        bytes=Pair(None if before is None else before.inventory.bytes, checkpoint.bytes),
        new=new,
        why_new_unknown=None if new is not None else _why_unknown_new(checkpoint),
        why_growth_unknown=_why_no_growth(before) if is_whole else NOT_WHOLE,
        entry_bytes=_some_sum(operator.entry_bytes for operator in operators),
        unknown_states=sum(state.reason is not None for state in states),
        operators=operators,
        heaviest=_heaviest(now),
    )


def _why_unknown_new(checkpoint: CheckpointInventory) -> str:
    return checkpoint.problem or checkpoint.why_state_unknown or NOT_SAID


def known_sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of numbers. None if one of them is not known."""
    known = list(numbers)
    present = [number for number in known if number is not None]
    return sum(present) if len(present) == len(known) else None


def _some_sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of those numbers that are known. None if none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _why_no_growth(before: Weighed | None) -> str | None:
    if before is None:
        return NO_EARLIER
    return before.inventory.problem


def _operator(item: OperatorInventory, now: Weighed, before: Weighed | None) -> OperatorBytes:
    earlier = _earlier(item, before)
    states = tuple(_state(state, item, now, before) for state in item.states)
    kept = tuple(state for state in states if state.entries != 0 or state.bytes.before)
    return OperatorBytes(
        operator=item.id,
        name=item.name,
        bytes=Pair(earlier, item.bytes),
        new=known_sum(map(_new, item.subtasks)) if item.subtasks or item.bytes == 0 else None,
        entry_bytes=_some_sum(state.bytes.after for state in states),
        parts=tuple(_parts(item)),
        states=kept,
    )


def _earlier(item: OperatorInventory, before: Weighed | None) -> int | None:
    """Return the operator's bytes in the earlier checkpoint; 0 if it had no such operator."""
    if before is None:
        return None
    same = [other for other in before.inventory.operators if other.id == item.id]
    if same:
        return same[0].bytes
    return None if before.inventory.problem else 0


def _new(subtask: SubtaskInventory) -> int | None:
    """Return how many bytes of a subtask are new. None if it is not known of all its parts."""
    if not subtask.parts:
        return 0 if not subtask.bytes else subtask.new.get(UNDIVIDED)
    return known_sum(subtask.new.get(name) for name in subtask.parts)


def _parts(item: OperatorInventory) -> Iterator[PartBytes]:
    """Yield the parts of an operator with the sums over its subtasks, the largest first."""
    sizes: dict[str, int] = defaultdict(int)
    new: dict[str, int | None] = {}
    for subtask in item.subtasks:
        parts = subtask.parts or ({UNDIVIDED: subtask.bytes} if subtask.bytes else {})
        for name, size in parts.items():
            sizes[name] += size
            new[name] = known_sum((new.get(name, 0), subtask.new.get(name)))
    if item.bytes is not None and (rest := item.bytes - sum(sizes.values())) > 0:
        sizes["other"], new["other"] = rest, None
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if sizes[name]:
            yield PartBytes(name, sizes[name], new[name])


def _state(
    state: StateInventory, item: OperatorInventory, now: Weighed, before: Weighed | None
) -> StateBytes:
    reason = _why_unknown(state)
    size = None if state.bytes is None and reason else state.bytes or 0
    then = _state_before(state, item, before)
    is_known = reason is None and now.weights is not None
    was_known = then is not None and before is not None and before.weights is not None
    places = _places(
        _weights(now, item.id, state.name),
        _weights(before, item.id, state.name),
        is_known=is_known,
        was_known=was_known,
    )
    return StateBytes(
        name=state.name,
        kind=state.kind,
        entries=None if size is None else state.entries,
        bytes=Pair(then, size),
        reason=reason,
        places=tuple(places),
    )


def _why_unknown(state: StateInventory) -> str | None:
    """Return why the size of a state is not known, or not of all its entries."""
    if state.complete:
        return None
    return state.reason or (NOT_READ if state.bytes is None else "Files are missing or damaged.")


def _state_before(
    state: StateInventory, item: OperatorInventory, before: Weighed | None
) -> int | None:
    """Return the bytes of a state's entries in the earlier checkpoint.

    They are 0 if it is certain that the state was not there or was empty, None if nothing is.
    """
    if before is None or before.inventory.problem:
        return None
    operators = [other for other in before.inventory.operators if other.id == item.id]
    states = [other for operator in operators[:1] for other in operator.states]
    for other in states:
        if other.name == state.name:
            return (other.bytes or 0) if other.complete else None
    is_certain = not before.inventory.missing and (not operators or bool(states))
    return 0 if is_certain else None


def _weights(weighed: Weighed | None, operator: str, state: str | None) -> Mapping[str, Any]:
    if weighed is None or weighed.weights is None:
        return {}
    return weighed.weights.get(operator, {}).get(state or "") or {}


def _places(
    weights: Mapping[str, Any], earlier: Mapping[str, Any], *, is_known: bool, was_known: bool
) -> Iterator[PlaceBytes]:
    """Yield the places that have entries, or had some in the earlier checkpoint."""
    old = {(group, subtask): size for group, subtask, size, _ in earlier.get("places", ())}
    for group, subtask, size, entries in weights.get("places", ()):
        then = old.pop((group, subtask), 0) if was_known else None
        yield PlaceBytes(group, subtask, Pair(then, size), entries)
    for (group, subtask), size in old.items() if is_known else ():
        yield PlaceBytes(group, subtask, Pair(size, 0), 0)


def _heaviest(now: Weighed) -> HeavyKeys:
    keyed = [
        (operator, state)
        for operator in now.inventory.operators
        for state in operator.states
        if state.kind not in WITHOUT_KEYS and (state.entries or _why_unknown(state))
    ]
    weights = [_weights(now, operator.id, state.name) for operator, state in keyed]
    by_bytes, by_entries = [], []
    for (operator, state), own in zip(keyed, weights, strict=True):
        measure = "elements" if state.kind in COLLECTIONS else "entries"
        by_bytes += [_key(operator, state, key, measure) for key in own.get("by_bytes", ())]
        most = own.get(f"by_{measure}", ())
        by_entries += [_key(operator, state, key, measure) for key in most]
    unknown = any(_why_unknown(state) for _, state in keyed)
    return HeavyKeys(
        by_bytes=tuple(nlargest(MOST_KEYS, by_bytes, key=lambda key: key.bytes)),
        by_entries=tuple(nlargest(MOST_KEYS, by_entries, key=lambda key: key.entries or 0)),
        keys=sum(own.get("keys", 0) for own in weights),
        looked_at=sum(own.get("looked_at", 0) for own in weights),
        entries=None if unknown else sum(state.entries or 0 for _, state in keyed),
        notes=tuple(_notes(now, [state for _, state in keyed])),
    )


def _key(
    operator: OperatorInventory, state: StateInventory, key: Mapping[str, Any], measure: str
) -> HeavyKey:
    return HeavyKey(
        operator=operator.id,
        name=operator.name,
        state=state.name or "",
        key=key["key"],
        characters=key["characters"],
        head=key["head"],
        key_group=key["key_group"],
        bytes=key["bytes"],
        entries=key[measure],
    )


def _notes(now: Weighed, keyed: Sequence[StateInventory]) -> Iterator[str]:
    if now.inventory.problem:
        yield now.inventory.problem
    elif now.inventory.why_state_unknown:
        yield now.inventory.why_state_unknown
    elif now.weights is None:
        yield OLDER_RELEASE
    operators = now.inventory.operators
    others = [one for each in operators for one in each.states if one.kind in WITHOUT_KEYS]
    if any(state.entries for state in others):
        yield "Operator state and the state of coordinators have no keys, so they are left out."
    for state in keyed:
        if reason := _why_unknown(state):
            yield f"{state.name or 'A state without a name'}: {reason}"
