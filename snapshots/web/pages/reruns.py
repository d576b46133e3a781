"""The pages that run a simulated recording again: side by side, and with a rule broken.

Without a recording, in Learn, they show the demonstration.
"""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from snapshots import access
from snapshots.answers import reruns
from snapshots.models import Recording
from snapshots.problems import Invalid, Problem
from snapshots.services.simulations import request_rerun
from snapshots.simulating.broken_rules import ALL_RULES, CHANNEL, PROCESS
from snapshots.simulating.reruns import Rerun
from snapshots.web.pages.circle_picture import circle_picture
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_ROWS = 300
MOST_PLACES = 200  # channels or processes in a list


@page
@require_safe
def side_by_side(request: HttpRequest, pk: int | None = None) -> HttpResponseBase:
    """Show the run of ``?seed=`` with and without snapshots, event by event."""
    recording = _recording(request, pk)
    again = reruns.rerun(recording, seed_of(request))
    answer = reruns.side_by_side(recording, again)
    rows = answer["rows"][:MOST_ROWS]
    context = {
        **_context(request, recording, again),
        "answer": answer,
        "rows": rows,
        "rows_after": answer["rows_after"] + len(answer["rows"]) - len(rows),
        "rules_link": _address(pk, "rules", {"seed": again.parameters.seed}),
    }
    return show(request, "snapshots/reruns/side_by_side.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, pk: int | None = None) -> HttpResponseBase:
    """Show the topology to choose a channel or process from, and what follows from a rule there.

    A POST keeps the run as a recording.
    """
    recording = _recording(request, pk)
    again = reruns.rerun(recording, seed_of(request))
    kind = CHANNEL if CHANNEL in request.GET else PROCESS
    at = request.GET.get(kind, "")
    if request.method == "POST":
        rule = request.GET.get("rule", "")
        owner = access.run_holder(request.user, recording)
        broken = again.breaking(rule, at)
        job = request_rerun(owner, recording, broken, f"{rule} at {at}", request.user)
        return redirect("recording", job.recording_id)
    context = {
        **_context(request, recording, again),
        "picture": circle_picture(again.topology),
        "channels": [channel.id for channel in again.topology.channels][:MOST_PLACES],
        "channels_hidden": max(len(again.topology.channels) - MOST_PLACES, 0),
        "processes": [process.id for process in again.topology.processes][:MOST_PLACES],
        "processes_hidden": max(len(again.topology.processes) - MOST_PLACES, 0),
        "kind": kind,
        "at": at,
        "side_by_side_link": _address(pk, "side-by-side", {"seed": again.parameters.seed}),
        "seed_query": urlencode({"seed": again.parameters.seed}),
    }
    if not at:
        return show(request, "snapshots/reruns/rules.html", context)
    refusal, rule = None, request.GET.get("rule", "")
    try:
        _require_place(again, kind, at)
        context["offers"] = _offers(again, kind, at, rule)
        if rule:
            context["answer"] = reruns.broken_rule(recording, again, rule, at)
            context["next_query"] = _query(again.parameters.seed + 1, kind, at, rule)
    except Problem as problem:
        refusal = problem.as_json()
    context["refusal"] = refusal
    status = refusal["status"] if refusal else 200
    return show(request, "snapshots/reruns/rules.html", context, status=status)


def _recording(request: HttpRequest, pk: int | None) -> Recording | None:
    return None if pk is None else access.recording(request.user, pk)


def seed_of(request: HttpRequest) -> int | None:
    """Return the seed that is asked for, or None. Raises: Invalid."""
    given = request.GET.get("seed", "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 20):
        raise Invalid("seed is a whole number, 0 or more.", field="seed")
    return int(given)


def _context(request: HttpRequest, recording: Recording | None, again: Rerun) -> dict[str, Any]:
    kept = [(name, value) for name, value in request.GET.items() if name != "seed"]
    return {
        "recording": recording,
        "note": reruns.note_on(recording, again),
        "parameters": again.parameters,
        "seed": again.parameters.seed,
        "snapshots": len(again.parameters.simulation(again.topology).snapshots),
        "kept": kept,
    }


def _address(pk: int | None, name: str, query: dict[str, Any]) -> str:
    place = "/learn" if pk is None else f"/recordings/{pk}"
    return f"{place}/{name}?{urlencode(query)}"


def _query(seed: int, kind: str, at: str, rule: str) -> str:
    return urlencode({"seed": seed, kind: at, "rule": rule})


def _require_place(again: Rerun, kind: str, at: str) -> None:
    places = again.topology.channel_by_id if kind == CHANNEL else again.topology.process_by_id
    if at not in places:
        raise Invalid(f"{at[:60]!r} is not a {kind} of this topology.", field=kind)


def _offers(again: Rerun, kind: str, at: str, chosen: str) -> list[dict[str, Any]]:
    """Return the rules that can be broken at a channel or process."""
    return [
        {"rule": rule, "query": _query(again.parameters.seed, kind, at, rule.name)}
        | {"is_chosen": rule.name == chosen}
        for rule in ALL_RULES
        if rule.place == kind
    ]
