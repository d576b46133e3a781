"""Two global states are compared: every process and channel is accounted for, in sentences."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.comparing.model import Contents, Entry, GlobalState, Held, Judgement
from snapshots.domain.comparing.sizes import parts_that_differ
from snapshots.domain.comparing.states import compare_states
from snapshots.domain.judging.answers import CUT, FAILS, HOLDS, NOT_KNOWN, RULE
from snapshots.domain.model.values import canonical

NAMES = st.sampled_from("pqrs")
VALUES = st.one_of(
    st.integers(0, 9),
    st.fixed_dictionaries({"balance": st.integers(0, 2)}, optional={"name": st.just("x")}),
    st.lists(st.integers(0, 2), max_size=2),
    st.just("idle"),
).map(canonical)
ENTRIES = st.builds(Entry, st.sampled_from(["m1", "m2", "m3"]), st.one_of(st.none(), VALUES))
STATES = st.builds(
    GlobalState,
    st.sampled_from(["s1", "s2"]),
    st.dictionaries(
        NAMES, st.one_of(st.builds(Held, VALUES), st.just(Held(None, why="it is not known")))
    ),
    st.dictionaries(
        st.sampled_from(["p->q", "q->p"]),
        st.one_of(
            st.lists(ENTRIES, max_size=4).map(lambda entries: Contents(tuple(entries))),
            st.just(Contents(None, "nobody recorded it")),
        ),
    ),
    st.dictionaries(
        st.sampled_from([CUT, RULE]),
        st.builds(
            Judgement,
            st.sampled_from([HOLDS, FAILS, NOT_KNOWN]),
            st.sampled_from(["One.", "Two."]),
            st.integers(0, 3),
        ),
    ),
)


def a_state(name="s1", states=None, channels=None, judgements=None) -> GlobalState:
    held = {
        process: Held(canonical(value), "recorded") for process, value in (states or {}).items()
    }
    contents = {
        channel: Contents(tuple(Entry(id, canonical(value)) for id, value in entries))
        for channel, entries in (channels or {}).items()
    }
    return GlobalState(name, held, contents, judgements or {})


def sentences(left: GlobalState, right: GlobalState, *, by_id: bool = True) -> list[str]:
    comparison = compare_states(left, right, by_id=by_id)
    return [difference.sentence for difference in comparison.worst_first()]


@given(STATES, st.booleans())
def test_a_state_does_not_differ_from_itself(state, by_id):
    comparison = compare_states(state, state, by_id=by_id)
    assert comparison.differences == []


@given(STATES, STATES)
def test_the_other_way_round_the_same_differs_by_as_much(left, right):
    there, back = (compare_states(*pair, by_id=True) for pair in ((left, right), (right, left)))
    assert Counter(map(mirrored, there.differences)) == Counter(map(plain, back.differences))
    assert len(there.not_compared) == len(back.not_compared)
    assert there.equal == back.equal


def plain(item):
    return *of_what(item), item.left, item.right, item.only_left, item.only_right


def mirrored(item):
    return *of_what(item), item.right, item.left, item.only_right, item.only_left


def of_what(item):
    return item.about, item.measure, item.size, item.process, item.channel, item.question


@given(STATES, STATES)
def test_everything_is_equal_or_different_or_not_compared(left, right):
    comparison = compare_states(left, right, by_id=True)
    things = len(left.states.keys() | right.states.keys())
    things += len(left.channels.keys() | right.channels.keys())
    things += len(left.judgements.keys() | right.judgements.keys())
    counted = len(comparison.differences) + len(comparison.not_compared)
    assert counted + sum(comparison.equal.values()) == things


@given(STATES, STATES)
def test_the_differences_make_the_right_side_out_of_the_left_one(left, right):
    differences = compare_states(left, right, by_id=True).differences
    states = {item.process: item.right for item in differences if item.about == "state"}
    contents = {item.channel: item for item in differences if item.about == "contents"}
    for process in left.states.keys() & right.states.keys():
        ours, theirs = left.states[process].value, right.states[process].value
        if ours is not None and theirs is not None:
            assert states.get(process, ours) == theirs
    for channel in left.channels.keys() & right.channels.keys():
        ours, theirs = left.channels[channel].entries, right.channels[channel].entries
        if ours is None or theirs is None:
            continue
        item = contents.get(channel)
        if item is None:
            assert ours == theirs
        else:
            changed = Counter(ours) - Counter(item.only_left) + Counter(item.only_right)
            assert changed == Counter(theirs)


@given(STATES, STATES)
def test_within_a_measure_the_largest_comes_first(left, right):
    ordered = compare_states(left, right, by_id=True).worst_first()
    for one, next_one in pairwise(ordered):
        assert one.measure != next_one.measure or one.size >= next_one.size


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (
            a_state("s1", {"p3": 5}),
            a_state("s2", {"p3": 900}),
            "p3 recorded 5 in s1 and 900 in s2.",
        ),
        (
            a_state("s1", channels={"B->A": [("m17", 1000)]}),
            a_state("s2", channels={"B->A": []}),
            "B->A holds m17 (1000) only in s1.",
        ),
        (
            a_state("s1", channels={"B->A": [("m1", 1), ("m2", 2)]}),
            a_state("s2", channels={"B->A": [("m2", 2), ("m3", 3)]}),
            "B->A holds m1 (1) only in s1 and m3 (3) only in s2.",
        ),
        (
            a_state("s1", channels={"B->A": [("m1", 1), ("m2", 2)]}),
            a_state("s2", channels={"B->A": [("m2", 2), ("m1", 1)]}),
            "B->A holds the same 2 messages on both sides, in another order: m1 (1) and m2 (2) in "
            "s1, m2 (2) and m1 (1) in s2.",
        ),
        (
            a_state("s1", judgements={CUT: Judgement(HOLDS, "It holds.")}),
            a_state("s2", judgements={CUT: Judgement(FAILS, "Not consistent: m17 is early.", 1)}),
            "s1 is consistent; not so in s2: m17 is early.",
        ),
        (a_state("s1", {"p": 1}), a_state("s2"), "The process p belongs only to s1."),
        (
            a_state("s1", {"p": 1}),
            GlobalState("the cut at 4 us", {"p": Held(canonical(2))}, {}),
            "p recorded 1 in s1 and held 2 at the cut at 4 us.",
        ),
    ],
)
def test_a_difference_is_a_sentence(left, right, expected):
    assert sentences(left, right) == [expected]


def test_the_largest_of_each_measure_comes_first_and_verdicts_before_all():
    fails, holds = Judgement(FAILS, "m17 is early.", 1), Judgement(HOLDS, "It holds.")
    left = a_state("s1", {"a": 5, "b": 0, "c": {"x": 1, "y": 1}}, {"k": [("m1", 50)]}, {CUT: fails})
    right = a_state("s2", {"a": 6, "b": 900, "c": {"x": 2, "y": 2}}, {"k": []}, {CUT: holds})
    ordered = compare_states(left, right, by_id=True).worst_first()
    assert [(item.about, item.measure, item.size) for item in ordered] == [
        ("answer", "verdict", 1),
        ("state", "amount", 900),
        ("contents", "amount", 50),
        ("state", "amount", 1),
        ("state", "parts", 2),
    ]


def test_in_two_recordings_messages_are_compared_by_value():
    left = a_state("s1", channels={"k": [("m1", 7)]})
    right = a_state("s2", channels={"k": [("x9", 7)]})
    assert sentences(left, right, by_id=False) == []
    assert len(sentences(left, right, by_id=True)) == 1


def test_what_is_not_known_is_said_with_its_reason_and_is_neither_equal_nor_different():
    left = GlobalState("s1", {"p": Held(None, why="it never recorded")}, {"k": Contents(())})
    right = GlobalState(
        "s2", {"p": Held(None, why="it never recorded")}, {"k": Contents(None, "it is not known")}
    )
    comparison = compare_states(left, right, by_id=True)
    assert (comparison.differences, comparison.equal) == ([], {})
    assert [item.sentence for item in comparison.not_compared] == [
        "The state of p is not compared: in s1 it never recorded and in s2 it never recorded.",
        "What k held is not compared: in s2 it is not known.",
    ]


@pytest.mark.parametrize(
    ("left", "right", "parts"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, 2),
        ([1, 2, 3], [1, 5], 2),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, 1),
        (True, 1, 1),
        ({}, [], 1),
    ],
)
def test_values_that_are_no_numbers_differ_in_fields(left, right, parts):
    assert parts_that_differ(left, right) == parts


def test_a_number_beyond_all_fractions_has_a_size_too():
    left, right = a_state("s1", {"p": 10**400}), a_state("s2", {"p": 0.5})
    [difference] = compare_states(left, right, by_id=True).differences
    assert (difference.measure, difference.size) == ("parts", 1)


def holding(name: str, *values: str | None, is_fifo: bool = True) -> GlobalState:
    entries = tuple(Entry(f"{name}-{n}", value) for n, value in enumerate(values))
    return GlobalState(name, {}, {"k": Contents(entries, is_fifo=is_fifo)})


@pytest.mark.parametrize(
    ("left", "right", "different", "not_compared"),
    [
        (
            holding("one", None),
            holding("two", None),
            [],
            [
                "What k held is not compared: the values of its messages are not all known in one "
                "and in two."
            ],
        ),
        (
            holding("one", "5", "6"),
            holding("two", "5", None),
            [],
            ["What k held is not compared: the values of its messages are not all known in two."],
        ),
        (
            holding("one", None, None, None),
            holding("two", "5"),
            [
                "k holds 3 messages in one and 1 message in two. Which of them differ is not "
                "known: the values of its messages are not all known in one."
            ],
            [],
        ),
    ],
)
def test_values_that_no_log_holds_are_neither_the_same_nor_different(
    left, right, different, not_compared
):
    comparison = compare_states(left, right, by_id=False)
    assert [item.sentence for item in comparison.differences] == different
    assert [item.sentence for item in comparison.not_compared] == not_compared
    assert comparison.equal == {}


@pytest.mark.parametrize(("is_fifo", "count"), [(True, 1), (False, 0)])
def test_another_order_is_a_difference_only_where_the_channel_keeps_the_order(is_fifo, count):
    left, right = holding("one", "1", "2"), holding("two", "2", "1", is_fifo=is_fifo)
    comparison = compare_states(left, right, by_id=False)
    assert len(comparison.differences) == count
    assert comparison.equal == ({} if is_fifo else {"contents": 1})


def test_without_an_order_other_messages_are_still_a_difference():
    left = holding("one", "1", "1", "2", is_fifo=False)
    right = holding("two", "2", "2", "1", is_fifo=False)
    assert len(compare_states(left, right, by_id=False).differences) == 1


def test_a_size_is_a_number_even_between_the_largest_fractions():
    left = a_state("s1", {"p": 1e308}, {"k": [("m1", 1e308), ("m2", 1e308)]})
    right = a_state("s2", {"p": -1e308}, {"k": []})
    differences = compare_states(left, right, by_id=True).worst_first()
    sizes = [(item.about, item.measure, item.size) for item in differences]
    assert sizes == [("contents", "parts", 2), ("state", "parts", 1)]
