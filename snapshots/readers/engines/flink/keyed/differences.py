"""What changed in the keyed state of an operator from one checkpoint to another.

Both sides come by key group, as ``read_keyed`` gives them, subtask after subtask: a key stays in
its key group whatever the parallelism is, as long as the maximum parallelism is the same. One key
group of the earlier side is held in memory at a time. What is decoded is compared by value,
everything else by its bytes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from json import dumps

from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry
from snapshots.readers.formats.opaque import Opaque

ADDED, REMOVED, CHANGED, UNKNOWN, SAME = "added", "removed", "changed", "unknown", "same"
_OF_ONE_ENCODING = ("VALUE", "REDUCING", "AGGREGATING", TIMERS)
MOST_EXAMPLES = 20

_Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One key of one state. kind: ADDED, REMOVED, CHANGED, SAME, or UNKNOWN where it cannot be
    told whether its value changed. before, after: None where there is no such key."""

    kind: str
    before: Entry | None
    after: Entry | None

    @property
    def entry(self) -> Entry:
        return self.before if self.after is None else self.after


@dataclass(slots=True)
class StateDifference:
    """Counts of keys (of timers: of timers) and bytes of one state. state: None where not known.

    examples: the first differences, not those of kind SAME.
    """

    state: str | None
    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    bytes_before: int = 0
    bytes_after: int = 0
    examples: list[Difference] = field(default_factory=list)

    @property
    def keys_before(self) -> int:
        return self.counts.total() - self.counts[ADDED]

    @property
    def keys_after(self) -> int:
        return self.counts.total() - self.counts[REMOVED]


def compare(
    before: Iterable[Entry],
    after: Iterable[Entry],
    *,
    same_layout: bool = True,
    most_examples: int = MOST_EXAMPLES,
) -> list[StateDifference]:
    """Per state, by name. same_layout: see ``differences``."""
    states: dict[tuple[str, str], StateDifference] = {}
    for found in differences(before, after, same_layout=same_layout):
        entry = found.entry
        place = (entry.state or "", entry.kind)
        state = states.setdefault(place, StateDifference(entry.state, entry.kind))
        state.counts[found.kind] += 1
        state.bytes_before += found.before.size if found.before else 0
        state.bytes_after += found.after.size if found.after else 0
        if found.kind != SAME and len(state.examples) < most_examples:
            state.examples.append(found)
    return [states[place] for place in sorted(states)]


def differences(
    before: Iterable[Entry], after: Iterable[Entry], *, same_layout: bool = True
) -> Iterator[Difference]:
    """Every key of either side, by key group.

    same_layout: whether both sides are stored in the same layout. If not, lists and maps that
    cannot be decoded look different even where they are not.
    """
    for earlier, later in _side_by_side(_groups(before), _groups(after)):
        yield from _of_group(earlier, later, same_layout)


_Group = tuple[int, Iterable[Entry]]


def _groups(entries: Iterable[Entry]) -> Iterator[_Group]:
    """By key group; entries without one count as of group -1."""
    return groupby(entries, key=lambda entry: -1 if entry.key_group is None else entry.key_group)


def _side_by_side(
    before: Iterator[_Group], after: Iterator[_Group]
) -> Iterator[tuple[Iterable[Entry], Iterable[Entry]]]:
    earlier, later = next(before, None), next(after, None)
    while earlier or later:
        if later is None or (earlier is not None and earlier[0] < later[0]):
            yield earlier[1], ()
            earlier = next(before, None)
        elif earlier is None or later[0] < earlier[0]:
            yield (), later[1]
            later = next(after, None)
        else:
            yield earlier[1], later[1]
            earlier, later = next(before, None), next(after, None)


def _of_group(
    before: Iterable[Entry], after: Iterable[Entry], same_layout: bool
) -> Iterator[Difference]:
    left = dict(_identified(before))
    for identity, entry in _identified(after):
        earlier = left.pop(identity, None)
        if earlier is None:
            yield Difference(ADDED, None, entry)
        else:
            yield Difference(_kind(earlier, entry, same_layout), earlier, entry)
    for entry in left.values():
        yield Difference(REMOVED, entry, None)


def _identified(entries: Iterable[Entry]) -> Iterator[tuple[_Identity, Entry]]:
    """What does not identify itself (stretches of bytes) is numbered."""
    seen: Counter[_Identity] = Counter()
    for entry in entries:
        identity = _identity(entry)
        seen[identity] += 1
        yield (*identity, seen[identity]), entry


def _identity(entry: Entry) -> _Identity:
    if isinstance(entry.key, Opaque) or (entry.raw_key and entry.kind == "MAP"):
        return entry.state, bytes(entry.raw_key)  # of a MAP one of its user keys cannot be read
    identity = (entry.state, dumps(entry.namespace), dumps(entry.key))
    return (*identity, entry.value) if entry.kind == TIMERS and entry.is_known else identity


def _kind(before: Entry, after: Entry, same_layout: bool) -> str:
    if before.is_known and after.is_known:
        return SAME if _text(before.value) == _text(after.value) else CHANGED
    if before.is_known or after.is_known or not (before.raw_value and after.raw_value):
        return UNKNOWN
    if before.raw_value == after.raw_value:
        return SAME
    return CHANGED if same_layout or before.kind in _OF_ONE_ENCODING else UNKNOWN


def _text(value: object) -> str:
    return dumps(value, sort_keys=True)
