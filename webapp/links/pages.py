"""Open short and public links, and the forms of the page that shares something."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.models import Recording
from snapshots.problems import Invalid, NotFound, Problem
from snapshots.reviews.models import Review
from snapshots.services import sharing
from snapshots.web.json import read
from snapshots.web.pages.rendering import back, page
from snapshots.web.pages.sharing import render_sharing
from webapp.accounts import audit
from webapp.accounts.auth import SignedInRequest
from webapp.links import limits, public, short, visiting
from webapp.links.models import PublicLink
from webapp.links.views import checked_view


@page
@require_safe
def follow_short_link(request: SignedInRequest, key: str) -> HttpResponse:
    """Lead to the page that a short link keeps."""
    return redirect(short.target_of(access.short_link(request.user, key)))


@page
@require_POST
def delete_short_link(request: SignedInRequest, key: str) -> HttpResponse:
    """Delete a short link, and return to the page that shares its recording or archived job."""
    row = access.own_short_link(request.user, key)
    kind, number = (
        ("recordings", row.recording_id) if row.recording else ("archive", row.engine_job_id)
    )
    row.delete()
    messages.success(request, "The short link no longer works.")
    return redirect("sharing", kind, number)


@require_safe
def follow_public_link(request: HttpRequest, token: str) -> HttpResponseBase:
    """Open what a public link shows, for somebody who need not be signed in."""
    return visiting.keep_private(_follow(request, token))


@page
def _follow(request: HttpRequest, token: str) -> HttpResponse:
    address = audit.client_address(request)
    limits.require_few_wrong_ones(address)
    try:
        visitor = public.follow(token)
    except NotFound:
        limits.count_wrong_one(address)
        raise
    if request.user.is_authenticated:
        return _follow_signed_in(request, visitor.link)
    response = redirect(_page_of(visitor.link))
    visiting.begin_visit(response, visitor)
    return response


def _follow_signed_in(request: HttpRequest, link: PublicLink) -> HttpResponse:
    """Lead a person who may see it anyway to it; tell others to open the link signed out."""
    seen = access.recordings(request.user) if link.recording_id else access.reviews(request.user)
    if seen.filter(public_links=link).exists():
        return redirect(_page_of(link))
    noun = "recording" if link.recording_id else "review"
    return render(request, "links/signed_in.html", {"noun": noun})


def _page_of(link: PublicLink) -> str:
    kind, number = visiting.shown_by(link)
    return reverse(sharing.KINDS[kind].route, args=[number])


@page
@require_POST
def make_public_link(request: SignedInRequest, pk: int) -> HttpResponse:
    """Make a public link to a recording, and show it at once, because it is kept nowhere."""
    return _make(request, "recordings", access.own_recording(request.user, pk))


@page
@require_POST
def make_public_link_to_review(request: SignedInRequest, pk: int) -> HttpResponse:
    """Make a public link to a review, and show it at once."""
    return _make(request, "reviews", access.own_review(request.user, pk))


def _make(request: SignedInRequest, kind: str, row: Recording | Review) -> HttpResponse:
    try:
        _, link = public.make(row, request.user, **_fields(request))
    except Problem as refusal:
        return back(request, reverse("sharing", args=[kind, row.pk]), refusal)
    return render_sharing(request, kind, row, made_link=link)


def _fields(request: SignedInRequest) -> dict[str, Any]:
    """Return the fields of the form that makes a public link. Raises: Invalid."""
    days, view = request.POST.get("days", ""), request.POST.get("view", "")
    try:
        return {
            "name": request.POST.get("name", ""),
            "days": int(days) if days else None,
            "view": checked_view(read(view, "view")) if view else None,
            "with_notes": "with_notes" in request.POST,
            "with_downloads": "with_downloads" in request.POST,
        }
    except ValueError:
        raise Invalid("The form was not sent whole. Load the page again.") from None


@page
@require_POST
def withdraw(request: SignedInRequest, pk: int) -> HttpResponse:
    """Withdraw a public link, and return to the page that shares what it showed."""
    row = access.public_link(request.user, pk)
    kind, number = visiting.shown_by(row)
    public.withdraw(row, request.user)
    messages.success(request, "The public link no longer works.")
    return redirect("sharing", kind, number)


@page
@require_POST
def decide_for_team(request: SignedInRequest, pk: int) -> HttpResponse:
    """Allow or forbid the public links of a team."""
    team = access.led_team(request.user, pk)
    public.decide_for_team(team, request.user, allowed=request.POST.get("allowed") == "yes")
    return redirect("team", pk)
