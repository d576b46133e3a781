"""The page of running systems."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.problems import Conflict, Invalid, Unavailable
from snapshots.services.live_systems import MOST_SHOWN, order, systems_of
from snapshots.web.pages.rendering import back, page
from snapshots.web.tables.sending import show

ACTIONS = ("snapshot", "kill", "restore", "close")


@page
@require_safe
def live_systems(request: HttpRequest) -> HttpResponseBase:
    recordings = access.recordings(request.user)
    systems = systems_of(recordings)
    rows = recordings.in_bulk([each["recording"] for each in systems["items"]])
    shown = []
    for each in systems["items"]:
        row = rows[each["recording"]]
        may_command = access.may_change(request.user, row)
        shown.append({**each, "data": each, "row": row, "may_command": may_command})
    processes = [
        {"recording": each["recording"], "system": each["name"], **process}
        for each in systems["items"]
        for process in each["processes"]
    ]
    context = {
        "systems": shown,
        "unreadable": systems["unreadable"],
        "total": systems["total"],
        "most_shown": MOST_SHOWN,
        "processes": processes,
    }
    return show(request, "snapshots/live/page.html", context)


@page
@require_POST
def command(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Ask the command of a running system for something, and return to the page."""
    row = access.own_recording(request.user, pk)
    action, _, process = request.POST.get("order", "").partition(":")
    if action not in ACTIONS:
        raise Invalid(f"“{action}” is none of {', '.join(ACTIONS)}.", field="order")
    try:
        order(row, action, process or None)
    except (Conflict, Unavailable) as refusal:
        return back(request, "/live", refusal)
    return redirect("/live")
