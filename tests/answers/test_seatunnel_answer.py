"""The first answer to SeaTunnel's REST answers: what failed, and how many had acknowledged."""

import json

import pytest

from snapshots.answers.first_answer import of_inventory
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.seatunnel.engine import a_file, named

JOB = {
    "jobId": "7", "jobName": "copy", "jobStatus": "RUNNING", "createTime": "2026-11-22 10:00:00",
    "jobDag": {"jobId": "7", "pipelineEdges": {"1": []}, "vertexInfoMap": []}, "metrics": {},
}  # fmt: skip
PIPELINE = {
    "pipelineId": 1,
    "counts": {"triggered": 3, "completed": 1, "failed": 1, "inProgress": 1, "restored": 0},
    "latestCompleted": {"checkpointId": 1, "status": "COMPLETED", "triggerTimestamp": 1_000},
    "inProgress": [{"checkpointId": 3, "triggerTimestamp": 3_000, "acknowledged": 2, "total": 5}],
    "history": [
        {
            "pipelineId": 1,
            "checkpoint": {
                "checkpointId": 2,
                "checkpointType": "CHECKPOINT_TYPE",
                "status": "FAILED",
                "triggerTimestamp": 2_000,
                "failureReason": "checkpoint expired before completing",
            },
        }
    ],
}


def sentences(tmp_path, pipeline: dict) -> dict[str, tuple[str, str]]:
    """Return level and text of each sentence by its code."""
    (tmp_path / "files").mkdir()
    (tmp_path / "store").mkdir()
    answer = {"jobId": "7", "updatedAt": 4_000, "pipelines": [pipeline]}
    for name, value in {"job": JOB, "checkpoints": answer}.items():
        (tmp_path / f"files/{name}.json").write_text(json.dumps(value))
    write_inventory(tmp_path / "store", SeaTunnelReader().read(tmp_path / "files"))
    (subject,) = of_inventory(StoredInventory(tmp_path / "store")).subjects
    return {item.code: (item.level, item.text) for item in subject.sentences}


def test_the_checkpoint_that_did_not_complete_comes_with_what_seatunnel_says(tmp_path):
    found = sentences(tmp_path, PIPELINE)
    level, text = found["checkpoint-failures"]
    assert level == "watch"
    assert text.startswith("2 checkpoints did not complete, the last one is ")
    assert "2 of 5 tasks had acknowledged; SeaTunnel does not say which." in text
    level, text = found["state"]
    assert level == "wrong", "the last one that ended had failed"
    assert "the job was running when SeaTunnel answered; of 3 checkpoints 1 completed" in text
    assert found["restorable"][0] == "not-known"


def test_the_reason_of_a_failure_is_quoted(tmp_path):
    level, text = sentences(tmp_path, PIPELINE | {"inProgress": []})["checkpoint-failures"]
    assert level == "wrong"
    assert text.endswith("Its reason: “checkpoint expired before completing”.")


def told(tmp_path, job: dict, pipeline: dict | None = None) -> tuple[str, str]:
    """Return level and text of the sentence about the job's state."""
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "store").mkdir()
    (folder / "job.json").write_text(json.dumps(JOB | job))
    if pipeline is not None:
        answer = {"jobId": "7", "updatedAt": 3_600_000, "pipelines": [pipeline]}
        (folder / "checkpoints.json").write_text(json.dumps(answer))
    write_inventory(tmp_path / "store", SeaTunnelReader().read(folder))
    (subject,) = of_inventory(StoredInventory(tmp_path / "store")).subjects
    (found,) = [item for item in subject.sentences if item.code == "state"]
    return found.level, found.text


SAVEPOINT = {
    "checkpointId": 41, "checkpointType": "savepoint", "status": "COMPLETED",
    "triggerTimestamp": 0, "completedTimestamp": 0,
}  # fmt: skip
EVERY_10_S = {"envOptions": {"checkpoint.interval": "10000"}}


def counted(**counts: int) -> dict:
    zero = dict.fromkeys(("triggered", "completed", "failed", "inProgress", "restored"), 0)
    return {"pipelineId": 1, "counts": zero | counts, "latestSavepoint": SAVEPOINT}


def test_an_hour_without_a_checkpoint_after_a_restore_is_told(tmp_path):
    level, text = told(tmp_path, EVERY_10_S, counted(restored=1))
    assert level == "watch"
    assert "Since it was restored from savepoint 41 no checkpoint was triggered: 0 in 1 h" in text


def test_an_hour_since_the_last_checkpoint_is_told(tmp_path):
    level, text = told(tmp_path, EVERY_10_S, counted(triggered=9, completed=9))
    assert level == "watch"
    assert "Since savepoint 41 no checkpoint was triggered: 0 in 1 h, at an interval of" in text


def test_a_job_that_just_began_its_interval_is_well(tmp_path):
    slow = {"envOptions": {"checkpoint.interval": 3_600_000}}
    assert told(tmp_path, slow, counted(restored=1))[0] == "well"


def test_a_stopped_job_needs_no_checkpoint(tmp_path):
    stopped = EVERY_10_S | {"jobStatus": "SAVEPOINT_DONE"}
    assert "no checkpoint was triggered" not in told(tmp_path, stopped, counted(triggered=1))[1]


def test_restores_are_told_with_after_how_many_the_job_gives_up(tmp_path):
    pipelines = [
        {"pipelineId": 1, "restoreCount": 2, "maxRestoreCount": 3},
        {"pipelineId": 2, "restoreCount": 0, "maxRestoreCount": 3},
    ]
    level, text = told(tmp_path, {"diagnostics": {"pipelines": pipelines}})
    assert level == "watch"
    assert "Pipeline 1 was restored 2 times; the job gives up after 3." in text
    assert "Pipeline 2" not in text
    assert "SeaTunnel answered; how its checkpoints went is not known." in text


def test_the_error_of_a_job_is_quoted_and_nothing_is_well(tmp_path):
    level, text = told(tmp_path, {"errorMsg": "java.io.IOException: no space left\n\tat X.y"})
    assert (level, text.endswith("Its error: “java.io.IOException: no space left”.")) == (
        "wrong",
        True,
    )


def test_failures_that_are_only_counted_are_told(tmp_path):
    level, text = told(tmp_path, {}, counted(triggered=5, failed=4, completed=1))
    assert level == "watch"
    assert "SeaTunnel counts 4 failed checkpoints." in text


def test_a_reason_behind_a_checkpoint_in_progress_is_told(tmp_path):
    _, text = sentences(tmp_path, PIPELINE)["checkpoint-failures"]
    assert "failed before it. Its reason: “checkpoint expired before completing”." in text


def test_no_file_makes_no_broken_sentence(tmp_path):
    _, text = sentences(tmp_path, PIPELINE)["restorable"]
    assert text.startswith("The point from which a restore goes on is not known: the upload")


def of_files(tmp_path, files: dict[str, bytes]) -> tuple[str, str]:
    for name, data in files.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "store").mkdir()
    upload = SeaTunnelReader().read(tmp_path / "files")
    write_inventory(tmp_path / "store", upload)
    (subject,) = of_inventory(StoredInventory(tmp_path / "store")).subjects
    (found,) = [item for item in subject.sentences if item.code == "restorable"]
    check = upload.restore_check()
    assert (found.level == "wrong") == any("and fails" in note for note in check.notes)
    return found.level, found.text


def test_a_restore_fails_where_the_newest_file_is_damaged(tmp_path):
    files = {named(2): a_file(2), named(3, at=1200): a_file(3, at=1100)[:9]}
    level, text = of_files(tmp_path, files)
    assert level == "wrong"
    assert "5/1200-1-1-3.ser, which is damaged, and fails." in text
    assert "goes on from checkpoint 2 only when that file is moved away." in text


def test_an_older_damaged_file_hinders_no_restore(tmp_path):
    level, text = of_files(tmp_path, {named(2): a_file(2)[:9], named(3, at=1200): a_file(3)})
    assert level == "well"
    assert text.startswith("A restore goes on from ")


def test_a_damaged_file_of_another_pipeline_hinders_no_restore(tmp_path):
    files = {named(2): a_file(2), named(3, pipeline=2, at=1200): a_file(3, 2)[:9]}
    assert of_files(tmp_path, files)[0] == "well"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": "fail", "message": "The jobId must not be empty."}, "The jobId must not be"),
        ({"status": "fail", "message": "x" * 9_000}, "x…|xxx”"),
        ({"jobId": "912"}, "it does not know this job"),
        ({"jobId": 912}, "the id of job 912 and nothing else"),
    ],
)
def test_an_error_of_seatunnel_is_refused_as_one(tmp_path, answer, said):
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    files = Beginnings(("answer.json",), lambda name: (tmp_path / name).read_bytes())
    assert SeaTunnelReader().recognises(files)
    with pytest.raises(InputRefused, match=said):
        SeaTunnelReader().read(tmp_path)


def test_an_empty_object_is_what_seatunnel_answers_of_a_job_it_does_not_know(tmp_path):
    (tmp_path / "job-info.json").write_text("{}")
    with pytest.raises(InputRefused, match="answered with an empty object: it does not know"):
        SeaTunnelReader().read(tmp_path)


def test_answers_alone_have_no_note_about_files_of_checkpoints(tmp_path):
    (tmp_path / "job.json").write_text(json.dumps(JOB))
    check = SeaTunnelReader().read(tmp_path).restore_check()
    assert check.notes == ()
    assert check.headline == "Not known: the upload has no file of a checkpoint."
