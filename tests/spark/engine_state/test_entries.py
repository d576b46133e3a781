"""Entries of recorded checkpoints as Spark reads them, in the words of all engines."""

import zipfile
from pathlib import Path

import pytest

from snapshots.readers.engines.spark_streaming.adapter.entries import NO_EVENT_TIME
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.told import Beside, ToldUpload
from tasks.spark.engine_state import entries as streaming_entries
from tasks.spark.engine_state.entries import WithState
from tasks.spark.engine_state.reading import with_state
from tasks.spark.engine_state.state import StateReader
from tests.readers.engines.spark_streaming.cases import MAIN, in_order, unpack
from tests.readers.engines.spark_streaming.inventory import name_of, told_by_entries

STATE_DATA = Path(__file__).resolve().parents[2] / "data" / "spark-state"
CASES = {
    "tws-value-list-map-timers": 10 * 4,
    "join-inner-hdfs": 8 * 6,
    "join-inner-rocksdb-vcf": 8 * 2,
    "plain-agg-rocksdb-v2": 5,
    "spark40-tws-pandas": 3,
    "tws-pandas-ttl": 5 * 2,
    "spark35-window-agg-hdfs": 8,
}
"""Which are read, and how many reads of state were recorded, of all their batches."""


@pytest.fixture
def case(shared_data, tmp_path):
    """Unpack a case; return its folder and its expected answers."""

    def unpacked(name: str):
        return unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)

    return unpacked


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if n > 39 else ()) for name, n in CASES.items()],
)
def test_entries_are_those_that_spark_gave_when_the_case_was_recorded(spark, case, name):
    folder, expected = case(name)
    upload = WithState(SparkUpload(folder), spark)
    upload.upload.reads.clock = lambda: 0.0  # however slow the machine is
    entries = list(upload.entries())
    found = told_by_entries(upload.inventory(), entries)
    compared = 0
    for read in expected["state"]:
        place = (MAIN, read["batch"], str(read["operator"]), name_of(read["read"]))
        if place in found:
            assert in_order(found[place]) == in_order(read["partitions"]), place
            compared += 1
    assert compared == CASES[name]
    for checkpoint in upload.inventory().checkpoints:
        for operator in checkpoint.operators:
            assert all(state.complete and state.reason is None for state in operator.states)


def test_spark_and_the_files_agree_on_keys_and_values(spark, case):
    folder, _ = case("window-agg-hdfs")
    by_spark = WithState(SparkUpload(folder), spark).entries()
    by_files = SparkUpload(folder).entries()
    assert sorted(map(repr, by_spark)) == sorted(map(repr, by_files))


def test_state_ahead_of_its_commit_is_read(spark, case):
    folder, _ = case("incident-state-ahead")
    upload = WithState(SparkUpload(folder), spark)
    entries = [entry for entry in upload.entries() if entry.checkpoint == 2]
    (operator,) = upload.inventory().checkpoints[2].operators
    assert len(entries) == 6
    assert (operator.states[0].complete, operator.states[0].reason) == (True, None)


def test_of_a_batch_that_some_partitions_wrote_these_are_read(spark, case):
    folder, _ = case("incident-partial-partitions")
    upload = WithState(SparkUpload(folder), spark)
    entries = [entry for entry in upload.entries() if entry.checkpoint == 2]
    assert {entry.subtask for entry in entries} == {0}  # partition 1 wrote, too, and is empty
    (operator,) = upload.inventory().checkpoints[2].operators
    assert not operator.states[0].complete
    assert "Some partitions wrote" in operator.notes[0]
    assert "Partition 2 lacks 3.delta" in operator.notes[0]


def test_if_spark_fails_its_reason_is_reported_and_the_files_are_read(spark, case):
    folder, expected = case("window-agg-hdfs")
    path = folder / MAIN / "state/0/0/12.snapshot"
    path.write_bytes(path.read_bytes()[:40])
    upload = WithState(SparkUpload(folder), spark)
    found = list(upload.entries())
    last = upload.inventory().checkpoints[-1].operators[0]
    assert not last.states[0].complete
    assert path.name in last.notes[0]
    kept = [{"key": one.key, "value": one.value} for one in found if one.checkpoint == 11]
    theirs = expected["state"][-1]["partitions"]["1"]
    assert in_order({1: kept}) == in_order({1: theirs})


def test_rows_beyond_the_limit_are_cut_off_and_reported(spark, case, monkeypatch):
    monkeypatch.setattr(streaming_entries, "MOST_ROWS", 2)
    upload = WithState(SparkUpload(case("incident-planned-only")[0]), spark)
    assert len(list(upload.entries())) == 6
    state = upload.inventory().checkpoints[2].operators[0].states[0]
    assert (state.complete, state.reason) == (False, "Only the first 2 rows are read.")


def test_beyond_so_many_states_the_files_alone_are_read(spark, case, monkeypatch):
    monkeypatch.setattr(streaming_entries, "MOST_READS", 1)
    upload = WithState(SparkUpload(case("incident-planned-only")[0]), spark)
    counts = {}
    for entry in upload.entries():
        counts[entry.checkpoint] = counts.get(entry.checkpoint, 0) + 1
    assert counts == {0: 3, 1: 3, 2: 6}
    reasons = [one.operators[0].states[0].reason for one in upload.inventory().checkpoints[:3]]
    assert reasons == [streaming_entries.TOO_MANY, streaming_entries.TOO_MANY, None]


def test_private_copies_leave_nothing_behind(spark, case, tmp_path):
    folder, _ = case("incident-recovered")
    before = sorted(path for path in tmp_path.rglob("*"))
    list(WithState(SparkUpload(folder), spark).entries())
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_uploads_of_other_engines_stay_as_they_are():
    other = object()
    assert with_state(other) is other


def test_an_upload_of_spark_is_read_by_the_session_of_the_process(spark, case):
    upload = SparkUpload(case("window-agg-hdfs")[0])
    assert with_state(upload) == WithState(upload, spark)


def test_files_beside_which_a_log_lies_are_read_by_that_session_too(spark, case):
    upload = SparkUpload(case("window-agg-hdfs")[0])
    told = ToldUpload("spark", (), (), {}, {})
    assert with_state(Beside(upload, told)) == Beside(WithState(upload, spark), told)


@pytest.mark.long
@pytest.mark.slow
def test_a_variable_costs_one_read_for_all_batches(spark, case, monkeypatch):
    reads = []
    for name in ("read", "read_batches"):
        monkeypatch.setattr(StateReader, name, noting(getattr(StateReader, name), reads))
    folder, _ = case("tws-value-list-map-timers")
    upload = WithState(SparkUpload(folder), spark)
    upload.upload.reads.clock = lambda: 0.0  # however slow the machine is
    assert list(upload.entries())
    states = {
        state.name
        for checkpoint in upload.inventory().checkpoints
        for operator in checkpoint.operators
        for state in operator.states
    }
    assert len(reads) == len(states)


def noting(method, calls: list):
    """Return the method, which also notes its calls."""

    def noted(*arguments):
        calls.append(arguments)
        return method(*arguments)

    return noted


def test_keys_of_a_join_of_format_4_lack_the_event_time_that_spark_misreads(spark, tmp_path):
    with zipfile.ZipFile(STATE_DATA / "join-format-4-right.zip") as package:
        package.extractall(tmp_path)
    upload = WithState(SparkUpload(tmp_path / "join-format-4-right"), spark)
    entries = list(upload.entries())
    assert entries
    assert all(list(entry.key) == ["field0"] for entry in entries)
    states = upload.inventory().checkpoints[-1].operators[0].states
    assert {(state.reason, state.complete) for state in states} == {(NO_EVENT_TIME, True)}
    assert states[0].type == "(field0) → (lk, lv, lt)"


def test_all_batches_are_read_where_somebody_asked_for_them(spark, case):
    folder = case("incident-planned-only")[0]
    reads = [
        with_state(SparkUpload(folder), is_whole=asked).upload.reads for asked in (True, False)
    ]
    assert [one.is_whole for one in reads] == [True, False]
