"""The pages of the archive: jobs of engines whose checkpoints are kept, and collectors."""

from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Max, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from snapshots import access
from snapshots.archive import services, watching
from snapshots.files.uploads import drafts
from snapshots.models import EngineCheckpoint
from snapshots.problems import Invalid, Problem
from snapshots.quantities import counted
from snapshots.reviews.bundles import archived
from snapshots.services.noted import notes_of
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, page, wants_list_alone
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

COLUMNS = [
    Column("Job", "name"),
    Column("Engine", "engine"),
    Column("State", "state"),
    Column("Checkpoints", "count", is_number=True),
    Column("Last one", "last_at", is_number=True),
    Column("Collected by"),
]


@page
@require_http_methods(["GET", "HEAD", "POST"])
def job_list(request: SignedInRequest) -> HttpResponseBase:
    """Show the jobs and the collectors; a POST adds a collector, or takes a job from a file."""
    if request.method == "POST":
        return _take(request) if request.POST.get("action") == "take" else _add(request)
    return _render_list(request)


def _add(request: HttpRequest) -> HttpResponseBase:
    try:
        owner = access.holder(request.user, request.POST.get("team"))
        added = services.add_collector(owner, request.POST)
    except Problem as refusal:
        return _render_list(request, refusal=refusal, status=refusal.status)
    messages.success(request, f"{added.url} is asked every {added.interval_seconds} s from now.")
    return redirect("archive")


def _take(request: SignedInRequest) -> HttpResponseBase:
    """Take an archived job with its notes from a file that a Cutline wrote."""
    try:
        owner = access.holder(request.user, request.POST.get("team"))
        files = drafts(request.FILES.getlist("file"))
        if len(files) != 1:
            raise Invalid("Choose one file of an archived job.", field="file")
        job, merged = archived.taken(owner, files[0], by=request.user)
    except Problem as refusal:
        return _render_list(request, refused_file=refusal.detail, status=refusal.status)
    messages.success(request, f"“{job}” is in the archive. {merged.sentences()}")
    return redirect("archived-job", job.pk)


def _render_list(
    request: HttpRequest,
    *,
    refusal: Problem | None = None,
    refused_file: str = "",
    status: int = 200,
) -> HttpResponseBase:
    rows = access.engine_jobs(request.user).select_related("collector")
    listing = Listing(
        request,
        rows.annotate(
            count=Coalesce(_over_checkpoints(Count("pk")), 0),
            last_at=_over_checkpoints(Max("triggered_at")),
        ),
        COLUMNS,
        search=["name", "key", "engine", "state"],
        sort="-last_at",
        by_team=True,
    )
    for row in listing.page:
        row.stall = watching.stall_of(row)
    context = {
        "listing": listing,
        "collectors": access.collectors(request.user),
        "engines": services.ENGINES.items(),
        "refusal": refusal,
        "refused_file": refused_file,
        "least_seconds": settings.MIN_COLLECT_SECONDS,
        "most_seconds": max(settings.MIN_COLLECT_SECONDS, services.MOST_SECONDS),
        "usual_seconds": max(settings.MIN_COLLECT_SECONDS, services.USUAL_SECONDS),
        "typed": request.POST if refusal else {},
    }
    name = "rows" if wants_list_alone(request) else "jobs"
    return show(request, f"snapshots/archive/{name}.html", context, status=status)


def _over_checkpoints(aggregate: Count | Max) -> Subquery:
    """Aggregate over the checkpoints of each job.

    A join would carry the job's columns along with each checkpoint, which takes 20 times as long.
    """
    checkpoints = EngineCheckpoint.objects.filter(job=OuterRef("pk")).order_by().values("job")
    return Subquery(checkpoints.annotate(aggregate=aggregate).values("aggregate"))


@page
@require_POST
def change_collector(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Stop, continue or delete a collector, as the field ``action`` says."""
    row = access.own_collector(request.user, pk)
    action = request.POST.get("action", "")
    if action == "delete":
        services.delete_collector(row)
        messages.success(request, f"{row.url} is no longer asked. Its answers are kept.")
    elif action in ("stop", "continue"):
        services.set_collecting(row, action == "continue")
    else:
        raise Invalid("action must be stop, continue or delete.", field="action")
    return redirect("archive")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Delete a job from the archive after asking for confirmation."""
    job = access.own_engine_job(request.user, pk)
    if request.method != "POST":
        consequence = (
            f"{counted(job.checkpoints.count(), 'checkpoint')} will be gone from the archive; the "
            "engine has forgotten most of them. Uploads stay: ingest one again to put its "
            "checkpoints back."
        )
        noted = notes_of(job)
        consequence += f" It takes {noted} with it." if noted else ""
        address = reverse("archived-job", args=[job.pk])
        return ask_to_delete(request, str(job), consequence, address)
    services.delete_job(job, request.user)
    messages.success(request, f"“{job}” is no longer in the archive.")
    return redirect("archive")
