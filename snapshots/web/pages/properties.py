"""The page of properties: chosen or written, and answered for each snapshot in a strip."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import properties
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.domain.properties import BUILT_IN
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Problem
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponse:
    """Evaluate ``?property=`` or ``?expression=``; without either show only the form."""
    recording = access.ready_recording(request.user, pk)
    question = {
        "property": request.GET.get("property") or None,
        "expression": request.GET.get("expression", "").strip() or None,
    }
    if question["expression"]:
        question["property"] = None
    context = {"recording": recording, "built_in": BUILT_IN.values(), "asked": question}
    status = 200
    if any(question.values()):
        try:
            context["strip"] = _strip(recording, question)
        except Problem as problem:
            context["refusal"], status = problem.as_json(), problem.status
    return render(request, "snapshots/properties/properties.html", context, status=status)


def _strip(recording: Recording, question: dict[str, str | None]) -> dict[str, Any]:
    """Return the answers, each with the address of its snapshot, and how often each was given."""
    rows = list(recording.snapshots.all())
    strip = properties.evaluate(open_recording(recording), rows, question)
    outcomes = {row.snapshot: outcome_of(row) for row in rows[: len(strip["items"])]}
    for item in strip["items"]:
        item["address"] = links.to_snapshot(recording.pk, item["snapshot"])
        item["outcome"] = outcomes[item["snapshot"]]
        item["colour"] = colour_of(item["outcome"])
    answers = [item["answer"] for item in strip["items"]]
    counts = {answer: answers.count(answer) for answer in ("true", "false", "unknown")}
    return {**strip, "counts": {name: count for name, count in counts.items() if count}}
