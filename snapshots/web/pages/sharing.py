"""The page and dialog that say who can open an address, and let more people open it."""

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.problems import Problem
from snapshots.services import sharing
from snapshots.services.moving import Movable
from snapshots.web.pages.rendering import back, page, wants_list_alone
from webapp.accounts.auth import SignedInRequest
from webapp.teams.roles import Role

if TYPE_CHECKING:
    from webapp.teams.models import Team


@page
@require_safe
def who_can_open(request: SignedInRequest, kind: str, pk: int) -> HttpResponse:
    """Show who can open something; htmx and the dialog ask for the part without the frame."""
    row = sharing.KINDS[kind].visible(request.user, pk)
    name = "sharing_body" if wants_list_alone(request) else "sharing"
    return render(request, f"teams/{name}.html", _context(request, kind, row))


def _context(request: SignedInRequest, kind: str, row: Movable) -> dict[str, Any]:
    team: Team | None = getattr(row.owner, "team", None)
    others = access.editable_teams(request.user).exclude(pk=row.owner_id)
    return {
        "kind": kind,
        "noun": sharing.KINDS[kind].noun,
        "row": row,
        "address": _address(kind, row),
        "sharing": sharing.sharing_of(request.user, row),
        "team": team,
        "leads": access.role(request.user, row.owner_id) == Role.OWNER and team is not None,
        "owners": team.memberships.filter(role=Role.OWNER) if team else (),
        "others": others,
        "roles": list(Role),
    }


def _address(kind: str, row: Movable) -> str:
    """Return the address of a row's page; collectors stand in the archive."""
    if kind == "collectors":
        return f"{reverse('archive')}#collectors"
    return reverse(sharing.KINDS[kind].route, args=[row.pk])


@page
@require_POST
def move(request: SignedInRequest, kind: str, pk: int) -> HttpResponse:
    """Move something to the team in the field ``team``, to the person, or to a new team."""
    row = sharing.KINDS[kind].own(request.user, pk)
    to, name = request.POST.get("team", ""), request.POST.get("new_team", "")
    address = reverse("sharing", args=[kind, pk])
    try:
        if to == "new":
            sharing.move_into_new_team(request.user, row, name)
        else:
            sharing.move(request.user, row, to)
    except Problem as refusal:
        return back(request, address, refusal)
    team = getattr(row.owner, "team", None)
    messages.success(request, f"“{row}” {f'belongs to {team}' if team else 'is yours alone'} now.")
    return redirect(address)
