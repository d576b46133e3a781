"""Change a review by one request at a time, and let open pages know what changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
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


@dataclass(frozen=True)
class Saved:
    """The last save of something that two people must not overwrite unseen.

    Attributes:
        words: what was saved, in a sentence.
        by: the address of who saved it, or words for it; None if the account is deleted.
        at: when; None if neither was noted.
    """

    words: str
    by: str | None
    at: datetime | None

    def sentence(self, user: User) -> str:
        """Say to a person that what they wrote is not saved, and because of whom."""
        return (
            f"{self._who(user)} saved {self.words}{self._when()} after you had read it, so what "
            "you wrote is not saved yet. Compare it with what was saved: saving again replaces "
            "that."
        )

    def _who(self, user: User) -> str:
        if self.by is not None:
            return "You yourself" if self.by == user.get_username() else self.by
        return "Somebody" if self.at is None else "A deleted account"

    def _when(self) -> str:
        if self.at is None:
            return ", it is not known when,"
        return f" on {self.at.astimezone(UTC):%Y-%m-%d at %H:%M:%S} UTC,"


def name_of(person: User | None) -> str | None:
    """Return the address of a person; None if the account is deleted."""
    return None if person is None else person.get_username()


def require_seen(
    user: User,
    seen: object,
    review: Review,
    changed_in: int,
    saved: Saved,
    newer: Mapping[str, Any],
) -> None:
    """Refuse a change of what has been saved since the person read it.

    Args:
        user: who changes it.
        seen: the revision of the review that the person read.
        review: the locked review.
        changed_in: the revision in which the thing was changed last.
        saved: who changed it then.
        newer: what the change would replace, by field.

    Raises: Invalid without a revision; Conflict, whose ``revision`` is that of ``newer``.
    """
    if isinstance(seen, bool) or not isinstance(seen, int):
        raise Invalid(
            "Send the revision of the review that you have read, so that nobody's change is lost.",
            field="revision",
        )
    if changed_in > seen:
        raise Conflict(
            saved.sentence(user),
            field="revision",
            changed_in=changed_in,
            revision=review.revision,
            newer=dict(newer),
        )
