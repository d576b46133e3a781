"""The page and dialog that say who can open an address, and let more people open it."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.models import EngineJob, Recording
from snapshots.problems import Problem
from snapshots.reviews.models import Review
from snapshots.services import sharing
from snapshots.services.moving import Movable
from snapshots.web.pages.rendering import back, page, wants_list_alone
from webapp.accounts.auth import SignedInRequest
from webapp.teams.roles import Role

if TYPE_CHECKING:
    from webapp.teams.models import Team

SHOWN_LINKS = 20  # short links; the API gives all


@page
@require_safe
def who_can_open(request: SignedInRequest, kind: str, pk: int) -> HttpResponse:
    """Show who can open something; htmx and the dialog ask for the part without the frame."""
    return render_sharing(request, kind, sharing.KINDS[kind].visible(request.user, pk))


def render_sharing(
    request: SignedInRequest, kind: str, row: Movable, *, made_link: str = ""
) -> HttpResponse:
    """Show who can open a row; ``made_link`` is a new public link, which is shown only now."""
    name = "sharing_body" if wants_list_alone(request) else "sharing"
    context = _context(request, kind, row) | _links(request, row) | {"made_link": made_link}
    return render(request, f"teams/{name}.html", context)


def _links(request: SignedInRequest, row: Movable) -> dict[str, Any]:
    """Return the short and public links of a row, as far as such a row has any."""
    context: dict[str, Any] = {}
    if isinstance(row, Recording | EngineJob):
        context |= _short_links(request, row)
    if isinstance(row, Recording | Review) and access.may_change(request.user, row):
        context |= _public_links(request, row)
    return context


def _short_links(request: SignedInRequest, row: Recording | EngineJob) -> dict[str, Any]:
    rows = access.short_links(request.user, row)
    links = [(link, access.may_delete_link(request.user, link)) for link in rows[:SHOWN_LINKS]]
    hidden = max(0, rows.count() - len(links))
    return {"has_links": True, "short_links": links, "hidden_links": hidden}


def _public_links(request: SignedInRequest, row: Recording | Review) -> dict[str, Any]:
    """Return the public links to a row; nothing where the server has none and never had."""
    links = access.public_links(request.user, row)
    if not (settings.PUBLIC_LINKS or links):
        return {}
    working = access.public_links_that_work().filter(pk__in=links.values("pk"))
    keys = set(working.values_list("pk", flat=True))
    return {
        "public_links": [(link, link.pk in keys) for link in links],
        "may_be_public": access.allows_public_links(row.owner_id),
        "is_allowed_by_server": settings.PUBLIC_LINKS,
    }


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
