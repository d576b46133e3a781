"""Theorem 1 on one snapshot: the run in two orders, and what was checked."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from snapshots import access, quantities
from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.jobs import job_detail
from snapshots.payloads.recordings import snapshot_summary
from snapshots.problems import Conflict
from snapshots.services.jobs import request_reordering
from snapshots.web.pages import links
from snapshots.web.pages.rendering import back, page

MOST_EVENTS = 500
MOST_STATES = 200  # processes and channels in the table of states
COLUMNS = {"At the start": "start", "Recorded": "recorded", "At the end": "end"}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def proof(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows it, ``?snapshot=`` says of which; POST begins it."""
    recording = access.ready_recording(request.user, pk)
    row = access.snapshot(recording, request.GET.get("snapshot", ""))
    if request.method == "POST":
        return _begin(request, recording, row)
    return render(request, "snapshots/proof/proof.html", _context(request, recording, row))


def _begin(request: HttpRequest, recording: Recording, row: Snapshot) -> HttpResponse:
    try:
        request_reordering(request.user, recording, row)
    except Conflict as conflict:
        return back(request, links.to_proof(recording.pk, row.snapshot), conflict)
    return redirect(links.to_proof(recording.pk, row.snapshot))


def _context(request: HttpRequest, recording: Recording, row: Snapshot) -> dict[str, Any]:
    jobs = access.jobs(request.user).filter(recording=recording, snapshot=row.snapshot)
    job = jobs.filter(kind=Job.Kind.REORDERING).select_related("recording").first()
    found = job.result if job and job.state == Job.State.DONE else None
    return {
        "recording": recording,
        "snapshot": snapshot_summary(row),
        "snapshot_link": links.to_snapshot(recording.pk, row.snapshot),
        "workbench_link": links.to_workbench(recording.pk, snapshot=row.snapshot),
        "row": job,
        "job": job_detail(job) if job else None,
        "proof": found,
        **(_tables(found) if found else {}),
    }


def _tables(found: Mapping[str, Any]) -> dict[str, Any]:
    events, states = _event_rows(found), _state_rows(found)
    return {
        "events": events[:MOST_EVENTS],
        "events_hidden": found["events_total"] - len(events[:MOST_EVENTS]),
        "states": states[:MOST_STATES],
        "states_hidden": len(states) - len(states[:MOST_STATES]),
    }


def _event_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    now = {was: place for place, was in enumerate(found["permuted"])}
    return [
        {"was": was, "now": now[was], "told": _told(event), "prerecording": event["prerecording"]}
        for was, event in enumerate(found["events"])
    ]


def _told(event: Mapping[str, Any]) -> str:
    if event["kind"] == "send":
        return f"{event['process']} sends {event['message']} on {event['channel']}"
    if event["kind"] == "receive":
        return f"{event['process']} receives {event['message']} from {event['channel']}"
    return f"{event['process']}: {event.get('label') or 'internal'}"


def _state_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Processes, then the channels that hold something at one of the three."""
    moments = {head: found[key] for head, key in COLUMNS.items()}
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
    """The text and its look."""
    if process not in at["processes"]:
        return "not known", "soft"
    return quantities.value(at["processes"][process]), "value"


def _contents(at: Mapping[str, Any], channel: str) -> tuple[str, str]:
    messages = at["channels"].get(channel, [])
    return (", ".join(messages), "value") if messages else ("empty", "soft")
