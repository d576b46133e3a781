"""The page that compares two checkpoints of an upload: what was added, removed and changed."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory, inventory_difference
from snapshots.domain.inventory.model import COORDINATOR, TIMERS
from snapshots.domain.inventory.series import SAME
from snapshots.problems import NotFound
from snapshots.web.pages.rendering import page

MOST_SUBTASKS = 100  # of an operator
MOST_KEY_GROUPS = 100  # of an operator
MOST_FILES = 300


@page
@require_safe
def of_checkpoints(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Compare a checkpoint with ``?since=NUMBER``, by default with the one before it."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    checkpoint = inventory.checkpoint(opened, number)
    checkpoints = opened.upload["checkpoints"]
    since = _since(request.GET.get("since", ""), checkpoints, number)
    change = inventory_difference.difference(opened, since, number)
    shared = [file for file in change["files"] if file["needed"] == "both"]
    context = {
        "recording": recording,
        "number": number,
        "since": since,
        "checkpoint": checkpoint,
        "other": checkpoints[since],
        "others": [
            {"number": other, "id": item["id"], "kind": item["kind"]}
            for other, item in enumerate(checkpoints)
            if other != number
        ],
        "change": change,
        "operators": [_operator(item) for item in change["operators"]],
        "shared": shared[:MOST_FILES],
        "shared_hidden": max(0, len(shared) - MOST_FILES),
    }
    return render(request, "snapshots/inventory/difference.html", context)


def _since(typed: str, checkpoints: list[dict[str, Any]], number: int) -> int:
    if not typed:
        return _previous(checkpoints, number)
    if not typed.isdecimal() or len(typed) > 9 or int(typed) >= len(checkpoints):
        raise NotFound("There is no such checkpoint in the upload.")
    return int(typed)


def _previous(checkpoints: list[dict[str, Any]], number: int) -> int:
    """Return the number of the checkpoint with which one is compared by default.

    The previous one of the same job is preferred to that of another job, whose state the job may
    have begun with.
    """
    job = checkpoints[number]["job"]
    earlier = [other for other in range(number) if checkpoints[other]["operators"]]
    own = [other for other in earlier if checkpoints[other]["job"] == job]
    others = [other for other in range(len(checkpoints)) if other != number]
    candidates = [*own[-1:], *earlier[-1:], *others[:1], number]
    return candidates[0]


def _operator(item: dict[str, Any]) -> dict[str, Any]:
    """Leave out timers that are empty in both checkpoints, and count what is not shown."""
    states = [
        state
        for state in item["states"]
        if state["kind"] != TIMERS or state["entries"]["before"] or state["entries"]["after"]
    ]
    subtasks = [
        {"name": "coordinator" if index == COORDINATOR else index, "bytes": pair}
        for index, pair in item["subtasks"]
    ]
    return item | {
        "is_same": item["change"] == SAME,
        "states": states,
        "subtasks": subtasks[:MOST_SUBTASKS],
        "subtasks_hidden": max(0, len(subtasks) - MOST_SUBTASKS),
        "key_groups": item["key_groups"][:MOST_KEY_GROUPS],
        "key_groups_hidden": max(0, len(item["key_groups"]) - MOST_KEY_GROUPS),
    }
