"""The page of properties: chosen or written, and answered for each snapshot in a strip."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import properties
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.domain.properties import BUILT_IN
from snapshots.domain.properties.garbage import keepers
from snapshots.domain.properties.phases import PHASE
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Problem
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Evaluate ``?property=`` or ``?expression=``; without either show only the form."""
    recording = access.shown_recording(request.user, pk)
    question: dict[str, Any] = {
        "property": request.GET.get("property") or None,
        "expression": request.GET.get("expression", "").strip() or None,
    }
    if question["expression"]:
        question["property"] = None
    question["phase"] = _phase(request, question["property"])
    context = {"recording": recording, "built_in": BUILT_IN.values(), "asked": question}
    status = 200
    if question["property"] or question["expression"]:
        try:
            context["strip"] = _strip(recording, question)
        except Problem as problem:
            context["refusal"], status = problem.as_json(), problem.status
    return show(request, "snapshots/properties/properties.html", context, status=status)


def _phase(request: HttpRequest, name: str | None) -> int | str | None:
    """Return ``?phase=`` for the property about a phase; a text that is not a number stays one."""
    given = request.GET.get("phase", "").strip()
    if name != PHASE.name or not given:
        return None
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else given


def _strip(recording: Recording, question: dict[str, Any]) -> dict[str, Any]:
    """Return the answers, each with the address of its snapshot, and how often each was given."""
    rows = list(recording.snapshots.all())
    strip = properties.evaluate(open_recording(recording), rows, question)
    outcomes = {row.snapshot: outcome_of(row) for row in rows[: len(strip["items"])]}
    for item in strip["items"]:
        item["address"] = links.to_snapshot(recording.pk, item["snapshot"])
        item["outcome"] = outcomes[item["snapshot"]]
        item["colour"] = colour_of(item["outcome"])
        item["objects"] = _objects(item["witness"])
    answers = [item["answer"] for item in strip["items"]]
    counts = {answer: answers.count(answer) for answer in ("true", "false", "unknown")}
    return {**strip, "counts": {name: count for name, count in counts.items() if count}}


def _objects(witness: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that an answer about garbage names, and what keeps each."""
    rows = [*witness.get("garbage", ()), *witness.get("kept", ())]
    return [{**row, "keepers": keepers(row)} for row in rows]
