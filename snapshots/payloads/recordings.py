"""Recordings and their snapshots, as lists and pages need them.

Instants are in the recording's time unit; dates are ISO 8601 in UTC.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.dates import date
from snapshots.payloads.notes import notes_of
from snapshots.problems import LISTED_DEFECTS


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
