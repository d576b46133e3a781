"""How Flink gives an operator's state to another number of subtasks.

Source: Flink, StateAssignmentOperation, KeyGroupRangeAssignment.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

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
    NewSubtask,
    OldSubtask,
    OperatorPlan,
    StateMove,
    planned,
    spans,
)
from snapshots.domain.model.key_groups import key_group_range

_OF_OPERATOR = (LISTED, UNION, BROADCAST, RAW)


class Sizes(Protocol):
    """What the entries tell: see ``restore_plan.StoredSizes``."""

    key_groups: Mapping[int, int] | None
    elements: Mapping[str, Elements]


def plan_operator(operator: OperatorInventory, parallelism: int, sizes: Sizes) -> OperatorPlan:
    """Plan where the state of one Flink operator goes with another parallelism."""
    planning = _Planning(operator, parallelism, sizes)
    states = [planning.move(state) for state in operator.states]
    notes = list(_notes(operator, parallelism))
    before, after, problem = planning.before(), (), planning.problem()
    if problem is None and not operator.finished:
        after = planning.after()
    return planned(operator, parallelism, before, after, states, notes, problem)


class _Planning:
    def __init__(self, operator: OperatorInventory, parallelism: int, sizes: Sizes) -> None:
        self._operator = operator
        self._parallelism = parallelism
        self._subtasks = sorted(
            (one for one in operator.subtasks if one.index != COORDINATOR), key=_index
        )
        self._keyed = _KeyedBytes(self._subtasks, sizes.key_groups)
        self._own = _OwnState(operator, self._subtasks, parallelism, sizes.elements)

    def before(self) -> list[OldSubtask]:
        found = []
        for one in self._subtasks:
            keyed, own = self._keyed.of_old(one), self._own.of_old(one)
            total = _sum(keyed, own) if one.parts else one.bytes
            found.append(OldSubtask(one.index, one.key_groups, total))
        return found

    def problem(self) -> str | None:
        """Nothing is divided where nothing was recorded, whatever the parallelism."""
        operator, groups = self._operator, self._operator.max_parallelism
        if operator.finished:
            return None
        if groups is not None and self._parallelism > groups and self._subtasks:
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
            return NewSubtask(index)  # the REST API alone tells of it
        stretches = self._own.lists.get(index, ())
        sources = {one.subtask for one in stretches}
        own, keyed, range_ = self._own.of_new(index), 0, range(0)
        if self._keyed.is_any:
            range_ = key_group_range(index, self._parallelism, self._operator.max_parallelism)
            sources |= {one.index for one in self._keyed.holders(range_)}
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
        if state.kind in _OF_OPERATOR:
            known = self._own.elements.get(state.name)
            count = None if known is None else len(known)
            size = None if known is None else sum(size for _, size in known)
        else:
            is_known = state.complete and state.entries is not None
            count, size = (state.entries, state.bytes) if is_known else (None, None)
        same = self._operator.parallelism == self._parallelism
        return StateMove(state.name, state.kind, _rule(state, same), count, size)


class _KeyedBytes:
    """The bytes of keyed state, by key group where the entries tell them."""

    def __init__(
        self, subtasks: Sequence[SubtaskInventory], sizes: Mapping[int, int] | None
    ) -> None:
        holding = [one for one in subtasks if one.key_groups and _keyed_size(one)]
        self._holders = sorted(holding, key=lambda one: one.key_groups)
        self._firsts = [one.key_groups[0] for one in self._holders]
        self._lasts = [one.key_groups[1] for one in self._holders]
        self.is_any = bool(holding) or any(map(_keyed_size, subtasks))
        self.overlap = any(last >= first for last, first in pairwise_ends(self._holders))
        self._is_placeless = any(_keyed_size(one) and not one.key_groups for one in subtasks)
        has_raw = any(one.parts.get(RAW_KEYED) for one in subtasks)
        self.is_estimated = sizes is None or has_raw
        self._groups = sorted(sizes or ())
        self._sums = [0, *accumulate((sizes or {})[group] for group in self._groups)]

    def holders(self, range_: range) -> list[SubtaskInventory]:
        """The old subtasks that have any of these key groups."""
        first = bisect_left(self._lasts, range_.start)
        return self._holders[first : bisect_left(self._firsts, range_.stop)]

    def of_old(self, one: SubtaskInventory) -> int | None:
        if self.is_estimated or one.key_groups is None:
            return _keyed_size(one)
        return self._between(*one.key_groups)

    def of_new(self, range_: range) -> int | None:
        """None where it is not told of which key groups some of the state is."""
        if self._is_placeless:
            return None
        if not self.is_estimated:
            return self._between(range_.start, range_.stop - 1) if len(range_) else 0
        total = 0.0
        for one in self.holders(range_):
            first, last = one.key_groups
            common = min(last + 1, range_.stop) - max(first, range_.start)
            total += _keyed_size(one) * common / (last - first + 1)
        return round(total)

    def _between(self, first: int, last: int) -> int:
        begin, end = bisect_left(self._groups, first), bisect_right(self._groups, last)
        return self._sums[end] - self._sums[begin]


def pairwise_ends(holders: Sequence[SubtaskInventory]) -> list[tuple[int, int]]:
    """The last key group of each, and the first of the next."""
    return [(one.key_groups[1], other.key_groups[0]) for one, other in pairwise(holders)]


@dataclass
class _Shared:
    """Bytes of union and broadcast state. union: all of it, which everybody gets."""

    union: int
    broadcast: list[list[tuple[int, int]]]


class _OwnState:
    """The operator's own state, element by element where the entries tell them."""

    def __init__(
        self,
        operator: OperatorInventory,
        subtasks: Sequence[SubtaskInventory],
        parallelism: int,
        elements: Mapping[str, Elements],
    ) -> None:
        before = operator.parallelism or len(subtasks)
        states = [one for one in operator.states if one.kind in _OF_OPERATOR]
        self.elements = {one.name: elements[one.name] for one in states if one.name in elements}
        has_own = any(one.parts.get(OPERATOR) or one.parts.get(RAW_OPERATOR) for one in subtasks)
        self._is_known = len(self.elements) == len(states) and (bool(states) or not has_own)
        self._same = before == parallelism
        self.lists: dict[int, list[Stretch]] = {}
        for kind in (LISTED, RAW):  # Flink deals what it manages apart from what is raw
            own = {one.name: elements[one.name] for one in states
                   if one.kind == kind and one.name in self.elements}  # fmt: skip
            for index, stretches in dealt(own, before, parallelism).items():
                self.lists.setdefault(index, []).extend(stretches)
        self._shared = self._of_all(states)
        self._old: dict[int, int] = {}
        for pieces in self.elements.values():
            for subtask, size in pieces:
                self._old[subtask] = self._old.get(subtask, 0) + size

    def _of_all(self, states: Sequence[StateInventory]) -> _Shared:
        union, broadcast = 0, []
        for one in states:
            own = self.elements.get(one.name, ())
            if one.kind == UNION:
                union += sum(size for _, size in own)
            elif one.kind == BROADCAST and own:
                broadcast.append(sorted(own))
        return _Shared(union, broadcast)

    def of_old(self, one: SubtaskInventory) -> int | None:
        if self._is_known:
            return self._old.get(one.index, 0)
        return one.parts.get(OPERATOR, 0) + one.parts.get(RAW_OPERATOR, 0)

    def of_new(self, index: int) -> int | None:
        if not self._is_known:
            return None
        listed = sum(one.bytes for one in self.lists.get(index, ()))
        copies = (self._copy(held, index) for held in self._shared.broadcast)
        return listed + self._shared.union + sum(copies)

    def _copy(self, held: list[tuple[int, int]], index: int) -> int:
        """Bytes of the copy of broadcast state that a new subtask reads."""
        if self._same:
            place = bisect_left(held, (index, -1))
            if place < len(held) and held[place][0] == index:
                return held[place][1]
        return held[index % len(held)][1]


def _index(one: SubtaskInventory) -> int:
    return one.index


def _keyed_size(one: SubtaskInventory) -> int:
    return one.parts.get(KEYED, 0) + one.parts.get(RAW_KEYED, 0)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


# --- in words -----------------------------------------------------------------------------------

_RULES = {
    UNION: "Every subtask gets all elements of all subtasks.",
    BROADCAST: "Every subtask gets one copy; they are all the same.",
    LISTED: "The elements stay in their order and are cut into stretches, as equal as can be.",
    RAW: "The pieces are cut into stretches as those of a list are; what they mean only the "
    "operator can tell.",
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
        yield "Only the REST API tells of it: how its state is divided is in the files alone."
        return
    facts = {fact.name: fact.value for fact in operator.facts}
    if facts.get("layout of keyed state") == "tables" and operator.parallelism != parallelism:
        yield (
            "Its keyed state lies in whole files: each subtask reads all files of those it gets "
            "key groups from, and drops the keys of others."
        )
    if finished := sum(one.finished for one in operator.subtasks):
        yield (
            f"{finished:,} of its subtasks had finished. They are started again, with what the "
            "others' state gives them."
        )
