"""Keep reviews up to date with entries that are written, changed or deleted."""

from functools import partial

from django.db import transaction

from snapshots.jobs import live
from snapshots.reviews.models import Entry, Exhibit, TimelineRow
from snapshots.reviews.subjects import field_of


def entry_changed(entry: Entry) -> None:
    """Copy what an entry says into rows of reviews, and let open pages of reviews know of it.

    A review that does not belong to the owner of the recording keeps what was put into it.
    """
    owned = TimelineRow.objects.filter(entry=entry, review__owner=entry.subject.owner_id)
    owned.update(original_text=entry.text, original_kind=entry.kind)
    announce(entry)


def announce(entry: Entry) -> None:
    """Send after the commit to open pages of reviews that their log has changed."""
    exhibits = Exhibit.objects.filter(**field_of(entry.subject))
    for review in set(exhibits.values_list("review_id", flat=True)):
        change = {"revision": None, "part": "log", "row": None, "by": None}
        transaction.on_commit(partial(live.review_changed, review, change), robust=True)
