"""The page of all notes of a recording or an archived job, and what other pages show of them."""

import contextlib
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.db import transaction
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from snapshots import access
from snapshots.models import EngineJob
from snapshots.problems import Conflict, Invalid, Problem
from snapshots.reviews import entries, leftovers, trail
from snapshots.reviews.bundles import archived
from snapshots.reviews.bundles.exporting import bundle_of, file_name
from snapshots.reviews.history import MOST_VERSIONS, versions
from snapshots.reviews.models import Entry
from snapshots.reviews.subjects import Subject
from snapshots.web.api.reviews import OPEN, RESOLVED, filtered
from snapshots.web.entries import Reader
from snapshots.web.native_files import json_attachment
from snapshots.web.pages.rendering import ask_to_delete, page, wants_list_alone
from webapp.accounts.auth import SignedInRequest
from webapp.edge.optional_writes import optionally
from webapp.markdown import to_html

OF_RECORDING = "One file with the upload and all notes, which any Cutline takes as an upload"
OF_JOB = "One file with all checkpoints and notes, which the archive of any Cutline takes"
ROWS = 50
SHOWN = 20  # entries of one place on another page
LONGEST_NUMBER = 19  # digits


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_recording(request: SignedInRequest, pk: int) -> HttpResponse:
    """List the notes of a recording, and write one."""
    return _notes(request, access.recording(request.user, pk))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_archived_job(request: SignedInRequest, pk: int) -> HttpResponse:
    """List the notes of an archived job, and write one."""
    return _notes(request, access.engine_job(request.user, pk))


def _notes(request: SignedInRequest, subject: Subject) -> HttpResponse:
    if request.method != "POST":
        return _list(request, subject)
    fields = {name: request.POST.get(name, "") for name in ("text", "kind", "place", "due_on")}
    try:
        row = entries.write(request.user, subject, fields)
    except (Invalid, Conflict) as refusal:
        return _list(request, subject, refusal)
    return redirect(f"{_page_of_form(request) or _address(subject)}#entry-{row.pk}")


def _page_of_form(request: SignedInRequest) -> str:
    """Return the page from which a note was written; empty if it is one on another site."""
    page = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure())
    return page if ours else ""


def _list(
    request: SignedInRequest, subject: Subject, refusal: Problem | None = None
) -> HttpResponse:
    kind, state = request.GET.get("kind", ""), request.GET.get("state", "")
    only = _only(request)
    listed = entries.entries if only else entries.listed
    rows = filtered(listed(request.user, subject), kind, state)
    rows = rows.filter(pk=only) if only else rows
    shown = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    reader = Reader(request.user, subject, is_list=True)
    context = {
        "subject": subject,
        "back": _home(subject),
        "notes": [reader.entry(row) for row in shown],
        "page": shown,
        "kinds": Entry.Kind.values,
        "states": (OPEN, RESOLVED),
        "kind": kind,
        "state": state,
        "only": only,
        "may_write": reader.may_comment,
        "is_public": access.shows_words(subject),
        "address": _address(subject),
        "place": request.POST.get("place", ""),
        "typed": request.POST.get("text", ""),
        "typed_kind": request.POST.get("kind", ""),
        "typed_day": request.POST.get("due_on", ""),
        "refusal": refusal.detail if refusal else "",
        "is_sample": subject.owner_id is None,
        "download": _download(subject),
        "download_title": OF_JOB if isinstance(subject, EngineJob) else OF_RECORDING,
        "socket": _socket(subject),
    }
    name = "rows" if wants_list_alone(request) else "notes"
    status = refusal.status if refusal else 200
    return render(request, f"snapshots/reviews/{name}.html", context, status=status)


def _only(request: SignedInRequest) -> int:
    """Return the number of the entry that alone is shown, with all answers; 0 for a list."""
    text = request.GET.get("entry", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < LONGEST_NUMBER else 0


@page
@require_GET
def download(request: SignedInRequest, pk: int) -> FileResponse:
    """Send a recording with its notes as one file. Raises: NotFound if its upload is not kept."""
    row = access.recording(request.user, pk)
    content = bundle_of(row, request.user)
    return FileResponse(content, as_attachment=True, filename=file_name(row))


@page
@require_GET
def download_archived(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send an archived job with its notes as one file."""
    row = access.engine_job(request.user, pk)
    return json_attachment(archived.written(row, request.user), archived.file_name(row))


@page
@require_POST
def change(request: SignedInRequest, pk: int) -> HttpResponse:
    """Answer, edit, resolve, reopen or delete an entry, as the pressed button says."""
    row = entries.entry(request.user, pk)
    action, text = request.POST.get("action", ""), request.POST.get("text", "")
    anchor = row.parent_id or row.pk
    if action == "answer":
        entries.answer(request.user, row, text)
    elif action == "edit":
        try:
            entries.change(request.user, row, {"text": text, "version": _version(request)})
        except (Invalid, Conflict) as refusal:
            return _edit_again(request, row, refusal)
    elif action in ("resolve", "reopen"):
        entries.change(request.user, row, {"resolved": action == "resolve"})
    elif action == "delete" and not request.POST.get("confirmed"):
        return _ask_to_delete(request, row)
    elif action == "delete":
        _delete(request, row)
    else:
        raise Invalid("The action must be answer, edit, resolve, reopen or delete.", field="action")
    return redirect(f"{_page_of_form(request) or _address(row.subject)}#entry-{anchor}")


def _version(request: SignedInRequest) -> str | None:
    """Return the version of an entry with which a form was opened; None if it says none."""
    return request.POST.get("version") or None


def _edit_again(request: SignedInRequest, row: Entry, refusal: Problem) -> HttpResponse:
    """Show a refused text in its form, beside what was saved since the form was opened."""
    context = {
        "entry": row,
        "is_public": access.shows_words(row.subject),
        "refusal": refusal,
        "typed": request.POST.get("text", ""),
        "version": refusal.members.get("version", _version(request) or ""),
        "newer_words": refusal.members.get("newer", {}),
        "next": _page_of_form(request) or _address(row.subject),
    }
    return render(request, "snapshots/reviews/edit.html", context, status=refusal.status)


def _ask_to_delete(request: SignedInRequest, row: Entry) -> HttpResponse:
    access.require_author_or_editor(request.user, row.subject, row.author_id)
    left = leftovers.of(request.user, row)
    may = any(access.may_edit(request.user, review) for review in left.reviews)
    also = "Take it out of the timelines that I may edit, too" if may else ""
    address = _page_of_form(request) or _address(row.subject)
    name = f"{row.kind} {row.number}" if row.number else "this answer"
    name = f"{name} on {row.subject}"
    says = to_html(row.text) or row.sentence
    return ask_to_delete(request, name, left.sentence, address, also=also, says=says)


def _delete(request: SignedInRequest, row: Entry) -> None:
    """Delete an entry, and what its words left in timelines, if that was chosen too."""
    with transaction.atomic():
        if request.POST.get("also"):
            leftovers.remove_rows(request.user, row)
        entries.delete(request.user, row)


@page
@require_safe
def history(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show the versions of an entry or an answer, each as what it changed."""
    row = entries.entry(request.user, pk)
    first = row.parent or row
    total = row.history.count()
    context = {
        "entry": first,
        "is_answer": row.parent_id is not None,
        "address": f"{_address(row.subject)}#entry-{first.pk}",
        "versions": versions(row),
        "total": total,
        "hidden": max(0, total - MOST_VERSIONS),
    }
    name = "versions" if wants_list_alone(request) else "history"
    return render(request, f"snapshots/reviews/{name}.html", context)


def notes_at(
    request: SignedInRequest, subject: Subject, place: str, *, is_visit: bool = True
) -> dict[str, Any]:
    """Return the context of the section of notes on the page of a place, and note the visit.

    A sample has no notes, and no trail of it is kept. A page that opened by itself is no visit, and
    neither is a table of it that is saved as a file.
    """
    if subject.owner_id is None:
        return {}
    if request.method == "GET" and is_visit and "format" not in request.GET:
        _stop(request, subject, place)
    rows = entries.listed(request.user, subject).filter(place=place)
    reader = Reader(request.user, subject, is_list=True)
    total = rows.count()
    return {
        "noted": {
            "notes": [reader.entry(row) for row in rows[:SHOWN]],
            "total": total,
            "hidden": max(0, total - SHOWN),
            "may_write": reader.may_comment,
            "is_public": access.shows_words(subject),
            "address": _address(subject),
            "place": place,
            "kinds": Entry.Kind.values,
        }
    }


def _stop(request: SignedInRequest, subject: Subject, place: str) -> None:
    """Add the place to the trail, if it is still there and the database can be written now."""
    with contextlib.suppress(Conflict):
        optionally(partial(trail.record, request.user, subject, place))


def _address(subject: Subject) -> str:
    name = "archived-notes" if isinstance(subject, EngineJob) else "notes"
    return reverse(name, args=[subject.pk])


def _download(subject: Subject) -> str:
    """Return the address of the file with all notes; empty if there is none."""
    if isinstance(subject, EngineJob):
        return reverse("archived-with-notes", args=[subject.pk])
    return reverse("with-notes", args=[subject.pk]) if subject.upload else ""


def _socket(subject: Subject) -> str:
    """Return the address of the websocket that says which notes change."""
    return f"/ws{_address(subject)}"


def _home(subject: Subject) -> str:
    name = "archived-job" if isinstance(subject, EngineJob) else "recording"
    return reverse(name, args=[subject.pk])
