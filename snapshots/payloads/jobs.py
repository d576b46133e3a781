"""Jobs and how far they are."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Job
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.progress import remaining


@described
class JobDetail(TypedDict):
    """A job, and how far it is.

    Attributes:
        progress: the part that is done, from 0 to 1.
        done: how many events are done.
        total: how many events there are.
        rate: how many events are done in a second.
        remaining: about how many seconds are left.
        error: why it failed, or what a queued job waits for.
        retry_at: when a worker may try the queued job again.
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


JobList = list_of(JobDetail, "JobList")


class AcceptedJob(TypedDict):
    job: int


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
