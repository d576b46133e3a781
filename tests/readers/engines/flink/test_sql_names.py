"""The names of columns that a plan, EXPLAIN or CREATE TABLE gives to the state of a real query."""

import json
import time
import zipfile
from pathlib import Path
from random import Random

import pytest

from snapshots.domain.inventory.columns import Columns
from snapshots.domain.inventory.held import WindowClock, clock_sentence, sentences
from snapshots.domain.inventory.model import OperatorInventory
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.sql.plans import begins_as_naming, read_naming

DATA = Path(__file__).resolve().parents[3] / "data"
PLAN, EXPLAIN, TABLES, REST = "plan.json", "explain.txt", "tables.sql", "rest/"
EXPLAINED = b"== Abstract Syntax Tree ==\n== Optimized Execution Plan ==\n"


def unpacked(folder: Path, case: str, *beside: str) -> Path:
    """Unpack a case with nothing beside its savepoint but what is named."""
    [path] = DATA.glob(f"flink-sql*/{case}.zip")
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            if name.startswith(("files/", *beside)):
                package.extract(name, folder)
    return folder


def operators(folder: Path) -> dict[str, OperatorInventory]:
    upload = FlinkReader().read(folder)
    return {
        operator.name or operator.id: operator
        for operator in upload.inventory().checkpoints[-1].operators
    }


def columns(operator: OperatorInventory, state: str) -> Columns | None:
    return next(one.columns for one in operator.states if one.name == state)


def names(operator: OperatorInventory, state: str) -> tuple[list[str | None], ...]:
    own = columns(operator, state)
    assert own is not None
    return tuple([one.name for one in part] for part in (own.key, own.user_key, own.row))


def test_a_compiled_plan_names_the_columns_of_each_side_of_a_join(tmp_path):
    found = operators(unpacked(tmp_path, "joins", PLAN))
    assert names(found["Join[56]"], "left-records") == (["k"], ["k", "id"], [])
    assert names(found["Join[56]"], "right-records") == (["k"], ["k", "s"], [])
    assert names(found["Join[78]"], "right-records") == (["k"], [], ["k", "m"])
    own = columns(found["Join[56]"], "left-records")
    assert own is not None
    assert [one.type for one in own.user_key] == ["INT", "BIGINT"]
    assert own.told_by == "the compiled plan in plan.json"


def test_explain_names_an_operator_where_all_that_fit_say_the_same(tmp_path):
    found = operators(unpacked(tmp_path, "joins", EXPLAIN))
    assert names(found["Join[74]"], "left-records") == (["k"], ["k", "id"], [])
    assert columns(found["Join[56]"], "left-records") is None
    assert found["Join[56]"].notes == (
        "explain.txt: its names are not given to Join[56], because 3 nodes in it fit and name the "
        "columns differently.",
    )


def test_the_job_s_own_plan_tells_nodes_apart_that_fit_alike(tmp_path):
    found = operators(unpacked(tmp_path, "joins", EXPLAIN, REST))
    assert names(found["Join[56]"], "right-records") == (["k"], ["k", "s"], [])
    assert names(found["Join[88]"], "right-records") == (["k"], ["k", "m"], [])
    assert found["Join[56]"].notes == ()


def test_create_table_names_rows_of_its_types_and_says_so(tmp_path):
    found = operators(unpacked(tmp_path, "match", TABLES))
    own = columns(found["Match[266]"], "eventQueuesStateName")
    assert own is not None
    assert [one.name for one in own.row] == ["k", "id", "s", "ms", "ts", "pt"]
    assert own.told_by == "CREATE TABLE e in tables.sql, by the types alone"


def test_without_a_file_that_names_them_columns_have_positions_and_types(tmp_path):
    found = operators(unpacked(tmp_path, "joins"))
    assert {one.columns for operator in found.values() for one in operator.states} == {None}
    state = next(one for one in found["Join[56]"].states if one.name == "left-records")
    assert state.type_in_full == "rowdata<INT> → rowdata<INT, BIGINT> → int"


def test_a_plan_with_another_count_of_columns_is_not_applied_and_named(tmp_path):
    folder = unpacked(tmp_path, "joins", PLAN)
    plan = json.loads((folder / PLAN).read_text())
    for node in plan["nodes"]:
        if isinstance(node["outputType"], str):
            node["outputType"] = node["outputType"].replace("ROW<", "ROW<`extra` INT, ", 1)
    (folder / PLAN).write_text(json.dumps(plan))
    join = operators(folder)["Join[56]"]
    assert columns(join, "left-records") is None
    assert "no Join in it has columns as this one has" in join.notes[0]
    assert "inputs with 3 and 3 columns" in join.notes[0]


def test_a_plan_with_other_types_is_not_applied(tmp_path):
    folder = unpacked(tmp_path, "joins", PLAN)
    text = (folder / PLAN).read_text().replace("`id` BIGINT", "`id` DATE")
    (folder / PLAN).write_text(text)
    assert columns(operators(folder)["Join[56]"], "left-records") is None


def test_tables_that_fit_no_row_are_said_not_to(tmp_path):
    join = operators(unpacked(tmp_path, "joins", TABLES))["Join[56]"]
    assert columns(join, "left-records") is None
    assert join.notes[0] == (
        "No table that was given has exactly columns of the types INT, BIGINT: no names."
    )


def test_a_compiled_plan_tells_the_time_to_live_of_each_side(tmp_path):
    found = operators(unpacked(tmp_path, "ttl", PLAN))
    join = next(one for one in found.values() if one.sql == "a join")
    told = [list(sentences(state.held))[1] for state in join.states if state.held]
    assert sorted(told) == [
        "It has a TTL of 1 d, by the compiled plan. What is past it counts until Flink removes it.",
        "It has a TTL of 3 d, by the compiled plan. What is past it counts until Flink removes it.",
    ]


def clocks(folder: Path) -> set[WindowClock | None]:
    return {one.window_clock for one in operators(folder).values()} - {None}


def test_windows_end_in_the_local_time_that_their_timers_tell(tmp_path):
    shanghai, without_zone = WindowClock((480,), None), WindowClock((0,), None)
    assert clocks(unpacked(tmp_path / "windows", "windows")) == {shanghai, without_zone}
    assert "local time, which was +08:00, as their timers say" in clock_sentence(shanghai)
    assert "or by a TIMESTAMP that has no zone" in clock_sentence(without_zone)
    both = WindowClock((-300, -240), "America/New_York")
    assert clocks(unpacked(tmp_path / "summer", "summer-time", PLAN)) == {both}
    assert "was -05:00 and -04:00, as their timers say; the compiled plan names America" in (
        clock_sentence(both)
    )


def test_without_timers_the_zone_of_windows_is_not_known_or_the_plan_s():
    assert "no file of the upload names" in clock_sentence(WindowClock((), None))
    assert "of Asia/Tokyo, which the compiled plan names, if" in (
        clock_sentence(WindowClock((), "Asia/Tokyo"))
    )


def test_files_that_name_columns_are_told_as_such(tmp_path):
    folder = unpacked(tmp_path, "joins", PLAN, EXPLAIN, TABLES)
    (folder / "broken.json").write_text('{"flinkVersion": "2.3", "nodes": 1}')
    files = {one.path: one for one in FlinkReader().read(folder).inventory().files}
    assert {files[name].role for name in (PLAN, EXPLAIN, TABLES)} == {"names of columns"}
    reason = files["broken.json"].reason
    assert reason == "It is no compiled plan of Flink with nodes and edges."


@pytest.mark.parametrize(
    "content",
    [
        b'{"flinkVersion":"2.3","nodes":' + b"[" * 100_000,
        b'{"flinkVersion":"2.3","nodes":[{"id":1,"description":"Exchange(a=[b])"}],"edges":['
        + b",".join([b'{"source":1,"target":1}'] * 10_000)
        + b"]}",
        b'{"flinkVersion":"2.3","nodes":[{"id":1,"description":"Calc(select=[a])","outputType":"'
        + b"ROW<`a` " * 5_000
        + b'"}],"edges":[]}',
        EXPLAINED + b"Calc(select=[" + b"(" * 2_000_000,
        EXPLAINED + (b"Calc(select=[" + b"a AS " * 10_000 + b"])\n") * 20,
        EXPLAINED + b"".join(b"   " * depth + b"+- Calc(select=[a])\n" for depth in range(800)),
        EXPLAINED + b"Exchange(a=[b])(reuse_id=[1])\n+- Reused(reference_id=[1])\n",
        EXPLAINED + b"+- \n" * 500_000,
        b"CREATE TABLE a (x INT, " * 100_000,
        b"CREATE TABLE a (x INT COMMENT '" + b"(" * 2_000_000,
        b"CREATE TABLE " + b" " * 2_000_000,
    ],
    ids=range(11),
)
def test_hostile_plans_take_little_time_and_never_fail(content):
    assert begins_as_naming(content[: 2**16])
    begin = time.monotonic()
    naming, _ = read_naming([("file", content)])
    assert all(node.columns() is None or node.own for plan in naming.plans for node in plan.nodes)
    assert time.monotonic() - begin < 5


@pytest.mark.long
def test_damaged_plans_never_fail_and_name_no_more_columns_than_there_are(tmp_path):
    given = unpacked(tmp_path, "joins", PLAN, EXPLAIN, TABLES)
    whole = {name: (given / name).read_bytes() for name in (PLAN, EXPLAIN, TABLES)}
    chance = Random(24)
    for name in chance.choices(list(whole), k=500):
        content = bytearray(whole[name])
        for _ in range(chance.randint(1, 6)):
            begin = chance.randrange(len(content))
            content[begin : begin + chance.choice((1, 1, 40))] = chance.randbytes(1)
        (given / name).write_bytes(content)
        for operator in operators(given).values():
            for state in operator.states:
                if (own := state.columns) is not None and state.type_in_full is not None:
                    assert len(own.key) <= state.type_in_full.split(" → ")[0].count(",") + 1
        (given / name).write_bytes(whole[name])
