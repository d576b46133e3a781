"""The page with the flow chart that a task of Flink goes through at each barrier."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers.barriers import TaskCourse, course, taken
from snapshots.domain.dataflow_logs.barriers.charts import TRACKER
from snapshots.domain.dataflow_logs.barriers.course import RESTARTED, Course, Passage
from snapshots.domain.model.listing import listed
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Invalid, NotFound
from snapshots.store.reader import StoredRecording
from snapshots.web.figures.flow_charts import flow_chart
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page, wants_list_alone
from snapshots.web.tables.sending import show

MOST_CHANNELS = 60
MOST_CHECKPOINTS = 60


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the steps of a task ``?task=`` at ``?event=``, or at the first of ``?checkpoint=``."""
    recording = access.ready_recording(request.user, pk)
    stored = open_recording(recording)
    found = course(stored, request.GET.get("task", ""))
    passages = found.course.passages
    context: dict[str, Any] = {
        "recording": recording,
        "found": found,
        "tasks_hidden": found.tasks_total - len(found.tasks),
    }
    if found.task is not None and passages:
        place = _place(request, passages)
        context |= _shown(recording, stored, found, place)
    name = "course" if wants_list_alone(request) else "barriers"
    return show(request, f"snapshots/barriers/{name}.html", context)


def _place(request: HttpRequest, passages: tuple[Passage, ...]) -> int:
    """Return which passage is asked for."""
    event, checkpoint = request.GET.get("event", ""), request.GET.get("checkpoint", "")
    if event and not (event.isascii() and event.isdigit() and len(event) < 16):
        raise Invalid("event is the index of one of the task’s events, from 0.", field="event")
    for place, passage in enumerate(passages):
        if event and passage.index == int(event):
            return place
        if not event and checkpoint and passage.checkpoint == checkpoint:
            return place
    if event:
        raise NotFound(f"Event {event} of the task is none at which it heard of a barrier.")
    return 0


def _shown(
    recording: Recording,
    stored: StoredRecording,
    found: TaskCourse,
    place: int,
) -> dict[str, Any]:
    passages, chart, task = found.course.passages, found.course.chart, found.task
    assert chart is not None  # there are passages
    assert task is not None
    passage = passages[place]
    after = passages[place + 1] if place + 1 < len(passages) else None
    records = taken(stored, task, passage.index, None if after is None else after.index)
    channels = _channels(found, passage, records)
    checkpoints = _checkpoints(task, passages)
    event = links.event({"process": task, "index": passage.index})
    return {
        "chart": chart,
        "passage": passage,
        "number": place + 1,
        "total": len(passages),
        "steps": [{"text": chart.nodes[step.node].text, "why": step.why} for step in passage.steps],
        "all_steps": _rows(found.course),
        "restarted": RESTARTED if passage.after_restart else "",
        "channels": channels[:MOST_CHANNELS],
        "channels_hidden": max(0, len(channels) - MOST_CHANNELS),
        "has_unsaid_blocks": not found.course.has_blocks and any(each.blocked for each in passages),
        "is_last": after is None,
        "figure": flow_chart(chart, [step.node for step in passage.steps]),
        "back_link": _address(task, passages[place - 1]) if place else "",
        "next_link": _address(task, after) if after else "",
        "checkpoints": checkpoints[:MOST_CHECKPOINTS],
        "checkpoints_hidden": max(0, len(checkpoints) - MOST_CHECKPOINTS),
        "workbench_link": links.to_workbench(recording.pk, event=event),
    }


def _address(task: str, passage: Passage) -> str:
    return f"?{urlencode({'task': task, 'event': passage.index})}"


def _checkpoints(task: str, passages: tuple[Passage, ...]) -> list[tuple[str, str]]:
    """Return the name of each checkpoint and the address of its first event at the task."""
    first = {passage.checkpoint: passage for passage in reversed(passages) if passage.checkpoint}
    own = sorted(first.values(), key=lambda passage: passage.index)
    return [(str(passage.checkpoint), _address(task, passage)) for passage in own]


def _channels(
    found: TaskCourse, passage: Passage, records: Mapping[Any, int]
) -> list[dict[str, Any]]:
    """Return what is true of each input after a passage; those with a barrier come first."""
    rows = []
    for channel in found.inputs:
        here = [name for name, own in passage.arrived.items() if channel in own]
        rows.append(
            {
                "channel": channel,
                "is_blocked": channel in passage.blocked,
                "here": listed(here),
                "count": len(here),
                "taken": records.get(channel, 0),
                "is_early": bool(here) and found.course.chart is TRACKER,
            }
        )
    return sorted(rows, key=lambda row: not row["here"])


def _rows(course: Course) -> Iterator[dict[str, Any]]:
    """Yield a row for each step of each event, for the file."""
    nodes = course.chart.nodes if course.chart else {}
    for passage in course.passages:
        about = {"passage": passage, "number": None, "step": None, "why": passage.why_none}
        if not passage.steps:
            yield about
        for number, step in enumerate(passage.steps, 1):
            yield about | {"number": number, "step": nodes[step.node].text, "why": step.why}
