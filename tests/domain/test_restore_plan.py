"""A plan of a restore: nothing is lost, nothing is twice, and what cannot be is said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.contents.model import (
    COORDINATOR,
    ChannelContents,
    CheckpointContents,
    OperatorContents,
    StateContents,
    SubtaskContents,
)
from snapshots.domain.contents.restore_plan import (
    FLINK,
    SEATUNNEL,
    NotPlannable,
    plan_restore,
)
from snapshots.domain.key_groups import key_group_range
from tests.effort import examples


def an_operator(parallelism=2, groups=8, keyed=800, lists=0, kinds=("value",), **fields):
    subtasks = [SubtaskContents(COORDINATOR, 5)]
    for index in range(parallelism):
        own = key_group_range(index, parallelism, groups)
        parts = {"keyed state": keyed, "operator state": lists}
        span = (own.start, own.stop - 1) if len(own) else None
        subtasks.append(SubtaskContents(index, keyed + lists, span, parts))
    states = tuple(StateContents(f"s{place}", kind) for place, kind in enumerate(kinds))
    return OperatorContents(
        "op", "count", parallelism, groups, subtasks=tuple(subtasks), states=states, **fields
    )


def a_checkpoint(*operators, **fields):
    return CheckpointContents("job", 7, "checkpoint", "completed", operators=operators, **fields)


def planned(operator, parallelism, sizes=None, engine=FLINK):
    plan = plan_restore(engine, a_checkpoint(operator), parallelism, sizes or {})
    return plan.operators[0]


@settings(max_examples=examples(200), deadline=None)
@given(
    before=st.integers(1, 20),
    after=st.integers(1, 40),
    groups=st.integers(1, 64),
    data=st.data(),
)
def test_every_key_group_goes_to_one_subtask_with_all_its_bytes(before, after, groups, data):
    before, after = min(before, groups), min(after, groups)
    sizes = {group: data.draw(st.integers(0, 1000)) for group in range(groups)}
    operator = an_operator(before, groups)
    plan = planned(operator, after, {"op": sizes})
    covered = [
        group
        for subtask in plan.after
        if subtask.key_groups
        for group in range(subtask.key_groups[0], subtask.key_groups[1] + 1)
    ]
    assert covered == list(range(groups))
    for subtasks in (plan.before, plan.after):
        assert sum(subtask.bytes for subtask in subtasks) == sum(sizes.values())
    for subtask in plan.after:
        first, last = subtask.key_groups
        holders = [
            old.index
            for old in plan.before
            if old.key_groups and old.key_groups[0] <= last and first <= old.key_groups[1]
        ]
        assert list(subtask.sources) == holders
        assert not subtask.estimated


def test_without_sizes_key_groups_of_a_subtask_count_the_same():
    plan = planned(an_operator(2, 8), 4)
    assert [subtask.bytes for subtask in plan.after] == [400] * 4
    assert all(subtask.estimated for subtask in plan.after)
    assert [subtask.sources for subtask in plan.after] == [(0,), (0,), (1,), (1,)]
    assert plan.moved == 3


def test_the_same_parallelism_moves_nothing():
    plan = planned(an_operator(4, 128), 4)
    assert (plan.moved, plan.skew_before, plan.skew_after) == (0, 1.0, 1.0)


def test_skew_is_the_largest_by_the_mean():
    plan = planned(an_operator(2, 4), 4, {"op": {0: 90, 1: 0, 2: 5, 3: 5}})
    assert (plan.skew_before, plan.skew_after) == (pytest.approx(1.8), pytest.approx(3.6))


@pytest.mark.parametrize(
    ("kinds", "shares"),
    [(("list",), [34, 33, 33]), (("union list",), [100] * 3), (("broadcast map",), [50] * 3)],
)
def test_operator_state_is_dealt_out_or_copied(kinds, shares):
    plan = planned(an_operator(2, 8, keyed=0, lists=50, kinds=kinds), 3, {"op": {}})
    assert [subtask.bytes for subtask in plan.after] == shares


def test_more_subtasks_than_key_groups_cannot_be():
    plan = planned(an_operator(2, 8), 9)
    assert "8 key groups" in plan.problem
    assert plan.after == ()


def test_seatunnel_deals_old_states_out_by_their_number():
    operator = an_operator(5, 8, keyed=10)
    plan = planned(operator, 2, engine=SEATUNNEL)
    assert [subtask.sources for subtask in plan.after] == [(0, 2, 4), (1, 3)]
    assert [subtask.bytes for subtask in plan.after] == [30, 20]
    wider = planned(operator, 7, engine=SEATUNNEL)
    assert [subtask.sources for subtask in wider.after][5:] == [(), ()]


def test_data_in_flight_is_told_of():
    channel = ChannelContents("c", "a[0]", "op[1]", "whole", 0, 1, 300)
    checkpoint = a_checkpoint(an_operator(2), channels=(channel,))
    same = plan_restore(FLINK, checkpoint, 2, {}).in_flight
    other = plan_restore(FLINK, checkpoint, 4, {}).in_flight
    assert "300 bytes in 1 channel" in same[0]
    assert "each channel gets its own data back" in same[1]
    assert "may hold keys of its key groups" in other[1]
    assert plan_restore(FLINK, a_checkpoint(an_operator()), 4, {}).in_flight == ()


@pytest.mark.parametrize(
    ("engine", "operators", "parallelism", "words"),
    [
        ("spark", (an_operator(),), 3, "fixed by its checkpoint"),
        (FLINK, (), 3, "does not tell the operators"),
        (FLINK, (an_operator(),), 0, "between 1 and"),
        (FLINK, (an_operator(),), 40_000, "between 1 and"),
    ],
)
def test_what_cannot_be_planned_says_why(engine, operators, parallelism, words):
    with pytest.raises(NotPlannable, match=words):
        plan_restore(engine, a_checkpoint(*operators), parallelism, {})
