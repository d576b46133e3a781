"""Two checkpoints of an upload side by side: what came, what went, what is another."""

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
    """``?since=`` the number of the other; without it, the one before."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    found = inventory.checkpoint(opened, number)
    listed = opened.upload["checkpoints"]
    since = _since(request.GET.get("since", ""), listed, number)
    change = inventory_difference.difference(opened, since, number)
    files = [file for file in change["files"] if file["needed"] == "both"]
    context = {
        "recording": recording,
        "number": number,
        "since": since,
        "checkpoint": found,
        "other": listed[since],
        "others": [
            {"number": place, "id": one["id"], "kind": one["kind"]}
            for place, one in enumerate(listed)
            if place != number
        ],
        "change": change,
        "operators": [_operator(item) for item in change["operators"]],
        "shared": files[:MOST_FILES],
        "shared_hidden": max(0, len(files) - MOST_FILES),
    }
    return render(request, "snapshots/inventory/difference.html", context)


def _since(typed: str, listed: list[dict[str, Any]], number: int) -> int:
    if typed:
        if not typed.isdecimal() or len(typed) > 9 or int(typed) >= len(listed):
            raise NotFound("There is no such checkpoint in the upload.")
        return int(typed)
    return _one_before(listed, number)


def _one_before(listed: list[dict[str, Any]], number: int) -> int:
    """Best the one before of the same job; the first of a job may have begun with another's."""
    job = listed[number]["job"]
    earlier = [place for place in range(number) if listed[place]["operators"]]
    own = [place for place in earlier if listed[place]["job"] == job]
    later = [place for place in range(len(listed)) if place != number]
    return own[-1] if own else earlier[-1] if earlier else later[0] if later else number


def _operator(item: dict[str, Any]) -> dict[str, Any]:
    """Without timers that are empty on both sides, and with what is not shown."""
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
