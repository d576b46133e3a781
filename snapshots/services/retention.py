"""Remove recordings after their owner's time of retention, and announce it a week before."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
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
    """The time for which a person's recordings are kept.

    Attributes:
        days: the number of days; 0 means for ever.
        since: when this number began to apply.
    """

    days: int
    since: datetime

    def goes_at(self, recording: Recording) -> datetime | None:
        """Return when the recording is removed, or None if it stays."""
        if not self.days or recording.owner_id is None:
            return None
        due = recording.created_at + timedelta(days=self.days)
        return max(due, self.since + ANNOUNCED)

    def announced(self, recording: Recording) -> datetime | None:
        """Return when the recording is removed, if that is so soon that the list announces it."""
        due = self.goes_at(recording)
        return due if due is not None and due - timezone.now() <= ANNOUNCED else None


def retention_of(user) -> Retention:
    """Return how long this person's recordings stay, by their own limits or the server's."""
    since = _changed_at(user) or timezone.now()
    return Retention(allowances.allowance(user).retention_days, since)


def _changed_at(user) -> datetime | None:
    """Return when the person's retention last changed, by the setting, a limit or a hand-over."""
    changes = AuditEntry.objects.filter(
        Q(action=audit.RETENTION_CHANGED)
        | Q(action__in=(audit.HANDED_OVER, audit.ALLOWANCE_CHANGED), person_id=user.pk)
    )
    return next((entry.at for entry in changes if _is_of_retention(entry)), None)


def _is_of_retention(entry: AuditEntry) -> bool:
    return entry.action != audit.ALLOWANCE_CHANGED or "retention_days" in entry.detail


def expired(now: datetime) -> list[Recording]:
    """Return the recordings that are due for removal; one with an open job waits for its end."""
    owners = User.objects.filter(recording__isnull=False).distinct()
    return [row for owner in owners for row in _expired_of(owner, now)]


def _expired_of(owner, now: datetime) -> list[Recording]:
    retention = retention_of(owner)
    if not retention.days:
        return []
    old = Recording.objects.filter(
        owner=owner, created_at__lte=now - timedelta(days=retention.days)
    ).exclude(jobs__state__in=Job.OPEN)
    due = ((row, retention.goes_at(row)) for row in old.select_related("owner"))
    return [row for row, goes_at in due if goes_at is not None and goes_at <= now]


def remove_expired() -> int:
    """Remove the recordings that are due for removal; return their number."""
    rows = expired(timezone.now())
    for row in rows:
        delete_recording(row, reason="older than its person keeps recordings")
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
