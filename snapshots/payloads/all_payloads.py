"""Payloads, declared once: what the API answers and the websocket sends.

``TypedDict``s are the contract that OpenAPI shows; the functions below build them from rows.
Instants are in the recording's time unit; dates are ISO 8601 in UTC.
"""

from datetime import datetime
from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.header_notes import notes_of
from snapshots.models import Job, Recording, Snapshot, Topology
from snapshots.problems import LISTED_DEFECTS
from snapshots.progress import remaining
from snapshots.store.reader import StoredRecording


class Counts(TypedDict):
    events: int
    messages: int
    markers: int
    processes: int
    channels: int
    snapshots: int
    defects: int


# "from" is a keyword, so the declaration takes the functional form.
Extent = TypedDict("Extent", {"from": int, "to": int, "steps": int})


class Defect(TypedDict):
    code: str
    severity: str
    sentence: str
    line: int | None
    field: str | None
    process: NotRequired[str | None]
    count: NotRequired[int]


class Choice(TypedDict):
    """One of several things in a file. format: names it in another upload of the file."""

    format: str
    name: str
    events: int | None


class Problem(TypedDict):
    """RFC 9457, media type application/problem+json. choices: between which to decide; instead:
    the address where it can be done."""

    type: str
    title: str
    status: int
    detail: str
    line: NotRequired[int]
    field: NotRequired[str]
    defects: NotRequired[list[Defect]]
    choices: NotRequired[list[Choice]]
    instead: NotRequired[str]


class RecordingSummary(TypedDict):
    """A recording in a list."""

    id: int
    name: str
    status: str
    format: str
    sample: bool
    description: str
    time_unit: str
    created_at: str
    size: int
    counts: Counts
    extent: Extent
    job: int | None
    error: dict[str, Any] | None


class ListedRecording(RecordingSummary):
    """goes_at: when it is removed, by the retention of its person; null where it stays."""

    goes_at: str | None


class RecordingDetail(RecordingSummary):
    """recognised: by what its format was told, as a sentence. notes: what such a log cannot tell,
    as sentences; both as far as known."""

    recognised: str | None
    notes: list[str]
    defects: list[Defect]
    defects_total: int
    snapshots: list[str]


class RecordingList(TypedDict):
    items: list[ListedRecording]
    total: int


class DefectList(TypedDict):
    items: list[Defect]
    total: int


class ProcessItem(TypedDict):
    id: str
    state: NotRequired[Any]
    scope: NotRequired[str]


class ChannelItem(TypedDict):
    id: str
    source: str
    target: str
    fifo: bool
    overtaking: NotRequired[bool]


class TopologyOfRecording(TypedDict):
    processes: list[ProcessItem]
    channels: list[ChannelItem]


class TopologyDetail(TopologyOfRecording):
    id: int
    name: str
    sample: bool
    layout: dict[str, list[float]]
    dataflow: NotRequired[dict[str, Any]]
    created_at: str
    updated_at: str


class TopologySummary(TypedDict):
    id: int
    name: str
    sample: bool
    processes: int
    channels: int
    updated_at: str


class TopologyList(TypedDict):
    items: list[TopologySummary]
    total: int


class VerdictCount(TypedDict):
    verdict: str
    count: int


class SnapshotSummary(TypedDict):
    """positions: by process, the index of its record; who never recorded is absent."""

    snapshot: str
    verdict: str
    verdicts: list[dict[str, Any]]
    verdict_counts: list[VerdictCount]
    initiators: list[str]
    began_at: int | None
    ended_at: int | None
    duration: int | None
    markers_sent: int
    markers_received: int
    positions: dict[str, int]
    totals: dict[str, Any] | None


class SnapshotList(TypedDict):
    items: list[SnapshotSummary]


class JobDetail(TypedDict):
    """How a job goes.

    progress: 0..1; done, total: events; rate: events a second; remaining: seconds. error: why it
    failed, or what a queued job waits for; retry_at: when a worker may try that one again.
    """

    id: int
    kind: str
    state: str
    phase: str
    progress: float
    done: int
    total: int | None
    rate: float | None
    remaining: float | None
    recording: int | None
    recording_name: str | None
    snapshot: str | None
    expression: str | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    cancel_requested: bool
    retry_at: str | None
    created_at: str
    finished_at: str | None


class JobList(TypedDict):
    items: list[JobDetail]
    total: int


class Accepted(TypedDict):
    """What was asked for has begun; ``job`` tells how it goes."""

    id: int
    job: int


class AcceptedRecording(Accepted):
    """format: what it is read as; recognised: by what that was told, as a sentence, null where
    only unpacking tells."""

    format: str
    recognised: str | None


class AcceptedUpload(AcceptedRecording):
    """recordings: all of them, where several files came in one request."""

    recordings: list[AcceptedRecording]


class AcceptedJob(TypedDict):
    job: int


def recording_summary(row: Recording, job: int | None) -> RecordingSummary:
    """job: the id of its newest job."""
    return {
        "id": row.pk,
        "name": row.name,
        "status": row.status,
        "format": row.format,
        "sample": row.is_sample,
        "description": row.description,
        "time_unit": row.time_unit,
        "created_at": date(row.created_at),
        "size": row.size,
        "counts": {
            "events": row.event_count,
            "messages": row.message_count,
            "markers": row.marker_count,
            "processes": row.process_count,
            "channels": row.channel_count,
            "snapshots": row.snapshot_count,
            "defects": row.defects_total,
        },
        "extent": {"from": row.began_at, "to": row.ended_at, "steps": row.event_count},
        "job": job,
        "error": row.error,
    }


def recording_detail(row: Recording) -> RecordingDetail:
    return {
        **recording_summary(row, newest_job(row)),
        "recognised": recognised(row),
        "notes": notes_of(row),
        "defects": row.defects[:LISTED_DEFECTS],
        "defects_total": row.defects_total,
        "snapshots": list(row.snapshots.order_by("code").values_list("snapshot", flat=True)),
    }


def recognised(row: Recording) -> str | None:
    return (row.parameters or {}).get("recognised")


def accepted_recording(job: Job) -> AcceptedRecording:
    row = job.recording
    told = {"format": row.format, "recognised": recognised(row)}
    return {"id": row.pk, "job": job.pk, **told}


def newest_job(row: Recording) -> int | None:
    return row.jobs.order_by("-pk").values_list("pk", flat=True).first()


def snapshot_summary(row: Snapshot) -> SnapshotSummary:
    known = row.began_at is not None and row.ended_at is not None
    return {
        "snapshot": row.snapshot,
        "verdict": row.verdict,
        "verdicts": row.verdicts,
        "verdict_counts": row.verdict_counts,
        "initiators": row.initiators,
        "began_at": row.began_at,
        "ended_at": row.ended_at,
        "duration": row.ended_at - row.began_at if known else None,
        "markers_sent": row.markers_sent,
        "markers_received": row.markers_received,
        "positions": row.positions,
        "totals": row.totals,
    }


def topology_of_recording(stored: StoredRecording) -> TopologyOfRecording:
    return {
        "processes": [
            {"id": process.id}
            | ({} if process.state is None else {"state": orjson.Fragment(process.state)})
            | ({} if process.scope is None else {"scope": process.scope})
            for process in stored.topology.processes
        ],
        "channels": [
            {"id": item.id, "source": item.source, "target": item.target, "fifo": item.fifo}
            | ({"overtaking": True} if item.overtaking else {})
            for item in stored.topology.channels
        ],
    }


def job_detail(row: Job) -> JobDetail:
    return {
        "id": row.pk,
        "kind": row.kind,
        "state": row.state,
        "phase": row.phase,
        "progress": row.progress,
        "done": row.done,
        "total": row.total,
        "rate": row.rate,
        "remaining": remaining(row),
        "recording": row.recording_id,
        "recording_name": row.recording.name if row.recording else None,
        "snapshot": row.snapshot or None,
        "expression": row.expression or None,
        "result": row.result,
        "error": row.error,
        "cancel_requested": row.cancel_requested,
        "retry_at": date(row.retry_at) if row.retry_at else None,
        "created_at": date(row.created_at),
        "finished_at": date(row.finished_at) if row.finished_at else None,
    }


def topology_detail(row: Topology) -> TopologyDetail:
    return {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "processes": row.definition["processes"],
        "channels": row.definition["channels"],
        "layout": row.definition.get("layout", {}),
        "created_at": date(row.created_at),
        "updated_at": date(row.updated_at),
    } | ({"dataflow": row.definition["dataflow"]} if row.is_dataflow else {})


def topology_summary(row: Topology) -> TopologySummary:
    return {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "processes": len(row.definition["processes"]),
        "channels": len(row.definition["channels"]),
        "updated_at": date(row.updated_at),
    }


def date(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
