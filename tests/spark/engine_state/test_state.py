"""The state of real checkpoints, and of a query that runs here, as Spark's data source reads it."""

import json
import os
from datetime import UTC, datetime

import pytest

from snapshots.readers.engines.spark_streaming.incidents import PARTIAL, PLANNED_ONLY, STATE_AHEAD
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.readings import (
    STORE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    read_changes,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint, read_upload
from tasks.spark.engine_state.state import (
    BY_FILES,
    BY_SPARK,
    FORMAT_SETTING,
    StateRequest,
    open_state,
    read_state,
)
from tests.readers.engines.spark_streaming.cases import (
    MAIN,
    WRONG_ANSWERS,
    agreement,
    case_paths,
    in_order,
    unpack,
)
from tests.spark.engine_state.stopped_query import query_stopped

ALL_READS = "ALL_SPARK_READS" in os.environ
SOME = {
    "tws-value-list-map-timers": 19,
    "join-inner-hdfs": 48,
    "join-inner-rocksdb-vcf": 16,
    "plain-agg-rocksdb-v2": 5,
    "spark35-window-agg-hdfs": 9,
    "window-agg-rocksdb-full": 9,
    "damaged-empty-commit": 1,
}
"""Of which cases every how many-th read is made by default."""


@pytest.fixture
def case(shared_data, tmp_path):
    def unpacked(name: str):
        return unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)

    return unpacked


@pytest.mark.parametrize("name", SOME)
def test_spark_reads_recorded_state_as_expected(spark, shared_data, name):
    path = shared_data / "spark-streaming" / f"{name}.zip"
    assert agreement(path, spark, SOME[name])["differences"] == []


if ALL_READS:

    @pytest.mark.slow
    def test_spark_reads_all_recorded_state_as_expected(spark, shared_data):
        results = [agreement(path, spark) for path in case_paths(shared_data)]
        different = {(one["case"], name) for one in results for name in one["differences"]}
        assert different == WRONG_ANSWERS
        for one in results:
            print(f"{one['case']:36} {one['agreed']:4} of {one['compared']}")


@pytest.mark.parametrize("name", ["dedup-watermark-hdfs", "flatmap-groups-with-state-scala"])
def test_the_decoder_without_spark_sees_the_same_state_and_changes(spark, case, name):
    folder, _ = case(name)
    checkpoint = read_checkpoint(folder)
    last = checkpoint.committed_batches[-1]
    with open_state(spark, checkpoint) as reader:
        for request in (StateRequest(batch=last), StateRequest(batch=last, changes_from=0)):
            answer = reader.read(request)
            assert answer.by == BY_SPARK
            assert in_order(answer.rows) == in_order(_by_files(checkpoint, request))


def _by_files(checkpoint, request: StateRequest) -> dict:
    place = (request.operator, request.reading)
    partitions = checkpoint.versions[request.operator][request.reading.store]
    limits = SparkLimits()
    if request.changes_from is None:
        return {
            one: read_partition(checkpoint, *place, one, request.batch + 1, limits)
            for one in partitions
        }
    batches = range(request.changes_from, request.batch + 1)
    return {one: read_changes(checkpoint, *place, one, batches, limits) for one in partitions}


def test_changes_of_a_list_and_a_map(spark, case):
    folder, _ = case("tws-value-list-map-timers")
    with open_state(spark, read_checkpoint(folder)) as reader:
        appended = reader.read(
            StateRequest(reading=Reading(VARIABLE, "recent_pages"), batch=0, changes_from=0)
        )
        put = reader.read(
            StateRequest(reading=Reading(VARIABLE, "hits_by_page"), batch=0, changes_from=0)
        )
    assert (appended.by, put.by) == (BY_SPARK, BY_SPARK)
    assert {row["change"] for row in appended.rows[0]} == {"append"}
    assert {"user_map_key", "user_map_value"} <= put.rows[0][0].keys()


def test_states_without_a_feed_of_changes_are_refused_with_a_reason(spark, case):
    folder, _ = case("tws-value-list-map-timers")
    answer = read_state(
        spark, folder, StateRequest(reading=Reading(TIMERS), batch=2, changes_from=0)
    )
    assert (answer.by, answer.rows) == (None, {})
    assert "no changes" in answer.failure.sentence


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (StateRequest(operator=7), "no operator 7"),
        (StateRequest(batch=99), "Batch 99 is not in the checkpoint"),
        (StateRequest(batch=3, changes_from=5), "comes after"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_by_a_sentence(spark, case, request_, sentence):
    folder, _ = case("window-agg-hdfs")
    answer = read_state(spark, folder, request_)
    assert answer.by is None
    assert sentence in answer.failure.sentence


def test_state_ahead_of_its_commit_is_read_by_spark(spark, case):
    folder, _ = case("incident-state-ahead")
    checkpoint = read_checkpoint(folder)
    (incident,) = checkpoint.in_flight
    assert incident.kind == STATE_AHEAD
    request = StateRequest(batch=incident.batch.batch)
    answer = read_state(spark, folder, request)
    assert (answer.by, answer.committed, answer.failure) == (BY_SPARK, False, None)
    assert in_order(answer.rows) == in_order(_by_files(checkpoint, request))
    assert not (folder / MAIN / "commits" / "2").exists()


def test_state_of_some_partitions_is_given_partition_by_partition(spark, case):
    folder, _ = case("incident-partial-partitions")
    answer = read_state(spark, folder, StateRequest(batch=2))
    assert (answer.by, answer.committed) == (BY_FILES, False)
    assert list(answer.lost) == [2]  # partition 1 wrote its state, too, and it is empty
    assert {_window_and_user(row) for row in answer.rows[0]} <= _counted(folder / "input")
    assert "Some partitions" in answer.failure.sentence


def _window_and_user(row: dict) -> tuple:
    key, value = row["key"], row["value"]
    return key["window"]["start"], key["user"], value["count"], value["sum"]


def _counted(folder) -> set[tuple]:
    """Count clicks and sum amounts per window of 20 s and user, in all input files."""
    totals: dict[tuple, list[int]] = {}
    for path in folder.rglob("*.json"):
        for line in path.read_text().splitlines():
            click = json.loads(line)
            at = int(datetime.fromisoformat(click["ts"]).replace(tzinfo=UTC).timestamp() * 1000)
            totals.setdefault((at // 20_000 * 20_000, click["user"]), []).append(click["amount"])
    return {(*key, len(amounts), sum(amounts)) for key, amounts in totals.items()}


def test_a_damaged_file_is_kept_from_spark_and_costs_one_partition(spark, case):
    folder, expected = case("window-agg-hdfs")
    path = folder / MAIN / "state/0/0/1.delta"
    path.write_bytes(path.read_bytes()[:40])
    answer = read_state(spark, folder, StateRequest(batch=0))
    assert answer.by == BY_FILES
    assert "state/0/0/1.delta" in answer.failure.sentence
    assert list(answer.lost) == [0]
    assert in_order(answer.rows) == {"1": expected["state"][0]["partitions"]["1"]}


def test_a_missing_partition_is_reported_with_the_rows_of_the_others(spark, case):
    folder, expected = case("window-agg-hdfs")
    for file in sorted((folder / MAIN / "state/0/1").iterdir()):
        file.unlink()
    (folder / MAIN / "state/0/1").rmdir()
    answer = read_state(spark, folder, StateRequest(batch=0))
    assert (answer.by, answer.missing_partitions) == (BY_SPARK, (1,))
    assert in_order(answer.rows) == {"0": expected["state"][0]["partitions"]["0"]}


def test_rows_beyond_the_limit_are_cut_off_and_reported(spark, case):
    folder, _ = case("window-agg-hdfs")
    answer = read_state(spark, folder, StateRequest(batch=11, most_rows=2))
    assert answer.truncated
    assert sum(map(len, answer.rows.values())) == 2


def test_one_partition_can_be_asked_for(spark, case):
    folder, expected = case("window-agg-hdfs")
    answer = read_state(spark, folder, StateRequest(batch=11, partition=1))
    theirs = expected["state"][-1]["partitions"]["1"]
    assert in_order(answer.rows) == in_order({1: theirs})


def test_the_setting_of_the_format_is_as_before_after_a_read(spark, case):
    before = spark.conf.get(FORMAT_SETTING)
    folder, _ = case("plain-agg-rocksdb-v2")
    answer = read_state(spark, folder, StateRequest())
    assert answer.by == BY_SPARK
    assert spark.conf.get(FORMAT_SETTING) == before


def test_a_read_changes_nothing_in_the_checkpoint(spark, case):
    folder, _ = case("tws-value-list-map-timers")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    read_state(spark, folder, StateRequest(reading=Reading(VARIABLE, "total")))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.fixture
def stopped_query(spark, tmp_path):
    """Run ``query_stopped`` in a folder of this test's own."""
    return lambda before_writing: query_stopped(spark, tmp_path / "stopped", before_writing)


def test_a_query_stopped_by_its_sink_shows_the_batch_in_flight(spark, stopped_query):
    folder = stopped_query(before_writing=False)
    upload = read_upload(folder)
    checkpoint = upload.checkpoints[MAIN]
    (incident,) = checkpoint.in_flight
    (source,) = incident.batch.sources
    assert (incident.kind, incident.batch.batch) == (STATE_AHEAD, 2)
    assert (source.files, source.rows) == (("2.json",), 3)
    assert checkpoint.logs.last_committed == 1

    with open_state(spark, checkpoint) as reader:
        committed, ahead = reader.read(StateRequest()), reader.read(StateRequest(batch=2))
    assert (committed.by, committed.batch, committed.committed) == (BY_SPARK, 1, True)
    assert _totals(committed) == {"ana": (3, 14), "bo": (1, 2), "cyd": (1, 20)}
    assert (ahead.by, ahead.committed) == (BY_SPARK, False)
    assert _totals(ahead) == {"ana": (3, 14), "bo": (2, 102), "cyd": (2, 220), "dan": (1, 300)}
    for answer in (committed, ahead):
        request = StateRequest(batch=answer.batch)
        assert in_order(answer.rows) == in_order(_by_files(checkpoint, request))


def test_a_query_stopped_before_it_wrote_shows_what_was_planned(spark, stopped_query):
    folder = stopped_query(before_writing=True)
    checkpoint = read_checkpoint(folder)
    (incident,) = checkpoint.in_flight
    assert (incident.kind, incident.batch.rows) == (PLANNED_ONLY, 3)
    with open_state(spark, checkpoint) as reader:
        committed, planned = reader.read(StateRequest()), reader.read(StateRequest(batch=2))
    assert _totals(committed) == {"ana": (3, 14), "bo": (1, 2), "cyd": (1, 20)}
    assert (planned.by, planned.rows) == (BY_FILES, {})
    assert "no partition wrote" in planned.failure.sentence


def _totals(answer) -> dict:
    """Return count and sum by user; the other buffers are compared with the decoder's."""
    rows = [row for rows in answer.rows.values() for row in rows]
    assert all(row["value"]["max#2"] == "2026-02-03" for row in rows)
    return {row["key"]["user"]: (row["value"]["count"], row["value"]["sum"]) for row in rows}


def test_a_read_of_one_store_of_a_join(spark, case):
    folder, _ = case("join-inner-hdfs")
    answer = read_state(spark, folder, StateRequest(reading=Reading(STORE, "left-keyToNumValues")))
    assert answer.by == BY_SPARK
    assert all(row["value"]["value"] > 0 for rows in answer.rows.values() for row in rows)


def test_a_partial_batch_is_not_taken_for_a_complete_one(case):
    folder, _ = case("incident-partial-partitions")
    (incident,) = read_checkpoint(folder).in_flight
    assert (incident.kind, incident.wrote) == (PARTIAL, {0: {"default": [0, 1]}})
