"""Change a review by one request at a time, and let open pages know what changed."""

from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from snapshots.jobs import live
from snapshots.problems import Conflict, Invalid, NotFound
from snapshots.reviews.models import Review, TimelineRow

HEAD, PEOPLE, EXHIBITS, TIMELINE, ROW, LOG = PARTS = (
    *("head", "people", "exhibits", "timeline", "row", "log"),
)


def locked(review: Review) -> Review:
    """Return a review as it is now; no other request changes it before the transaction ends.

    Raises: NotFound if it was deleted since it was read.
    """
    now = Review.objects.select_for_update(of=("self",)).filter(pk=review.pk).first()
    if now is None:
        raise NotFound(f"Review {review.pk} has just been deleted.")
    return now


def note_change(review: Review, by: User, part: str, row: TimelineRow | None = None) -> None:
    """Save a locked review, and send after the commit what changed.

    Args:
        review: the review, whose ``revision`` has been counted.
        by: who changes it.
        part: one of PARTS.
        row: the row of the timeline that changed; None if it is none, or several.
    """
    review.changed_at = timezone.now()
    review.save()
    change: dict[str, Any] = {
        "revision": review.revision,
        "part": part,
        "by": by.get_username(),
        **_row(row),
    }
    transaction.on_commit(partial(live.review_changed, review.pk, change), robust=True)


def _row(row: TimelineRow | None) -> dict[str, Any]:
    """Return which row changed, its group, and the row after it there."""
    if row is None:
        return {"row": None}
    beside = TimelineRow.objects.filter(review=row.review_id, group=row.group_id)
    after = beside.filter(position__gt=row.position).order_by("position", "pk").first()
    return {"row": row.pk, "group": row.group_id, "next": None if after is None else after.pk}


def require_seen(seen: object, changed_in: int, words: str) -> None:
    """Refuse a change of what somebody else has changed since the person read it.

    Args:
        seen: the revision of the review that the person read.
        changed_in: the revision in which the thing was changed last.
        words: what it is, for the refusal.

    Raises: Invalid without a revision; Conflict.
    """
    if isinstance(seen, bool) or not isinstance(seen, int):
        raise Invalid(
            "Send the revision of the review that you have read, so that nobody's change is lost.",
            field="revision",
        )
    if changed_in > seen:
        raise Conflict(
            f"{words} has been changed since you read it. Read it again; what you wrote is not "
            "saved.",
            field="revision",
            changed_in=changed_in,
        )
