"""Payloads of what the checkpoints job reports."""

from typing import Any

from snapshots.domain.dataflow_logs.checkpoints.files import Decision, FileReport
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport, TaskReport
from snapshots.domain.dataflow_logs.failovers import report as failovers
from snapshots.payloads.declaring import list_of, many, payload_of
from snapshots.store.reader import StoredRecording

CheckpointTask = payload_of(TaskReport, "CheckpointTask")
CheckpointDetail = payload_of(CheckpointReport, "CheckpointDetail")
CheckpointSummary = payload_of(CheckpointReport, "CheckpointSummary", without=["tasks"])
CheckpointList = list_of(CheckpointSummary, "CheckpointList")
CheckpointFiles = list_of(payload_of(FileReport, "CheckpointFile"), "CheckpointFiles")
CheckpointRequests = list_of(payload_of(Decision, "CheckpointRequest"), "CheckpointRequests")
SinkEffect = payload_of(failovers.SinkEffect)
Failover = payload_of(failovers.FailoverReport, "Failover")
Dropped = payload_of(failovers.Dropped)
SinkTotal = payload_of(
    failovers.SinkTotal, "SinkTotal", without=["effect"], more=SinkEffect.__annotations__
)
FailoverList = list_of(
    Failover,
    "FailoverList",
    more={
        "sinks": many(SinkTotal, "What all failures together did at each sink."),
        "dropped": many(Dropped, "Records that were thrown out of channels and never came again."),
    },
)


def checkpoint_list(stored: StoredRecording) -> dict[str, Any]:
    """Return a CheckpointList of all checkpoints."""
    items = [_without_tasks(item) for item in stored.checkpoints()]
    return {"items": items, "total": len(items)}


def checkpoint_detail(stored: StoredRecording, checkpoint: str) -> dict[str, Any] | None:
    """Return a CheckpointDetail; None where there is no such checkpoint."""
    return next((item for item in stored.checkpoints() if item["checkpoint"] == checkpoint), None)


def _without_tasks(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "tasks"}
