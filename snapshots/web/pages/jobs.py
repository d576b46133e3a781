"""The pages of jobs."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.payloads.jobs import job_detail
from snapshots.problems import Conflict
from snapshots.services.jobs import cancel_job
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import back, page, wants_list_alone
from snapshots.web.tables.sending import show

COLUMNS = [
    Column("Job", "kind"),
    Column("Recording", "recording__name"),
    Column("State", "state"),
    Column("Progress", "progress", is_number=True),
    Column("Asked for, UTC", "created_at", is_number=True),
    Column("Ended, UTC", "finished_at", is_number=True),
]


@page
@require_safe
def job_list(request: HttpRequest) -> HttpResponseBase:
    listing = Listing(
        request,
        access.jobs(request.user).select_related("recording"),
        COLUMNS,
        search=["kind", "state", "recording__name", "snapshot", "expression"],
        sort="-created_at",
        by_team=True,
    )
    context = {
        "listing": listing,
        "jobs": [{**job_detail(row), "row": row} for row in listing.page],
    }
    name = "rows" if wants_list_alone(request) else "jobs"
    return show(request, f"snapshots/jobs/{name}.html", context)


@page
@require_safe
def job(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.job(request.user, pk)
    query = urlencode({"expression": row.expression})
    context = {"row": row, "job": job_detail(row), "expression_query": query}
    return show(request, "snapshots/jobs/job.html", context)


@page
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Cancel a job, and return to the page of its recording or to its own."""
    row = access.own_job(request.user, pk)
    to = f"/recordings/{row.recording_id}" if "to_recording" in request.POST else f"/jobs/{pk}"
    try:
        cancel_job(row)
    except Conflict as conflict:
        return back(request, to, conflict)
    return redirect(to)
