"""What the operators of real queries hold, in SQL's words, held against the rows that they read."""

import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from snapshots.domain.inventory.held import Held, growing, sentences
from snapshots.domain.inventory.model import OperatorInventory
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.sql.counting import Counted
from snapshots.readers.engines.flink.sql.meanings import JOINED, LISTED, operator_kind

DATA = Path(__file__).resolve().parents[3] / "data"
E = [(None if i % 5 == 0 else i % 3, i) for i in range(1, 13)]  # key and id, of table e
F = [(i % 2, 100 + i) for i in range(1, 9)]  # of table f
LEFT, RIGHT = "left-records", "right-records"


@cache
def operators(case: str) -> dict[str, OperatorInventory]:
    """Return the operators of the newest checkpoint of a case by their names."""
    [path] = DATA.glob(f"flink-sql*/{case}.zip")
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as package:
            package.extractall(folder)
        (Path(folder) / "plan.json").unlink(missing_ok=True)  # it tells what no checkpoint tells
        held = FlinkReader().read(Path(folder)).inventory().checkpoints[-1]
    return {operator.name or operator.id: operator for operator in held.operators}


def held(case: str, operator: str, state: str) -> Held:
    own = next(one for one in operators(case)[operator].states if one.name == state)
    assert own.held is not None
    return own.held


def joins() -> dict[str, str]:
    """Return the names of the operators by the kind of join that each of them is."""
    kinds = {
        "inner": (None, None), "left": (8, None), "full": (5, 0), "right": (None, 0),
        "semi": (5, None),
    }  # fmt: skip
    found = {}
    for name, operator in operators("joins").items():
        if operator.sql == "a join":
            pair = tuple(held("joins", name, side).unmatched for side in (LEFT, RIGHT))
            found |= {kind: name for kind, own in kinds.items() if own == pair}
    return found


def unmatched_rows(matches) -> int:
    return sum(not any(matches(left, right) for right in F) for left in E)


def test_each_side_of_a_join_has_the_rows_that_came_and_those_without_a_match():
    by_key = unmatched_rows(lambda left, right: left[0] == right[0])
    by_both = unmatched_rows(lambda left, right: left[0] == right[0] and left[1] < right[1] - 101)
    names = joins()
    inner, outer = (held("joins", names[kind], LEFT) for kind in ("inner", "left"))
    assert (inner.count, inner.keys, inner.unmatched, inner.alone) == (len(E), 4, None, by_key)
    assert (outer.count, outer.keys, outer.unmatched) == (len(E), 4, by_both)
    assert held("joins", names["full"], LEFT).unmatched == by_key
    assert held("joins", names["semi"], LEFT).unmatched == by_key
    groups = held("joins", names["full"], RIGHT)
    assert (groups.count, groups.unmatched) == (2, 0), "a row for each key of f, all with matches"
    assert held("joins", names["inner"], RIGHT).count == len(F)
    assert " ".join(sentences(outer)) == (
        "The left side of the join: 12 rows of 4 keys, 8 of them without a match. "
        "It grows without end: no TTL, and only a retraction removes a row."
    )


def test_a_join_of_three_inputs_says_what_each_of_them_has():
    [name] = [one for one in operators("multi-join") if one.startswith("MultiJoin")]
    counts = [held("multi-join", name, f"multi-join-input-{place}").count for place in range(3)]
    assert counts == [len(E), len(F), 2]


@pytest.mark.parametrize(
    ("strategy", "state"),
    [("legacy", "values"), ("value", "list"), ("adaptive", "list"), ("map", "sqnToNodeState")],
)
def test_every_upsert_materializer_holds_all_rows_of_its_keys(strategy, state):
    case = f"upsert-{strategy}"
    [name] = [one for one in operators(case) if one.startswith("SinkMaterializer")]
    own = held(case, name, state)
    joined = sum(left[0] == right[0] for left in E for right in F)
    assert (own.count, own.keys, own.grows) == (joined, 2, True)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_timer_of_an_interval_join_names_the_side_that_it_clears(side):
    timers = f"IntervalJoin{side.title()}TimerState"
    cleared = {
        state.held.what
        for operator in operators("temporal").values()
        for state in operator.states
        if state.name == timers and state.held is not None
    }
    assert cleared == {f"when rows of the {side} side are cleared next"}


def test_a_time_to_live_is_seen_in_the_bytes_and_its_length_is_not():
    texts = {
        f"{operator.sql} {state.name}": list(sentences(state.held))[1]
        for operator in operators("ttl").values()
        for state in operator.states
        if state.held is not None
    }
    assert len(texts) == 9
    assert set(texts.values()) == {
        "It has a TTL; how long that is does not stand in a checkpoint. What is past it counts "
        "until Flink removes it."
    }


def test_whether_a_process_table_function_has_a_time_to_live_is_not_known():
    own = held("sql-ptf", "ProcessTableFunction[11]", "plain")
    assert (own.has_ttl, own.grows, own.count) == (None, None, None)
    assert "not known" in list(sentences(own))[1]


def test_what_a_window_or_time_clears_is_not_among_what_only_grows():
    named = [
        (name, state.name, state.held)
        for case in ("windows", "kept-rows", "over")
        for name, operator in operators(case).items()
        for state in operator.states
        if state.held is not None
    ]
    without_end, with_keys = growing(named)
    assert without_end.startswith("Without a TTL these grow without end")
    assert "valueMapState of OverAggregate" in without_end
    assert "data-state of SortLimit" in without_end
    assert "window" not in without_end + with_keys
    assert "data-state-with-append" not in without_end + with_keys, "LIMIT 5 has one key"


def test_every_state_of_every_query_is_known_by_its_meaning():
    unknown = {
        (case.stem, operator.name, state.name)
        for case in DATA.glob("flink-sql*/*.zip")
        if case.stem.startswith("sql-") or case.parent.name == "flink-sql-queries"
        for operator in operators(case.stem).values()
        if operator.sql is not None
        for state in operator.states
        if state.held is None and state.kind != "timers" and state.name != "watermark"
    }
    assert unknown == set()


def test_states_of_a_program_get_no_meaning_of_sql():
    assert {operator.sql for operator in operators("operators").values()} == {None}
    assert operator_kind("Join", None) is None, "a name that a program may give"
    assert operator_kind(None, "36_join") == operator_kind("Join[36]", None) == "Join"


@pytest.mark.parametrize(
    ("counts", "is_map", "value"),
    [
        (JOINED, True, [[{"binaryRow": ""}, [1, "x"]]]),
        (JOINED, True, [[{"binaryRow": ""}]]),
        (JOINED, True, "text"),
        (JOINED, False, True),
        (JOINED, False, None),
        (LISTED, True, 5),
    ],
)
def test_a_value_of_another_form_makes_the_count_not_known(counts, is_map, value):
    own = Counted()
    own.add(counts, is_map, b"key", value)
    own.add(JOINED, False, b"key", 3)
    assert own.rows is None
