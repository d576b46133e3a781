"""Keep the places at which a person stopped, for a while and for this person alone."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from snapshots import access
from snapshots.problems import Invalid, NotFound
from snapshots.reviews import entries
from snapshots.reviews.models import Entry, TrailItem
from snapshots.reviews.subjects import Subject, field_of

MOST = 200  # items of one person on one recording or archived job
KEPT = timedelta(days=7)


def items(user: User, subject: Subject) -> QuerySet[TrailItem]:
    """Return the person's trail on a recording or archived job, the newest first."""
    young = TrailItem.objects.filter(person=user, made_at__gt=timezone.now() - KEPT)
    return young.filter(**field_of(subject)).select_related("recording", "engine_job")


@transaction.atomic
def record(user: User, subject: Subject, place: object, seen: object = None) -> TrailItem:
    """Add the place at which the person stopped; the same place again moves to the front.

    Args:
        user: the person, who may see the subject.
        subject: the recording or archived job.
        place: the text of the place.
        seen: the text of the moment or cut at which the screen stood; None if it does not matter.

    Raises: Invalid if the text is no place; Conflict if nothing is there.
    """
    fields = entries.located(subject, place, seen)
    if not fields["place"]:
        raise Invalid("The trail needs a place, such as event:B:2.", field="place")
    own = items(user, subject)
    own.filter(place=fields["place"], sentence=fields["sentence"]).delete()
    row = TrailItem.objects.create(person=user, **field_of(subject), **fields)
    _prune(user, subject)
    return row


def _prune(user: User, subject: Subject) -> None:
    """Remove what is beyond MOST items, and what is too old."""
    own = TrailItem.objects.filter(person=user, **field_of(subject))
    surplus = own.order_by("-made_at", "-pk").values_list("pk", flat=True)[MOST:]
    own.filter(pk__in=list(surplus)).delete()
    own.filter(made_at__lte=timezone.now() - KEPT).delete()


def item(user: User, pk: int) -> TrailItem:
    """Return an item of the person's own trail that they may still see. Raises: NotFound."""
    own = TrailItem.objects.filter(access.noted(user), person=user, pk=pk)
    row = own.filter(made_at__gt=timezone.now() - KEPT).first()
    if row is None:
        raise NotFound(f"Your trail has no item {pk}: items are removed after {KEPT.days} days.")
    return row


@transaction.atomic
def keep(user: User, row: TrailItem, kind: object, text: object) -> Entry:
    """Keep an item as an entry, which has its sentence and the words if any; it leaves the trail.

    Raises: Invalid, NotFound if it was kept meanwhile, ReadOnly, NeedsRole.
    """
    access.require_commenter(user, row.subject)
    if TrailItem.objects.select_for_update().filter(pk=row.pk).first() is None:
        raise NotFound(f"Item {row.pk} is no longer in your trail.")
    place: dict[str, Any] = {
        "place": row.place,
        "mark": row.mark,
        "sentence": row.sentence,
        "at": row.at,
    }
    words = "" if text in (None, "") else entries.checked_text(text)
    entry = entries.add(user, row.subject, entries.checked_kind(kind), words, place)
    row.delete()
    return entry


def clear(user: User, subject: Subject) -> None:
    """Remove the person's whole trail on a recording or archived job."""
    TrailItem.objects.filter(person=user, **field_of(subject)).delete()


def sweep() -> int:
    """Remove what is too old from all trails; return how many items went."""
    return TrailItem.objects.filter(made_at__lte=timezone.now() - KEPT).delete()[0]
