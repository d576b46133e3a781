"""The page on which one restores a snapshot and watches: four beats beside the original."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from snapshots import access
from snapshots.answers import (
    inventory,
    restore,
    restored_frames,
    restored_pictures,
    restored_tasks,
)
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.answers.restored_run import MOST_EVENTS, NotRestoredYet
from snapshots.domain.model.defects import times
from snapshots.domain.replaying.restored_run import RestoredRun
from snapshots.files.recordings import open_recording
from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.jobs import job_detail
from snapshots.problems import Conflict, Refused
from snapshots.services.jobs import request_restore
from snapshots.store.reader import StoredRecording
from snapshots.web.pages import links, restore_plan
from snapshots.web.pages.rendering import back, page
from snapshots.web.tables.sending import show

SIDES = ("Original", "Restored")
SLOWEST, SECONDS = 1.5, 60  # places a second at least; seconds that the whole run takes at most
TASK_SIDES = ("In the checkpoint", "After the restore")
TASK_BEATS_A_SECOND = 0.5
MOST_DIFFERENCES = 20
MOST_TOLD = 40  # sentences of the beats


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_snapshot(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the restored run of ``?snapshot=``, by default the newest, at the place ``step``.

    A POST lets a job restore the snapshot, which a large recording needs.
    """
    recording = access.ready_recording(request.user, pk)
    newest = recording.snapshots.order_by("-code").first()
    named = request.GET.get("snapshot", newest.snapshot if newest else "")
    row = access.snapshot(recording, named)
    if request.method == "POST":
        return _begin(request, recording, row)
    return show(request, "snapshots/restored/restored.html", _context(request, recording, row))


@page
@require_safe
def of_checkpoint(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Show the restore of an engine's checkpoint from task to task.

    ``?parallelism=`` is by default that of the widest operator; ``keep`` and ``without`` are those
    of the restore plan.
    """
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    checkpoint = inventory.checkpoint(opened, number)
    asked = restore_plan.asked(request, opened.upload["engine"], checkpoint)
    context = {
        "recording": recording,
        "number": number,
        "checkpoint": checkpoint,
        "plan_link": f"{reverse('restore-plan', args=[pk, number])}?{asked.query}",
        "titles": restored_tasks.titles_of(opened.upload["engine"]),
        "typed": asked.typed,
        "kept": asked.kept,
        "without": asked.without,
    }
    try:
        plan = restore.restore_plan(
            recording, opened, number, asked.parallelism, asked.kept, asked.without
        )
    except Refused as refused:
        context["refused"] = refused.detail
        return show(request, "snapshots/restored/tasks.html", context, status=422)
    return show(request, "snapshots/restored/tasks.html", context | _tasks(request, pk, plan))


def _tasks(request: HttpRequest, pk: int, plan: dict[str, Any]) -> dict[str, Any]:
    frames = restored_tasks.frames_of(plan)
    end = len(frames) - 1
    place = _place(request.GET.get("step", ""), end)
    first = frames[place]["restored"] | {"pictures": frames[0]["restored"]["pictures"]}
    return {
        "plan": plan,
        "verdict": restore_plan.VERDICTS[plan["answer"]],
        "end": end,
        "place": place,
        "not_drawn": restored_tasks.not_drawn(plan),
        "data": {
            "recording": pk,
            "restored": "",
            "rate": TASK_BEATS_A_SECOND,
            "beats": list(range(end + 1)),
            "faults": [frame["at"] for frame in frames if frame["restored"]["is_fault"]],
            "end": end,
            "sides": TASK_SIDES,
            "caption": "What each task gets, up to this beat",
            "frame": frames[place] | {"from": None, "restored": first},
            "frames": frames,
        },
    }


def _begin(request: HttpRequest, recording: Recording, row: Snapshot) -> HttpResponseBase:
    address = links.to_restored(recording.pk, row.snapshot)
    try:
        request_restore(request.user, recording, row)
    except Conflict as conflict:
        return back(request, address, conflict)
    return redirect(address)


def _context(request: HttpRequest, recording: Recording, row: Snapshot) -> dict[str, Any]:
    outcome = outcome_of(row)
    stored = open_recording(recording)
    return {
        "recording": recording,
        "snapshot": row.snapshot,
        "outcome": outcome,
        "colour": colour_of(outcome),
        "snapshot_link": links.to_snapshot(recording.pk, row.snapshot),
        "workbench_link": links.to_workbench(recording.pk, snapshot=row.snapshot),
        "titles": restored_frames.TITLES,
        "most_events": MOST_EVENTS,
        **_run(request, recording, row, stored),
    }


def _job(request: HttpRequest, row: Snapshot) -> dict[str, Any]:
    """Return the job of the person's newest restore of this snapshot."""
    jobs = access.jobs(request.user).filter(recording=row.recording, snapshot=row.snapshot)
    job = jobs.filter(kind=Job.Kind.RESTORE).select_related("recording").first()
    return {"is_large": True, "row": job, "job": job_detail(job) if job else None}


def _run(
    request: HttpRequest, recording: Recording, row: Snapshot, stored: StoredRecording
) -> dict[str, Any]:
    try:
        what = restored_frames.watched(stored, {"restored": row.snapshot})
    except NotRestoredYet:
        return _job(request, row)
    except Conflict as refused:
        return {"refused": refused.detail}
    run, report = what.opened.run, what.opened.report
    place = _place(request.GET.get("step", ""), run.end)
    told = [run.step(each).sentence for each in range(min(run.cut + 1, MOST_TOLD))]
    return {
        "data": {
            "recording": recording.pk,
            "restored": row.snapshot,
            "rate": max(SLOWEST, run.end / SECONDS),
            "beats": run.beats,
            "faults": [fault.place for fault in run.faults],
            "end": run.end,
            "sides": SIDES,
            "caption": "What both sides hold at the cursor, those that differ first",
            "frame": restored_frames.frame(what, None, float(place)),
        },
        "end": run.end,
        "place": place,
        "not_drawn": _not_drawn(run),
        "told": told,
        "told_hidden": run.cut + 1 - len(told),
        "replayed": len(run.course.events),
        "ending": restored_frames.ending_of(what.opened),
        "faults": run.faults[:MOST_DIFFERENCES],
        "faults_hidden": max(0, len(run.faults) - MOST_DIFFERENCES),
        "differences": [
            (item["sentence"], _event_link(recording, row, item.get("event")))
            for item in report["differences"][:MOST_DIFFERENCES]
        ],
        "differences_hidden": max(0, report["differences_total"] - MOST_DIFFERENCES),
    }


def _not_drawn(run: RestoredRun) -> str:
    """Return how many processes the pictures leave out, as a sentence, or nothing."""
    hidden = len(run.course.topology.processes) - len(restored_pictures.lanes_of(run))
    if not hidden:
        return ""
    return (
        f"{times(hidden, 'process is', 'processes are')} not drawn; those at which something goes "
        "wrong come first. The table has all."
    )


def _event_link(recording: Recording, row: Snapshot, place: dict[str, Any] | None) -> str:
    """Return where the workbench shows the event at which the runs differ; empty at the end."""
    if place is None:
        return ""
    return links.to_workbench(recording.pk, snapshot=row.snapshot, event=links.event(place))


def _place(text: str, end: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 9
    return min(int(text), end) if is_number else 0
