"""The pages of a dataflow's checkpoints: the list with failures, and one as a Gantt chart."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers.barriers import has_charts
from snapshots.answers.first_answer import blame_of
from snapshots.answers.untimed import untimed
from snapshots.domain.dataflow_logs.checkpoints.report import (
    COMPLETED,
    alignment_words,
    takes_no_barrier,
)
from snapshots.domain.dataflow_logs.kinds import EPOCH
from snapshots.domain.model import durations
from snapshots.domain.model.derived import epoch_of, is_derived
from snapshots.domain.reviewing.place_text import write_place
from snapshots.domain.reviewing.places import CheckpointPlace
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import NotFound
from snapshots.services.simulations import FAILOVERS
from snapshots.store.reader import StoredRecording
from snapshots.web.figures.gantt import gantt
from snapshots.web.pages import batches, links
from snapshots.web.pages.rendering import page
from snapshots.web.pages.reviews import notes_at
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

PHASES = {
    "trigger": "is triggered",
    "busy": "was still copying its state",
    "travel": "had no barrier yet, and waited for",
    "alignment": "had other inputs’ barriers, and waited for",
    "sync": "copied its state",
    "async": "uploaded the copy",
    "rest": "had stored its state, and had not acknowledged yet",
    "ack": "had acknowledged as the last one, and the checkpoint was not complete yet",
    "commit": "committed",
}
OFF_CHANNELS = {"alignment": "had some inputs’ barriers, and no longer waited for the others"}
INFERRED = {
    "travel": "waited for its first barrier, which was on its way or lay before it",
    "alignment": "had its first barrier, and waited for its last one",
}
MOST_LISTED = 500
MOST_TASKS = 300  # in the chart and the table; the slowest come first


@page
@require_safe
def checkpoint_list(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Show all checkpoints and failures, or with ``?checkpoint=`` one checkpoint."""
    recording = access.ready_recording(request.user, pk)
    stored = open_recording(recording)
    if "checkpoint" in request.GET:
        return _render_checkpoint(request, recording, stored, request.GET["checkpoint"])
    checkpoints, failovers = stored.checkpoints(), stored.failovers()
    incremental, extra = stored.checkpoint_files(), stored.manifest.header_extra
    kinds = {item["checkpoint"]: item["kind"] for item in checkpoints}
    context = {
        "recording": recording,
        "files": incremental["files"][:MOST_LISTED],
        "all_files": incremental["files"] or None,
        "all_checkpoints": (_linked(recording, item, extra) for item in checkpoints),
        "files_hidden": max(0, len(incremental["files"]) - MOST_LISTED),
        "dropped_requests": [item for item in incremental["decisions"] if not item["checkpoint"]],
        "checkpoints": [_linked(recording, item, extra) for item in checkpoints[:MOST_LISTED]],
        "hidden": max(0, len(checkpoints) - MOST_LISTED),
        "failovers": _failures(recording, failovers, kinds),
        "event_time": failovers["event_time"],
        "start": failovers["start"],
        "sinks": failovers["sinks"],
        "dropped": failovers["dropped"],
        "sinks_unknown": is_derived(extra),
        **batches.listed(recording, request.GET.get("page")),
        "untimed": untimed(recording, stored),
        "took_means": durations.of_checkpoint(COMPLETED, extra.get("engine")),
        "can_compare": (recording.parameters or {}).get("protocol") in FAILOVERS,
        "has_charts": has_charts(stored),
        "can_compare_modes": (recording.parameters or {}).get("protocol") == "flink",
        "longest": max((item["duration"] or 0 for item in checkpoints), default=0) or 1,
    }
    return show(request, "snapshots/checkpoints/checkpoints.html", context)


def _render_checkpoint(
    request: SignedInRequest, recording: Recording, stored: StoredRecording, name: str
) -> HttpResponseBase:
    checkpoints = stored.checkpoints()
    names = [item["checkpoint"] for item in checkpoints]
    if name not in names:
        raise NotFound(f"There is no checkpoint “{name[:80]}” in this recording.")
    index = names.index(name)
    checkpoint = checkpoints[index]
    shown = {**checkpoint, "tasks": checkpoint["tasks"][:MOST_TASKS]}
    unit = recording.time_unit
    context = {
        "recording": recording,
        **_clocks(recording, checkpoint, stored.manifest.header_extra),
        "checkpoint": shown | {"tasks": _tasks(shown, unit), "critical_path": _path(shown)},
        "blame": blame_of(recording, checkpoint),
        **_progress(stored, name),
        "hidden": len(checkpoint["tasks"]) - len(shown["tasks"]),
        "took_means": durations.of_checkpoint(
            checkpoint["status"], stored.manifest.header_extra.get("engine")
        ),
        "has_charts": has_charts(stored),
        "all_tasks": _tasks(checkpoint, unit),
        "figure": gantt(shown, unit),
        "workbench_link": links.to_workbench(recording.pk, snapshot=name),
        "snapshot_link": links.to_snapshot(recording.pk, name),
        "previous": names[index - 1] if index else "",
        "next": names[index + 1] if index + 1 < len(names) else "",
        **notes_at(request, recording, write_place(CheckpointPlace(name))),
    }
    return show(request, "snapshots/checkpoints/checkpoint.html", context)


def _progress(stored: StoredRecording, name: str) -> dict[str, Any]:
    """Return how far a checkpoint came, or why that is not told.

    Of an engine's upload nothing: its own report counts who acknowledged, among them tasks that
    had finished, which the upload does not name.
    """
    if is_derived(stored.manifest.header_extra):
        return {}
    control = stored.control
    return {"progress": control.progress.get(name), "why_no_progress": control.why_not}


def _linked(recording: Recording, item: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    address = links.to_checkpoint(recording.pk, item["checkpoint"])
    return {**item, "address": address, **_clocks(recording, item, extra)}


def _clocks(
    recording: Recording, checkpoint: dict[str, Any], extra: Mapping[str, Any]
) -> dict[str, int | None]:
    """Return when a checkpoint was triggered and when it ended, in epoch ms.

    Both are None if the instants of the recording have no date.
    """
    epoch, unit = epoch_of(extra), recording.time_unit
    return {
        name: quantities.moment(checkpoint[instant], unit, epoch)
        for name, instant in (("triggered_clock", "triggered_at"), ("ended_clock", "ended_at"))
    }


def _failures(
    recording: Recording, failovers: dict[str, Any], kinds: dict[str, str | None]
) -> list[dict[str, Any]]:
    """Return the failures, each with what it restored and with what it did to event time."""
    items = [_with_restored(recording, item, kinds) for item in failovers["items"]]
    times = failovers["event_time"]
    if times is None:
        return items
    return [
        item | {"event_time": restart}
        for item, restart in zip(items, times["restarts"], strict=True)
    ]


def _with_restored(
    recording: Recording, failure: dict[str, Any], kinds: dict[str, str | None]
) -> dict[str, Any]:
    """Add the address of what was restored, which for micro-batches is no checkpoint.

    ``kinds``: the kind of each checkpoint.
    """
    restored = failure["restored"]
    if restored is None:
        return failure
    if restored in kinds:
        noun = EPOCH if kinds[restored] == EPOCH else "checkpoint"
        address = links.to_checkpoint(recording.pk, restored)
    else:
        address, noun = links.to_snapshot(recording.pk, restored), "batch"
    return {**failure, "address": address, "restored_noun": noun}


def _tasks(checkpoint: dict[str, Any], unit: str) -> list[dict[str, Any]]:
    """Return the tasks with the length of each of their phases, and the alignment in words."""
    return [
        task
        | {
            "alignment_words": alignment_words(
                task["alignment"], unit, takes_barriers=not takes_no_barrier(task)
            ),
            "sync": _length(task["sync_from"], task["sync_to"]),
            "async": _length(task["sync_to"], task["async_to"]),
            "blocked": [
                item | {"length": _length(item["from"], item["to"])} for item in task["blocked"]
            ],
        }
        for task in checkpoint["tasks"]
    ]


def _path(checkpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the critical path in words, without parts that took no time."""
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
        return f"{INFERRED[part['phase']]}: judging by the times, that on {part['channel']}"
    behind = part.get("behind")
    records = "" if not behind else f", behind {quantities.counted(behind, 'record')}"
    signal = "the end of" if part.get("end") else "the barrier on"
    return f"{PHASES[part['phase']]} {signal} {part['channel']}{records}"


def _length(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start
