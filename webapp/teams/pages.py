"""Show teams: the list, one team with its people, and the page that an invitation opens."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from snapshots import access, allowances
from snapshots.problems import Conflict, Invalid, NotFound, Problem, TooMany
from snapshots.web.pages.rendering import ask_to_delete, back, page
from snapshots.web.tables.sending import show
from webapp.accounts import audit, views
from webapp.accounts.auth import SignedInRequest
from webapp.teams import services
from webapp.teams.models import Team
from webapp.teams.roles import Role

SHOWN_ENTRIES = 20


@page
@require_http_methods(["GET", "HEAD", "POST"])
def teams(request: SignedInRequest) -> HttpResponseBase:
    """List the person's teams, and make another."""
    if request.method != "POST":
        return _list(request)
    try:
        team = services.create_team(request.user, request.POST.get("name", ""))
    except (Invalid, TooMany) as refusal:
        return _list(request, refusal)
    return redirect("team", team.pk)


def _list(request: SignedInRequest, refusal: Problem | None = None) -> HttpResponseBase:
    context = {
        "memberships": request.user.memberships.select_related("team").order_by("team__name"),
        "refusal": refusal,
        "typed": request.POST.get("name", ""),
    }
    status = refusal.status if refusal else 200
    return show(request, "teams/teams.html", context, status=status)


@page
@require_safe
def team(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Show a team: its people, its invitations, what it uses, and what was done in it."""
    return _render(request, access.team(request.user, pk))


def _render(request: SignedInRequest, team: Team, **more: object) -> HttpResponseBase:
    role = access.role(request.user, team.account_id)
    refusal = more.get("refusal")
    context = {
        "team": team,
        "role": role,
        "is_owner": role == Role.OWNER,
        "roles": list(Role),
        "memberships": team.memberships.select_related("person"),
        "invitations": team.invitations.filter(accepted_at=None),
        "quotas": allowances.quotas(team.account),
        "retention_days": allowances.allowance(team.account).retention_days,
        "has_public_links": settings.PUBLIC_LINKS,
        "forbids_public_links": access.forbids_public_links(team.pk),
        "entries": audit.entries_of(team.account)[:SHOWN_ENTRIES],
        "all_entries": audit.entries_of(team.account),
        **more,
    }
    status = refusal.status if isinstance(refusal, Problem) else 200
    return show(request, "teams/team.html", context, status=status)


@page
@require_POST
def invite(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Invite an address, and show the link at once, because it is kept nowhere."""
    team = access.led_team(request.user, pk)
    address, role = request.POST.get("address", ""), request.POST.get("role", "")
    try:
        invitation, link = services.invite(team, request.user, address, role)
    except (Invalid, Conflict, TooMany) as refusal:
        return _render(request, team, refusal=refusal, typed=address, chosen=role)
    return _render(request, team, invitation=invitation, link=link)


@page
@require_POST
def withdraw(request: SignedInRequest, pk: int, invitation: int) -> HttpResponseBase:
    row = access.led_team(request.user, pk).invitations.filter(pk=invitation).first()
    if row is None:
        raise NotFound("There is no such invitation.")
    services.withdraw(row, request.user)
    messages.success(request, f"The invitation of {row.address} no longer works.")
    return redirect("team", pk)


@page
@require_POST
def change_role(request: SignedInRequest, pk: int, person: int) -> HttpResponseBase:
    access.led_team(request.user, pk)
    row = access.membership(request.user, pk, person)
    try:
        services.change_role(row, request.user, request.POST.get("role", ""))
    except Conflict as conflict:
        return back(request, reverse("team", args=[pk]), conflict)
    messages.success(request, f"{row.person} is {row.role} now.")
    return redirect("team", pk)


@page
@require_POST
def remove(request: SignedInRequest, pk: int, person: int) -> HttpResponseBase:
    """Remove a person, or leave the team oneself."""
    row = access.membership(request.user, pk, person)
    try:
        services.remove(row, request.user)
    except Conflict as conflict:
        return back(request, reverse("team", args=[pk]), conflict)
    if row.person == request.user:
        messages.success(request, f"You have left {row.team}.")
        return redirect("teams")
    messages.success(request, f"{row.person} no longer belongs to {row.team}.")
    return redirect("team", pk)


@page
@require_POST
def rename(request: SignedInRequest, pk: int) -> HttpResponseBase:
    team = access.led_team(request.user, pk)
    try:
        services.rename_team(team, request.user, request.POST.get("name", ""))
    except Invalid as refusal:
        return back(request, reverse("team", args=[pk]), refusal)
    return redirect("team", pk)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: SignedInRequest, pk: int) -> HttpResponseBase:
    team = access.led_team(request.user, pk)
    if request.method != "POST":
        consequence = "Its people lose the team and its collectors."
        return ask_to_delete(request, team.name, consequence, reverse("team", args=[pk]))
    try:
        services.delete_team(team, request.user)
    except Conflict as conflict:
        return back(request, reverse("team", args=[pk]), conflict)
    messages.success(request, f"The team “{team.name}” is deleted.")
    return redirect("teams")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show what an invitation is for, with a button, so that a preview does not use it up."""
    person = request.user if request.user.is_authenticated else None
    if request.method != "POST":
        return _ask_to_join(request, token, person)
    membership = services.accept(token, person)
    if person != membership.person:
        views.begin_session(request, membership.person, "through an invitation")
    messages.success(request, f"You belong to {membership.team} as {membership.role}.")
    return redirect(f"{reverse('recordings')}?team={membership.team_id}")


def _ask_to_join(request: HttpRequest, token: str, person) -> HttpResponseBase:
    invitation = services.open_invitation(token)
    context = {
        "invitation": invitation,
        "is_invited": person is not None and person.username == invitation.address,
        "makes_accounts": not settings.OIDC_ISSUER,
        "provider": settings.OIDC_NAME,
    }
    return render(request, "teams/join.html", context)
