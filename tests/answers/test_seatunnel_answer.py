"""The first answer to SeaTunnel's REST answers: what failed, and how many had acknowledged."""

import json

from snapshots.answers.first_answer import of_inventory
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory

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
