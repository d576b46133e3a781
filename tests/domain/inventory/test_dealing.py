"""Elements of operator state are dealt as by Flink, according to a naive second implementation."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.inventory.dealing import Stretch, dealt, in_order_of_a_hash_map
from tests.effort import examples

LISTS = st.lists(st.lists(st.integers(1, 50), max_size=6), min_size=1, max_size=6)


def as_elements(lists):
    return [(subtask, size) for subtask, own in enumerate(lists) for size in own]


def one_by_one(states, after):
    """Return which (state, old subtask, place) each new subtask gets.

    As in the loop of Flink's repartitioner, each gets one more in its turn until none is left over.
    """
    given_to = [[] for _ in range(after)]
    begin = 0
    for state, lists in states:
        places = [(state, old, at) for old, own in enumerate(lists) for at in range(len(own))]
        left_over, following = len(places) % after, begin
        for turn in range(after):
            target = (begin + turn) % after
            wanted = len(places) // after
            if left_over > 0:
                wanted, left_over = wanted + 1, left_over - 1
            elif left_over == 0:
                following, left_over = target, -1
            taken = sum(len(own) for own in given_to)
            done = taken - sum(1 for own in given_to for one in own if one[0] != state)
            given_to[target] += places[done : done + wanted]
        begin = following
    return given_to


def spread_out(stretches):
    return [
        (one.state, one.subtask, place)
        for one in stretches
        for place in range(one.first, one.first + one.elements)
    ]


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(LISTS, min_size=1, max_size=3), st.integers(1, 12), st.integers(1, 6))
def test_every_element_goes_to_one_subtask_the_one_that_flink_takes(states, after, before):
    states = [[own[subtask] if subtask < len(own) else [] for subtask in range(before)]
              for own in states]  # fmt: skip
    named = dict(zip("abc", states, strict=False))
    found = dealt({name: as_elements(own) for name, own in named.items()}, before, after)
    everybody = list(chain.from_iterable(spread_out(found.get(new, ())) for new in range(after)))
    expected = [
        (name, subtask, place)
        for name, lists in named.items()
        for subtask, own in enumerate(lists)
        for place in range(len(own))
    ]
    assert sorted(everybody) == sorted(expected)
    if before != after:
        naive = one_by_one(list(named.items()), after)
        assert [spread_out(found.get(new, ())) for new in range(after)] == naive
    else:
        for new, stretches in found.items():
            assert {one.subtask for one in stretches} == {new}
    for stretch in chain.from_iterable(found.values()):
        own = named[stretch.state][stretch.subtask]
        assert stretch.bytes == sum(own[stretch.first : stretch.first + stretch.elements])


def test_a_second_list_begins_where_the_first_had_its_last_longer_stretch():
    lists = {"a": as_elements([[1, 1], [1, 1]]), "b": as_elements([[5], [5]])}
    found = dealt(lists, 2, 3)
    assert found[0] == [Stretch("a", 0, 0, 2, 2)]
    assert found[1] == [Stretch("a", 1, 0, 1, 1), Stretch("b", 0, 0, 1, 5)]
    assert found[2] == [Stretch("a", 1, 1, 1, 1), Stretch("b", 1, 0, 1, 5)]


def test_elements_may_come_in_any_order_of_subtasks():
    assert dealt({"a": [(1, 7), (0, 5)]}, 2, 1) == {
        0: [Stretch("a", 0, 0, 1, 5), Stretch("a", 1, 0, 1, 7)]
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [  # as OpenJDK 17 goes through a HashMap with these keys
        (["bucket-states", "max-part-counter"], ["max-part-counter", "bucket-states"]),
        (["one", "two", "three", "four", "five"], ["four", "one", "two", "three", "five"]),
        (["Aa", "BB"], ["Aa", "BB"]),  # of one hash: as they were put in
        (["BB", "Aa"], ["BB", "Aa"]),
        (
            [f"state-{place}" for place in range(13)],
            [f"state-{place}" for place in (10, 12, 11, 7, 6, 5, 4, 9, 8, 3, 2, 1, 0)],
        ),
        (["€", "größe", "😀"], ["größe", "😀", "€"]),
    ],
)
def test_names_stand_in_the_order_of_javas_hash_map(names, expected):
    assert in_order_of_a_hash_map(names) == expected
