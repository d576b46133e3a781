"""The page of the smallest part of a recording that shows one finding about a snapshot."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from snapshots import access
from snapshots.answers.outcomes import colour_of
from snapshots.answers.shrinking import file_name, native_file, smallest_part, summary
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.shrinking.shrink import Shrunk
from snapshots.models import Snapshot
from snapshots.payloads.shrinking import PartEvent
from snapshots.problems import Invalid
from snapshots.services.parts import open_part
from snapshots.web.native_files import native_attachment
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_EVENTS = 500  # in the table; the file has all


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_snapshot(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the part for ``?snapshot=&finding=``; a POST opens it as a recording of one's own."""
    row, number = _chosen(request, pk)
    shrunk = smallest_part(row, number)
    if request.method == "POST":
        job = open_part(request.user, native_file(shrunk), file_name(shrunk))
        return redirect("recording", job.recording_id)
    return show(request, "snapshots/shrinking/part.html", _context(row, number, shrunk))


@page
@require_safe
def file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Send the part for ``?snapshot=&finding=`` as a file of the native format."""
    shrunk = smallest_part(*_chosen(request, pk))
    return native_attachment(native_file(shrunk), file_name(shrunk))


def _chosen(request: HttpRequest, pk: int) -> tuple[Snapshot, int]:
    """Return the snapshot and the place of the finding. Raises: NotFound, Conflict, Invalid."""
    recording = access.ready_recording(request.user, pk)
    row = access.snapshot(recording, request.GET.get("snapshot", ""))
    number = request.GET.get("finding", "0")
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise Invalid("The place of a finding is a whole number, from 0.", field="finding")
    return row, int(number)


def _context(row: Snapshot, number: int, shrunk: Shrunk) -> dict[str, Any]:
    part = summary(row, number, shrunk)
    return {
        "recording": row.recording,
        "part": part,
        "sentences": part["sentences"][1:],  # the first one gives the sizes, which stand above
        "is_consistent": part["witness"]["verdict"] == CONSISTENT,
        "colour": colour_of(part["verdict"]),
        "file_name": file_name(shrunk),
        "snapshot_link": links.to_snapshot(row.recording.pk, row.snapshot),
        "rows": [_row(row, event) for event in part["events"][:MOST_EVENTS]],
        "hidden": len(part["events"][MOST_EVENTS:]),
        "file_link": links.to_file_of_smallest_part(row.recording.pk, row.snapshot, number),
    }


def _row(row: Snapshot, event: PartEvent) -> Mapping[str, Any]:
    place = {"process": event["process"], "index": event["index"]}
    address = links.to_workbench(row.recording.pk, snapshot=row.snapshot, event=links.event(place))
    return {**event, "address": address}
