"""A real job was stopped with two subtasks and started with three: the plan says what Flink did."""

import json

import pytest

from snapshots.domain.inventory.restore_plan import FLINK, Asked, plan_restore
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.inventory.writing import write_inventory

SAVEPOINT, FIRST_AFTER = 2, 3  # places of the checkpoints in the upload
KEPT = {"Source: rules", "Source: rates-numbers", "to-rate"}  # ran with one, and went on so


@pytest.fixture(scope="module")
def stored(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    write_inventory(folder, FlinkReader().read(shared_data / "flink" / "rescaled"))
    return StoredInventory(folder)


@pytest.fixture(scope="module")
def plan(stored):
    savepoint = stored.checkpoint(SAVEPOINT)
    kept = [item["id"] for item in savepoint["operators"] if item["name"] in KEPT]
    plan = plan_restore(
        FLINK,
        as_checkpoint(savepoint),
        Asked(3, frozenset(kept), sizes=stored.sizes(savepoint)),
    )
    assert plan.problems == ()
    return {operator.name: operator for operator in plan.operators}


@pytest.fixture(scope="module")
def restored(stored):
    checkpoint = as_checkpoint(stored.checkpoint(FIRST_AFTER))
    assert (checkpoint.id, stored.checkpoint(SAVEPOINT)["kind"]) == (4, "savepoint")
    return {operator.name: operator for operator in checkpoint.operators}


def values(stored, number, operator, state):
    checkpoint = stored.checkpoint(number)
    rows = stored.entries(checkpoint, operator, state, limit=1000).rows
    own = {}
    for row in rows:
        own.setdefault(row["subtask"], []).append(json.loads(row["value"]))
    return own


def test_parallelism_and_key_groups_are_those_that_flink_took(plan, restored):
    assert plan.keys() == restored.keys()
    for name, operator in restored.items():
        own = [subtask for subtask in operator.subtasks if subtask.index >= 0]
        assert plan[name].parallelism_after == operator.parallelism
        planned = [subtask.key_groups for subtask in plan[name].after]
        assert planned == [subtask.key_groups for subtask in own]


def test_every_key_is_found_where_the_plan_sends_its_key_group(stored, plan, restored):
    checked = 0
    for name in ("enrich", "apply-rules"):
        operator = restored[name]
        for state in operator.states:
            checkpoint = stored.checkpoint(FIRST_AFTER)
            for row in stored.entries(checkpoint, operator.id, state.name, limit=1000).rows:
                if row["key_group"] is not None:
                    first, last = plan[name].after[row["subtask"]].key_groups
                    assert first <= row["key_group"] <= last
                    checked += 1
    assert checked > 80


def test_elements_of_a_list_went_where_the_plan_sends_them(stored, plan, restored):
    """The sink keeps its last four lines: some new ones have pushed out the oldest."""
    before = values(stored, SAVEPOINT, plan["slow-sink"].operator, "pending")
    after = values(stored, FIRST_AFTER, plan["slow-sink"].operator, "pending")
    sent = [
        [
            line
            for moved in subtask.lists
            for line in before[moved.subtask][moved.first : moved.first + moved.elements]
        ]
        for subtask in plan["slow-sink"].after
    ]
    assert [len(lines) for lines in sent] == [3, 3, 2]
    everything = [line for lines in before.values() for line in lines]
    for subtask, lines in enumerate(sent):
        left = [line for line in after[subtask] if line in everything]
        assert left
        assert left == lines[-len(left) :]


def test_splits_went_to_the_first_readers_and_none_to_the_third(stored, plan):
    source = plan["Source: orders-numbers"]
    assert [[(moved.subtask, moved.elements) for moved in new.lists] for new in source.after] == [
        [(0, 1)],
        [(1, 1)],
        [],
    ]
    after = values(stored, FIRST_AFTER, source.operator, "SourceReaderState")
    assert {subtask: len(own) for subtask, own in after.items()} == {0: 1, 1: 1}


def test_bytes_of_key_groups_are_kept(plan):
    for operator in plan.values():
        assert sum(subtask.keyed_bytes for subtask in operator.after) == sum(
            subtask.bytes for subtask in operator.before
        ) - sum(move.bytes or 0 for move in operator.states if is_of_operator(move))
        assert not any(subtask.estimated for subtask in operator.after)


def is_of_operator(move):
    return move.kind in ("split list", "union list", "broadcast map")
