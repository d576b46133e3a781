"""Where a checkpoint's state goes with another parallelism: as tables, and as a picture."""

from dataclasses import dataclass
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory
from snapshots.domain.inventory.model import TIMERS
from snapshots.problems import Refused
from snapshots.web.pages.rendering import page

MOST_SUBTASKS = 100  # of an operator
MOST_RECEIVERS = 100  # of an edge
MOST_KEPT = 1000  # operators that keep their parallelism
MOST_POSITIONS = 20  # of a state, on the page
LONGEST_SHOWN = 300  # characters of a position
WIDTH, HEIGHT = 1000, 60  # of a picture's half
_GAP = 2


@page
@require_safe
def of_restore(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Where everything goes with ``?parallelism=``; without it, the form. ``keep``: ids of
    operators that keep their own."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    found = inventory.checkpoint(opened, number)
    typed, kept = request.GET.get("parallelism", ""), request.GET.getlist("keep")[:MOST_KEPT]
    usual = max((item["parallelism"] or 1 for item in found["operators"]), default=1)
    context = {
        "recording": recording,
        "number": number,
        "checkpoint": found,
        "narrower": [one for one in found["operators"] if (one["parallelism"] or usual) != usual],
        "kept": kept,
        "json_query": request.GET.urlencode(),
        "typed": typed or usual,
    }
    if typed:
        wanted = int(typed) if typed.isdecimal() and len(typed) < 9 else 0
        try:
            plan = inventory.restore_plan(recording, opened, number, wanted, kept)
            context["plan"] = _shown(plan)
        except Refused as refused:
            context["refused"] = refused.detail
    status = 422 if "refused" in context else 200
    return render(request, "snapshots/restore_plan/restore_plan.html", context, status=status)


def _shown(plan: dict[str, Any]) -> dict[str, Any]:
    return plan | {
        "operators": [_operator(item) for item in plan["operators"]],
        "edges": [_edge(item) for item in plan["edges"]],
        "read_again": [_source(item) for item in plan["read_again"]],
    }


def _source(item: dict[str, Any]) -> dict[str, Any]:
    """With the first of its positions as text."""
    return item | {
        "positions": [
            state
            | {
                "shown": [_position(one) for one in state["items"][:MOST_POSITIONS]],
                "hidden": max(0, state["total"] - MOST_POSITIONS),
            }
            for state in item["positions"]
        ]
    }


def _position(entry: dict[str, Any]) -> str:
    """Of a value that is not decoded its first bytes, in hex."""
    if entry["value"] is None:
        return f"not decoded: {entry['head'] or entry['reason']}"
    text = orjson.dumps(entry["value"]).decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _operator(item: dict[str, Any]) -> dict[str, Any]:
    """With its picture, the largest of its subtasks, and how many are not shown."""
    sizes = [one["bytes"] or 0 for one in (*item["before"], *item["after"])]
    largest = max(sizes, default=0) or 1
    return item | {
        "has_timers": any(state["kind"] == TIMERS for state in item["states"]),
        "largest": largest,
        "picture": _picture(item, largest),
        "before": item["before"][:MOST_SUBTASKS],
        "after": item["after"][:MOST_SUBTASKS],
        "hidden": max(0, len(item["before"]) - MOST_SUBTASKS)
        + max(0, len(item["after"]) - MOST_SUBTASKS),
    }


def _edge(item: dict[str, Any]) -> dict[str, Any]:
    receivers = item["receivers"]
    return item | {
        "largest": max((one["bytes"] for one in receivers), default=0) or 1,
        "receivers": receivers[:MOST_RECEIVERS],
        "hidden": max(0, len(receivers) - MOST_RECEIVERS),
    }


@dataclass(frozen=True)
class Bar:
    """A subtask in the picture: x over its key groups, height by its bytes."""

    index: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Picture:
    """before: upwards from the middle line; after: downwards from it."""

    before: list[Bar]
    after: list[Bar]
    has_key_groups: bool
    width: int = WIDTH
    middle: int = HEIGHT
    height: int = 2 * HEIGHT


def _picture(item: dict[str, Any], largest: int) -> Picture | None:
    """None where there is nothing to see: no bytes, or more subtasks than can be told apart."""
    sides = item["before"], item["after"]
    sizes = [one["bytes"] for side in sides for one in side]
    if not all(sides) or None in sizes or not any(sizes) or max(map(len, sides)) > MOST_SUBTASKS:
        return None
    groups = item["max_parallelism"] if any(one["key_groups"] for one in sides[1]) else None
    before, after = (_bars(side, groups, largest) for side in sides)
    below = [Bar(one.index, one.x, HEIGHT, one.width, one.height) for one in after]
    return Picture(before, below, groups is not None)


def _bars(side: list[dict[str, Any]], groups: int | None, largest: int) -> list[Bar]:
    found = []
    for place, one in enumerate(side):
        begin, end, of = place, place + 1, len(side)
        if groups is not None:
            if one["key_groups"] is None:
                continue
            begin, end, of = one["key_groups"][0], one["key_groups"][1] + 1, groups
        x, width = WIDTH * begin / of, WIDTH * (end - begin) / of
        height = HEIGHT * one["bytes"] / largest
        found.append(
            Bar(
                one["index"],
                round(x, 2),
                round(HEIGHT - height, 2),
                round(max(width - _GAP, width / 2), 2),
                round(height, 2),
            )
        )
    return found
