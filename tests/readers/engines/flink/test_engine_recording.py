"""The recording that is derived from an upload of Flink's."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.inventory.model import COMPLETED
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.values import parsed
from snapshots.readers import recognition
from snapshots.readers.engines.flink.adapter import recording as engine_recording
from snapshots.readers.engines.flink.adapter import runs as engine_runs
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import write_lines
from tests.readers.engines.flink import engine as given
from tests.readers.engines.flink.cases import CASES, LEGACY
from tests.readers.inputs import read as read_log

AS_LOGS = ("bounded", "failures", "rescaled", "sql-group-agg", "types", "v5-unaligned-bank")


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_the_recording_has_no_defect_and_claims_nothing(shared_data, name):
    assembly = given.derived(shared_data, name)
    assert assembly.defects == ()
    recording = assembly.recording
    assert recording.header_extra["derived"] is True
    events = [event for own in recording.events.values() for event in own]
    assert all(parsed(event.extra)["derived"] for event in events)
    statuses = [one.status for one in given.inventory(shared_data, name).checkpoints]
    reports = judge(recording)
    assert len(reports) == len(statuses)
    for report, status in zip(reports, statuses, strict=True):
        verdicts = {finding.verdict for finding in report.findings}
        assert verdicts == {"unknown"} | ({"incomplete"} & verdicts)
        if status == COMPLETED:
            assert "incomplete" not in verdicts
            assert report.positions.keys() <= {one.id for one in recording.topology.processes}


@pytest.mark.parametrize("name", [*AS_LOGS, *LEGACY])
def test_the_recording_can_be_read_as_a_log(shared_data, tmp_path, name):
    header, events = given.read(shared_data, name).recording()
    events = list(events)
    path = tmp_path / "derived.jsonl"
    path.write_bytes(b"".join(write_lines(header, events)))
    limits = Limits()
    assert recognition.sniff(path, limits, None).reader.name == "native"
    found, read, defects = read_log(path, limits)
    assert (found.topology, found.extra, defects) == (header.topology, header.extra, ())
    assert read == events


def rest_answers(shared_data: Path, name: str) -> dict[str, dict]:
    """Return the details that the REST API gave of each checkpoint, by snapshot."""
    folder = given.folder_of(shared_data, name)
    later = " (run 2)" if (folder / "rest-before").exists() else ""
    found = {}
    for part, mark in (("rest-before", ""), ("rest", later)):
        for path in (folder / part).glob("checkpoint-*.json"):
            value = json.loads(path.read_text())
            subtasks = value.get("subtasks")
            of = found.setdefault(f"{value['id']}{mark}", {"subtasks": {}})
            if subtasks is None:
                of |= value
            else:
                of["subtasks"][path.stem.rpartition("-")[2]] = subtasks
    return found


def names_of(shared_data: Path, name: str) -> dict[str, dict[str, str]]:
    """Return the names of the vertices, by snapshot."""
    return {
        run.snapshots[checkpoint.number]: run.names
        for run in given.read(shared_data, name).runs
        for checkpoint in run.checkpoints
    }


@pytest.mark.parametrize("name", [name for name in CASES if name != "v2-bank-fs"])
def test_reports_of_checkpoints_agree_with_the_rest_api(shared_data, name):
    reports = {
        one.checkpoint: one for one in checkpoints(given.derived(shared_data, name).recording)
    }
    names = names_of(shared_data, name)
    answers = rest_answers(shared_data, name)
    assert answers
    for snapshot, told in answers.items():
        report = reports[snapshot]
        assert report.kind == ("savepoint" if told["is_savepoint"] else "checkpoint")
        if told["status"] != "IN_PROGRESS":
            assert report.duration == told["end_to_end_duration"]
        assert (report.status == "completed") == (told["status"] == "COMPLETED")
        tasks = {task.process: task for task in report.tasks}
        for vertex, subtasks in told["subtasks"].items():
            for one in subtasks:
                task = tasks.get(f"{names[snapshot][vertex]}[{one['index']}]")
                if task is not None and one["status"] == "completed":
                    _agrees(report, task, one)
    assert any(report.tasks for report in reports.values())


def _agrees(report: CheckpointReport, task, one: dict) -> None:
    alignment = one["alignment"]["duration"]
    assert task.start_delay == one["start_delay"]
    assert (task.alignment or 0) == alignment
    assert task.sync_to - task.sync_from == one["checkpoint"]["sync"]
    assert task.async_to - task.sync_to == one["checkpoint"]["async"]
    assert (task.bytes_total, task.bytes_new) == (one["state_size"], one.get("checkpointed_size"))
    if one["aborted"]:
        assert task.acked_at is None
    else:
        assert task.acked_at - report.triggered_at == one["end_to_end_duration"]


def test_the_reason_of_a_failure_is_given(shared_data):
    found = checkpoints(given.derived(shared_data, "failures").recording)
    reports = {one.checkpoint: one for one in found}
    assert (reports["2"].status, reports["2"].reason) == (
        "aborted",
        "Asynchronous task checkpoint failed",
    )
    assert reports["2"].critical_path == ()
    assert reports["3"].status == "expired"
    assert "slow-sink[0] was still copying its state" in reports["3"].sentence
    assert reports["15"].status == "pending"
    acknowledged = [task for task in reports["14"].tasks if task.acked_at is not None]
    assert (len(acknowledged), len(reports["14"].tasks)) == (8, 10)


def test_a_subtask_that_is_still_at_an_earlier_checkpoint_is_not_waiting_for_a_sender(shared_data):
    """slow-sink[0] copied its state for checkpoints 3, 7 and 11 beyond their end.

    Checkpoint 7 was triggered at 6,000 ms; its copy began after 111 ms and took 2,601 ms.
    """
    found = checkpoints(given.derived(shared_data, "failures").recording)
    reports = {one.checkpoint: one for one in found}
    told = {}
    for number in ("4", "8", "12"):
        slow = next(one for one in reports[number].tasks if one.process == "slow-sink[0]")
        told[number] = slow.busy_with, slow.busy_until
        longest = max(reports[number].critical_path, key=lambda segment: segment.length)
        assert (longest.process, longest.phase, longest.channel) == ("slow-sink[0]", "busy", None)
        assert longest.earlier == slow.busy_with
        assert slow.busy_until <= slow.first_barrier_at <= slow.busy_until + 1
    assert told == {"4": ("3", 4094), "8": ("7", 6000 + 111 + 2601), "12": ("11", 13_329)}
    assert reports["8"].sentence == (
        "It took 713 ms; for 709 ms of these slow-sink[0] was still copying its state for "
        "checkpoint 7."
    )
    others = (task for one in found for task in one.tasks if task.process != "slow-sink[0]")
    assert all(task.busy_until is None for task in others)


def test_what_came_out_at_the_sinks_of_a_real_job_is_not_claimed(shared_data):
    found = all_failovers(given.derived(shared_data, "failures").recording)
    assert (found.sinks, found.dropped, found.reports) == ((), (), ())


def test_a_checkpoint_that_was_given_up_names_who_had_not_acknowledged(shared_data):
    found = checkpoints(given.derived(shared_data, "failures").recording)
    ends = {one.checkpoint: one.sentence.rpartition("failed. ")[2] for one in found}
    assert ends["2"] == ends["6"] == ends["10"] == "slow-sink[0] had not acknowledged."
    assert ends["14"] == "apply-rules[0] and slow-sink[0] had not acknowledged."


def test_finished_subtasks_are_not_asked_and_their_ends_stand_for_barriers(shared_data):
    recording = given.derived(shared_data, "bounded").recording
    reports = {one.checkpoint: one for one in checkpoints(recording)}
    assert len(reports["2"].tasks) == 8
    assert len(reports["3"].tasks) == 6
    assert len(reports["4"].tasks) == 5
    ended = [
        event.channel
        for event in recording.events["count[0]"]
        if event.kind == "marker_receive" and parsed(event.extra).get("end")
    ]
    assert len(ended) == 2 + 3


def test_two_jobs_are_two_scopes(shared_data):
    recording = given.derived(shared_data, "rescaled").recording
    scopes = Counter(process.scope for process in recording.topology.processes)
    assert scopes == {"run 1": 11, "run 2": 15}
    assert {"enrich[1]", "enrich (run 2)[2]"} <= recording.topology.process_by_id.keys()
    assert [report.snapshot for report in judge(recording)] == [
        "1", "2", "3", "4 (run 2)", "5 (run 2)",
    ]  # fmt: skip


def test_a_checkpoint_of_another_parallelism_belongs_to_another_run(shared_data, tmp_path):
    """A job takes such a savepoint before it is scaled up in place."""
    case = given.folder_of(shared_data, "rescaled")
    shutil.copytree(case / "rest", tmp_path / "rest")
    (savepoint,) = (case / "files").glob("savepoint-*")
    (second,) = (path.parent for path in (case / "files").glob("*/chk-4"))
    shutil.copytree(savepoint, tmp_path / f"savepoint-{second.name[:6]}-{'0' * 12}")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    assert [(run.job.id, len(run.checkpoints)) for run in upload.runs] == [
        (second.name, 1),
        (second.name, 2),
    ]
    scopes = Counter(process.scope for process in assembly.recording.topology.processes)
    assert scopes == {"run 1": 11, "run 2": 15}
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}


def test_a_lone_checkpoint_is_a_recording_without_times(shared_data, tmp_path):
    case = given.folder_of(shared_data, "bank-unaligned") / "files"
    (last,) = case.glob("*/chk-2")
    shutil.copytree(last, tmp_path / "chk-2")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    recording = assembly.recording
    assert assembly.defects == ()
    assert (recording.topology.channels, checkpoints(recording)) == ((), ())
    assert not {"epoch", "dataflow"} & recording.header_extra.keys()
    assert {"withdraw[0]", "deposit[1]", "to-request[0]"} <= recording.events.keys()
    (report,) = judge(recording)
    assert report.snapshot == "2"
    assert {finding.verdict for finding in report.findings} == {"unknown"}
    halves = upload.inventory().checkpoints[0].channels
    assert sum(one.bytes for one in halves) == 96294
    assert all(one.elements is None and one.reason for one in halves)


def test_answers_alone_are_a_recording(shared_data, tmp_path):
    shutil.copytree(given.folder_of(shared_data, "bank-unaligned") / "rest", tmp_path / "rest")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    assert assembly.defects == ()
    assert [one.duration for one in checkpoints(assembly.recording)] == [16, 22]
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}
        assert report.recorded_channels == {}  # bytes were in flight; which, no file says
        assert len(report.recorded_states) == 6
        assert parsed(report.recorded_states["withdraw[0]"])["bytes"]["in flight"] > 0
    assert all("not in the upload" in one.problem for one in upload.inventory().checkpoints)


def test_without_the_answers_about_subtasks_only_the_checkpoint_is_known(shared_data, tmp_path):
    shutil.copytree(given.folder_of(shared_data, "bank-aligned"), tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "rest").glob("checkpoint-*-subtasks-*.json"):
        path.unlink()
    assembly = assemble(*FlinkReader().read(tmp_path).recording())
    assert assembly.defects == ()
    reports = checkpoints(assembly.recording)
    assert [(one.duration, one.tasks) for one in reports] == [(33, ()), (13, ()), (26, ())]
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}


def test_alignments_are_kept_where_edges_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_recording, "MOST_ON_CHANNELS", 0)
    upload = FlinkReader().read(given.folder_of(shared_data, "failures"))
    header, events = upload.recording()
    assert any("too many channels" in note for note in header.extra["notes"])
    fewer = checkpoints(assemble(header, events).recording)
    whole = checkpoints(given.derived(shared_data, "failures").recording)
    for one, other in zip(fewer, whole, strict=True):
        assert {(t.process, t.start_delay, t.alignment, t.sync_from) for t in one.tasks} == {
            (t.process, t.start_delay, t.alignment, t.sync_from) for t in other.tasks
        }


def test_the_latest_checkpoints_are_shown_where_there_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_recording, "MOST_CHECKPOINTS", 2)
    upload = FlinkReader().read(given.folder_of(shared_data, "rocksdb-incremental"))
    header, events = upload.recording()
    assert {event.snapshot for event in events} == {"3", "4"}
    assert (
        "The 2 earliest checkpoints are left out; the inventory has all." in header.extra["notes"]
    )


def test_only_the_coordinator_is_shown_where_subtasks_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_runs, "MOST_SUBTASKS", 4)
    upload = FlinkReader().read(given.folder_of(shared_data, "bank-unaligned"))
    assembly = assemble(*upload.recording())
    assert assembly.recording.events.keys() == {"coordinator"}
    assert len(upload.inventory().checkpoints) == 2
    assert len(list(upload.channel_bytes())) > 0
