"""The picture of a start of SeaTunnel, made with Plotly's library."""

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from snapshots.domain.dataflow_logs.pipelines import PipelinePlan
from snapshots.domain.dataflow_logs.start_protocol import HANDED_OUT, READY, RUNNING, Start, Step
from snapshots.domain.model.topology import ProcessId
from snapshots.web.figures.look import layout, lined_axis, quiet_axis

LOOKS = (
    ("#0072b2", "circle-open", 16),
    ("#009e73", "circle", 9),
    ("#d55e00", "diamond", 9),
    ("#e69f00", "triangle-up", 11),
    ("#cc79a7", "square", 9),
    ("#56b4e9", "star", 12),
)
"""Colour, symbol and size of the steps, in their order; marks at one place can be told apart."""
WAITS = "waits", "#8a8f94"
MOST_LANES = 60
_ROW = 28  # pixels of a lane
_AROUND = 64  # pixels below the lanes


def start_figure(pipeline: PipelinePlan, start: Start, unit: str) -> dict[str, Any] | None:
    """Return the figure of one start as JSON values; None where no step of it is known.

    Each process has a lane; a mark stands where it takes a step. A grey bar says that a task has
    its state and waits for its first work. A dotted line leads from the coordinator to each task
    to which it gives states.
    """
    known = _known(start)
    if not known:
        return None
    head = [] if pipeline.coordinator is None else [pipeline.coordinator]
    lanes = [*head, *pipeline.tasks][:MOST_LANES]
    name, scale = _unit(known, unit)
    figure = go.Figure()
    _draw_waits(figure, known, lanes, scale)
    for step, (colour, symbol, size) in zip(known, LOOKS, strict=False):
        events = [event for event in step.events if event.process in lanes]
        if step.name == HANDED_OUT and head:
            ends = [(event.at * scale, head[0], event.process) for event in events]
            _draw_lines(figure, ends, {"color": colour, "dash": "dot", "width": 1.2})
        figure.add_scatter(
            x=[event.at * scale for event in events],
            y=[html.escape(event.process) for event in events],
            mode="markers",
            name=step.name,
            marker={"size": size, "color": colour, "symbol": symbol},
            hovertemplate=f"%{{y}}: {step.name}<br>at %{{x}} {name}<extra></extra>",
        )
    figure.update_layout(layout(height=_AROUND + _ROW * len(lanes), showlegend=False))
    figure.update_layout(margin={"l": 8, "r": 12, "t": 8, "b": 44})
    names = [html.escape(lane) for lane in reversed(lanes)]
    rows = {"categoryorder": "array", "categoryarray": names, "fixedrange": True}
    figure.update_yaxes(quiet_axis(**rows))
    figure.update_xaxes(lined_axis(title_text=f"time ({name})"))
    made = figure.to_plotly_json()
    made["layout"].pop("template", None)
    return {"data": made["data"], "layout": made["layout"]}


def _known(start: Start) -> list[Step]:
    return [step for step in start.steps if step.events and not step.is_end]


def _draw_waits(figure: Any, known: list[Step], lanes: Sequence[ProcessId], scale: float) -> None:
    at = {step.name: {e.process: e.at for e in step.events} for step in known}
    ready, works = at.get(READY, {}), at.get(RUNNING, {})
    both = [lane for lane in lanes if lane in ready and lane in works]
    figure.add_scatter(
        x=[x for lane in both for x in (ready[lane] * scale, works[lane] * scale, None)],
        y=[y for lane in both for y in (html.escape(lane), html.escape(lane), None)],
        mode="lines",
        name=WAITS[0],
        line={"color": WAITS[1], "width": 5},
        opacity=0.45,
        hoverinfo="skip",
    )


def _draw_lines(
    figure: Any, ends: Sequence[tuple[float, ProcessId, ProcessId]], line: dict[str, Any]
) -> None:
    figure.add_scatter(
        x=[x for at, _, _ in ends for x in (at, at, None)],
        y=[y for _, a, b in ends for y in (html.escape(a), html.escape(b), None)],
        mode="lines",
        name="from the coordinator",
        line=line,
        hoverinfo="skip",
    )


def _unit(known: list[Step], unit: str) -> tuple[str, float]:
    """Return the unit in which the axis is read, and the length of the recording's unit in it."""
    last = max(event.at for step in known for event in step.events)
    return ("ms", 0.001) if unit == "us" and last >= 1_000 else (unit, 1.0)


def legend(start: Start) -> list[tuple[str, str]]:
    """Return name and colour of each step that the picture has, and of waiting."""
    looks = zip(_known(start), LOOKS, strict=False)
    return [*((step.name, colour) for step, (colour, _, _) in looks), WAITS]


def rows_of(start: Start) -> list[dict[str, Any]]:
    """Return the steps for the table; those of the end of a job have ``is_end``."""
    return [
        {
            "step": step.name,
            "is_end": step.is_end,
            "who": step.who,
            "waits": step.waits,
            "first": step.first and step.first.at,
            "last": step.last and step.last.at,
            "first_process": step.first and step.first.process,
            "last_process": step.last and step.last.process,
            "count": len({event.process for event in step.events}),
            "why": step.why,
        }
        for step in start.steps
    ]
