"""Properties of a recording's snapshots: chosen or written, and their answers as a strip."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import properties
from snapshots.domain.properties import BUILT_IN
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Problem
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponse:
    """``?property=`` or ``?expression=`` says what is asked; without it, only the form."""
    recording = access.ready_recording(request.user, pk)
    asked = {
        "property": request.GET.get("property") or None,
        "expression": request.GET.get("expression", "").strip() or None,
    }
    if asked["expression"]:
        asked["property"] = None
    context = {"recording": recording, "built_in": BUILT_IN.values(), "asked": asked}
    status = 200
    if any(asked.values()):
        try:
            context["strip"] = _strip(recording, asked)
        except Problem as problem:
            context["refusal"], status = problem.as_json(), problem.status
    return render(request, "snapshots/properties/properties.html", context, status=status)


def _strip(recording: Recording, asked: dict[str, str | None]) -> dict[str, Any]:
    """The answers, each with its snapshot's page, and how many there are of each."""
    rows = list(recording.snapshots.all())
    found = properties.evaluate(open_recording(recording), rows, asked)
    verdicts = {row.snapshot: row.verdict for row in rows}
    for item in found["items"]:
        item["address"] = links.to_snapshot(recording.pk, item["snapshot"])
        item["verdict"] = verdicts[item["snapshot"]]
    answers = [item["answer"] for item in found["items"]]
    counts = {answer: answers.count(answer) for answer in ("true", "false", "unknown")}
    return {**found, "counts": {name: count for name, count in counts.items() if count}}
