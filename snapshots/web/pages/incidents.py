"""The pages of reviews of incidents, and of follow-ups."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from snapshots import access
from snapshots.models import EngineJob, Recording
from snapshots.problems import Conflict, Invalid, Problem
from snapshots.quantities import counted
from snapshots.reviews import due, entries, incident_payloads, incidents, log
from snapshots.reviews.models import Entry, Review
from snapshots.reviews.subjects import Subject
from snapshots.web import incidents as shown
from snapshots.web import visiting
from snapshots.web.entries import Reader
from snapshots.web.pages import incident_actions, incident_choices, incident_rows
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, back, page, wants_list_alone
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

COLUMNS = [
    Column("Incident", "title"),
    Column("Severity"),
    Column("Status", "status"),
    Column("Began, UTC", "began_at", is_number=True),
    Column("Who"),
    Column("Last changed, UTC", "changed_at", is_number=True),
]
NAMED = 3  # people in a row of the list
LOG_ROWS = 30
FOLLOW_UPS = 100
PARTS = ("head", "timeline", "row", "log")


class ReviewListing(Listing):
    """The list of reviews, which also keeps those of one status."""

    def __init__(self, request: HttpRequest, rows: QuerySet[Review]) -> None:
        super().__init__(request, rows, COLUMNS, search=["title"], sort="-changed_at", by_team=True)
        wanted = request.GET.get("status", "")
        self.status = wanted if wanted in Review.Status.values else ""
        if self.status:
            self._rows = self._rows.filter(status=self.status)

    @property
    def wanted(self) -> str:
        """Return in words what passes the filter; empty if everything does."""
        status = [f"status {self.status}"] if self.status else []
        return " with ".join(filter(None, [super().wanted, *status]))

    def _address(self, **change: object) -> str:
        return super()._address(status=self.status, **change)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def review_list(request: SignedInRequest) -> HttpResponseBase:
    """Show the reviews; a POST opens one, or adds an exhibit to one."""
    if request.method == "POST":
        return _opened(request)
    rows = access.reviews(request.user).prefetch_related("participants__person")
    listing = ReviewListing(request, rows)
    context = {
        "listing": listing,
        "statuses": Review.Status.values,
        "reviews": [{"row": row, **_people_in_words(row)} for row in listing.page],
    }
    name = "rows" if wants_list_alone(request) else "reviews"
    return show(request, f"snapshots/incidents/{name}.html", context)


def _people_in_words(row: Review) -> dict[str, Any]:
    people = [participant.person.get_username() for participant in row.participants.all()]
    return {"people": people[:NAMED], "more": max(0, len(people) - NAMED)}


@transaction.atomic
def _opened(request: SignedInRequest) -> HttpResponse:
    """Open a review, with the recording or archived job that the form names, and show it."""
    subject = _subject(request)
    number = request.POST.get("review", "")
    review = access.review(request.user, _whole(number)) if number else _new(request, subject)
    if subject is not None:
        incidents.add_exhibit(request.user, review, subject, request.POST.get("place", ""))
    return redirect("review", review.pk)


def _new(request: SignedInRequest, subject: Subject | None) -> Review:
    if subject is None or "team" in request.POST:
        owner = access.holder(request.user, request.POST.get("team"))
    elif isinstance(subject, Recording):
        owner = access.run_holder(request.user, subject)
    else:
        owner = subject.owner if access.may_change(request.user, subject) else request.user
    title = request.POST.get("title") or (f"What happened in {subject}" if subject else "")
    title = title[: incidents.LONGEST_TITLE]
    return incidents.open_review(request.user, owner, {"title": title})


def _subject(request: SignedInRequest) -> Subject | None:
    recording, job = request.POST.get("recording"), request.POST.get("archived_job")
    if recording:
        return access.recording(request.user, _whole(recording))
    return access.engine_job(request.user, _whole(job)) if job else None


def _whole(text: str) -> int:
    """Return the number of a row from a form; -1, which no row has, if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


@page
@require_safe
def review(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a review; the script of the page asks for its parts alone."""
    row = access.review(request.user, pk)
    if isinstance(request.user, access.Visitor):
        return _show_visitor(request, request.user, row)
    part = request.GET.get("part", "")
    if not wants_list_alone(request) or part not in PARTS:
        return _page(request, row)
    context = _context(request, row, [part])
    return render(request, f"snapshots/incidents/{part}.html", context)


def _show_visitor(request: HttpRequest, visitor: access.Visitor, row: Review) -> HttpResponse:
    """Show the review to somebody with a public link, without people and hidden rows."""
    context = {
        "review": visiting.review(shown.detail(visitor, row)),
        "row": row,
        "visitor": visitor.link,
        **incident_rows.shown_to_visitor(visitor, row, request.GET.get("page")),
    }
    return render(request, "links/review.html", context)


def _page(
    request: SignedInRequest,
    row: Review,
    refusal: Problem | None = None,
    more: Mapping[str, Any] | None = None,
) -> HttpResponse:
    context = {
        **_context(request, row, PARTS),
        "refusal": refusal.detail if refusal else "",
        **(more or {}),
    }
    status = refusal.status if refusal else 200
    return render(request, "snapshots/incidents/review.html", context, status=status)


def _context(request: SignedInRequest, row: Review, parts) -> dict[str, Any]:
    """Return what the templates of these parts need."""
    context: dict[str, Any] = {
        "review": shown.detail(request.user, row),
        "row": row,
        "is_public": access.shows_words(row),
        "kinds": Entry.Kind.values,
        "address": reverse("review", args=[row.pk]),
        "change_address": reverse("change-review", args=[row.pk]),
    }
    if "head" in parts:
        context |= _head(request, row)
    if "timeline" in parts:
        context |= incident_rows.timeline(request, row)
    elif "row" in parts:
        context |= incident_rows.single(request, row)
    if "log" in parts:
        context |= _log(request, row)
    return context


def _in_form(time: datetime | None) -> str:
    """Return a time as a field of a form takes it; empty if it is not known."""
    return "" if time is None else f"{time:%Y-%m-%dT%H:%M:%S}"


def _head(request: SignedInRequest, row: Review) -> dict[str, Any]:
    return {
        "severities": Review.Severity.values,
        "statuses": Review.Status.values,
        "times": [(name, _in_form(getattr(row, name))) for name in incidents.TIMES],
        **incident_choices.choices(request, row),
    }


def _log(request: SignedInRequest, row: Review) -> dict[str, Any]:
    rows = log.log(request.user, row)
    shown_page = Paginator(rows, LOG_ROWS).get_page(request.GET.get("page"))
    offered = log.offered(request.user, row)
    if not access.may_edit(request.user, row):
        offered = offered.filter(author=request.user)
    return {
        "log": shown.log_of(request.user, row, list(shown_page)),
        "log_page": shown_page,
        "unseen": log.unseen(request.user, row),
        "offered": offered.count(),
    }


@page
@require_POST
def change(request: SignedInRequest, pk: int) -> HttpResponse:
    """Do what the pressed button says. A refusal keeps what was typed."""
    row = access.review(request.user, pk)
    address = reverse("review", args=[pk])
    try:
        anchor = incident_actions.act(request, row)
    except (Invalid, Conflict) as refusal:
        typed = incident_actions.typed(request, refusal)
        if not typed:
            return back(request, address, refusal)
        return _page(request, access.review(request.user, pk), refusal, typed)
    return redirect(f"{address}{anchor}")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: SignedInRequest, pk: int) -> HttpResponse:
    """Ask whether a review is to be deleted, and delete it."""
    row = access.led_review(request.user, pk)
    if request.method != "POST":
        rows = counted(row.rows.count(), "row")
        consequence = (
            f"Its timeline of {rows} goes with it, for everybody. The recordings and their notes "
            "stay."
        )
        return ask_to_delete(request, row.title, consequence, reverse("review", args=[pk]))
    incidents.delete(request.user, row)
    messages.success(request, f"“{row.title}” is deleted.")
    return redirect("reviews")


@page
@require_safe
def follow_ups(request: SignedInRequest) -> HttpResponseBase:
    """List the follow-ups of everything that the person sees, those that are overdue first."""
    state = request.GET.get("state", due.OPEN)
    rows = due.follow_ups(request.user, state)
    shown_page = Paginator(rows, FOLLOW_UPS).get_page(request.GET.get("page"))
    context = {
        "items": shown.follow_ups_of(request.user, list(shown_page)),
        "all_items": _all_follow_ups(request, rows),
        "page": shown_page,
        "state": state,
        "states": due.STATES,
        "overdue": due.follow_ups(request.user).filter(due_on__lt=due.today()).count(),
    }
    return show(request, "snapshots/incidents/follow_ups.html", context)


def _all_follow_ups(
    request: SignedInRequest, rows: QuerySet[Entry]
) -> Iterator[incident_payloads.FollowUp]:
    """Yield the follow-ups of all pages, and read them only when they are wanted."""
    for number in Paginator(rows, FOLLOW_UPS).page_range:
        part = list(Paginator(rows, FOLLOW_UPS).page(number))
        yield from shown.follow_ups_of(request.user, part)


@page
@require_safe
def entry(request: SignedInRequest, pk: int) -> HttpResponse:
    """Lead to the place of an entry; if it is not there, to the notes, which say why."""
    row = entries.entry(request.user, pk)
    place = Reader(request.user, row.subject).place(row)
    if place is not None and place["address"]:
        return redirect(place["address"])
    name = "archived-notes" if isinstance(row.subject, EngineJob) else "notes"
    return redirect(f"{reverse(name, args=[row.subject.pk])}#entry-{row.parent_id or row.pk}")
