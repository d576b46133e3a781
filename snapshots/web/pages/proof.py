"""The page of Theorem 1 on one snapshot: the run in two orders, and what was checked."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from snapshots import access, quantities
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.jobs import job_detail
from snapshots.payloads.recordings import snapshot_summary
from snapshots.problems import Conflict
from snapshots.services.jobs import request_reordering
from snapshots.web.figures import order
from snapshots.web.pages import links
from snapshots.web.pages.rendering import back, page
from snapshots.web.tables.sending import show

MOST_EVENTS = 500
MOST_STATES = 200  # processes and channels in the table of states
COLUMNS = {"At the start": "start", "Recorded": "recorded", "At the end": "end"}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def proof(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the reordering of ``?snapshot=``; a POST starts it."""
    recording = access.ready_recording(request.user, pk)
    row = access.snapshot(recording, request.GET.get("snapshot", ""))
    if request.method == "POST":
        return _begin(request, recording, row)
    return show(request, "snapshots/proof/proof.html", _context(request, recording, row))


def _begin(request: HttpRequest, recording: Recording, row: Snapshot) -> HttpResponseBase:
    try:
        request_reordering(request.user, recording, row)
    except Conflict as conflict:
        return back(request, links.to_proof(recording.pk, row.snapshot), conflict)
    return redirect(links.to_proof(recording.pk, row.snapshot))


def _context(request: HttpRequest, recording: Recording, row: Snapshot) -> dict[str, Any]:
    jobs = access.jobs(request.user).filter(recording=recording, snapshot=row.snapshot)
    job = jobs.filter(kind=Job.Kind.REORDERING).select_related("recording").first()
    result = job.result if job and job.state == Job.State.DONE else None
    outcome = outcome_of(row)
    return {
        "recording": recording,
        "snapshot": snapshot_summary(row, outcome),
        "colour": colour_of(outcome),
        "snapshot_link": links.to_snapshot(recording.pk, row.snapshot),
        "states_link": links.to_states(recording.pk, row.snapshot),
        "workbench_link": links.to_workbench(recording.pk, snapshot=row.snapshot),
        "row": job,
        "job": job_detail(job) if job else None,
        "proof": result,
        "drawn": _drawn(result) if result and result["events"] else None,
        **(_tables(result) if result else {}),
    }


def _drawn(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page draws: the run as it was, and what the order of swaps needs."""
    events = result["events"]
    return {
        "is_pre": [bool(event["prerecording"]) for event in events],
        "words": [_words(event) for event in events],
        "swaps": order.swaps_of(events),
        "lanes": len(order.lanes_of(result)),
        "was": order.figure(result, result["occurred_after"] if result["occurred"] else None),
        "now": order.figure(result, result["middle"]),
    }


def _tables(result: Mapping[str, Any]) -> dict[str, Any]:
    events, states = _event_rows(result), _state_rows(result)
    return {
        "events": events[:MOST_EVENTS],
        "all_events": events,
        "all_states": states,
        "events_hidden": result["events_total"] - len(events[:MOST_EVENTS]),
        "states": states[:MOST_STATES],
        "states_hidden": len(states) - len(states[:MOST_STATES]),
    }


def _event_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    now = {was: step for step, was in enumerate(result["permuted"])}
    return [
        {"was": was, "now": now[was], "words": _words(event), "prerecording": event["prerecording"]}
        for was, event in enumerate(result["events"])
    ]


def _words(event: Mapping[str, Any]) -> str:
    if event["kind"] == "send":
        return f"{event['process']} sends {event['message']} on {event['channel']}"
    if event["kind"] == "receive":
        return f"{event['process']} receives {event['message']} from {event['channel']}"
    return f"{event['process']}: {event.get('label') or 'internal'}"


def _state_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each process, then one for each channel that is not always empty."""
    moments = {head: result[key] for head, key in COLUMNS.items()}
    processes = list(dict.fromkeys(p for at in moments.values() for p in at["processes"]))
    channels = list(dict.fromkeys(c for at in moments.values() for c in at["channels"]))
    rows = [
        {"name": name, "cells": [(head, *_state(at, name)) for head, at in moments.items()]}
        for name in processes
    ]
    return rows + [
        {"name": name, "cells": [(head, *_contents(at, name)) for head, at in moments.items()]}
        for name in channels
        if any(at["channels"].get(name) for at in moments.values())
    ]


def _state(at: Mapping[str, Any], process: str) -> tuple[str, str]:
    """Return the text of a cell and its CSS class."""
    if process not in at["processes"]:
        return "not known", "soft"
    return quantities.value(at["processes"][process]), "value"


def _contents(at: Mapping[str, Any], channel: str) -> tuple[str, str]:
    messages = at["channels"].get(channel, [])
    return (", ".join(messages), "value") if messages else ("empty", "soft")
