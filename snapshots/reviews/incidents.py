"""Open, change and delete reviews of incidents, with their people and exhibits.

Raises: problems.Problem for a wrong request. Who may do what is decided by ``snapshots.access``.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from snapshots import access
from snapshots.domain.reviewing.place_text import read_place
from snapshots.domain.reviewing.places import in_words
from snapshots.jobs import live
from snapshots.payloads.dates import date
from snapshots.problems import Conflict, Invalid, NotFound, TooMany
from snapshots.reviews import entries
from snapshots.reviews.models import Exhibit, Participant, Review
from snapshots.reviews.revising import (
    EXHIBITS,
    HEAD,
    PEOPLE,
    Saved,
    locked,
    name_of,
    note_change,
    require_seen,
)
from snapshots.reviews.subjects import Subject, field_of
from webapp.accounts import audit

LONGEST_TITLE = 200  # characters
LONGEST_SUMMARY = 50_000
LONGEST_PART = 100
MOST_REVIEWS = 10_000  # of one person or team
MOST_EXHIBITS = 200  # of one review
MOST_PEOPLE = 200
TIMES = {
    "began_at": "it began",
    "detected_at": "it was detected",
    "mitigated_at": "it was mitigated",
    "ended_at": "it ended",
}
EXHIBITED = ("checkpoint", "snapshot")  # kinds of places that an exhibit can be


@transaction.atomic
def open_review(user: User, owner: User, fields: Mapping[str, Any]) -> Review:
    """Open a review, of which the person is the first participant.

    Args:
        user: the person.
        owner: to whom it belongs: ``access.holder`` has checked it.
        fields: has ``title``, and optionally ``summary``, ``severity``, ``status`` and the TIMES.

    Raises: Invalid, TooMany.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # the second request waits
    used = Review.objects.filter(owner=owner).count()
    if used >= MOST_REVIEWS:
        raise TooMany(
            f"There are {used:,} reviews already, which is the most. Delete one that nobody needs.",
            limit=MOST_REVIEWS,
            used=used,
        )
    review = Review(owner=owner, opened_by=user, title=_title(fields.get("title")))
    _set_head(review, {name: value for name, value in fields.items() if name != "title"})
    review.save()
    Participant.objects.create(review=review, person=user, part="opened the review")
    audit.note(audit.REVIEW_OPENED, user, words_of(review), person=owner)
    return review


@transaction.atomic
def change(user: User, review: Review, fields: Mapping[str, Any], seen: object) -> Review:
    """Change the title, summary, severity, status and times; what is absent stays.

    Args:
        user: who changes it.
        review: a review that the person may see.
        fields: the new values by name; a time that is None or empty is not known.
        seen: the revision that the person read.

    Raises: Invalid, NeedsRole, NotFound; Conflict if it was changed since.
    """
    access.require_curator(user, review)
    review = locked(review)
    before = _head(review)
    _set_head(review, fields)
    changed = [name for name, value in _head(review).items() if value != before[name]]
    if not changed:
        return review
    saved = Saved(
        "the head of this review", name_of(review.head_changed_by), review.head_changed_at
    )
    newer = {name: _shown(before[name]) for name in changed}
    require_seen(user, seen, review, review.head_changed_in, saved, newer)
    review.revision += 1
    review.head_changed_in = review.revision
    review.head_changed_by, review.head_changed_at = user, timezone.now()
    note_change(review, user, HEAD)
    audit.note(audit.REVIEW_CHANGED, user, words_of(review), person=review.owner, changed=changed)
    return review


def _head(review: Review) -> dict[str, Any]:
    names = ("title", "summary", "severity", "status", *TIMES)
    return {name: getattr(review, name) for name in names}


def _shown(value: Any) -> Any:
    """Return a value of the head as the API shows it."""
    return date(value) if isinstance(value, datetime) else value


def _set_head(review: Review, fields: Mapping[str, Any]) -> None:
    checks: dict[str, Callable[[object], Any]] = {
        "title": _title,
        "summary": _summary,
        "severity": partial(_choice, Review.Severity.values, "severity"),
        "status": partial(_choice, Review.Status.values, "status"),
        **{name: partial(instant_of_day, name) for name in TIMES},
    }
    for name, check in checks.items():
        if name in fields:
            setattr(review, name, check(fields[name]))
    _require_order(review)


def _require_order(review: Review) -> None:
    for name, words in TIMES.items():
        at = getattr(review, name)
        if review.began_at is not None and at is not None and at < review.began_at:
            raise Invalid(f"The time when {words} lies before the time when it began.", field=name)


def _title(value: object) -> str:
    title = " ".join(value.split()) if isinstance(value, str) else ""
    if not title:
        raise Invalid("A review needs a title, such as “Orders were lost”.", field="title")
    return _short(title, LONGEST_TITLE, "title")


def _summary(value: object) -> str:
    return _short(_text(value, "summary").strip(), LONGEST_SUMMARY, "summary")


def _text(value: object, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{field} must be a text.", field=field)
    return value


def _short(text: str, longest: int, field: str) -> str:
    if len(text) > longest:
        raise Invalid(
            f"{field} has at most {longest:,} characters, not {len(text):,}.", field=field
        )
    return text


def _choice(choices: list[str], field: str, value: object) -> str:
    if value not in choices:
        *others, last = choices
        raise Invalid(f"The {field} must be {', '.join(others)} or {last}.", field=field)
    return str(value)


def instant_of_day(field: str, value: object) -> datetime | None:
    """Return a time of day that a person gave, which is UTC without an offset; None if empty.

    Raises: Invalid.
    """
    if value in (None, ""):
        return None
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC) if at else None
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise Invalid(
            f"{field} must be a time such as 2026-11-23T04:05:00Z; without an offset it is UTC.",
            field=field,
        )
    return at


@transaction.atomic
def delete(user: User, review: Review) -> None:
    """Delete a review with its timeline; the recordings and their entries stay.

    ``access.led_review`` has checked the right.
    """
    audit.note(audit.REVIEW_DELETED, user, words_of(review), person=review.owner)
    transaction.on_commit(partial(live.review_deleted, review.pk), robust=True)
    review.delete()


def words_of(review: Review) -> str:
    """Return the name of a review for the audit log."""
    return f"review {review.pk} “{review.title}”"


# --- people ---------------------------------------------------------------------------------------


@transaction.atomic
def set_person(user: User, review: Review, address: object, part: object = "") -> Participant:
    """Add a person who can see the review, or change the part that they had.

    Raises: Invalid for somebody who cannot see the review, Conflict, NeedsRole, NotFound.
    """
    access.require_curator(user, review)
    review = locked(review)
    name = _text(address, "address").strip().lower()
    person = access.readers(review).filter(username=name).first()
    if person is None:
        raise Invalid(
            f"“{name}” cannot see this review. Move the review into a team, and invite this "
            "person to the team first.",
            field="address",
        )
    checked = _short(" ".join(_text(part, "part").split()), LONGEST_PART, "part")
    if review.participants.exclude(person=person).count() >= MOST_PEOPLE:
        raise Conflict(f"A review has at most {MOST_PEOPLE} people.")
    row, _ = Participant.objects.update_or_create(
        review=review, person=person, defaults={"part": checked}
    )
    _count(review, user, PEOPLE)
    return row


@transaction.atomic
def remove_person(user: User, review: Review, pk: int) -> None:
    """Take a person from the list of a review. Raises: NeedsRole, NotFound."""
    access.require_curator(user, review)
    review = locked(review)
    if not review.participants.filter(pk=pk).delete()[0]:
        raise NotFound(f"The review has no person {pk}.")
    _count(review, user, PEOPLE)


# --- exhibits -------------------------------------------------------------------------------------


@transaction.atomic
def add_exhibit(user: User, review: Review, subject: Subject, place: object = "") -> Exhibit:
    """Add a recording or archived job that the person sees, or a checkpoint or snapshot in it.

    What is there already is returned as it is. Raises: Invalid, Conflict, NeedsRole, NotFound.
    """
    access.require_curator(user, review)
    review = locked(review)
    text, name = _exhibited(subject, place)
    same = review.exhibits.filter(**field_of(subject), place=text).first()
    if same is not None:
        return same
    if review.exhibits.count() >= MOST_EXHIBITS:
        raise Conflict(f"A review has at most {MOST_EXHIBITS} exhibits.")
    row = Exhibit.objects.create(review=review, **field_of(subject), place=text, name=name)
    _count(review, user, EXHIBITS)
    return row


def shows(review: Review, recording: int) -> bool:
    """Tell whether a recording, or a part of it, is an exhibit or in the timeline of a review."""
    in_timeline = review.rows.filter(entry__recording=recording)
    return review.exhibits.filter(recording=recording).exists() or in_timeline.exists()


def _exhibited(subject: Subject, place: object) -> tuple[str, str]:
    """Return the text of a checked place, and the name of the exhibit.

    Raises: Invalid, Conflict.
    """
    text = _text(place, "place")
    if not text:
        return "", str(subject)
    resolved = entries.looked_up(subject, text)
    if text.partition(":")[0] not in EXHIBITED:
        raise Invalid("An exhibit is a checkpoint or a snapshot, no other place.", field="place")
    if not resolved.is_there:
        raise Conflict(resolved.reason, field="place")
    return text, f"{in_words(read_place(text))} of {subject}"


@transaction.atomic
def remove_exhibit(user: User, review: Review, pk: int) -> None:
    """Take an exhibit from a review; what is in the timeline stays. Raises: NeedsRole, NotFound."""
    access.require_curator(user, review)
    review = locked(review)
    if not review.exhibits.filter(pk=pk).delete()[0]:
        raise NotFound(f"The review has no exhibit {pk}.")
    _count(review, user, EXHIBITS)


def _count(review: Review, user: User, part: str) -> None:
    """Count a revision of a locked review, and note in the audit log which part changed."""
    review.revision += 1
    note_change(review, user, part)
    audit.note(audit.REVIEW_CHANGED, user, words_of(review), person=review.owner, changed=[part])
