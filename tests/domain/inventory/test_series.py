"""Two checkpoints of a series: what was added, removed or changed, and what is unknown."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.inventory.model import (
    COORDINATOR,
    ChannelContents,
    CheckpointInventory,
    FileUse,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.series import (
    ADDED,
    AFTER,
    BEFORE,
    BOTH,
    CHANGED,
    REMOVED,
    SAME,
    UNKNOWN,
    KeyGroupChange,
    Pair,
    Side,
    compare_checkpoints,
    with_counts,
)
from snapshots.domain.model.key_groups import key_group_range, owning_subtask
from tests.effort import examples


def an_operator(id_="op", parallelism=2, groups=8, bytes_=10, states=(), **fields):
    subtasks = []
    for index in range(parallelism):
        own = key_group_range(index, parallelism, groups)
        subtasks.append(SubtaskInventory(index, bytes_, (own.start, own.stop - 1)))
    return OperatorInventory(
        id_, id_, parallelism, groups, bytes=bytes_ * parallelism, subtasks=tuple(subtasks),
        states=tuple(states), **fields,
    )  # fmt: skip


def a_checkpoint(*operators, id_=1, **fields):
    told = {} if "problem" in fields else {"why_empty": "It was aligned."}
    fields = told | fields
    return CheckpointInventory("job", id_, "checkpoint", "completed", operators=operators, **fields)


def compared(before, after, files=(), sizes=({}, {})):
    one, other = Side(0, before, sizes[0]), Side(1, after, sizes[1])
    return compare_checkpoints(one, other, files)


def test_operators_come_and_go():
    found = compared(
        a_checkpoint(an_operator("gone"), an_operator("stays")),
        a_checkpoint(an_operator("stays"), an_operator("new"), id_=2),
    )
    assert [(one.operator, one.change) for one in found.operators] == [
        ("gone", REMOVED),
        ("stays", SAME),
        ("new", ADDED),
    ]
    assert found.operators[0].bytes == Pair(20, None)
    assert found.operators[2].subtasks == ((0, Pair(None, 10)), (1, Pair(None, 10)))


def test_what_a_checkpoint_without_known_state_has_is_not_known():
    operator, reason = an_operator(states=[StateInventory("s", "value")]), "No folder state/."
    known, lacking = a_checkpoint(operator), a_checkpoint(id_=2, why_state_unknown=reason)
    for pair in ((known, lacking), (lacking, known)):
        found = compared(*pair)
        assert [one.change for one in found.operators] == [UNKNOWN]
        assert [state.change for state in found.operators[0].states] == [UNKNOWN]
        assert found.notes == ("Checkpoint 2: No folder state/.",)


@pytest.mark.parametrize(
    "after",
    [
        an_operator(parallelism=3),
        an_operator(groups=16),
        an_operator(bytes_=11),
        an_operator(finished=True),
        an_operator(states=[StateInventory("s", "value")]),
    ],
)
def test_every_different_number_or_state_is_a_change(after):
    [found] = compared(a_checkpoint(an_operator()), a_checkpoint(after)).operators
    assert found.change == CHANGED


def test_states_are_renamed_and_their_types_change():
    before = an_operator(
        states=[StateInventory("old", "value", "a"), StateInventory("s", "value", "a")]
    )
    after = an_operator(
        states=[StateInventory("s", "value", "b"), StateInventory("new", "value", "a")]
    )
    [found] = compared(a_checkpoint(before), a_checkpoint(after)).operators
    assert [(one.name, one.change) for one in found.states] == [
        ("old", REMOVED),
        ("s", CHANGED),
        ("new", ADDED),
    ]
    assert (found.states[1].type_before, found.states[1].type_after) == ("a", "b")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(9, 40))
def test_key_groups_that_move_are_those_with_another_owner(before, after, groups):
    one, other = (an_operator(parallelism=n, groups=groups) for n in (before, after))
    [found] = compared(a_checkpoint(one), a_checkpoint(other)).operators
    moved = [
        (group, owning_subtask(group, before, groups), owning_subtask(group, after, groups))
        for group in range(groups)
    ]
    moved = [one for one in moved if one[1] != one[2]]
    assert found.moved == len(moved)
    told = [(one.key_group, one.subtask.before, one.subtask.after) for one in found.key_groups]
    assert told == moved


def test_key_groups_differ_by_bytes_too_where_both_are_known():
    pair = a_checkpoint(an_operator()), a_checkpoint(an_operator())
    [found] = compared(*pair, sizes=({"op": {1: 5, 2: 5}}, {"op": {2: 5, 3: 9}})).operators
    assert found.key_groups == (
        KeyGroupChange(1, Pair(0, 0), Pair(5, 0)),
        KeyGroupChange(3, Pair(0, 0), Pair(0, 9)),
    )
    [found] = compared(*pair, sizes=({"op": None}, {"op": None})).operators
    assert found.key_groups == ()


def test_operators_without_key_groups_say_nothing_of_them():
    bare = OperatorInventory("op", "op", 1, 8, subtasks=(SubtaskInventory(0, 1),))
    [found] = compared(a_checkpoint(bare), a_checkpoint(bare)).operators
    assert found.moved is None


def test_a_coordinator_stands_behind_the_subtasks():
    one = OperatorInventory(
        "op", "op", 1, subtasks=(SubtaskInventory(COORDINATOR, 5), SubtaskInventory(0, 1))
    )
    [found] = compared(a_checkpoint(one), a_checkpoint(one)).operators
    assert found.subtasks == ((0, Pair(1, 1)), (COORDINATOR, Pair(5, 5)))


def test_files_are_of_one_or_of_both():
    files = [
        FileUse("a", 1, "keyed state", (0, 5)),
        FileUse("b", 2, "keyed state", (0, 1)),
        FileUse("c", 4, "keyed state", (1,)),
        FileUse("d", 8, "not needed"),
    ]
    found = compared(a_checkpoint(), a_checkpoint(), files)
    assert [(one.path, one.needed) for one in found.files] == [
        ("a", BEFORE),
        ("b", BOTH),
        ("c", AFTER),
    ]
    assert {name: (one.files, one.bytes) for name, one in found.totals.items()} == {
        BEFORE: (1, 1),
        BOTH: (1, 2),
        AFTER: (1, 4),
    }


def test_missing_files_are_listed_for_both_checkpoints():
    lost = (MissingFile("x", 5, "It is not part of the upload."),)
    found = compared(a_checkpoint(missing=lost), a_checkpoint())
    assert (found.missing_before, found.missing_after) == (lost, ())


def test_without_files_nothing_has_come_or_gone():
    operator = an_operator(states=[StateInventory("s", "value")])
    bare = a_checkpoint(replace(operator, states=()), problem="Its files are not here.")
    found = compared(bare, a_checkpoint(operator, an_operator("other")))
    assert [one.change for one in found.operators] == [UNKNOWN, UNKNOWN]
    assert found.operators[0].states[0].change == UNKNOWN
    assert found.in_flight == Pair(None, 0)
    assert found.notes == ("Checkpoint 1: Its files are not here.",)
    back = compared(a_checkpoint(operator), bare)
    assert back.operators[0].states[0].change == UNKNOWN


@pytest.mark.parametrize(
    ("states", "change"),
    [
        ([StateInventory("s", "value")], SAME),
        ([StateInventory("s", "value", complete=False)], UNKNOWN),
        ([StateInventory("s", "value", undecoded=1)], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_it_is_unknown_whether_state_in_missing_files_is_the_same(states, change):
    lost = (MissingFile("x", 5, "It is not part of the upload."),)
    operator = an_operator(states=states)
    found = compared(a_checkpoint(operator, missing=lost), a_checkpoint(operator))
    assert found.operators[0].change == change
    assert compared(a_checkpoint(operator), a_checkpoint(operator)).operators[0].change == SAME


def test_data_in_flight_is_summed_up():
    channels = tuple(ChannelContents("c", None, None, "whole", n, 1, 30) for n in range(2))
    found = compared(a_checkpoint(), a_checkpoint(channels=channels))
    assert (found.in_flight, found.channels) == (Pair(0, 60), Pair(0, 2))


def test_checkpoints_of_two_jobs_say_so():
    found = compared(a_checkpoint(), replace(a_checkpoint(), job="other"))
    assert found.notes == ("They are of two jobs.",)


def test_an_operator_whose_keys_differ_has_changed():
    operator = an_operator(states=[StateInventory("s", "value")])
    [found] = compared(a_checkpoint(operator), a_checkpoint(operator)).operators
    assert found.change == SAME
    [state] = found.states
    counted = [replace(state, counts={CHANGED: 1, SAME: 2})]
    assert with_counts(found, counted).change == CHANGED
    assert with_counts(found, [replace(state, counts={CHANGED: 0, SAME: 2})]).change == SAME
    assert with_counts(found, [state]).change == SAME
