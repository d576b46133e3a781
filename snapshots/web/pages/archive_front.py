"""The page of a checkpoint's barrier front, poll by poll."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.archive import front_payloads, polls, queries, services, watching
from snapshots.domain.archive.model import IN_PROGRESS
from snapshots.domain.front.rule import CULPRIT, HELD_UP, WAITING
from snapshots.domain.model import layers
from snapshots.domain.model.layers import Link
from snapshots.domain.model.listing import listed
from snapshots.web.drawings import front as front_drawing
from snapshots.web.json import dumps
from snapshots.web.pages.rendering import page, wants_list_alone
from snapshots.web.tables.sending import show

MOST_NAMED = 6  # subtasks in a cell
ROLES = (CULPRIT, HELD_UP, WAITING, "")
"""The order of the table; vertices of one role go from the sources to the sinks."""


@page
@require_safe
def front(request: HttpRequest, pk: int, pipeline: int, number: int) -> HttpResponseBase:
    """Show where the barriers were at the poll ``?poll=``, an instant; without it at the last.

    With ``?down=1`` the layers of the drawing follow each other downwards, for a narrow page.
    """
    row = access.engine_job(request.user, pk)
    archived = queries.checkpoint(row, pipeline, number)
    wanted = services.whole(request.GET, "poll")
    polled = polls.polled(row, pipeline, number)
    context: dict[str, Any] = {
        "job": row,
        "checkpoint": archived,
        "is_going": archived.status == IN_PROGRESS,
        "news": dumps(watching.news_of(row)).decode(),
        "pinned": wanted is not None,
        "polled": polled,
        "dropped": polled.made - len(polled.instants),
    }
    if polled.instants:
        poll = front_payloads.poll_of(polls.poll_at(row, pipeline, number, wanted))
        context |= _shown(poll, polled, archived.status, down=request.GET.get("down") == "1")
    name = "front_body" if wants_list_alone(request) else "front"
    return show(request, f"snapshots/archive/{name}.html", context)


def _shown(
    poll: dict[str, Any], polled: polls.Polled, status: str, *, down: bool
) -> dict[str, Any]:
    place = polled.instants.index(poll["at"])
    ordered = sorted(poll["vertices"], key=lambda vertex: ROLES.index(vertex["role"]))
    vertices = [vertex | {"waits_for": _waits_for(vertex["pending"])} for vertex in ordered]
    return {
        "poll": poll,
        "vertices": vertices,
        "place": place + 1,
        "before": polled.instants[place - 1] if place else None,
        "after": polled.instants[place + 1] if place + 1 < len(polled.instants) else None,
        "layers": _layers(poll),
        "drawing": front_drawing.drawing(poll, down=down),
        "replay": {"at": poll["at"], "instants": polled.instants, "status": status},
    }


def _layers(poll: dict[str, Any]) -> tuple[int, int]:
    """Return how many layers the drawing has, and how many vertices the largest one has."""
    links = [Link("", edge["source"], edge["target"]) for edge in poll["edges"]]
    rows = layers.layers(layers.depths([vertex["id"] for vertex in poll["vertices"]], links))
    return len(rows), max((len(row) for row in rows), default=1)


def _waits_for(pending: list[int] | None) -> str:
    if pending is None:
        return "not known"
    return listed([f"[{index}]" for index in pending], MOST_NAMED) or "none"
