"""One checkpoint as a Gantt chart: a row for each task, a bar for each phase, the critical path."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from snapshots import quantities
from snapshots.web.figures.look import (
    Part,
    colour,
    escaped,
    layout,
    lined_axis,
    row_axis,
    shortened,
    vertical_line,
)

LONGEST_NAME = 18  # characters
ROOM = 1.04  # share of the last instant at the end of the axis, so that its bar is seen to end

Json = Mapping[str, Any]


class Bar(NamedTuple):
    """What a task did from one instant to another."""

    phase: str
    begin: int
    end: int


PHASES = {
    "copy of an earlier checkpoint": "series-7",
    "start delay": "series-2",
    "alignment": "series-5",
    "copy (sync)": "series-1",
    "upload (async)": "series-6",
    "until it acknowledged": "series-4",
    "until told that it is complete": "lane",
    "commit": "series-3",
}
"""The colour of each phase, in the order of the phases."""


def gantt(checkpoint: Json, unit: str) -> Part:
    """Return the figure of a checkpoint.

    Args:
        checkpoint: a CheckpointDetail, the tasks in the order of the rows.
        unit: of its instants.
    """
    trigger, tasks = checkpoint["triggered_at"], checkpoint["tasks"]
    rows = [(row, task, bar) for row, task in enumerate(tasks) for bar in bars(task, trigger)]
    ended = checkpoint["ended_at"]
    last = max(
        [bar.end for _, _, bar in rows] + ([] if ended is None else [ended]), default=trigger
    )
    name, size = quantities.scale_for(max(last - trigger, 1), unit)

    def place(instant: int) -> float:
        return (instant - trigger) / size

    data: list[Part] = []
    for phase, shade in PHASES.items():
        own = [(row, task, bar) for row, task, bar in rows if bar.phase == phase]
        if own:
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": phase,
                    "y": [row for row, _, _ in own],
                    "x": [(bar.end - bar.begin) / size for _, _, bar in own],
                    "base": [place(bar.begin) for _, _, bar in own],
                    "width": 0.62,
                    "marker": {"color": colour(shade)},
                    "text": [_words(task, bar, unit) for _, task, bar in own],
                    "textposition": "none",
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    data += _critical_path(checkpoint, place)
    names = [escaped(shortened(task["process"], LONGEST_NAME)) for task in tasks]
    title = {"text": f"since the trigger, {name}", "standoff": 4}
    line = {"color": colour("cut"), "width": 1.5, "dash": "dot"}
    return {
        "data": data,
        "layout": layout(
            barmode="overlay",
            margin={"l": 0, "r": 16, "t": 4, "b": 44},
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            showlegend=True,
            xaxis=lined_axis(range=[0, (place(last) or 1) * ROOM], title=title),
            yaxis=row_axis(names),
            shapes=[] if ended is None else [vertical_line(place(ended), **line)],
        ),
    }


def bars(task: Json, trigger: int) -> Iterator[Bar]:
    """Return what a task did; a phase whose begin or end is not known is left out."""
    first, sync = task["first_barrier_at"], task["sync_from"]
    started = sync if first is None else first
    busy = task.get("busy_until")
    if busy is not None and started is not None:
        busy = min(busy, started)
    only_the_end = trigger if started is None else None
    found = (
        ("copy of an earlier checkpoint", trigger, busy),
        ("start delay", trigger if busy is None else busy, started),
        ("alignment", first, task["last_barrier_at"]),
        ("copy (sync)", sync, task["sync_to"]),
        ("upload (async)", task["sync_to"], task["async_to"]),
        ("until it acknowledged", only_the_end, task["acked_at"]),
        ("until told that it is complete", task["acked_at"], task["notified_at"]),
        ("commit", task["notified_at"], task["committed_at"]),
    )
    for phase, begin, end in found:
        if begin is not None and end is not None and end > begin:
            yield Bar(phase, begin, end)


def _words(task: Json, bar: Bar, unit: str) -> str:
    length = quantities.duration(bar.end - bar.begin, unit)
    return f"{escaped(task['process'])}<br>{bar.phase}: {length}"


def _critical_path(checkpoint: Json, place: Any) -> list[Part]:
    """Draw the path along a task's row, and from row to row where a barrier travels."""
    rows = {task["process"]: row for row, task in enumerate(checkpoint["tasks"])}
    x: list[float] = []
    y: list[float] = []
    for part in checkpoint["critical_path"] or ():
        if part["process"] in rows and part["from"] is not None and part["to"] is not None:
            x += [place(part["from"]), place(part["to"])]
            y += [rows[part["process"]] + 0.4] * 2
    if not x:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "critical path",
            "x": x,
            "y": y,
            "line": {"color": colour("text"), "width": 2.5},
            "hoverinfo": "skip",
        }
    ]
