"""Remove recordings after their owner's time of retention, and announce it a week before.

A recording with notes of people stays, for nothing else has these notes. One that is open stays
too, and its time begins when it is closed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from snapshots import allowances
from snapshots.files import recordings
from snapshots.models import Job, Recording
from snapshots.services.recordings import delete_recording
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry

ANNOUNCED = timedelta(days=7)  # how long before its removal the list announces it


@dataclass(frozen=True, slots=True)
class Retention:
    """The time for which the recordings of a person or team are kept.

    Attributes:
        days: the number of days; 0 means for ever.
        since: when this number began to apply.
        moved: when each recording that was moved lately came, by its number.
    """

    days: int
    since: datetime
    moved: Mapping[int, datetime]

    def goes_at(self, recording: Recording) -> datetime | None:
        """Return when the recording is removed, or None if it stays."""
        if not self.days or recording.owner_id is None or recording.is_open:
            return None
        due = (recording.closed_at or recording.created_at) + timedelta(days=self.days)
        began = max(self.since, self.moved.get(recording.pk, self.since))
        return max(due, began + ANNOUNCED)

    def announced(self, recording: Recording) -> datetime | None:
        """Return when the recording is removed, if that is so soon that the list announces it."""
        due = self.goes_at(recording)
        return due if due is not None and due - timezone.now() <= ANNOUNCED else None


def retention_of(user) -> Retention:
    """Return how long an account's recordings stay, by its own limits or the server's."""
    since = _changed_at(user) or timezone.now()
    return Retention(allowances.allowance(user).retention_days, since, _moved(user))


def _moved(user) -> dict[int, datetime]:
    """Return when each recording came to this account, for moves of the last week."""
    entries = AuditEntry.objects.filter(
        action=audit.MOVED, person_id=user.pk, at__gte=timezone.now() - ANNOUNCED
    )
    return {
        entry.detail["id"]: entry.at
        for entry in entries.order_by("at")
        if entry.detail.get("kind") == Recording._meta.model_name
    }


def removal_dates(rows: Sequence[Recording]) -> dict[int, datetime]:
    """Return when each recording is removed, by its number; without those that stay."""
    dates = {row.pk: kept.goes_at(row) for row, kept in _with_retention(rows)}
    return {pk: due for pk, due in dates.items() if due is not None}


def announcements(rows: Sequence[Recording]) -> dict[int, datetime]:
    """Return what lists announce of ``removal_dates``."""
    dates = {row.pk: kept.announced(row) for row, kept in _with_retention(rows)}
    return {pk: due for pk, due in dates.items() if due is not None}


def _with_retention(rows: Sequence[Recording]) -> list[tuple[Recording, Retention]]:
    """Pair each recording that is no sample and has no notes with the retention of its owner."""
    noted = set(_noted().filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    owned = [row for row in rows if row.owner_id is not None and row.pk not in noted]
    owners = {row.owner_id: row.owner for row in owned}
    retentions = {pk: retention_of(owner) for pk, owner in owners.items()}
    return [(row, retentions[row.owner_id]) for row in owned]


def _noted() -> QuerySet[Recording]:
    """Return the recordings with notes of people."""
    return Recording.objects.filter(entry__isnull=False).distinct()


def _changed_at(user) -> datetime | None:
    """Return when an account's retention last changed, by the setting, a limit or a hand-over."""
    changes = AuditEntry.objects.filter(
        Q(action=audit.RETENTION_CHANGED)
        | Q(action__in=(audit.HANDED_OVER, audit.ALLOWANCE_CHANGED), person_id=user.pk)
    )
    return next((entry.at for entry in changes if _is_of_retention(entry)), None)


def _is_of_retention(entry: AuditEntry) -> bool:
    return entry.action != audit.ALLOWANCE_CHANGED or "retention_days" in entry.detail


def expired(now: datetime) -> list[Recording]:
    """Return the recordings that are due for removal.

    One with an open job waits for its end; one with notes stays, and one that is open.
    """
    owners = User.objects.filter(recording__isnull=False).distinct()
    return [row for owner in owners for row in _expired_of(owner, now)]


def _expired_of(owner, now: datetime) -> list[Recording]:
    retention = retention_of(owner)
    if not retention.days:
        return []
    old = Recording.objects.filter(
        owner=owner, created_at__lte=now - timedelta(days=retention.days)
    ).exclude(Q(jobs__state__in=Job.OPEN) | Q(pk__in=_noted()) | Q(status=Recording.Status.OPEN))
    due = ((row, retention.goes_at(row)) for row in old.select_related("owner"))
    return [row for row, goes_at in due if goes_at is not None and goes_at <= now]


def remove_expired() -> int:
    """Remove the recordings that are due for removal; return their number."""
    rows = expired(timezone.now())
    for row in rows:
        delete_recording(row, reason="older than its owner keeps recordings")
    return len(rows)


def note_setting() -> None:
    """Note in the audit log that RETENTION_DAYS has changed: the week of notice begins then."""
    latest = AuditEntry.objects.filter(action=audit.RETENTION_CHANGED).first()
    previous = latest.detail["days"] if latest is not None else 0
    if previous != settings.RETENTION_DAYS:
        words = f"{settings.RETENTION_DAYS} days" if settings.RETENTION_DAYS else "for ever"
        audit.note(audit.RETENTION_CHANGED, None, words, days=settings.RETENTION_DAYS)


def sweep() -> None:
    """Do the hourly work: measure stores, note the setting, remove old recordings."""
    recordings.measure()
    note_setting()
    remove_expired()
