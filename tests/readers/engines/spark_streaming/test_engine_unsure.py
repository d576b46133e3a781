"""Spark uploads that leave something open: several checkpoints, damage, what no file settles."""

import json
import shutil

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.inventory.model import IN_PROGRESS, UNKNOWN
from snapshots.domain.judging.verdicts import judge
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tests.readers.engines.spark_streaming.cases import MAIN
from tests.readers.engines.spark_streaming.inventory import told_by_events

BEFORE = "checkpoint-before-restart"


def test_two_directories_are_two_jobs_that_share_nothing(case):
    upload = SparkUpload(case("incident-recovered"))
    inventory = upload.inventory()
    query = "44e79163-5fa3-46ff-9b35-c9c8abee5157"
    assert [job.key for job in inventory.jobs] == [query, f"{query}/{BEFORE}"]
    jobs = [one.job for one in inventory.checkpoints]
    assert jobs == [query] * 5 + [f"{query}/{BEFORE}"] * 3
    header, events = upload.recording()
    assert header.topology.scopes == {MAIN, BEFORE}
    reports = judge(assemble(header, events).recording)
    verdicts = {one.snapshot: one.verdict for one in reports}
    assert verdicts[f"2 ({BEFORE})"] == "incomplete"
    assert verdicts["2"] == "unknown"


def test_a_restart_is_not_claimed_where_no_file_shows_it(case):
    shutil.rmtree((folder := case("incident-recovered")) / BEFORE)
    _, events = SparkUpload(folder).recording()
    kinds = {event.kind for event in events}
    assert not kinds & {"crash", "restore", "restart"}


def test_edges_that_no_file_settles_are_marked(case):
    header, _ = SparkUpload(case("union-three-sources")).recording()
    ids = [channel.id for channel in header.topology.channels]
    assert header.extra["channels"] == {id: {"inferred": True} for id in ids}
    assert "All 3 sources are drawn" in header.extra["notes"][0]
    header, _ = SparkUpload(case("window-agg-hdfs")).recording()
    assert "channels" not in header.extra


def test_a_file_sink_lists_its_batches(case):
    folder = case("stateless-file-to-parquet")
    assert told_by_events(SparkUpload(folder))[MAIN]["sunk"] == dict.fromkeys(range(13), 1)


def test_new_files_of_a_compacted_log_are_known_only_with_all_before_it(case):
    folder = case("stateless-file-to-parquet")
    (folder / "sink" / "_spark_metadata" / "3").unlink()
    sunk = told_by_events(SparkUpload(folder))[MAIN]["sunk"]
    assert sunk == dict.fromkeys([0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12], 1)


def test_a_sink_beside_two_checkpoints_belongs_to_neither(case):
    folder = case("stateless-file-to-parquet")
    shutil.copytree(folder / MAIN, folder / "copy")
    told = told_by_events(SparkUpload(folder))
    assert (told[MAIN]["sunk"], told["copy"]["sunk"]) == ({}, {})


def test_state_of_failed_attempts_is_left_over_and_nobody_needs_it(case):
    inventory = SparkUpload(case("plain-agg-rocksdb-v2")).inventory()
    left = [use for use in inventory.files if use.role == "state left-over"]
    assert len(left) == 2
    assert all(use.checkpoints == () and "failed attempt" in use.reason for use in left)


def test_a_missing_file_makes_the_batches_on_it_incomplete(case):
    upload = SparkUpload(case("damaged-missing-delta"))
    list(upload.entries())
    inventory = upload.inventory()
    lacking = {one.id: [file.path for file in one.missing] for one in inventory.checkpoints}
    path = f"{MAIN}/state/0/0/3.delta"
    assert lacking == {batch: [path] if 2 <= batch <= 10 else [] for batch in range(12)}
    complete = {one.id: one.operators[0].states[0].complete for one in inventory.checkpoints}
    assert complete == {batch: not 2 <= batch <= 10 for batch in range(12)}


def test_a_missing_partition_is_named(case):
    folder = case("window-agg-hdfs")
    shutil.rmtree(folder / MAIN / "state/0/1")
    upload = SparkUpload(folder)
    list(upload.entries())
    last = upload.inventory().checkpoints[-1]
    assert [file.path for file in last.missing] == [f"{MAIN}/state/0/1"]
    (operator,) = last.operators
    assert not operator.states[0].complete
    assert "partition 1 is not in the upload" in operator.notes[0]


def test_a_commit_that_is_damaged_and_newest_leaves_its_batch_unknown(case):
    folder = case("window-agg-hdfs")
    (folder / MAIN / "commits/11").write_bytes(b"")
    upload = SparkUpload(folder)
    last = upload.inventory().checkpoints[-1]
    assert (last.status, last.completed_at) == (UNKNOWN, None)
    assert "Whether the batch is complete is not known" in last.problem
    header, events = upload.recording()
    snapshots = [one.snapshot for one in judge(assemble(header, events).recording)]
    assert snapshots == [str(batch) for batch in range(11)]


@pytest.mark.parametrize("damage", [b"", None])
def test_a_commit_that_must_have_happened_is_inferred(case, damage):
    folder = case("window-agg-hdfs")
    path = folder / MAIN / "commits/5"
    path.unlink() if damage is None else path.write_bytes(damage)
    upload = SparkUpload(folder)
    told = upload.inventory().checkpoints[5]
    assert told.status == UNKNOWN
    assert "so it ended" in told.problem
    header, events = upload.recording()
    events = list(events)
    inferred = [event.snapshot for event in events if '"commit"' in event.extra]
    assert set(inferred) == {"5"}
    assert {one.verdict for one in judge(assemble(header, events).recording)} == {"unknown"}


def test_a_plan_that_is_damaged_and_newest_is_no_snapshot(case):
    folder = case("incident-planned-only")
    (folder / MAIN / "offsets/3").write_bytes(b'v1\n{"batchWatermarkMs":1714')
    upload = SparkUpload(folder)
    last = upload.inventory().checkpoints[-1]
    assert last.status == UNKNOWN
    assert "What was planned is not known" in last.problem
    header, events = upload.recording()
    events = list(events)
    assert [one.snapshot for one in judge(assemble(header, events).recording)] == ["0", "1", "2"]
    assert "problem" in next(event.extra for event in events if event.snapshot == "3")


def test_offsets_of_a_lost_plan_are_not_known_and_not_the_old_ones(case):
    folder = case("damaged-truncated-offset")
    header, events = SparkUpload(folder).recording()
    reports = {one.snapshot: one for one in judge(assemble(header, events).recording)}
    states = {name: one.recomputed_states.get("source 0[0]") for name, one in reports.items()}
    assert states["10"] == '{"offset":{"logOffset":5}}'
    assert states["11"] is None
    assert reports["11"].recorded_states == {}


def test_a_partition_has_ended_when_all_of_its_stores_are_written(case):
    folder = case("join-inner-hdfs")
    assert told_by_events(SparkUpload(folder))[MAIN]["wrote"][7] == [(0, 0), (0, 1)]
    for path in (folder / MAIN / "state/0/0/left-keyToNumValues").glob("8.*"):
        path.unlink()
    assert told_by_events(SparkUpload(folder))[MAIN]["wrote"][7] == [(0, 1)]


def test_an_epoch_is_logged_at_its_end(case):
    folder = case("continuous-rate-to-memory")
    (folder / MAIN / "commits/3").unlink()
    upload = SparkUpload(folder)
    last = upload.inventory().checkpoints[-1]
    assert (last.kind, last.status, last.planned.kind) == (*("epoch", IN_PROGRESS, "epoch-ended"),)
    header, events = upload.recording()
    events = list(events)
    assert not any(event.kind == "batch_plan" for event in events)
    verdicts = [one.verdict for one in judge(assemble(header, events).recording)]
    assert verdicts == ["unknown"] * 3 + ["incomplete"]


def test_a_report_that_contradicts_the_plan_gives_no_times(case):
    folder = case("window-agg-hdfs")
    reports = [json.loads(line) for line in (folder / "progress.jsonl").open()]
    lines = [json.dumps(one | {"timestamp": reports[0]["timestamp"]}) for one in reports]
    (folder / "progress.jsonl").write_text("\n".join(lines))
    header, events = SparkUpload(folder).recording()
    found = assemble(header, events)
    assert found.defects == ()
    commits = [e for e in found.recording.events["coordinator"] if e.kind == "batch_commit"]
    assert ['"inferred":["at"]' in event.extra for event in commits] == [False] + [True] * 11
