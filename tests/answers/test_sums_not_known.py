"""What a checkpoint does not hold is not known to an expression over its sums."""

from types import SimpleNamespace

import pytest

from snapshots.answers.inventory_sums import check, global_state, sums, why_not_known


def held(**fields) -> dict:
    """Return a checkpoint with two operators, of which ``b`` has a state that is not whole."""
    states = [
        {"id": name, "name": None, "states": [{"name": "total", "complete": name == "a"}]}
        for name in ("a", "b")
    ]
    return {
        "id": 7,
        "status": "completed",
        "problem": None,
        "why_state_unknown": None,
        "why_unknown": None,
        "missing": [],
        "operators": states,
        "channels": [],
    } | fields


TOTALS = {"states": {"a": {"total": 1}, "b": {"total": 2}}, "in_flight": {"a -> b": [3]}}
CHANNEL = {"id": "x", "source": "b[0]", "target": "c[1]"}


@pytest.mark.parametrize(
    ("expression", "fields", "answer"),
    [
        ("processes.a.total == 1", {}, "true"),
        ("processes.b.total == 2", {}, "unknown"),
        ("processes.all(p, processes[p].total > 0)", {}, "unknown"),
        ('channels["a -> b"] == [3]', {}, "true"),
        ("channels.all(c, size(channels[c]) == 1)", {}, "true"),
        ("channels.all(c, size(channels[c]) == 1)", {"channels": [CHANNEL]}, "unknown"),
        ("channels.all(c, size(channels[c]) == 1)", {"why_unknown": "Lost."}, "unknown"),
        ('channels["b -> c"] == []', {"channels": [CHANNEL]}, "unknown"),
    ],
)
def test_sums_that_are_not_whole_are_not_known(expression, fields, answer):
    assert check(expression, held(**fields), TOTALS).answer == answer


def test_an_operator_whose_files_are_all_missing_is_not_known():
    lost = {"id": "a", "name": "sink", "states": []}
    assert global_state(held(operators=[lost], missing=["f"]), TOTALS).processes["sink"] is None
    assert "sink" not in global_state(held(operators=[lost]), TOTALS).processes


def test_operators_of_one_name_are_summed_by_their_ids():
    """The sum of one is a number and that of the other an object, both in a state of one name."""
    whole = {"name": "total", "kind": "value", "entries": 2, "complete": True}
    sums_of = {"a": {"sum": 5, "sums": None}, "b": {"sum": None, "sums": {"left": 7}}}
    operators = [
        {"id": id_, "name": "keep", "states": [whole | total]} for id_, total in sums_of.items()
    ]
    checkpoint = held(operators=operators, snapshot="none")
    stored = SimpleNamespace(snapshot={}.__getitem__)
    totals = sums(checkpoint, stored)
    assert totals["states"] == {"a": {"total": 5}, "b": {"total": {"left": 7}}}
    assert {row["expression"] for row in totals["rows"]} == {
        'processes["a"]["total"]',
        'processes["b"]["total"]["left"]',
    }
    assert global_state(checkpoint, totals).processes == totals["states"]


def test_a_checkpoint_without_state_says_why():
    assert why_not_known(held()) is None
    assert why_not_known(held(problem="Its file is cut.")) == "Its file is cut."
    assert why_not_known(held(why_state_unknown="No map.")) == "No map."
    failed = held(status="failed", operators=[])
    assert why_not_known(failed) == "It failed, so it has no state."
