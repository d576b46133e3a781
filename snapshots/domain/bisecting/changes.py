"""List what differs between the global states that two snapshots recorded."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from snapshots.domain.comparing.states import same_messages
from snapshots.domain.model.values import canonical
from snapshots.domain.properties.global_state import GlobalState

PROCESS, CHANNEL = "process", "channel"
ADDED, REMOVED, CHANGED, UNKNOWN = "added", "removed", "changed", "unknown"
MOST_VALUES = 20  # values of a channel that a change shows
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Change:
    """How one process or channel differs between two snapshots.

    Attributes:
        kind: ``process`` or ``channel``.
        name: the id of the process or channel.
        change: ``changed``; ``added`` or ``removed`` if only one snapshot has it in its scope;
            ``unknown`` if it is not known what one of them recorded.
        before: the state, or the first 20 values in the channel, in the first snapshot. None if it
            is not known or not there.
        after: the same in the second snapshot.
        counts: how many messages the channel held in the first snapshot and in the second one. None
            for a process, and where it is not known.
    """

    kind: str
    name: str
    change: str
    before: object
    after: object
    counts: tuple[int | None, int | None] | None = None


Ids = Mapping[str, tuple[str, ...]]
"""The ids of the messages in each channel."""
_NO_IDS: tuple[Ids, Ids] = ({}, {})


def changes(
    before: GlobalState,
    after: GlobalState,
    ids: tuple[Ids, Ids] = _NO_IDS,
    unordered: Collection[str] = frozenset(),
) -> tuple[Change, ...]:
    """Return the processes and channels whose recorded state differs or is not known.

    Args:
        before: the first state.
        after: the second state.
        ids: the messages in the channels of both. Those that hold different messages differ, even
            if the values are equal or not known.
        unordered: the channels that do not keep the order of messages, so that another order is no
            change.
    """
    contents_differ = _contents_differ(ids, unordered)
    return (
        *_changes(PROCESS, before.processes, after.processes, _state_differs),
        *map(_counted, _changes(CHANNEL, before.channels, after.channels, contents_differ)),
    )


def named_first(
    listed: Iterable[Change], named: Mapping[str, Collection[str]] | None
) -> list[Change]:
    """Return the changes of the ``processes`` and ``channels`` that are named, then the others."""
    return sorted(listed, key=lambda change: not is_named(change, named or {}))


def is_named(change: Change, named: Mapping[str, Collection[str]]) -> bool:
    """Tell whether a change is one of the named ``processes`` and ``channels``."""
    kind = "processes" if change.kind == PROCESS else "channels"
    return change.name in named.get(kind, ())


def _state_differs(_: str, before: object, after: object) -> bool:
    return canonical(before) != canonical(after)


def _contents_differ(
    ids: tuple[Ids, Ids], unordered: Collection[str]
) -> Callable[[str, object, object], bool]:
    """Return the rule for channels, which is that of the comparison of two states."""

    def differs(name: str, before: object, after: object) -> bool:
        sides = zip((before, after), ids, strict=True)
        left, right = (_messages(values, held.get(name, ())) for values, held in sides)
        return not same_messages(left, right, is_ordered=name not in unordered)

    return differs


def _messages(values: Any, ids: Sequence[str]) -> list[Hashable]:
    """Return the messages in a channel, each by its id, if that is known, and its value."""
    return list(zip_longest(ids, map(canonical, values)))


def _changes(
    kind: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
    differs: Callable[[str, object, object], bool],
) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        pair = before.get(name, _ABSENT), after.get(name, _ABSENT)
        change = _word(*pair) or (CHANGED if differs(name, *pair) else None)
        if change is not None:
            first, second = (None if side is _ABSENT else side for side in pair)
            yield Change(kind, name, change, first, second)


def _word(before: object, after: object) -> str | None:
    """Say why two values cannot be compared; None if they can."""
    if before is _ABSENT or after is _ABSENT:
        return ADDED if before is _ABSENT else REMOVED
    return UNKNOWN if before is None or after is None else None


def _counted(change: Change) -> Change:
    sides = tuple(
        list(side) if isinstance(side, tuple) else None for side in (change.before, change.after)
    )
    first, second = (None if side is None else side[:MOST_VALUES] for side in sides)
    counts = (_count(sides[0]), _count(sides[1]))
    return Change(change.kind, change.name, change.change, first, second, counts)


def _count(values: list[object] | None) -> int | None:
    return None if values is None else len(values)
