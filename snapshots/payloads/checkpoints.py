"""Payloads of what the checkpoints job reports."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.dataflow_logs import schema_changes
from snapshots.domain.dataflow_logs.checkpoints.files import Decision, FileReport
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport, TaskReport
from snapshots.domain.dataflow_logs.checkpoints.report import SchemaPoint as SchemaPointReport
from snapshots.domain.dataflow_logs.event_time import EventTimeReport
from snapshots.domain.dataflow_logs.failovers import report as failovers
from snapshots.domain.dataflow_logs.starts import StartReport
from snapshots.payloads.declaring import described, documented, list_of, many, payload_of
from snapshots.store.reader import StoredRecording

CheckpointTask = payload_of(TaskReport, "CheckpointTask")
SchemaChange = payload_of(schema_changes.SchemaChange)
SchemaPoint = payload_of(SchemaPointReport, "SchemaPoint")
_SINCE_SCHEMA_POINTS = ("schema_point",)
CheckpointDetail = payload_of(CheckpointReport, "CheckpointDetail", optional=_SINCE_SCHEMA_POINTS)
CheckpointSummary = payload_of(
    CheckpointReport, "CheckpointSummary", without=["tasks"], optional=_SINCE_SCHEMA_POINTS
)


@described
class UntimedCheckpoint(TypedDict):
    """A checkpoint of an upload about which nothing says when anything happened.

    Attributes:
        number: the place of the checkpoint in the upload, as in ``/contents``.
        id: the engine's number of the checkpoint.
        kind: the engine's word for the kind of checkpoint.
        status: ``completed``, ``failed``, ``in progress`` or ``unknown``.
        reason: why no times are known, as a sentence.
    """

    number: int
    id: int
    kind: str
    status: str
    reason: str


CheckpointList = list_of(
    CheckpointSummary,
    "CheckpointList",
    more={
        "untimed": many(
            UntimedCheckpoint, "The checkpoints of the upload of which no times are known."
        )
    },
)
CheckpointFiles = list_of(payload_of(FileReport, "CheckpointFile"), "CheckpointFiles")
CheckpointRequests = list_of(payload_of(Decision, "CheckpointRequest"), "CheckpointRequests")
_SINCE_KINDS_OF_COMMITTING = ("committed_by", "recovered", "forgotten", "sentence")
_SINCE_REGIONS = ("skipped", "skipped_differing")
SinkEffect = payload_of(
    failovers.SinkEffect, optional=(*_SINCE_KINDS_OF_COMMITTING, *_SINCE_REGIONS)
)
Failover = payload_of(
    failovers.FailoverReport, "Failover", optional=(*_SINCE_REGIONS, "unrepeatable")
)
Dropped = payload_of(failovers.Dropped)
SinkTotal = payload_of(
    failovers.SinkTotal, "SinkTotal", without=["effect"], more=SinkEffect.__annotations__
)
EventTime = payload_of(EventTimeReport, "EventTime")
Start = payload_of(StartReport, "Start")
FailoverList = list_of(
    Failover,
    "FailoverList",
    more={
        "sinks": many(SinkTotal, "What all failures together did at each sink."),
        "dropped": many(Dropped, "Records that were thrown out of channels and never came again."),
        "start": documented(
            Start | None,
            "How the run started from a checkpoint of an earlier run; null if it did not.",
        ),
        "event_time": documented(
            EventTime | None, "Watermarks, windows and late records; null if the log has none."
        ),
    },
)


def checkpoint_list(stored: StoredRecording, untimed: list[UntimedCheckpoint]) -> dict[str, Any]:
    """Return a CheckpointList of all checkpoints."""
    items = [_without_tasks(item) for item in stored.checkpoints()]
    return {"items": items, "total": len(items), "untimed": untimed}


def checkpoint_detail(stored: StoredRecording, checkpoint: str) -> dict[str, Any] | None:
    """Return a CheckpointDetail; None where there is no such checkpoint."""
    return next((item for item in stored.checkpoints() if item["checkpoint"] == checkpoint), None)


def _without_tasks(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "tasks"}
