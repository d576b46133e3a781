"""Read the entries of all exhibits of a review: its full log, from which the timeline is made."""

from collections.abc import Iterable

from django.db.models import F, Prefetch, Q, QuerySet, Value
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from snapshots import access
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.domain.reviewing.places import CheckpointPlace
from snapshots.reviews.history import with_versions
from snapshots.reviews.models import Entry, Exhibit, Review, TimelineRow


def log(user, review: Review) -> QuerySet[Entry]:
    """Return the entries of the exhibits that the person sees, in the order of their writing."""
    rows = Entry.objects.filter(access.noted(user), _in_any(review.exhibits.all()), parent=None)
    answers = with_versions(Entry.objects.select_related("author").prefetch_related("mentions"))
    joined = with_versions(rows).select_related("author", "resolved_by", "recording", "engine_job")
    return joined.prefetch_related("mentions", Prefetch("answers", answers)).order_by(
        "created_at", "pk"
    )


def offered(user, review: Review) -> QuerySet[Entry]:
    """Return the entries of the log that are not in the timeline, in the order of time.

    The clocks of two recordings are not compared: the entries of one lie after those of the other.
    """
    taken = TimelineRow.objects.filter(review=review, entry__isnull=False).values("entry_id")
    return (
        log(user, review)
        .exclude(pk__in=taken)
        .order_by("engine_job_id", "recording_id", F("at").asc(nulls_last=True), "number")
    )


def unseen(user, review: Review) -> int:
    """Return how many exhibits are deleted or closed to the person; their entries are left out."""
    return review.exhibits.exclude(access.noted(user)).count()


def _in_any(exhibits: Iterable[Exhibit]) -> Q:
    """Return the condition that an entry is at one of the exhibits."""
    there = [exhibit for exhibit in exhibits if exhibit.recording_id or exhibit.engine_job_id]
    whole = [exhibit for exhibit in there if not exhibit.place]
    condition = Q(recording__in=[exhibit.recording_id for exhibit in whole])
    condition |= Q(engine_job__in=[exhibit.engine_job_id for exhibit in whole])
    for exhibit in there:
        if exhibit.place:
            subject = Q(recording=exhibit.recording_id, engine_job=exhibit.engine_job_id)
            condition |= subject & _within(exhibit.place)
    return condition


def _within(place: str) -> Q:
    """Return the condition that an entry is at a place or at a part of it.

    The beginnings are compared as they are written, because ids differ in capital letters too.
    """
    condition = Q(place=place)
    for beginning in _beginnings(place):
        condition |= Q(Exact(Left("place", len(beginning)), Value(beginning)))
    return condition


def _beginnings(place: str) -> list[str]:
    """Return how the texts of the places in a checkpoint or a snapshot begin."""
    kind, _, rest = place.partition(":")
    if kind == "snapshot":
        return [f"snapshot-channel:{rest}:"]
    try:
        parsed = read_place(place)
    except NotAPlace:  # a text of a later version of Cutline
        return []
    if not isinstance(parsed, CheckpointPlace):
        return []
    return [f"subtask:{rest}:", f"state:{rest.rpartition(':')[0]}:"]
