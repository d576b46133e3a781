"""Whether the new version of a job takes a checkpoint: a form, and the answer."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from snapshots import access
from snapshots.answers import inventory
from snapshots.answers.upgrade import own_job, upgrade
from snapshots.domain.inventory.upgrade.answer import CLAIMED, NEW
from snapshots.domain.inventory.upgrade.own_list import as_text
from snapshots.problems import Problem
from snapshots.readers.engines.flink.new_job import BACKENDS, LONGEST
from snapshots.web.pages.rendering import page

MOST_OPERATORS = 500
OUTCOMES = {
    "restored": "starts, and every state comes back",
    "started-with-loss": "starts, and loses state",
    "refused": "is refused",
    "not-known": "cannot be told",
}
_QUIET = (CLAIMED, NEW)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_checkpoint(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """GET shows the form, with ``own`` filled in with the job that wrote it; POST answers."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    context: dict[str, Any] = {
        "recording": recording,
        "number": number,
        "checkpoint": inventory.checkpoint(opened, number),
        "backends": BACKENDS,
    }
    status = 200
    if "own" in request.GET:
        context["typed"] = as_text(own_job(opened, number))
    if request.method == "POST":
        description, backend = _typed(request), request.POST.get("backend", "")
        no_uids = "no_uids" in request.POST
        context |= {"typed": description.decode("utf-8", "replace"), "backend": backend}
        context["no_uids"] = no_uids
        try:
            body = upgrade(opened, number, description, backend or None, without_uids=no_uids)
            context["answer"] = _shown(body)
        except Problem as problem:
            context["refused"], status = problem.as_json(), problem.status
    return render(request, "snapshots/upgrade/upgrade.html", context, status=status)


def _typed(request: HttpRequest) -> bytes:
    """Return the chosen file, else what was pasted."""
    chosen = request.FILES.get("file")
    if chosen is not None:
        return chosen.read(LONGEST + 1)
    return request.POST.get("job", "").encode()


def _shown(body: dict[str, Any]) -> dict[str, Any]:
    """Add words for people, and put first the operators of which there is something to say."""
    operators = sorted(map(_operator, body["operators"]), key=_is_quiet)
    return body | {
        "without": OUTCOMES[body["without_allow"]],
        "with": OUTCOMES[body["with_allow"]],
        "operators": operators[:MOST_OPERATORS],
        "hidden": max(0, len(operators) - MOST_OPERATORS),
    }


def _operator(item: dict[str, Any]) -> dict[str, Any]:
    """Add whether both parallelisms are known."""
    return item | {
        "has_widths": None not in (item["parallelism_before"], item["parallelism_after"])
    }


def _is_quiet(operator: dict[str, Any]) -> bool:
    fates = {state["fate"] for state in operator["states"]}
    return operator["fate"] in _QUIET and fates <= {"kept"}
