"""Real series of checkpoints are compared, and the differences are those that Flink reports."""

import itertools
import json
from collections import Counter

import pytest

from snapshots.answers import inventory_difference
from snapshots.domain.inventory.model import BROADCAST, LISTED, RAW, TIMERS, UNION
from snapshots.domain.model.key_groups import owning_subtask
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.flink.engine import expected_snapshots

OF_OPERATOR = (LISTED, UNION, BROADCAST, RAW, "coordinator")
CASES = ("rocksdb-incremental", "rescaled", "windows-timers", "savepoint-canonical", "file-merging")


@pytest.fixture(scope="module")
def stored(shared_data, tmp_path_factory):
    found = {}

    def of(case):
        if case not in found:
            folder = tmp_path_factory.mktemp(case)
            write_inventory(folder, FlinkReader().read(shared_data / "flink" / case))
            found[case] = StoredInventory(folder)
        return found[case]

    return of


def pairs(opened):
    """Return the numbers of each checkpoint with files and of the next one."""
    listed = opened.upload["checkpoints"]
    whole = [place for place, one in enumerate(listed) if not one["problem"]]
    return list(itertools.pairwise(whole))


def keys_by_flink(shared_data, case, id_):
    """Return keyed state as Flink read it: {(operator, state): {key and namespace: value}}."""
    folder = shared_data / "flink" / case
    expected = json.loads((folder / "expected.json").read_text())
    [snapshot] = [
        one for one in expected_snapshots(expected) if one["flink"]["checkpointId"] == id_
    ]
    found = {}
    for operator in snapshot["flink"]["operators"]:
        for subtask in operator["subtasks"]:
            for handle in subtask.get("managedKeyedState", ()):
                for name, state in handle.get("states", {}).items():
                    own = found.setdefault((operator["id"], name), {})
                    for value in state["values"]:
                        key = json.dumps([value.get("key"), value.get("namespace")])
                        own[key] = json.dumps(value.get("value"), sort_keys=True)
    return found


def keys_by_the_job(shared_data, case, id_):
    """Return the keyed state of a bank as its operators noted it, for Flink has not read it."""
    expected = json.loads((shared_data / "flink" / case / "expected.json").read_text())
    [snapshot] = [one for one in expected["snapshots"] if one["checkpointId"] == id_]
    found = {}
    for name in ("deposit", "withdraw"):
        for subtask in snapshot["job"][name].values():
            for key, values in subtask["keyed"].items():
                values = values if isinstance(values, dict) else {"balance": values}
                for state, value in values.items():
                    found.setdefault((name, state), {})[key] = value
    return found


def differences(first, second):
    both = first.keys() & second.keys()
    return {
        "added": len(second.keys() - first.keys()),
        "removed": len(first.keys() - second.keys()),
        "changed": sum(first[key] != second[key] for key in both),
        "unknown": 0,
        "same": sum(first[key] == second[key] for key in both),
    }


def require_same(opened, keys, told_by):
    """Require the differences of the checkpoints' keys.

    keys: returns the keys of a checkpoint by its id. told_by: the field that names an operator in
    them.
    """
    listed = opened.upload["checkpoints"]
    counted = Counter()
    for before, after in pairs(opened):
        change = inventory_difference.difference(opened, before, after)
        one, other = (keys(listed[number]["id"]) for number in (before, after))
        for operator in change["operators"]:
            for state in operator["states"]:
                if state["kind"] not in (*OF_OPERATOR, TIMERS):
                    place = operator[told_by], state["name"]
                    expected = differences(one.get(place, {}), other.get(place, {}))
                    assert state["counts"] == expected, place
                    counted.update(expected)
    assert counted.total() > 10


@pytest.mark.parametrize("case", CASES)
def test_keys_that_came_went_and_changed_are_those_of_flink(stored, shared_data, case):
    require_same(stored(case), lambda id_: keys_by_flink(shared_data, case, id_), "operator")


@pytest.mark.parametrize("case", ["changelog", "changelog-files"])
def test_keys_of_a_changelog_are_those_that_the_job_noted(stored, shared_data, case):
    require_same(stored(case), lambda id_: keys_by_the_job(shared_data, case, id_), "name")


def test_a_job_started_with_another_parallelism_has_moved_its_key_groups(stored):
    opened = stored("rescaled")
    change = inventory_difference.difference(opened, 2, 3)
    operators = {one["name"]: one for one in change["operators"]}
    assert operators["enrich"]["parallelism"] == {"before": 2, "after": 3}
    moved = sum(owning_subtask(g, 2, 16) != owning_subtask(g, 3, 16) for g in range(16))
    assert operators["enrich"]["moved"] == operators["apply-rules"]["moved"] == moved == 7
    lines = {one["name"]: one for one in operators["slow-sink"]["states"]}["pending"]
    assert lines["entries"] == {"before": 8, "after": 12}
    assert lines["counts"]["same"] == 5  # of the old lines; the others were pushed out
    assert "by value" in lines["notes"][0]
    assert change["notes"] == ["They are of two jobs."]


def test_files_that_an_incremental_checkpoint_shares_with_the_one_before(stored):
    opened = stored("forst-async-state")
    change = inventory_difference.difference(opened, 0, 1)
    shared = [one for one in change["files"] if one["needed"] == "both"]
    assert [one["role"] for one in shared] == ["keyed state, shared"] * 2
    assert change["totals"]["both"] == {"files": 2, "bytes": sum(one["bytes"] for one in shared)}


def test_a_checkpoint_that_only_the_rest_api_lists_has_no_known_keys(stored):
    change = inventory_difference.difference(stored("rescaled"), 0, 3)
    assert {one["change"] for one in change["operators"]} == {"unknown"}
    for operator in change["operators"]:
        for state in operator["states"]:
            assert state["counts"]["added"] == 0


def test_too_many_keys_are_left_to_be_asked_for_one_by_one(stored, monkeypatch):
    monkeypatch.setattr(inventory_difference, "MOST_COUNTED", 30)
    change = inventory_difference.difference(stored("windows-timers"), 0, 1)
    states = [state for one in change["operators"] for state in one["states"]]
    left_out = [state for state in states if state["counts"] is None]
    assert left_out
    assert len(left_out) < len(states)
    assert all("too many keys" in state["notes"][0] for state in left_out)
