"""Send messages to open pages through groups of the channel layer.

A page that misses a message finds the current state in the database. So an unreachable channel
layer is only logged, and never stops a job or a request.
"""

import logging
from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.dispatch import receiver

from snapshots import access
from snapshots.archive import watching
from snapshots.archive.signals import job_reported
from snapshots.models import EngineJob, Job, Recording
from snapshots.payloads.jobs import job_detail
from webapp.accounts import signals
from webapp.teams.signals import membership_changed

logger = logging.getLogger(__name__)

UNAUTHORIZED = 4401
NOT_FOUND = 4404


def jobs_group(user_id: int) -> str:
    """Return the group of the pages that show a person's jobs."""
    return f"jobs.{user_id}"


def recording_room(recording_id: int) -> str:
    """Return the name of the room of the people who look at a recording."""
    return f"recording.{recording_id}"


def review_room(review_id: int) -> str:
    """Return the name of the room of the people who look at the recordings of a review."""
    return f"review.{review_id}"


def room_group(room: str) -> str:
    """Return the group of all pages in a room."""
    return f"room.{room}"


def followers_group(room: str) -> str:
    """Return the group of the pages that follow the presenter of a room."""
    return f"room.{room}.followers"


def viewers_group(recording_id: int) -> str:
    """Return the group of all pages that show a recording."""
    return f"recording.{recording_id}.viewers"


def review_group(review_id: int) -> str:
    """Return the group of all pages that show a review."""
    return f"review.{review_id}.viewers"


def visitors_group(recording_id: int) -> str:
    """Return the group of the pages that show a recording to visitors of public links."""
    return f"recording.{recording_id}.visitors"


def notes_group(kind: str, pk: int) -> str:
    """Return the group of the pages that list the notes of a ``recording`` or ``engine_job``."""
    return f"notes.{kind}.{pk}"


def archive_group(job_id: int) -> str:
    """Return the group of the pages that show an archived job."""
    return f"archive.{job_id}"


def account_group(user_id: int) -> str:
    """Return the group of all websockets of a person."""
    return f"account.{user_id}"


def session_group(key_hash: str) -> str:
    """Return the group of all websockets of a session, by the hash of its key."""
    return f"session.{key_hash}"


def job_changed(job: Job) -> None:
    """Send the job's state to its owner's pages, if they may still see it; samples have none."""
    if job.owner_id is not None and access.owner_sees(job):
        _send(jobs_group(job.owner_id), {"type": "job.changed", "job": job_detail(job)})


def systems_group(user_id: int) -> str:
    """Return the group of the pages that show a person's running systems."""
    return f"systems.{user_id}"


def system_told(recording: Recording, system: Mapping[str, Any]) -> None:
    """Show on open pages how a running system is."""
    if recording.owner_id is not None:
        _send(systems_group(recording.owner_id), {"type": "system.told", "system": system})


@receiver(signals.session_ended)
def session_ended(key_hash: str, **_) -> None:
    """Close the websockets of a session."""
    _close(session_group(key_hash), UNAUTHORIZED, "You have been signed out.")


@receiver(signals.account_closed)
def account_closed(user_id: int, **_) -> None:
    """Close all websockets of a person."""
    _close(account_group(user_id), UNAUTHORIZED, "This account is closed.")


@receiver(membership_changed)
def membership_ended_or_changed(person_id: int, **_) -> None:
    """Let the person's websockets check at once whether they may stay."""
    _send(account_group(person_id), {"type": "right.changed"})


def recording_moved(recording_id: int) -> None:
    """Let the pages that show the recording check at once whether their people may still see it."""
    for group in (viewers_group(recording_id), notes_group("recording", recording_id)):
        _send(group, {"type": "right.changed"})
    visitors_may_have_to_leave(recording_id)


def visitors_may_have_to_leave(recording_id: int) -> None:
    """Let the visitors of a recording check at once whether their public links still work."""
    _send(visitors_group(recording_id), {"type": "right.changed"})


def entry_changed(kind: str, pk: int, entry_id: int, change: str) -> None:
    """Send the number of an entry that was ``made``, ``changed`` or ``deleted`` to open pages.

    Each page asks for the entry itself, so that each person gets what they may see and do.

    Args:
        kind: ``recording`` or ``engine_job``, of which the entry is a note.
        pk: the number of that.
        entry_id: the number of the entry.
        change: what became of it.
    """
    event = {"type": "entry.changed", "entry": {"id": entry_id, "change": change}}
    _send(notes_group(kind, pk), event)
    if kind == "recording":
        _send(viewers_group(pk), event)


@receiver(job_reported)
def archived_job_reported(job: EngineJob, **_) -> None:
    """Send what tells open pages of an archived job whether they show it as it is now."""
    news = watching.news_of(job)
    _send(archive_group(job.pk), {"type": "archive.changed", "news": news})


def review_changed(review_id: int, change: dict[str, Any]) -> None:
    """Send what changed in a review to open pages, which then ask for that part."""
    _send(review_group(review_id), {"type": "review.changed", "change": change})


def review_moved(review_id: int) -> None:
    """Let the pages that show the review check at once whether their people may still see it."""
    _send(review_group(review_id), {"type": "right.changed"})


def review_deleted(review_id: int) -> None:
    """Close the websockets of all pages that show the review."""
    _close(review_group(review_id), NOT_FOUND, "This review has been deleted.")


def recording_deleted(recording_id: int) -> None:
    """Close the websockets of all pages that show the recording."""
    notes = notes_group("recording", recording_id)
    for group in (viewers_group(recording_id), visitors_group(recording_id), notes):
        _close(group, NOT_FOUND, "This recording has been deleted.")


def _close(group: str, code: int, reason: str) -> None:
    _send(group, {"type": "socket.end", "code": code, "reason": reason})


def _send(group: str, message: dict[str, Any]) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(group, message)
    except Exception as error:  # redis-py, channels and the network raise many kinds of errors here
        logger.warning("A message could not be sent to open pages (%r). Is Redis up?", error)
