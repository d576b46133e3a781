"""Payloads of what the checkpoints job reports."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.dataflow_logs.checkpoints.files import Decision, FileReport
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport, TaskReport
from snapshots.domain.dataflow_logs.failovers import report as failovers
from snapshots.payloads.declaring import described, list_of, payload_of
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


class SinkTotal(SinkEffect, payload_of(failovers.SinkTotal, without=["effect"])):
    """What all failures did at a sink, and how its writes and transactions ended."""


@described
class FailoverList(TypedDict):
    """All failures of a recording.

    Attributes:
        sinks: what all failures did together.
        dropped: records that were thrown out of channels and never came again.
    """

    items: list[Failover]
    sinks: list[SinkTotal]
    dropped: list[Dropped]
    total: int


def checkpoint_list(stored: StoredRecording) -> dict[str, Any]:
    """Return a CheckpointList of all checkpoints."""
    items = [_without_tasks(item) for item in stored.checkpoints()]
    return {"items": items, "total": len(items)}


def checkpoint_detail(stored: StoredRecording, checkpoint: str) -> dict[str, Any] | None:
    """Return a CheckpointDetail; None where there is no such checkpoint."""
    return next((item for item in stored.checkpoints() if item["checkpoint"] == checkpoint), None)


def _without_tasks(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "tasks"}
