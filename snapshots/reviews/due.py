"""Find open follow-ups, and notify once whoever is to do one that is due."""

from collections.abc import Iterable
from datetime import date

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from snapshots import access
from snapshots.fields import clipped
from snapshots.problems import Invalid
from snapshots.reviews.history import with_versions
from snapshots.reviews.models import Entry, Review
from webapp.notices import events

OPEN, DONE = STATES = ("open", "resolved")
LONGEST_TITLE = 120  # characters of a text in a notice
MOST_AT_ONCE = 500  # follow-ups of one sweep


def today() -> date:
    """Return the day of now, in UTC."""
    return timezone.now().date()


def follow_ups(user, state: str = OPEN) -> QuerySet[Entry]:
    """Return the follow-ups that the person sees: the first due first, those without a day last.

    Args:
        user: the person.
        state: ``open`` or ``resolved``; empty for both.

    Raises: Invalid.
    """
    if state not in ("", *STATES):
        raise Invalid("The state must be open or resolved.", field="state")
    rows = Entry.objects.filter(access.noted(user), kind=Entry.Kind.FOLLOW_UP, parent=None)
    if state:
        rows = rows.filter(resolved_at__isnull=state == OPEN)
    joined = with_versions(rows).select_related("author", "resolved_by", "recording", "engine_job")
    return joined.prefetch_related("mentions").order_by(
        F("due_on").asc(nulls_last=True), "created_at", "pk"
    )


def reviews_of(user, entries: Iterable[Entry]) -> dict[int, list[Review]]:
    """Return for entries, by their keys, the visible reviews whose timeline has them."""
    keys = [entry.pk for entry in entries]
    by_entry: dict[int, list[Review]] = {}
    for review in (
        access.reviews(user).filter(rows__entry__in=keys).annotate(of_entry=F("rows__entry"))
    ):
        by_entry.setdefault(review.of_entry, []).append(review)
    return by_entry


def assigned(entry: Entry) -> list[User]:
    """Return who is to do a follow-up: whom it mentions, or else its author."""
    mentioned = list(entry.mentions.all())
    return mentioned or ([entry.author] if entry.author is not None else [])


def people_of(entry: Entry) -> list[User]:
    """Return who is to do a follow-up and can still see it."""
    visible = set(access.readers(entry.subject).values_list("pk", flat=True))
    return [person for person in assigned(entry) if person.pk in visible]


def sweep() -> int:
    """Notify of open follow-ups that are due, once for each day; return how many there were."""
    rows = Entry.objects.filter(
        Q(due_noted_on=None) | ~Q(due_noted_on=F("due_on")),
        kind=Entry.Kind.FOLLOW_UP,
        resolved_at=None,
        due_on__lte=today(),
    ).select_related("author", "recording", "engine_job")
    due = list(rows[:MOST_AT_ONCE])
    for entry in due:
        _notify(entry)
    return len(due)


@transaction.atomic
def _notify(entry: Entry) -> None:
    """Notify of one follow-up; of two workers only the first does it."""
    fresh = Entry.objects.filter(pk=entry.pk, due_on=entry.due_on, resolved_at=None)
    fresh = fresh.filter(Q(due_noted_on=None) | ~Q(due_noted_on=F("due_on")))
    if not fresh.update(due_noted_on=entry.due_on):
        return
    page = "notes" if entry.recording_id is not None else "archived-notes"
    for person in people_of(entry):
        events.follow_up_due(
            person,
            key=f"entry {entry.pk} on {entry.due_on}",
            title=clipped(" ".join((entry.text or entry.sentence).split()), LONGEST_TITLE),
            due=str(entry.due_on),
            path=f"{reverse(page, args=[entry.subject.pk])}#entry-{entry.pk}",
        )
