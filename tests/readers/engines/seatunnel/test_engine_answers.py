"""What SeaTunnel's REST answers add to its files."""

import json

from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints as checkpoint_reports
from snapshots.domain.judging.verdicts import judge
from tests.readers.engines.seatunnel.engine import (
    GRAPH,
    a_file,
    an_answer,
    assembled,
    derived,
    facts,
    listed,
    named,
    two_actions,
    upload_of,
)
from tests.readers.engines.seatunnel.test_seatunnel import save


def test_edges_come_from_the_graph_of_the_job_alone(tmp_path):
    files = {named(7): a_file(actions=two_actions())}
    header, _ = derived(upload_of(save(tmp_path, files)))
    assert not header.topology.channels
    assert any("no channel is drawn" in note for note in header.extra["notes"])
    save(tmp_path, {"job-info.json": json.dumps(GRAPH).encode()})
    upload = upload_of(tmp_path)
    header, _ = derived(upload)
    assert [channel.id for channel in header.topology.channels] == [
        "Source[0]-Fake[0]->Sink[0]-File[0]",
        "Source[0]-Fake[1]->Sink[0]-File[1]",
    ]
    assert all(header.extra["channels"][c.id]["inferred"] for c in header.topology.channels)
    assert header.extra["dataflow"]["edges"] == [
        {"source": "Source[0]-Fake", "target": "Sink[0]-File", "exchange": "forward"}
    ]
    assert header.name == "orders to files"
    [job] = upload.inventory().jobs
    assert (job.key, job.name, facts(job)["status"]) == ("5", "orders to files", "RUNNING")
    found = assembled(upload)
    assert (found.defects, judge(found.recording)[0].verdict) == ((), "unknown")


def test_failed_and_running_checkpoints_come_from_rest(tmp_path):
    answer = an_answer(
        listed(7, "COMPLETED", 1000, completedTimestamp=1090),
        listed(8, "FAILED", 6000, completedTimestamp=9000, failureReason="it expired"),
        listed(9, "CANCELED", 10_000),
        listed(10, "COMPLETED", 11_000, completedTimestamp=11_500),
        in_progress=[{"checkpointId": 11, "checkpointType": "savepoint", "triggerTimestamp": 12_000,
                      "acknowledged": 1, "total": 4}],
    )  # fmt: skip
    files = {named(7): a_file(actions=two_actions()), "checkpoints.json": answer}
    upload = upload_of(save(tmp_path, files))
    found = {item.id: item for item in upload.inventory().checkpoints}
    assert [found[id].status for id in range(7, 12)] == [
        "completed", "failed", "failed", "completed", "in progress",
    ]  # fmt: skip
    assert "it expired" in found[8].notes[0]
    assert found[8].problem
    assert facts(found[11])["tasks acknowledged"] == "1 of 4"
    recording = assembled(upload)
    assert recording.defects == ()
    assert [report.snapshot for report in judge(recording.recording)] == ["7"]
    reports = {r.checkpoint: r for r in checkpoint_reports(recording.recording)}
    assert [(reports[str(id)].status, reports[str(id)].reason) for id in range(7, 12)] == [
        ("completed", None), ("aborted", "it expired"), ("aborted", "CANCELED"),
        ("completed", None), ("pending", None),
    ]  # fmt: skip
    assert reports["8"].duration == 3_000_000


def test_the_newest_final_status_of_several_answers_counts(tmp_path):
    early = json.loads(an_answer(listed(8, "FAILED", failureReason="first")))
    files = {
        "b.json": json.dumps(early | {"updatedAt": 10}).encode(),
        "a.json": an_answer(listed(8, "FAILED", failureReason="second")),
        "c.json": an_answer(in_progress=[{"checkpointId": 8, "triggerTimestamp": 5000}]),
    }
    [checkpoint] = upload_of(save(tmp_path, files)).inventory().checkpoints
    assert checkpoint.status == "failed"
    assert "second" in checkpoint.notes[0]


def test_a_file_of_a_checkpoint_that_failed_afterwards_says_both(tmp_path):
    answer = an_answer(listed(7, "FAILED", 1000, completedTimestamp=2000, failureReason="commit"))
    files = {named(7): a_file(actions=two_actions()), "checkpoints.json": answer}
    upload = upload_of(save(tmp_path, files))
    [checkpoint] = upload.inventory().checkpoints
    assert (checkpoint.status, len(checkpoint.operators)) == ("failed", 2)
    assert "every task had acknowledged the checkpoint" in checkpoint.notes[1]
    kinds = [event.kind for event in derived(upload)[1] if event.process == "coordinator"]
    assert kinds == ["cp_trigger", "record_state", "cp_stored", "cp_abort"]


def test_answers_without_files_are_coordinators(tmp_path):
    save(tmp_path, {"checkpoints.json": an_answer(listed(8, "FAILED", completedTimestamp=9000))})
    upload = upload_of(tmp_path)
    header, events = derived(upload)
    assert [process.id for process in header.topology.processes] == ["coordinator"]
    assert [event.kind for event in events] == ["cp_trigger", "cp_abort"]
    assert assembled(upload).defects == ()


def test_a_graph_alone_is_a_recording_without_events(tmp_path):
    upload = upload_of(save(tmp_path, {"job-info.json": json.dumps(GRAPH).encode()}))
    header, events = derived(upload)
    assert (len(header.topology.processes), events) == (1, [])
    assert upload.inventory().checkpoints == ()
