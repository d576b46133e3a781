"""The page with the state-transition diagram of each process of a small run."""

from dataclasses import replace
from math import hypot
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers.global_states import whole_run
from snapshots.domain.causality.global_states import Computation
from snapshots.domain.causality.process_states import Diagram, Transition, diagrams
from snapshots.domain.causality.state_graph_report import words
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.problems import Invalid
from snapshots.web.pages import links
from snapshots.web.pages.circle_picture import RADIUS, SIZE, arc, place
from snapshots.web.pages.rendering import page

LONGEST_STATE = 6  # characters that fit into a circle
LONGEST_EVENT = 24
PAIR_WIDTH, PAIR_HEIGHT = 380, 130
LOOP = 50  # pixels above a state that an arc from it to itself needs
MOST_SNAPSHOTS = 200


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the diagrams, with the states at ``?snapshot=`` or after ``?step=`` events lit."""
    recording = access.shown_recording(request.user, pk)
    given = request.GET.get("snapshot")
    row = access.snapshot(recording, given) if given is not None else None
    computation = whole_run(open_recording(recording))
    context = {
        "recording": recording,
        "snapshot": row.snapshot if row else "",
        "snapshots": list(recording.snapshots.values_list("snapshot", flat=True)[:MOST_SNAPSHOTS]),
    }
    if computation is not None:
        context |= _context(request, recording, row, computation)
    return render(request, "snapshots/states/processes.html", context)


def _context(
    request: HttpRequest, recording: Recording, row: Snapshot | None, computation: Computation
) -> dict[str, Any]:
    order = computation.in_order
    step = None if row else _step(request, len(order))
    if row is not None:
        counts = computation.counts_at(dict.fromkeys(computation.processes, 0) | row.positions)
    else:
        done = [action.process for action in order[:step]]
        counts = tuple(done.count(number) for number in range(len(computation.processes)))
    last = order[step - 1] if step else None
    missing = [name for name in computation.processes if row and name not in row.positions]
    positions = computation.positions(counts)
    return {
        "diagrams": [
            _drawn(diagram if diagram.process not in missing else _unlit(diagram))
            for diagram in diagrams(computation, counts)
        ],
        "step": step,
        "steps": len(order),
        "said": words(computation, last) if last else "",
        "never_recorded": missing,
        "back_link": _address(step - 1) if step else "",
        "next_link": _address((step or 0) + 1) if step is not None and step < len(order) else "",
        "start_link": _address(0),
        "workbench_link": links.to_workbench(
            recording.pk, cut=links.cut(positions[name] for name in computation.processes)
        ),
    }


def _step(request: HttpRequest, steps: int) -> int:
    given = request.GET.get("step", str(steps))
    if not (given.isascii() and given.isdigit() and int(given[:9]) <= steps):
        raise Invalid(f"step is a whole number from 0 to {steps:,}.", field="step")
    return int(given)


def _address(step: int) -> str:
    return f"?{urlencode({'step': step})}"


def _unlit(diagram: Diagram) -> Diagram:
    """Return a diagram without a moment, for a process of which it is not known."""
    ways = tuple(replace(item, is_last=False) for item in diagram.transitions)
    return replace(diagram, transitions=ways, current=None)


def _drawn(diagram: Diagram) -> dict[str, Any]:
    """Return the places of states and transitions in pixels, and both in words."""
    values = [quantities.value(orjson.loads(text)) for text in diagram.states]
    names = [
        value if len(value) <= LONGEST_STATE else f"s{number}"
        for number, value in enumerate(values)
    ]
    places = _places(len(values))
    is_pair = len(values) <= 2
    has_loop = any(item.source == item.target for item in diagram.transitions)
    return {
        "process": diagram.process,
        "reason": diagram.reason,
        "width": PAIR_WIDTH if is_pair else SIZE,
        "height": (PAIR_HEIGHT if is_pair else SIZE) + (LOOP if has_loop else 0),
        "top": -LOOP if has_loop else 0,
        "radius": RADIUS,
        "states": [
            {
                "name": name,
                "value": value,
                "x": f"{x:.0f}",
                "y": f"{y:.0f}",
                "text_y": f"{y + 5:.0f}",
                "is_current": number == diagram.current,
                "is_first": number == 0,
                "start": f"M{x - RADIUS - 26:.0f} {y + 22:.0f}L{x - RADIUS + 2:.0f} {y + 12:.0f}",
            }
            for number, (name, value, (x, y)) in enumerate(zip(names, values, places, strict=True))
        ],
        "edges": _edges(diagram, places),
        "rows": [
            {
                "way": f"{names[item.source]} → {names[item.target]}",
                "event": item.event,
                "count": item.count,
                "is_last": item.is_last,
            }
            for item in diagram.transitions
        ],
        "legend": [
            (name, value) for name, value in zip(names, values, strict=True) if name != value
        ],
        "current": names[diagram.current] if diagram.current is not None else "",
    }


def _places(count: int) -> list[tuple[float, float]]:
    """Return the middles of the states: one or two beside each other as the paper has them."""
    if count <= 2:
        ways = (0.5,) if count == 1 else (0.24, 0.76)
        return [(PAIR_WIDTH * way, PAIR_HEIGHT / 2) for way in ways[:count]]
    return [place(number, count) for number in range(count)]


def _edges(diagram: Diagram, places: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """Return one arc for each pair of states, with the first event that is on it."""
    ways: dict[tuple[int, int], list[Transition]] = {}
    for item in diagram.transitions:
        ways.setdefault((item.source, item.target), []).append(item)
    edges = []
    for (source, target), items in ways.items():
        drawn = arc(dict(enumerate(places)), source, target)
        x, y = _label(places[source], places[target], float(drawn["x"]), float(drawn["y"]))
        count = sum(item.count for item in items)
        first = items[0].event if len(places) <= 2 else _without_channel(items[0].event)
        label = first if len(first) <= LONGEST_EVENT else f"{first[: LONGEST_EVENT - 1]}…"
        edges.append(
            {
                "path": drawn["path"],
                "x": f"{x:.0f}",
                "y": f"{y:.0f}",
                "label": f"{label} …" if len(items) > 1 else label,
                "times": f"×{count}" if count > 1 else "",
                "words": "; ".join(f"{item.event}, {item.count} times" for item in items),
                "is_last": any(item.is_last for item in items),
            }
        )
    return edges


def _without_channel(event: str) -> str:
    return event.partition(" on ")[0].partition(" from ")[0]


def _label(
    source: tuple[float, float], target: tuple[float, float], x: float, y: float
) -> tuple[float, float]:
    """Return the place of the words of an arc, a little farther out than the arc."""
    across, down = target[0] - source[0], target[1] - source[1]
    length = hypot(across, down)
    return (x, y) if not length else (x - down / length * 12, y + across / length * 12)
