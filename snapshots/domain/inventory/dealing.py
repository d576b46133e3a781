"""Deals the elements of operator state out to another number of subtasks, as Flink does.

A list's elements stay in their order and are cut into stretches as equal as can be, the longer
ones first; where one list stops having a longer stretch, the next list begins. With the same number
of subtasks everybody keeps what was his. Source: Flink, RoundRobinOperatorStateRepartitioner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

Element = tuple[int, int]  # the subtask that had it, its bytes
Elements = Sequence[Element]  # by subtask, each subtask's in their order

_WORD = 0xFFFFFFFF
_LEAST_BUCKETS = 16  # of Java's HashMap


@dataclass(frozen=True, slots=True)
class Stretch:
    """Elements that follow each other in the list of one old subtask.

    Attributes:
        state: the name of the state.
        subtask: the old subtask that had the elements.
        first: the place of the first element in its list, from 0.
        elements: how many elements there are.
        bytes: the size of the elements.
    """

    state: str
    subtask: int
    first: int
    elements: int
    bytes: int


def dealt(lists: Mapping[str, Elements], before: int, after: int) -> dict[int, list[Stretch]]:
    """Return the stretches that each new subtask gets; those that get none are absent.

    ``before``, ``after``: how many subtasks there were and will be.
    """
    stretches: dict[int, list[Stretch]] = {}
    begin = 0
    for state in in_order_of_a_hash_map(list(lists)):
        places = list(_places(lists[state]))
        if before == after:
            parts = [(subtask, list(group)) for subtask, group in groupby(places, itemgetter(0))]
        else:
            parts, begin = _cut(places, after, begin)
        for target, part in parts:
            stretches.setdefault(target, []).extend(_stretches(state, part))
    return stretches


Place = tuple[int, int, int]  # subtask, place in its list, bytes


def _places(elements: Elements) -> Iterator[Place]:
    in_order = sorted(elements, key=itemgetter(0))
    for subtask, group in groupby(in_order, itemgetter(0)):
        for place, (_, size) in enumerate(group):
            yield subtask, place, size


def _cut(places: list[Place], after: int, begin: int) -> tuple[list[tuple[int, list[Place]]], int]:
    """Return the stretch of each new subtask that gets one, and where the next list begins."""
    whole, longer = divmod(len(places), after)
    parts, at = [], 0
    for turn in range(after if whole else longer):
        count = whole + (turn < longer)
        parts.append(((begin + turn) % after, places[at : at + count]))
        at += count
    return parts, (begin + longer) % after


def _stretches(state: str, places: list[Place]) -> Iterator[Stretch]:
    for subtask, group in groupby(places, itemgetter(0)):
        run = list(group)
        yield Stretch(state, subtask, run[0][1], len(run), sum(size for *_, size in run))


def in_order_of_a_hash_map(names: Sequence[str]) -> list[str]:
    """Return names in the order of a Java HashMap into which they were put one by one."""
    buckets = _LEAST_BUCKETS
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: _spread(name) & (buckets - 1))


def _spread(name: str) -> int:
    """Return Java's hashCode of a text, with its upper half mixed into the lower one."""
    data = name.encode("utf-16-be", "surrogatepass")
    code = 0
    for place in range(0, len(data), 2):
        code = (31 * code + int.from_bytes(data[place : place + 2], "big")) & _WORD
    return code ^ code >> 16
