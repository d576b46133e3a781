"""The pages of mappings: list them, try one on a log, save it, read a whole log with it."""

import tempfile
from pathlib import Path
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from snapshots import access
from snapshots.files.uploads import drafts
from snapshots.limits import recording_limits
from snapshots.models import Mapping
from snapshots.payloads.mappings import MappingPreview
from snapshots.problems import Problem
from snapshots.readers.logs.mapped import mapping as mapping_reader
from snapshots.readers.logs.mapped.mapping import KINDS, SKIP, UNITS
from snapshots.readers.logs.mapped.preview import fields_of
from snapshots.services import mappings
from snapshots.services.recordings import accept_uploads
from snapshots.web.json import dumps
from snapshots.web.pages import mapping_form
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, page, wants_list_alone
from snapshots.web.tables.sending import show

COLUMNS = [
    Column("Name", "name"),
    Column("Process"),
    Column("Kind"),
    Column("Last changed, UTC", "updated_at", is_number=True),
]
SAMPLE_BYTES = 256 * 1024  # of a log that stay in the page


@page
@require_safe
def mapping_list(request: HttpRequest) -> HttpResponseBase:
    rows = access.mappings(request.user)
    listing = Listing(request, rows, COLUMNS, search=["name"], sort="-updated_at", by_team=True)
    context = {
        "listing": listing,
        "mappings": [{"row": row, "kind": _kind(row)} for row in listing.page],
    }
    name = "rows" if wants_list_alone(request) else "mappings"
    return show(request, f"snapshots/mappings/{name}.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    if request.method == "POST":
        return _submitted(request, None)
    return _editor(request, None, mapping_form.blank())


@page
@require_http_methods(["GET", "HEAD", "POST"])
def mapping(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.mapping(request.user, pk)
    if request.method == "POST":
        return _submitted(request, row)
    return _editor(request, row, mapping_form.typed(row.name, row.document))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.own_mapping(request.user, pk)
    if request.method != "POST":
        consequence = "Recordings that were read with it stay, because they hold a copy of it."
        return ask_to_delete(request, row.name, consequence, reverse("mapping", args=[row.pk]))
    mappings.delete(row, request.user)
    messages.success(request, f"“{row.name}” is deleted.")
    return redirect("mappings")


def _kind(row: Mapping) -> str:
    kind = row.document.get("kind")
    return kind.get("path", "") if isinstance(kind, dict) else kind or ""


def _submitted(request: HttpRequest, row: Mapping | None) -> HttpResponseBase:
    """Handle the form: look at the log, try the mapping, save it, or read a log with it."""
    action, typed = request.POST.get("action"), mapping_form.posted(request.POST)
    sample = _sample(request)
    try:
        if action == "look":
            return _editor(request, row, typed, sample=sample)
        document = mapping_form.document(typed)
        if action == "preview":
            tried = mappings.checked(document)
            return _editor(request, row, typed, sample=sample, tried=tried)
        if row is not None:
            row = access.own_mapping(request.user, row.pk)
        owner = access.holder(request.user, request.POST.get("team"))
        row = mappings.save(owner, typed["name"], document, mapping=row)
        if action == "upload":
            files = drafts(request.FILES.getlist("log")[-1:])
            jobs = accept_uploads(row.owner, files, by=request.user, format=row.format)
            return redirect("recording", jobs[0].recording_id)
    except Problem as problem:
        return _editor(request, row, typed, sample=sample, problem=problem)
    messages.success(request, f"“{row.name}” is saved.")
    return redirect("mapping", row.pk)


def _sample(request: HttpRequest) -> str:
    """Return the lines that were pasted, or the first whole lines of a file."""
    file = request.FILES.get("file")
    if file is None:
        return request.POST.get("lines", "")[:SAMPLE_BYTES]
    data = file.read(SAMPLE_BYTES + 1)
    if len(data) > SAMPLE_BYTES:
        data = data[: data.rfind(b"\n") + 1] or data[:SAMPLE_BYTES]
    return data.decode(errors="replace")


def _editor(
    request: HttpRequest,
    row: Mapping | None,
    typed: dict[str, str],
    *,
    sample: str = "",
    tried: mapping_reader.Mapping | None = None,
    problem: Problem | None = None,
) -> HttpResponseBase:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample"
        path.write_bytes(sample.encode(errors="replace"))
        fields = fields_of(path, recording_limits()) if sample.strip() else {}
        preview = mappings.previewed(path, tried) if tried and sample.strip() else None
    refusal = problem.as_json() if problem else None
    context = {
        "mapping": row,
        "typed": typed,
        "sample": sample,
        "fields": [{"path": path, "example": example} for path, example in fields.items()],
        "kinds": KINDS,
        "otherwise": (*KINDS, SKIP),
        "units": UNITS,
        "preview": preview and _shown(preview),
        "nothing_to_try": tried is not None and preview is None,
        "refusal": refusal,
        "wrong": mapping_form.field_of(refusal.get("field")) if refusal else "",
    }
    status = problem.status if problem else 200
    return render(request, "snapshots/mappings/mapping.html", context, status=status)


def _shown(preview: MappingPreview) -> dict[str, Any]:
    """Return a preview with states, values and dates as text."""
    events = [
        {
            **event,
            "state": _text(event["state"]),
            "value": _text(event["value"]),
            "instant_text": _date_text(event["instant"]),
        }
        for event in preview["events"]
    ]
    return {**preview, "events": events}


def _date_text(instant: str | None) -> str | None:
    """Return a date as ``2024-05-01 12:00:00.25``, without zeros at the end."""
    if instant is None:
        return None
    seconds, _, fraction = instant.removesuffix("Z").replace("T", " ").partition(".")
    return f"{seconds}.{fraction.rstrip('0')}".rstrip(".")


def _text(value: orjson.Fragment | None) -> str | None:
    return None if value is None else dumps(value).decode()[:200]
