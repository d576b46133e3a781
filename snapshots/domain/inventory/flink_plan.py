"""How Flink gives an operator's state to another number of subtasks.

Source: Flink, StateAssignmentOperation, KeyGroupRangeAssignment.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from itertools import accumulate
from operator import attrgetter, ge, itemgetter

from snapshots.domain.inventory.dealing import Elements, Stretch, dealt
from snapshots.domain.inventory.model import (
    BROADCAST,
    COORDINATOR,
    KEYED,
    LISTED,
    OPERATOR,
    RAW,
    RAW_KEYED,
    RAW_OPERATOR,
    TIMERS,
    UNION,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.operator_plan import (
    HeavyGroup,
    HeavyKey,
    NewSubtask,
    OldSubtask,
    OperatorPlan,
    StateMove,
    StoredSizes,
    planned,
    spans,
)
from snapshots.domain.inventory.upgrade.upgrade import has_state
from snapshots.domain.model.key_groups import key_group_range, owning_subtask

MOST_HEAVY = 5  # key groups and keys that are named
_OF_OPERATOR = (LISTED, UNION, BROADCAST, RAW)


def plan_operator(
    operator: OperatorInventory, parallelism: int, sizes: StoredSizes
) -> OperatorPlan:
    """Plan where the state of one Flink operator goes with another parallelism."""
    planning = _Planning(operator, parallelism, sizes)
    states = [planning.move(state) for state in operator.states]
    notes = list(_notes(operator, parallelism))
    problem = planning.problem()
    after = planning.after() if problem is None and not operator.finished else []
    plan = planned(operator, parallelism, planning.before(), after, states, notes, problem)
    if not after or operator.max_parallelism is None:
        return plan
    owner = partial(
        owning_subtask, parallelism=parallelism, max_parallelism=operator.max_parallelism
    )
    return replace(
        plan, heaviest_groups=_heavy_groups(sizes, owner), heaviest_keys=_heavy_keys(sizes, owner)
    )


def _heavy_groups(sizes: StoredSizes, owner: Callable[[int], int]) -> tuple[HeavyGroup, ...]:
    """Return the heaviest key groups, each with the subtask that gets it by ``owner``."""
    own = sizes.key_groups or {}
    total = sum(own.values())
    return tuple(
        HeavyGroup(group, size, size / total, owner(group))
        for group, size in nsmallest(MOST_HEAVY, own.items(), key=lambda item: (-item[1], item[0]))
        if size
    )


def _heavy_keys(sizes: StoredSizes, owner: Callable[[int], int]) -> tuple[HeavyKey, ...]:
    """Return the heaviest keys, each with the subtask that gets it by ``owner``."""
    return tuple(
        HeavyKey(item.key, item.group, item.bytes, item.entries, owner(item.group))
        for item in sizes.keys[:MOST_HEAVY]
    )


class _Planning:
    def __init__(self, operator: OperatorInventory, parallelism: int, sizes: StoredSizes) -> None:
        self._operator = operator
        self._parallelism = parallelism
        self._subtasks = sorted(
            (subtask for subtask in operator.subtasks if subtask.index != COORDINATOR),
            key=attrgetter("index"),
        )
        self._keyed = _KeyedBytes(self._subtasks, sizes.key_groups)
        self._own = _OwnState(operator, self._subtasks, parallelism, sizes.elements)

    def before(self) -> list[OldSubtask]:
        old = []
        for subtask in self._subtasks:
            keyed, own = self._keyed.of_old(subtask), self._own.of_old(subtask)
            total = _sum(keyed, own) if subtask.parts else subtask.bytes
            old.append(OldSubtask(subtask.index, subtask.key_groups, total))
        return old

    def problem(self) -> str | None:
        """Return why the operator cannot be restored.

        Nothing is divided if nothing was recorded.
        """
        operator, groups = self._operator, self._operator.max_parallelism
        if operator.finished:
            return None
        if groups is not None and self._parallelism > groups and has_state(operator):
            return (
                f"{operator.name or operator.id} has {groups:,} key groups (its maximum "
                f"parallelism): it cannot run with {self._parallelism:,} subtasks."
            )
        if self._keyed.overlap:
            return f"Key groups of {operator.name or operator.id} belong to two of its subtasks."
        return None

    def after(self) -> list[NewSubtask]:
        return [self._new_subtask(index) for index in range(self._parallelism)]

    def _new_subtask(self, index: int) -> NewSubtask:
        if self._operator.max_parallelism is None:
            return NewSubtask(index)  # the upload has it from the REST API alone
        stretches = self._own.lists.get(index, ())
        sources = {stretch.subtask for stretch in stretches}
        own, range_ = self._own.of_new(index), range(0)
        keyed: int | None = 0
        if self._keyed.is_any:
            range_ = key_group_range(index, self._parallelism, self._operator.max_parallelism)
            sources |= {subtask.index for subtask in self._keyed.holders(range_)}
            keyed = self._keyed.of_new(range_)
        return NewSubtask(
            index,
            spans(sorted(sources)),
            (range_.start, range_.stop - 1) if len(range_) else None,
            tuple(stretches),
            _sum(keyed, own),
            keyed,
            own,
            estimated=self._keyed.is_any and self._keyed.is_estimated and keyed is not None,
        )

    def move(self, state: StateInventory) -> StateMove:
        count: int | None = None
        size: int | None = None
        if state.kind in _OF_OPERATOR:
            elements = self._own.elements.get(state.name or "")
            if elements is not None:
                count, size = len(elements), sum(size for _, size in elements)
        elif state.complete and state.entries is not None:
            count, size = state.entries, state.bytes
        same = self._operator.parallelism == self._parallelism
        return StateMove(state.name, state.kind, _rule(state, same), count, size)


class _KeyedBytes:
    """The bytes of keyed state, by key group if the entries tell them."""

    def __init__(
        self, subtasks: Sequence[SubtaskInventory], sizes: Mapping[int, int] | None
    ) -> None:
        with_keys = [subtask for subtask in subtasks if _keyed_size(subtask)]
        ranges = [(s.key_groups, s) for s in with_keys if s.key_groups is not None]
        ranges.sort(key=itemgetter(0))
        self._holders = [subtask for _, subtask in ranges]
        self._firsts = [first for (first, _), _ in ranges]
        self._lasts = [last for (_, last), _ in ranges]
        self.is_any = bool(with_keys)
        self.overlap = any(map(ge, self._lasts, self._firsts[1:]))
        self._is_placeless = len(ranges) < len(with_keys)
        has_raw = any(subtask.parts.get(RAW_KEYED) for subtask in subtasks)
        self.is_estimated = sizes is None or has_raw
        self._groups = sorted(sizes or ())
        self._sums = [0, *accumulate((sizes or {})[group] for group in self._groups)]

    def holders(self, range_: range) -> list[SubtaskInventory]:
        """Return the old subtasks that have any of these key groups."""
        return self._holders[self._overlapping(range_)]

    def _overlapping(self, range_: range) -> slice:
        first = bisect_left(self._lasts, range_.start)
        return slice(first, bisect_left(self._firsts, range_.stop))

    def of_old(self, subtask: SubtaskInventory) -> int | None:
        if self.is_estimated or subtask.key_groups is None:
            return _keyed_size(subtask)
        return self._between(*subtask.key_groups)

    def of_new(self, range_: range) -> int | None:
        """Return the bytes in a range of key groups, or None if some state has no known range."""
        if self._is_placeless:
            return None
        if not self.is_estimated:
            return self._between(range_.start, range_.stop - 1) if len(range_) else 0
        total = 0.0
        held = self._overlapping(range_)
        holders = zip(self._firsts[held], self._lasts[held], self._holders[held], strict=True)
        for first, last, subtask in holders:
            common = min(last + 1, range_.stop) - max(first, range_.start)
            total += _keyed_size(subtask) * common / (last - first + 1)
        return round(total)

    def _between(self, first: int, last: int) -> int:
        begin, end = bisect_left(self._groups, first), bisect_right(self._groups, last)
        return self._sums[end] - self._sums[begin]


class _OwnState:
    """The operator's own state, element by element if the entries tell them."""

    def __init__(
        self,
        operator: OperatorInventory,
        subtasks: Sequence[SubtaskInventory],
        parallelism: int,
        elements: Mapping[str, Elements],
    ) -> None:
        before = operator.parallelism or len(subtasks)
        states = [(s.name or "", s.kind) for s in operator.states if s.kind in _OF_OPERATOR]
        self.elements = {name: elements[name] for name, _ in states if name in elements}
        has_own = any(s.parts.get(OPERATOR) or s.parts.get(RAW_OPERATOR) for s in subtasks)
        self._is_known = len(self.elements) == len(states) and (bool(states) or not has_own)
        self._same = before == parallelism
        self.lists: dict[int, list[Stretch]] = {}
        for kind in (LISTED, RAW):  # Flink deals what it manages apart from what is raw
            for index, stretches in dealt(self._of_kind(states, kind), before, parallelism).items():
                self.lists.setdefault(index, []).extend(stretches)
        unions = self._of_kind(states, UNION).values()
        self._union = sum(size for pieces in unions for _, size in pieces)
        broadcasts = self._of_kind(states, BROADCAST).values()
        self._broadcasts = [sorted(pieces) for pieces in broadcasts if pieces]
        self._old: Counter[int] = Counter()
        for pieces in self.elements.values():
            for subtask, size in pieces:
                self._old[subtask] += size

    def _of_kind(self, states: Sequence[tuple[str, str]], kind: str) -> dict[str, Elements]:
        return {
            name: self.elements[name]
            for name, state_kind in states
            if state_kind == kind and name in self.elements
        }

    def of_old(self, subtask: SubtaskInventory) -> int | None:
        if self._is_known:
            return self._old[subtask.index]
        return subtask.parts.get(OPERATOR, 0) + subtask.parts.get(RAW_OPERATOR, 0)

    def of_new(self, index: int) -> int | None:
        if not self._is_known:
            return None
        listed = sum(stretch.bytes for stretch in self.lists.get(index, ()))
        return listed + self._union + sum(self._copy(held, index) for held in self._broadcasts)

    def _copy(self, held: list[tuple[int, int]], index: int) -> int:
        """Return the bytes of the copy of broadcast state that a new subtask reads."""
        if self._same:
            place = bisect_left(held, (index, -1))
            if place < len(held) and held[place][0] == index:
                return held[place][1]
        return held[index % len(held)][1]


def _keyed_size(subtask: SubtaskInventory) -> int:
    return subtask.parts.get(KEYED, 0) + subtask.parts.get(RAW_KEYED, 0)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


# --- in words -----------------------------------------------------------------------------------

_RULES = {
    UNION: "Every subtask gets all elements of all subtasks.",
    BROADCAST: "Every subtask gets one copy; they are all the same.",
    LISTED: "The elements stay in their order and are cut into stretches, as equal as can be.",
    RAW: "The pieces are cut into stretches as those of a list are; only the operator can tell "
    "what they mean.",
    TIMERS: "Timers go with the key group of their key.",
    "coordinator": "The one coordinator of the operator gets it whole.",
}
_KEPT = (LISTED, RAW)


def _rule(state: StateInventory, same: bool) -> str:
    if same and state.kind in _KEPT:
        return "With the same number of subtasks each keeps its own elements."
    return _RULES.get(state.kind, "Entries go with the key group of their key.")


def _notes(operator: OperatorInventory, parallelism: int) -> Iterator[str]:
    if operator.finished:
        yield "It had finished: it is not run again."
        return
    if operator.max_parallelism is None:
        yield (
            "Only an answer of the REST API tells of it; how its state is divided stands in its "
            "files."
        )
        return
    facts = {fact.name: fact.value for fact in operator.facts}
    if facts.get("layout of keyed state") == "tables" and operator.parallelism != parallelism:
        yield (
            "Its keyed state lies in whole files: each subtask reads all files of those it gets "
            "key groups from, and drops the keys of others."
        )
    if finished := sum(subtask.finished for subtask in operator.subtasks):
        yield (
            f"{finished:,} of its subtasks had finished. They are started again, with what the "
            "others' state gives them."
        )
