"""Keep reviews up to date with entries that are written, changed or deleted."""

from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from snapshots.jobs import live
from snapshots.reviews.models import Entry, Exhibit, Review, TimelineRow
from snapshots.reviews.subjects import field_of


def entry_changed(entry: Entry, by: User) -> None:
    """Copy what an entry says into rows of reviews, and let open pages of reviews know of it.

    A review that does not belong to the owner of the recording keeps what was put into it. The
    change counts as one of the review by this person, so that a form filled before it does not
    undo it.
    """
    says = {"original_text": entry.text, "original_kind": entry.kind}
    owned = TimelineRow.objects.filter(entry=entry, review__owner=entry.subject.owner_id)
    stale = owned.exclude(**says)
    of_stale = Review.objects.filter(pk__in=list(stale.values_list("review_id", flat=True)))
    for review in of_stale.select_for_update(no_key=True).order_by("pk"):
        review.revision += 1
        review.save(update_fields=["revision"])
        changed = {"changed_in": review.revision, "changed_by": by, "changed_at": timezone.now()}
        stale.filter(review=review).update(**says, **changed)
        _send(review.pk, {"revision": review.revision, "part": "timeline", "row": None, "by": None})
    announce(entry)


def announce(entry: Entry) -> None:
    """Send after the commit to open pages of reviews that their log has changed."""
    exhibits = Exhibit.objects.filter(**field_of(entry.subject))
    for review in set(exhibits.values_list("review_id", flat=True)):
        _send(review, {"revision": None, "part": "log", "row": None, "by": None})


def _send(review: int, change: dict[str, Any]) -> None:
    transaction.on_commit(partial(live.review_changed, review, change), robust=True)
