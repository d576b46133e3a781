"""Declare and build the payloads of jobs."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Job
from snapshots.payloads.dates import date, optional_date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.progress import remaining
from snapshots.payloads.teams import OwningTeam, team_of


@described
class JobDetail(TypedDict):
    """A job, and how far it is.

    Attributes:
        id: the number of the job.
        team: the team for whose limits it counts; null for a person's own and for samples.
        kind: ``ingest``, ``simulate``, ``restore``, ``reordering`` or ``predicate``.
        state: ``queued``, ``running``, ``done``, ``failed``, ``refused`` or ``cancelled``.
        phase: what the worker does at the moment, in a few words; empty before it begins.
        progress: the part that is done, from 0 to 1.
        done: how many events of this phase are done.
        total: how many events this phase has; null where that is not known.
        rate: how many events are done in a second; null where that is not known.
        remaining: about how many seconds are left; null where that cannot be estimated.
        recording: the number of the recording; null where it has none.
        recording_name: the name of the recording; null where it has none.
        snapshot: the id of the snapshot that is restored or reordered; null for other jobs.
        expression: the expression that is searched for; null for other jobs.
        result: what the job found out; null until it is done, and for jobs without a result.
        error: why it failed, or what a queued job waits for; null where all is well.
        cancel_requested: whether a person has cancelled it; a running job ends at its next step.
        retry_at: when a worker may try the queued job again, as ISO 8601 in UTC; null where the
            job waits for nothing.
        created_at: when the job was requested, as ISO 8601 in UTC.
        finished_at: when the job ended, as ISO 8601 in UTC; null while it is open.
    """

    id: int
    team: OwningTeam | None
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


@described
class AcceptedJob(TypedDict):
    """The work was accepted, or the same work was accepted before.

    Attributes:
        job: the number of the job that does the work.
    """

    job: int


def job_detail(row: Job) -> JobDetail:
    return {
        "id": row.pk,
        "team": team_of(row),
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
        "retry_at": optional_date(row.retry_at),
        "created_at": date(row.created_at),
        "finished_at": optional_date(row.finished_at),
    }
