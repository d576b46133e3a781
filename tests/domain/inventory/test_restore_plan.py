"""A plan of a restore loses nothing, doubles nothing, and says what is impossible."""

from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.inventory.model import (
    BROADCAST,
    COORDINATOR,
    LISTED,
    RAW,
    UNION,
    CheckpointInventory,
    Fact,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.operator_plan import StoredSizes
from snapshots.domain.inventory.restore_answer import NO, NOT_KNOWN
from snapshots.domain.inventory.restore_plan import (
    FLINK,
    SEATUNNEL,
    Asked,
    NotPlannable,
    plan_restore,
)
from snapshots.domain.model.key_groups import key_group_range
from tests.effort import examples


def an_operator(parallelism=2, groups=8, keyed=800, lists=0, kinds=("value",), **fields):
    subtasks = [SubtaskInventory(COORDINATOR, 5)]
    for index in range(parallelism):
        own = key_group_range(index, parallelism, groups)
        parts = {"keyed state": keyed, "operator state": lists}
        span = (own.start, own.stop - 1) if len(own) else None
        subtasks.append(SubtaskInventory(index, keyed + lists, span, parts))
    states = tuple(StateInventory(f"s{place}", kind) for place, kind in enumerate(kinds))
    return OperatorInventory(
        "op", "count", parallelism, groups, subtasks=tuple(subtasks), states=states, **fields
    )


def a_checkpoint(*operators, **fields):
    return CheckpointInventory(
        "job", 7, "checkpoint", "completed", "chk-7", operators=operators, **fields
    )


def planned(operator, parallelism, sizes=None, engine=FLINK):
    told = {"op": sizes or StoredSizes()}
    plan = plan_restore(engine, a_checkpoint(operator), Asked(parallelism, sizes=told))
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
    plan = planned(operator, after, StoredSizes(sizes))
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
        assert [old for a, z in subtask.sources for old in range(a, z + 1)] == holders
        assert not subtask.estimated


def test_without_sizes_key_groups_of_a_subtask_count_the_same():
    plan = planned(an_operator(2, 8), 4)
    assert [subtask.bytes for subtask in plan.after] == [400] * 4
    assert all(subtask.estimated for subtask in plan.after)
    assert [subtask.sources for subtask in plan.after] == [((0, 0),)] * 2 + [((1, 1),)] * 2
    assert plan.moved == 3


def test_the_same_parallelism_moves_nothing():
    plan = planned(an_operator(4, 128), 4)
    assert (plan.moved, plan.skew_before, plan.skew_after) == (0, 1.0, 1.0)


def test_skew_is_the_largest_by_the_mean():
    plan = planned(an_operator(2, 4), 4, StoredSizes({0: 90, 1: 0, 2: 5, 3: 5}))
    assert (plan.skew_before, plan.skew_after) == (pytest.approx(1.8), pytest.approx(3.6))


def elements(*sizes):
    """Return the elements of one state from the bytes of each old subtask's elements."""
    return [(subtask, size) for subtask, own in enumerate(sizes) for size in own]


@pytest.mark.parametrize(
    ("kind", "held", "shares"),
    [
        (LISTED, elements([10, 20, 30], [40]), [30, 30, 40]),
        (LISTED, elements([10, 20], []), [10, 20, 0]),
        (RAW, elements([5], [6, 7]), [5, 6, 7]),
        (UNION, elements([10, 20, 30], [40]), [100] * 3),
        (BROADCAST, elements([50], [51]), [50, 51, 50]),
    ],
)
def test_operator_state_is_dealt_out_or_copied(kind, held, shares):
    operator = an_operator(2, 8, keyed=0, lists=sum(size for _, size in held), kinds=(kind,))
    plan = planned(operator, 3, StoredSizes(elements={"s0": held}))
    assert [subtask.bytes for subtask in plan.after] == shares
    assert sum(subtask.bytes for subtask in plan.before) == sum(size for _, size in held)
    [state] = plan.states
    assert (state.elements, state.bytes) == (len(held), sum(size for _, size in held))


def test_several_kinds_of_operator_state_beside_keyed_state_add_up():
    kinds = ("value", LISTED, UNION, BROADCAST)
    held = {"s1": elements([10, 10], [10]), "s2": elements([1], [2]), "s3": elements([7], [7])}
    sizes = StoredSizes(dict.fromkeys(range(8), 100), held)
    plan = planned(an_operator(2, 8, lists=50, kinds=kinds), 4, sizes)
    assert [one.keyed_bytes for one in plan.after] == [200] * 4
    assert [one.operator_bytes for one in plan.after] == [20, 20, 20, 10]
    assert [one.bytes for one in plan.after] == [220, 220, 220, 210]
    assert [one.bytes for one in plan.before] == [428, 419]
    assert [one.sources for one in plan.after] == [((0, 0),), ((0, 0),), ((1, 1),), ((1, 1),)]


def test_without_known_elements_the_sizes_of_new_subtasks_are_unknown():
    plan = planned(an_operator(2, 8, lists=50, kinds=("value", LISTED)), 4)
    assert [one.bytes for one in plan.after] == [None] * 4
    assert [one.keyed_bytes for one in plan.after] == [400] * 4
    assert [one.bytes for one in plan.before] == [850] * 2
    assert plan.skew_after is None
    assert [(move.state, move.elements) for move in plan.states] == [("s0", None), ("s1", None)]


def test_a_keyed_list_is_no_list_of_the_operator():
    plan = planned(an_operator(2, 8, kinds=("list",)), 4, StoredSizes(dict.fromkeys(range(8), 1)))
    assert plan.states[0].rule == "Entries go with the key group of their key."
    assert [one.bytes for one in plan.after] == [2] * 4


def test_raw_keyed_state_goes_by_key_group_too_and_makes_sizes_an_estimate():
    subtasks = (SubtaskInventory(0, 90, (0, 7), {"keyed state": 10, "raw keyed state": 80}),)
    operator = OperatorInventory("op", "o", 1, 8, subtasks=subtasks)
    plan = planned(operator, 2, StoredSizes(dict.fromkeys(range(8), 1)))
    assert [(one.bytes, one.estimated) for one in plan.after] == [(45, True)] * 2


def test_the_state_of_an_operator_that_only_the_rest_api_has_is_not_known():
    subtasks = (SubtaskInventory(0, 70), SubtaskInventory(1, 30))
    plan = planned(OperatorInventory("op", "o", 2, bytes=100, subtasks=subtasks), 3)
    assert [one.bytes for one in plan.before] == [70, 30]
    assert [one.bytes for one in plan.after] == [None] * 3
    assert (plan.skew_before, plan.skew_after) == (pytest.approx(1.4), None)
    assert "Only an answer of the REST API tells of it" in plan.notes[0]


def test_keyed_state_without_known_key_groups_has_an_unknown_place():
    subtasks = (SubtaskInventory(0, 9, None, {"keyed state": 9}),)
    plan = planned(OperatorInventory("op", "o", 1, 8, subtasks=subtasks), 2)
    assert [(one.bytes, one.estimated) for one in plan.after] == [(None, False)] * 2


def test_files_that_the_upload_lacks_leave_it_open_and_a_failure_prevents_it():
    lost = (MissingFile("x", 5, "It is not here."), MissingFile("y", 5, "It is not here."))
    plan = plan_restore(FLINK, a_checkpoint(an_operator(), missing=lost, problem="So."), Asked(2))
    assert (plan.answer, plan.problems) == (NOT_KNOWN, ())
    assert plan.unknown[0] == "So."
    assert plan.unknown[1].startswith("2 files that it needs are not in the upload (x and y).")
    failed = replace(a_checkpoint(an_operator()), status="failed")
    plan = plan_restore(FLINK, failed, Asked(2))
    assert (plan.answer, plan.unknown) == (NO, ())
    assert plan.headline == (
        "No: the checkpoint 7 is failed: only a completed one can be restored."
    )


def test_key_groups_of_two_subtasks_are_a_problem():
    subtasks = tuple(SubtaskInventory(i, 9, (0, 5), {"keyed state": 9}) for i in range(2))
    plan = planned(OperatorInventory("op", "o", 2, 8, subtasks=subtasks), 4)
    assert "belong to two" in plan.problem


def test_an_operator_that_recorded_nothing_runs_at_any_parallelism():
    plan = planned(OperatorInventory("op", "o", 2, 8), 9)
    assert plan.problem is None
    assert len(plan.after) == 9


def test_an_operator_that_had_finished_is_not_run_again():
    plan = planned(an_operator(finished=True), 9)
    assert (plan.problem, plan.after) == (None, ())
    assert plan.notes == ("It had finished: it is not run again.",)


def test_finished_subtasks_are_started_with_the_state_of_others():
    subtasks = (
        SubtaskInventory(0, finished=True),
        SubtaskInventory(1, 30, None, {"operator state": 30}),
    )
    operator = OperatorInventory(
        "op", "o", 2, 8, subtasks=subtasks, states=(StateInventory("s", LISTED),)
    )
    held = StoredSizes(elements={"s": [(1, 10), (1, 10), (1, 10)]})
    assert [one.bytes for one in planned(operator, 3, held).after] == [10] * 3
    assert [one.bytes for one in planned(operator, 2, held).after] == [0, 30]
    assert "1 of its subtasks had finished" in planned(operator, 3, held).notes[0]


def test_operators_can_keep_their_own_parallelism():
    one, other = an_operator(2), replace(an_operator(1), id="other")
    plan = plan_restore(FLINK, a_checkpoint(one, other), Asked(4, frozenset({"other"})))
    assert [item.parallelism_after for item in plan.operators] == [4, 1]
    assert plan.kept == ("other",)
    with pytest.raises(NotPlannable, match="no operator nobody"):
        plan_restore(FLINK, a_checkpoint(one), Asked(4, frozenset({"nobody"})))


def test_a_plan_of_too_many_subtasks_is_refused():
    many = [replace(an_operator(1), id=str(place)) for place in range(4)]
    with pytest.raises(NotPlannable, match="too many"):
        plan_restore(FLINK, a_checkpoint(*many), Asked(32_768))


def test_a_whole_file_is_read_by_every_subtask_that_needs_a_part_of_it():
    facts = (Fact("layout of keyed state", "tables"),)
    assert "whole files" in planned(an_operator(2, facts=facts), 4).notes[0]
    assert planned(an_operator(2, facts=facts), 2).notes == ()


def test_the_widest_of_operators_is_planned_in_a_few_seconds():
    operator = an_operator(32_768, 32_768)
    begin = process_time()
    plan = planned(operator, 32_767)
    assert process_time() - begin < 10
    assert sum(one.bytes for one in plan.after) == pytest.approx(32_768 * 800, rel=0.01)


def test_more_subtasks_than_key_groups_are_impossible():
    plan = planned(an_operator(2, 8), 9)
    assert "8 key groups" in plan.problem
    assert plan.after == ()


def test_seatunnel_deals_old_states_out_by_their_number():
    operator = an_operator(5, 8, keyed=10)
    plan = planned(operator, 2, engine=SEATUNNEL)
    assert [subtask.sources for subtask in plan.after] == [
        ((0, 0), (2, 2), (4, 4)),
        ((1, 1), (3, 3)),
    ]
    assert [subtask.bytes for subtask in plan.after] == [30, 20]
    wider = planned(operator, 7, engine=SEATUNNEL)
    assert [subtask.sources for subtask in wider.after][5:] == [(), ()]


def test_seatunnel_returns_splits_and_gives_the_coordinator_its_own_state():
    states = tuple(
        StateInventory(name, kind)
        for name, kind in (
            ("splits", "per subtask"),
            ("enumerator state", "of the coordinator"),
            ("writer states", "per subtask"),
        )
    )
    subtasks = (
        SubtaskInventory(COORDINATOR, 7),
        SubtaskInventory(0, 10),
        SubtaskInventory(1, finished=True),
    )
    action = OperatorInventory("a", "Source[0]-Fake", 2, subtasks=subtasks, states=states)
    plan = plan_restore(SEATUNNEL, a_checkpoint(action), Asked(3)).operators[0]
    rules = [move.rule for move in plan.states]
    assert "returns them to the enumerator" in rules[0]
    assert rules[1] == "The one enumerator gets it whole."
    assert rules[2].startswith("Subtask j of n gets those of the old subtasks j, j + n")
    assert [one.bytes for one in plan.after] == [10, 0, 0]
    assert plan.coordinator == 7
    assert len(plan.notes) == 2


@pytest.mark.parametrize(
    ("engine", "operators", "parallelism", "words"),
    [
        ("storm", (an_operator(),), 3, "No restore of storm"),
        (FLINK, (an_operator(),), 0, "between 1 and"),
        (FLINK, (an_operator(),), 40_000, "between 1 and"),
    ],
)
def test_what_cannot_be_planned_says_why(engine, operators, parallelism, words):
    with pytest.raises(NotPlannable, match=words):
        plan_restore(engine, a_checkpoint(*operators), Asked(parallelism))
