"""The list of recordings, and the pages of one: workbench, progress, reasons, defects."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from snapshots import access
from snapshots.answers.first_answer import worst_snapshot
from snapshots.answers.outcomes import Outcomes, outcome_of, outcomes_of
from snapshots.answers.plan import is_planned
from snapshots.domain.judging.findings import CONSISTENT, UNKNOWN
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.files import uploads
from snapshots.files.recordings import open_recording
from snapshots.guides import GUIDES, slug_after
from snapshots.models import Job, Recording
from snapshots.payloads.jobs import job_detail
from snapshots.payloads.recordings import recording_detail, snapshot_summary
from snapshots.payloads.topologies import topology_of_recording
from snapshots.problems import Conflict, NotFound, Problem, Refused, TooMany
from snapshots.quantities import counted
from snapshots.readers.engines import registry
from snapshots.reviews.bundles.accepting import Taken, accept_files
from snapshots.services import formats, opened
from snapshots.services.noted import notes_of
from snapshots.services.recordings import (
    delete_recording,
    ingest_again,
    rename_recording,
)
from snapshots.services.retention import announcements
from snapshots.store.control import coordinators
from snapshots.store.reader import StoredRecording
from snapshots.web import visiting
from snapshots.web.json import dumps
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, back, page, wants_list_alone
from snapshots.web.tables.sending import show
from webapp.accounts import audit
from webapp.accounts.auth import SignedInRequest
from webapp.teams.roles import Role

COLUMNS = [
    Column("Name", "name"),
    Column("Status", "status"),
    Column("Snapshots", "snapshot_count", is_number=True),
    Column("Format", "format"),
    Column("Events", "event_count", is_number=True),
    Column("Processes", "process_count", is_number=True),
    Column("Size", "size", is_number=True),
    Column("Created, UTC", "created_at", is_number=True),
]
DEFECTS_ON_A_PAGE = 200
MOST_PROCESSES_INLINE = 2_000  # above, the workbench fetches the topology by itself
MOST_SNAPSHOTS_INLINE = 200
MOST_BYTES_INLINE = 2**16  # of the topology, and of the snapshots; above, likewise


@page
@require_http_methods(["GET", "HEAD", "POST"])
def recording_list(request: SignedInRequest) -> HttpResponseBase:
    if request.method == "POST":
        return _upload(request)
    return _render_list(request)


def _render_list(
    request: SignedInRequest,
    *,
    refusals: Sequence[Mapping[str, Any]] = (),
    accepted: Sequence[Recording] = (),
    status: int = 200,
) -> HttpResponseBase:
    visible = access.recordings(request.user)
    listing = Listing(
        request,
        visible.exclude(owner=None),
        COLUMNS,
        search=["name", "source_name", "format", "status"],
        sort="-created_at",
        by_team=True,
    )
    announced = announcements(list(listing.page))
    context = {
        "listing": listing,
        "rows": [
            {
                "recording": row,
                "outcomes": outcomes,
                "job": job,
                "goes_at": announced.get(row.pk),
            }
            for row, outcomes, job in _with_outcomes(listing.page)
        ],
        "changeable": access.holder_ids(request.user, Role.EDITOR),
        "refusals": refusals,
        "formats": [*formats.choices(request.user), *_offered(refusals)],
        "format": request.POST.get("format", ""),
        "accepted": accepted,
    }
    if wants_list_alone(request):
        return show(request, "snapshots/recordings/rows.html", context)
    samples = visible.filter(owner=None).order_by("pk")
    context["unfinished"] = access.resumable_uploads(request.user).filter(status=None)
    context["samples"] = [
        {"recording": row, "outcomes": outcomes} for row, outcomes, _ in _with_outcomes(samples)
    ]
    return show(request, "snapshots/recordings/recordings.html", context, status=status)


def _offered(refusals: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the format and the name of each thing between which a refused file lets choose."""
    choices = (choice for refusal in refusals for choice in refusal["problem"].get("choices", ()))
    return [(choice["format"], choice["name"] or choice["format"]) for choice in choices]


def _with_outcomes(
    page: Iterable[Recording],
) -> Iterator[tuple[Recording, Outcomes, Job | None]]:
    """Yield each recording with the outcomes of its snapshots and its open job."""
    rows = list(page)
    outcomes = outcomes_of(rows)
    jobs = {
        job.recording_id: job for job in Job.objects.filter(recording__in=rows, state__in=Job.OPEN)
    }
    for row in rows:
        yield row, outcomes[row.pk], jobs.get(row.pk)


def _upload(request: SignedInRequest) -> HttpResponseBase:
    """Accept each file of the plain form by itself, so that a refused one does not stop others."""
    owner = access.holder(request.user, request.POST.get("team"))
    files = uploads.drafts(request.FILES.getlist("file"))
    format = request.POST.get("format", "")
    taken: list[Taken] = []
    refusals = []
    for upload in [[file] for file in files] or [[]]:
        try:
            taken += accept_files(owner, upload, by=request.user, format=format)
        except Problem as problem:
            name = upload[0].name if upload else ""
            refusals.append({"name": name, "problem": problem.as_json()})
    if refusals:
        accepted = [each.recording for each in taken]
        return _render_list(request, refusals=refusals, accepted=accepted, status=422)
    for each in taken:
        if each.notes is not None:
            messages.success(request, f"“{each.recording}”: {each.notes}")
        for other in access.same_files(request.user, each.recording)[:1]:
            messages.info(
                request,
                f"This file was uploaded on {other.created_at:%Y-%m-%d} as {other.title} before.",
            )
    if len(taken) == 1:
        return redirect("recording", taken[0].recording.pk)
    if reading := sum(each.job is not None for each in taken):
        verb = "is" if reading == 1 else "are"
        messages.success(request, f"{counted(reading, 'recording')} {verb} being read.")
    return redirect("recordings")


@page
@require_safe
def recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the workbench of a ready recording, else its progress or why it failed.

    An engine's upload opens with its first answer, unless a link leads to a place in the workbench.
    """
    row = access.recording(request.user, pk)
    if isinstance(request.user, access.Visitor):
        access.require_ready(row)
        return _show_visitor(request, request.user, row)
    if row.is_ready and row.format in registry.READERS and not request.GET:
        return redirect("answer", pk)
    if row.is_shown:
        workbench = _workbench(row) | {"view": _kept_view(request, row)}
        is_public = access.shows_words(row)
        context = {"recording": row, "workbench": workbench, "is_public": is_public}
        context["failing"] = _failing(row)
        return show(request, "snapshots/workbench/workbench.html", context)
    job = row.jobs.order_by("-pk").first()
    context = {"recording": row, "row": job, "job": job_detail(job) if job else None}
    under_way = row.status in (Recording.Status.QUEUED, Recording.Status.RUNNING)
    name = "progress" if under_way else "reasons"
    return show(request, f"snapshots/recordings/{name}.html", context)


def _show_visitor(
    request: HttpRequest, visitor: access.Visitor, row: Recording
) -> HttpResponseBase:
    """Show the workbench to somebody with a public link, without names and ways to other pages."""
    link = visitor.link
    shown = visiting.workbench(_workbench(row), link, has_place=bool(request.GET))
    context = {"recording": row, "visitor": link, "workbench": shown, "failing": _failing(row)}
    return render(request, "snapshots/workbench/workbench.html", context)


def _failing(row: Recording) -> int:
    """Return of how many snapshots a finding says that something is wrong."""
    return row.snapshots.exclude(verdict__in=(UNKNOWN, CONSISTENT)).count()


def _kept_view(request: HttpRequest, row: Recording) -> dict[str, Any] | None:
    """Return the view of the short link in the parameter ``v``; None without one."""
    key = request.GET.get("v", "")
    kept = access.short_link(request.user, key) if key else None
    return kept.view if kept is not None and kept.recording_id == row.pk else None


def _workbench(row: Recording) -> dict[str, Any]:
    """Return the data of the page; a part that is too large for it is None, and is fetched."""
    has_few_processes = row.process_count <= MOST_PROCESSES_INLINE
    has_few_snapshots = row.snapshot_count <= MOST_SNAPSHOTS_INLINE
    stored, worst = open_recording(row), worst_snapshot(row)
    return {
        "recording": {
            **recording_detail(row),
            **({"counts": dict(stored.manifest.counts)} if row.is_open else {}),
            **({"extent": as_json(stored.manifest.extent)} if row.is_open else {}),
            "is_derived": is_derived(stored.manifest.header_extra),
            "worst": None if worst is None else worst.snapshot,
        },
        "topology": _inline(topology_of_recording(stored)) if has_few_processes else None,
        "snapshots": _inline(
            [snapshot_summary(item, outcome_of(item)) for item in row.snapshots.all()]
        )
        if has_few_snapshots
        else None,
        "is_dataflow": stored.is_dataflow,
        "has_plan": is_planned(stored.manifest.header_extra),
        "coordinators": _coordinators(stored) if stored.is_dataflow else None,
        "has_inventory": row.format in registry.READERS,
        "can_run_again": _was_simulated(row),
        "can_compare_modes": (row.parameters or {}).get("protocol") == "flink",
        "guide": _guide(row.slug, row.pk) if row.slug in GUIDES else None,
        "view": None,
        "is_live": row.is_open,
        "is_visitor": False,
        "shows_notes": not row.is_sample,
        "urls": {},
    }


def _coordinators(stored: StoredRecording) -> list[str] | None:
    """Return the ids of the coordinators; None if nothing is told of tasks."""
    codes = coordinators(stored.tables)
    if codes is None:
        return None
    return [stored.topology.processes[code].id for code in codes]


def _was_simulated(row: Recording) -> bool:
    """Tell whether a workload was simulated on processes and channels, and not a dataflow."""
    topology = (row.parameters or {}).get("topology")
    return topology is not None and "dataflow" not in topology


def _guide(slug: str, pk: int) -> dict[str, Any]:
    """Return the tour of a sample, with name and address of the next one, or None for the last."""
    later = Recording.objects.filter(owner=None, slug=slug_after(slug)).first()
    onward = [later.name, f"/recordings/{later.pk}?tour=1"] if later else None
    return GUIDES[slug].to_json(pk) | {"onward": onward}


def _inline(payload: Any) -> Any:
    """Return a payload as the API sends it, or None if it is too long for a page."""
    text = dumps(payload)
    return orjson.loads(text) if len(text) <= MOST_BYTES_INLINE else None


@page
@require_safe
def defects(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show what was wrong with the input: the first 1,000 defects, and the count of all."""
    row = access.recording(request.user, pk)
    listed = open_recording(row).defects()["defects"] if row.is_ready else row.defects
    code = request.GET.get("code", "")
    counts = Counter(item["code"] for item in listed)
    chosen = [item for item in listed if item["code"] == code] if code in counts else listed
    context = {
        "recording": row,
        "total": row.defects_total,
        "listed": len(listed),
        "counts": sorted(counts.items()),
        "code": code if code in counts else "",
        "has_inventory": row.format in registry.READERS,
        "page": Paginator(chosen, DEFECTS_ON_A_PAGE).get_page(request.GET.get("page")),
    }
    return show(request, "snapshots/recordings/defects.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def rename(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.own_recording(request.user, pk)
    typed = request.POST.get("name", row.name)
    context = {"recording": row, "typed": typed}
    if request.method != "POST":
        return render(request, "snapshots/recordings/rename.html", context)
    try:
        rename_recording(row, typed)
    except Refused as refused:
        row.refresh_from_db()
        context["refusal"] = refused.detail
        return render(request, "snapshots/recordings/rename.html", context, status=refused.status)
    return redirect("recording", pk)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.own_recording(request.user, pk)
    if request.method != "POST":
        return _ask_to_delete(request, row)
    delete_recording(row, request.user)
    messages.success(request, f"“{row.name}” is deleted.")
    return redirect("recordings")


def _ask_to_delete(request: HttpRequest, row: Recording) -> HttpResponseBase:
    events = counted(row.event_count, "event")
    snapshots = counted(row.snapshot_count, "snapshot")
    noted = notes_of(row)
    notes = f" It takes {noted} with it." if noted else ""
    return ask_to_delete(
        request,
        row.name,
        f"Its {events}, {snapshots}, its jobs and the uploaded file are removed.{notes}",
        address=reverse("recording", args=[row.pk]),
        original=reverse("original", args=[row.pk]) if row.upload else None,
    )


@page
@require_POST
def again(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.own_recording(request.user, pk)
    try:
        ingest_again(row, request.user, whole_state="whole_state" in request.POST)
    except Conflict as conflict:
        return back(request, f"/recordings/{pk}", conflict)
    return redirect("recording", pk)


@page
@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Close an open recording; the page then shows how far its reading is."""
    row = access.own_recording(request.user, pk)
    try:
        opened.close(row, request.user)
    except (Conflict, TooMany) as problem:
        return back(request, f"/recordings/{pk}", problem)
    return redirect("recording", pk)


@page
@require_GET
def original(request: HttpRequest, pk: int) -> FileResponse:
    """Send the file as it was uploaded. Raises: NotFound if it is not kept."""
    row = access.recording(request.user, pk)
    path = uploads.at_hand(row.upload) if row.upload else None
    if path is None or not path.exists():
        raise NotFound(f"The file that “{row.name}” was read from is not kept.")
    audit.note(audit.DOWNLOADED, request.user, f"upload of {row.title}")
    name = row.source_name or f"{row.name}.jsonl"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name)
