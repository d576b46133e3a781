"""Checkpoints of a dataflow: the list, one as a Gantt chart, and what failures repeated."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.domain.model.derived import epoch_of, is_derived
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import NotFound
from snapshots.services.simulations import FAILOVERS
from snapshots.store.reader import StoredRecording
from snapshots.web.pages import batches, links
from snapshots.web.pages.rendering import page

PHASES = {
    "trigger": "is told to begin",
    "busy": "was still copying its state",
    "travel": "had no barrier yet, and waited for",
    "alignment": "had other inputs’ barriers, and waited for",
    "sync": "copied its state",
    "async": "uploaded the copy",
    "ack": "acknowledged",
    "commit": "committed",
}
OFF_CHANNELS = {"alignment": "had some inputs’ barriers, and waited for the others no longer"}
INFERRED = {
    "travel": "waited for its first barrier, which was on its way or lay before it",
    "alignment": "had its first barrier, and waited for its last one",
}
MOST_LISTED = 500
MOST_TASKS = 300  # in the chart and the table; the slowest come first


@page
@require_safe
def checkpoint_list(request: HttpRequest, pk: int) -> HttpResponse:
    """All checkpoints and failures; with ``?checkpoint=`` one of them."""
    recording = access.ready_recording(request.user, pk)
    stored = open_recording(recording)
    if "checkpoint" in request.GET:
        return _one(request, recording, stored, request.GET["checkpoint"])
    checkpoints, failovers = stored.checkpoints(), stored.failovers()
    kept, extra = stored.checkpoint_files(), stored.manifest.header_extra
    known = {item["checkpoint"] for item in checkpoints}
    context = {
        "recording": recording,
        "files": kept["files"][:MOST_LISTED],
        "files_hidden": max(0, len(kept["files"]) - MOST_LISTED),
        "dropped_requests": [item for item in kept["decisions"] if not item["checkpoint"]],
        "checkpoints": [_linked(recording, item, extra) for item in checkpoints[:MOST_LISTED]],
        "hidden": max(0, len(checkpoints) - MOST_LISTED),
        "failovers": [_led_back(recording, item, known) for item in failovers["items"]],
        "sinks": failovers["sinks"],
        "dropped": failovers["dropped"],
        "sinks_unknown": is_derived(extra),
        **batches.listed(recording, request.GET.get("page")),
        "can_compare": (recording.parameters or {}).get("protocol") in FAILOVERS,
        "longest": max((item["duration"] or 0 for item in checkpoints), default=0) or 1,
    }
    return render(request, "snapshots/checkpoints/checkpoints.html", context)


def _one(
    request: HttpRequest, recording: Recording, stored: StoredRecording, wanted: str
) -> HttpResponse:
    checkpoints = stored.checkpoints()
    names = [item["checkpoint"] for item in checkpoints]
    if wanted not in names:
        raise NotFound(f"There is no checkpoint “{wanted[:80]}” in this recording.")
    place = names.index(wanted)
    checkpoint = checkpoints[place]
    shown = {**checkpoint, "tasks": checkpoint["tasks"][:MOST_TASKS]}
    context = {
        "recording": recording,
        **_clocks(recording, checkpoint, stored.manifest.header_extra),
        "checkpoint": shown | {"tasks": _tasks(shown), "critical_path": _path(shown)},
        "hidden": len(checkpoint["tasks"]) - len(shown["tasks"]),
        "chart": {"checkpoint": shown, "unit": recording.time_unit},
        "workbench_link": links.to_workbench(recording.pk, snapshot=wanted),
        "snapshot_link": links.to_snapshot(recording.pk, wanted),
        "previous": names[place - 1] if place else "",
        "next": names[place + 1] if place + 1 < len(names) else "",
    }
    return render(request, "snapshots/checkpoints/checkpoint.html", context)


def _linked(recording: Recording, item: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    address = links.to_checkpoint(recording.pk, item["checkpoint"])
    return {**item, "address": address, **_clocks(recording, item, extra)}


def _clocks(
    recording: Recording, checkpoint: dict[str, Any], extra: Mapping[str, Any]
) -> dict[str, int | None]:
    """When it was triggered and when it ended, epoch ms; None where the recording's instants have
    no place in the calendar."""
    epoch, unit = epoch_of(extra), recording.time_unit
    return {
        name: quantities.moment(checkpoint[instant], unit, epoch)
        for name, instant in (("triggered_clock", "triggered_at"), ("ended_clock", "ended_at"))
    }


def _led_back(recording: Recording, failure: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """With the page of what it went back to: of micro-batches a snapshot that is no checkpoint."""
    restored = failure["restored"]
    if restored is None:
        return failure
    to = links.to_checkpoint if restored in known else links.to_snapshot
    what = "checkpoint" if restored in known else "batch"
    return {**failure, "address": to(recording.pk, restored), "what": what}


def _tasks(checkpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks with how long each of their phases took."""
    return [
        task
        | {
            "sync": _length(task["sync_from"], task["sync_to"]),
            "async": _length(task["sync_to"], task["async_to"]),
            "blocked": [
                item | {"length": _length(item["from"], item["to"])} for item in task["blocked"]
            ],
        }
        for task in checkpoint["tasks"]
    ]


def _path(checkpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """The critical path with its words; parts that took no time are left out."""
    return [
        part | {"length": _length(part["from"], part["to"]), "words": _words(part)}
        for part in checkpoint["critical_path"] or []
        if part["to"] != part["from"]
    ]


def _words(part: dict[str, Any]) -> str:
    if part["phase"] == "busy":
        return f"{PHASES['busy']} for checkpoint {part['earlier']}, and took up no barrier"
    if part["channel"] is None:
        return OFF_CHANNELS.get(part["phase"]) or PHASES[part["phase"]]
    if part.get("is_inferred"):
        return f"{INFERRED[part['phase']]}: by the times, that on {part['channel']}"
    behind = part.get("behind")
    records = "" if not behind else f", behind {quantities.counted(behind, 'record')}"
    what = "the end of" if part.get("end") else "the barrier on"
    return f"{PHASES[part['phase']]} {what} {part['channel']}{records}"


def _length(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start
