"""The page of a SeaTunnel job's plan: pipelines, vertices, state, and how each pipeline started."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers.plan import PlanAnswer, plan_of_job
from snapshots.domain.dataflow_logs.pipelines import WHY_NO_STARTS, WHY_NO_STATE, PipelinePlan
from snapshots.domain.dataflow_logs.start_protocol import Start
from snapshots.domain.model.listing import listed
from snapshots.files.recordings import open_recording
from snapshots.problems import Invalid
from snapshots.web.figures.plan import legend, rows_of, start_figure
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_PIPELINES = 20
MOST_NAMED = 4


@page
@require_safe
def plan(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the plan of a job; ``?start=`` chooses which start of the pipelines is pictured."""
    recording = access.ready_recording(request.user, pk)
    answer = plan_of_job(open_recording(recording))
    chosen = _number(request.GET.get("start", ""))
    shown = list(_pipelines(answer, recording.time_unit, chosen))
    context = {
        "recording": recording,
        "pipelines": shown[:MOST_PIPELINES],
        "hidden": max(0, len(shown) - MOST_PIPELINES),
        "vertices": [row for each in shown for row in each["vertices"]],
        "steps": [row for each in shown for row in each["steps"]],
        "why_no_steps": answer.why_no_starts,
    }
    return show(request, "snapshots/plan/plan.html", context)


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text) > 0):
        raise Invalid("The number of a start is a whole number, from 1.", field="start")
    return int(text)


def _pipelines(answer: PlanAnswer, unit: str, chosen: int | None) -> Iterator[dict[str, Any]]:
    for number, (pipeline, starts) in enumerate(
        zip(answer.pipelines, answer.starts, strict=True), 1
    ):
        start = _chosen(starts, chosen)
        yield {
            "number": number,
            "number_text": str(number),
            "pipeline": pipeline,
            "starting": pipeline.starts,
            "why_no_starting": WHY_NO_STARTS,
            "vertices": [_vertex(each, pipeline, number) for each in pipeline.vertices],
            "starts": [each.number for each in starts],
            "start": start,
            "steps": [] if start is None else _steps(start, number),
            "figure": None if start is None else start_figure(pipeline, start, unit),
            "legend": [] if start is None else legend(start),
        }


def _chosen(starts: tuple[Start, ...], number: int | None) -> Start | None:
    """Return the chosen start, or the last one of which something is known."""
    by_number = {start.number: start for start in starts}
    return by_number.get(number or 0) or (starts[-1] if starts else None)


def _steps(start: Start, number: int) -> list[dict[str, Any]]:
    return [row | {"pipeline": number, "start": start.number} for row in rows_of(start)]


def _vertex(vertex: Any, pipeline: PipelinePlan, number: int) -> dict[str, Any]:
    filled = vertex.with_state
    return {
        "pipeline": number,
        "vertex": vertex.id,
        "kind": vertex.kind,
        "parallelism": vertex.parallelism,
        "tasks": list(vertex.tasks),
        "inputs": None if pipeline.why_no_edges else list(vertex.inputs),
        "is_start": bool(set(vertex.tasks) & set(pipeline.starts or ())),
        "state": WHY_NO_STATE if filled is None else listed(filled, MOST_NAMED),
        "with_state": None if filled is None else len(filled),
    }
