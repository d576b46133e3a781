"""Select entries of the audit log for an operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from snapshots.problems import Invalid
from webapp.accounts.audit import ACTIONS
from webapp.accounts.models import AuditEntry

LONGEST_PERSON = 150


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of the audit log.

    Args:
        person: part of an address.
        since, until: days in UTC, both included.
    """

    person: str = ""
    action: str = ""
    since: date | None = None
    until: date | None = None

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> "AuditFilter":
        """Read the parameters of an address; empty ones do not count. Raises: Invalid."""
        action = query.get("action", "")
        if action and action not in ACTIONS:
            raise Invalid(f"The action must be one of {', '.join(ACTIONS)}.", field="action")
        person = query.get("person", "").replace("\0", "").strip()[:LONGEST_PERSON]
        return cls(person, action, _day(query, "since"), _day(query, "until"))

    def entries(self) -> QuerySet[AuditEntry]:
        """Return the entries that pass the filter, the newest first."""
        entries = AuditEntry.objects.all()
        if self.person:
            concerned = User.objects.filter(username__icontains=self.person).values("pk")
            entries = entries.filter(Q(actor__icontains=self.person) | Q(person_id__in=concerned))
        if self.action:
            entries = entries.filter(action=self.action)
        if self.since:
            entries = entries.filter(at__gte=_midnight(self.since))
        if self.until:
            entries = entries.filter(at__lt=_midnight(self.until) + timedelta(days=1))
        return entries


def _day(query: Mapping[str, str], name: str) -> date | None:
    text = query.get(name, "")
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.max
    if day == date.max:
        raise Invalid("Write a day like 2026-11-22.", field=name)
    return day


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
