"""The mapping pages: list, try on a log, save, read a whole log with one."""

import tempfile
from pathlib import Path
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from snapshots import access
from snapshots.limits import recording_limits
from snapshots.models import Mapping
from snapshots.problems import Problem
from snapshots.readers.logs.mapped.mapping import KINDS, SKIP, UNITS
from snapshots.readers.logs.mapped.preview import fields_of
from snapshots.services import mappings
from snapshots.services.recordings import accept_uploads
from snapshots.web.json import dumps
from snapshots.web.pages import mapping_form
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, page, wants_list_alone

COLUMNS = [
    Column("Name", "name"),
    Column("Process"),
    Column("Kind"),
    Column("Last changed, UTC", "updated_at", is_number=True),
]
SAMPLE_BYTES = 256 * 1024  # of a log that stay in the page


@page
@require_safe
def mapping_list(request: HttpRequest) -> HttpResponse:
    rows = access.mappings(request.user)
    listing = Listing(request, rows, COLUMNS, search=["name"], sort="-updated_at")
    context = {
        "listing": listing,
        "mappings": [{"row": row, "kind": _kind(row)} for row in listing.page],
    }
    name = (
        "snapshots/mappings/rows.html"
        if wants_list_alone(request)
        else "snapshots/mappings/mappings.html"
    )
    return render(request, name, context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _submitted(request, None)
    return _editor(request, None, mapping_form.blank())


@page
@require_http_methods(["GET", "HEAD", "POST"])
def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    row = access.mapping(request.user, pk)
    if request.method == "POST":
        return _submitted(request, row)
    return _editor(request, row, mapping_form.typed(row.name, row.document))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    row = access.mapping(request.user, pk)
    if request.method != "POST":
        consequence = "Recordings that were read by it stay: they hold a copy of it."
        return ask_to_delete(request, row.name, consequence, reverse("mapping", args=[row.pk]))
    mappings.delete(row, request.user)
    messages.success(request, f"“{row.name}” is deleted.")
    return redirect("mappings")


def _kind(row: Mapping) -> str:
    kind = row.document.get("kind")
    return kind.get("path", "") if isinstance(kind, dict) else kind or ""


def _submitted(request: HttpRequest, row: Mapping | None) -> HttpResponse:
    """The one form of the page: look at the log, try the mapping, save it, or read a log by it."""
    action, typed = request.POST.get("action"), mapping_form.posted(request.POST)
    sample = _sample(request)
    try:
        if action == "look":
            return _editor(request, row, typed, sample=sample)
        document = mapping_form.document(typed)
        if action == "preview":
            found = mappings.checked(document)
            return _editor(request, row, typed, sample=sample, tried=found)
        row = mappings.save(request.user, typed["name"], document, mapping=row)
        file = request.FILES.get("log")
        if action == "upload":
            jobs = accept_uploads(request.user, [file] if file else [], format=row.format)
            return redirect("recording", jobs[0].recording_id)
    except Problem as problem:
        return _editor(request, row, typed, sample=sample, problem=problem)
    messages.success(request, f"“{row.name}” is saved.")
    return redirect("mapping", row.pk)


def _sample(request: HttpRequest) -> str:
    """The lines that were pasted, or the first whole ones of a file."""
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
    tried=None,
    problem: Problem | None = None,
) -> HttpResponse:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample"
        path.write_bytes(sample.encode(errors="replace"))
        fields = fields_of(path, recording_limits()) if sample.strip() else {}
        found = mappings.previewed(path, tried) if tried and sample.strip() else None
    refusal = problem.as_json() if problem else None
    context = {
        "mapping": row,
        "typed": typed,
        "sample": sample,
        "fields": [{"path": path, "example": example} for path, example in fields.items()],
        "kinds": KINDS,
        "otherwise": (*KINDS, SKIP),
        "units": UNITS,
        "preview": found and _shown(found),
        "nothing_to_try": tried is not None and found is None,
        "refusal": refusal,
        "wrong": mapping_form.field_of(refusal.get("field")) if refusal else "",
    }
    return render(
        request,
        "snapshots/mappings/mapping.html",
        context,
        status=problem.status if problem else 200,
    )


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """States, values and dates as text."""
    events = [
        event
        | {part: _text(event[part]) for part in ("state", "value")}
        | {"instant_text": _date_text(event["instant"])}
        for event in found["events"]
    ]
    return found | {"events": events}


def _date_text(instant: str | None) -> str | None:
    """``2024-05-01 12:00:00.25``: as it came, without zeros at its end."""
    if instant is None:
        return None
    seconds, _, fraction = instant.removesuffix("Z").replace("T", " ").partition(".")
    return f"{seconds}.{fraction.rstrip('0')}".rstrip(".")


def _text(value: orjson.Fragment | None) -> str | None:
    return None if value is None else dumps(value).decode()[:200]
