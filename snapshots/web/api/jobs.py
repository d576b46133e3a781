"""The calls that list, watch and cancel jobs."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from snapshots import access
from snapshots.payloads.jobs import JobDetail, JobList, job_detail
from snapshots.services import jobs
from snapshots.web.api.parameters import JobId, Limit, Offset, OwnedBy
from snapshots.web.json import reply, reply_page

router = Router()


@router.get("/jobs", response=JobList)
def list_jobs(
    request: HttpRequest,
    limit: Limit,
    offset: Offset,
    team: OwnedBy,
    state: Annotated[
        Literal["", "queued", "running", "done", "failed", "refused", "cancelled"],
        Query(description="The state; empty for all."),
    ] = "",
) -> HttpResponse:
    """List your jobs and those of your teams, newest first."""
    rows = access.owned_by(request.user, access.jobs(request.user), team)
    rows = rows.select_related("recording")
    if state:
        rows = rows.filter(state=state)
    return reply_page(rows, offset, limit, job_detail)


@router.get("/jobs/{int:id}", response=JobDetail)
def get_job(request: HttpRequest, id: JobId) -> HttpResponse:
    """Return a job: its state, its progress, and in the end its `result` or `error`."""
    return reply(job_detail(access.job(request.user, id)))


@router.post("/jobs/{int:id}/cancel", response={202: JobDetail})
def cancel_job(request: HttpRequest, id: JobId) -> HttpResponse:
    """Cancel a job. A queued job ends now, a running one at its next step."""
    return reply(job_detail(jobs.cancel_job(access.own_job(request.user, id))), 202)
