"""Carry out what operators do with people's accounts. Access is checked before.

``by`` is the operator, or None for the server's shell. A wrong request raises a Problem.
"""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Model, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from snapshots.allowances import NAMES
from snapshots.models import Allowance, Collector, EngineJob, Job, Recording
from snapshots.problems import Conflict, Invalid, NotFound
from snapshots.quantities import counted
from snapshots.services.jobs import cancel_job
from webapp.accounts import audit, closing, proving
from webapp.accounts.models import ApiToken, Session, SignInLink, UnprovenAccount
from webapp.teams.invitations import end_those_of
from webapp.teams.models import Invitation, Membership, Team
from webapp.teams.roles import Role

MOST = {"stored_bytes": 2**63 - 1}
MOST_OTHERWISE = 2**31 - 1
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
SIZE = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,3}))? *([a-z]*)")


def people() -> QuerySet[User]:
    """Return all people with their usage, and when a browser or token of theirs was last used."""
    used = User.objects.filter(team__isnull=True).annotate(
        session_used_at=_of_each(Session.objects, Max("last_used_at"), "user"),
        token_used_at=_of_each(ApiToken.objects, Max("last_used_at"), "user"),
    )
    return _with_usage(used).annotate(
        session_count=_total(Session.objects, Count("pk"), "user"),
        token_count=_total(ApiToken.objects, Count("pk"), "user"),
        invitations=_total(
            Invitation.objects.filter(accepted_at=None, expires_at__gt=timezone.now()),
            Count("pk"),
            "made_by",
        ),
        unproven_accounts=_named_by(UnprovenAccount.objects, "invited_by"),
        seen_at=_latest("session_used_at", "token_used_at"),
    )


def team_accounts() -> QuerySet[User]:
    """Return the accounts of all teams with their usage."""
    accounts = User.objects.filter(team__isnull=False).select_related("team")
    return _with_usage(accounts).order_by("team__name", "pk")


def _with_usage(accounts: QuerySet[User]) -> QuerySet[User]:
    kept = Recording.objects.exclude(upload="")
    return accounts.annotate(
        recordings=_total(Recording.objects, Count("pk")),
        stored=_total(Recording.objects, Sum("stored_bytes")) + _total(kept, Sum("size")),
        jobs_open=_total(Job.objects.filter(state__in=Job.OPEN), Count("pk")),
        collectors=_total(Collector.objects, Count("pk")),
    )


def _latest(first: str, second: str) -> Greatest:
    """Return the later of two moments; SQLite's own function returns null if one is null."""
    return Greatest(Coalesce(first, second), Coalesce(second, first))


def _total(rows, aggregate, owner: str = "owner") -> Coalesce:
    return Coalesce(_of_each(rows, aggregate, owner), 0)


def _named_by(rows, field: str) -> Coalesce:
    """Count the rows that have each person's name in a field."""
    own = rows.filter(**{field: OuterRef("username")}).order_by().values(field)
    return Coalesce(Subquery(own.annotate(total=Count("pk")).values("total")), 0)


def _of_each(rows, aggregate, owner: str) -> Subquery:
    """Aggregate the rows of each person; a join of several tables would multiply the rows."""
    own = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner)
    return Subquery(own.annotate(total=aggregate).values("total"))


def person(pk: int) -> User:
    """Return the person with this number, with their usage. Raises: NotFound."""
    return _existing(people().filter(pk=pk), f"There is no person {pk}.")


def team_account(pk: int) -> User:
    """Return the account of a team by its number, with its usage. Raises: NotFound."""
    return _existing(team_accounts().filter(pk=pk), f"There is no team {pk}.")


def named(email: str) -> User:
    """Return the person with this address. Raises: NotFound."""
    name = email.strip().lower()
    rows = people().filter(username=name) if "\0" not in name else User.objects.none()
    return _existing(rows, f"There is no person {email.strip()!r}. Is the address complete?")


def _existing(rows: QuerySet[User], otherwise: str) -> User:
    user = rows.first()
    if user is None:
        raise NotFound(otherwise)
    return user


@dataclass(frozen=True, slots=True)
class Closed:
    """The numbers of what ended with an account."""

    sessions: int
    jobs: int
    collectors: int


@transaction.atomic
def close(user: User, by: User | None) -> Closed:
    """Close an account: it can do nothing more, and nothing is deleted.

    Raises: Conflict if it is closed already, or if it is the last operator's.
    """
    if not user.is_active:
        raise Conflict(f"The account of {user} is already closed.")
    _require_another_operator(user)
    _set(user, is_active=False)
    SignInLink.objects.filter(user=user).delete()
    end_those_of(user, Invitation.objects.all())
    closed = Closed(
        closing.end_sessions(user),
        _cancel_open_jobs(user),
        Collector.objects.filter(owner=user, is_collecting=True).update(is_collecting=False),
    )
    closing.announce_closed(user)
    audit.note(
        audit.ACCOUNT_CLOSED,
        by,
        str(user),
        person=user,
        sessions=closed.sessions,
        jobs=closed.jobs,
        collectors=closed.collectors,
    )
    return closed


def _cancel_open_jobs(user: User) -> int:
    cancelled = 0
    for job in Job.objects.filter(owner=user, state__in=Job.OPEN):
        with contextlib.suppress(Conflict):  # it ended meanwhile
            cancel_job(job)
            cancelled += 1
    return cancelled


@transaction.atomic
def open_again(user: User, by: User | None) -> None:
    """Open a closed account: its tokens work again, its collectors stay stopped.

    Raises: Conflict if it is open.
    """
    if user.is_active:
        raise Conflict(f"The account of {user} is already open.")
    _set(user, is_active=True)
    audit.note(audit.ACCOUNT_OPENED, by, str(user), person=user)


@transaction.atomic
def end_sessions(user: User, by: User | None) -> int:
    """Sign the person out everywhere; return how many sessions ended."""
    ended = closing.end_sessions(user)
    audit.note(audit.SESSIONS_ENDED, by, str(user), person=user, sessions=ended)
    return ended


@transaction.atomic
def make_operator(user: User, by: User | None) -> None:
    """Make a person an operator.

    Raises: Conflict if they are one, if the account is closed, or if the address is not proven.
    """
    if user.is_staff:
        raise Conflict(f"{user} is already an operator.")
    if not user.is_active:
        raise Conflict(f"The account of {user} is closed: open it first.")
    _require_proven(user)
    _set(user, is_staff=True)
    audit.note(audit.OPERATOR_MADE, by, str(user), person=user)


@transaction.atomic
def unmake_operator(user: User, by: User | None) -> None:
    """Take an operator's rights away. Raises: Conflict if there are none, or no other operator."""
    if not user.is_staff:
        raise Conflict(f"{user} is not an operator.")
    _require_another_operator(user)
    _set(user, is_staff=False)
    audit.note(audit.OPERATOR_UNMADE, by, str(user), person=user)


def _require_proven(user: User) -> None:
    """Refuse an account that may be somebody else's. Raises: Conflict."""
    if (name := proving.inviter(user)) is not None:
        raise Conflict(
            f"An invitation of {name} made the account of {user}, and nobody has proven to have "
            "the address. Send this person a sign-in link first."
        )


def _require_another_operator(user: User) -> None:
    others = User.objects.select_for_update().filter(is_staff=True, is_active=True)
    if user.is_staff and not others.exclude(pk=user.pk).exists():
        raise Conflict(f"{user} is the only operator. Make another person one first.")


def _set(user: User, **fields: bool) -> None:
    for name, value in fields.items():
        setattr(user, name, value)
    user.save(update_fields=list(fields))


@transaction.atomic
def allow(user: User, by: User | None, changes: Mapping[str, Any]) -> None:
    """Set some own limits of a person or a team; None or an empty text means the server's setting.

    ``changes`` has limits by their names in ``allowances.NAMES``. Raises: Invalid.
    """
    limits = {name: checked_limit(name, value) for name, value in changes.items()}
    if not limits:
        raise Invalid(f"Name a limit: {', '.join(NAMES)}.", field=NAMES[0])
    row, _ = Allowance.objects.get_or_create(owner=user)
    changed: dict[str, Any] = {
        name: value for name, value in limits.items() if getattr(row, name) != value
    }
    if not changed:
        return
    Allowance.objects.filter(pk=user.pk).update(**changed)
    audit.note(audit.ALLOWANCE_CHANGED, by, audit.name_of(user), person=user, **changed)


def checked_limit(name: str, value: Any) -> int | None:
    """Return a limit as a number, or None for an empty text. Raises: Invalid."""
    if name not in NAMES:
        raise Invalid(f"There is no limit {name!r}: choose one of {', '.join(NAMES)}.", field=name)
    text = str(value if value is not None else "").strip().replace(",", "").lower()
    if not text:
        return None
    most = MOST.get(name, MOST_OTHERWISE)
    match = SIZE.fullmatch(text)
    unit = UNITS.get(match[3]) if match and (name == "stored_bytes" or not match[3]) else None
    if match is None or unit is None or (unit == 1 and match[2]):
        raise Invalid(
            f"{name} must be a whole number{_SIZES.get(name, '')}; 0 means no limit.", field=name
        )
    number = int(match[1]) * unit + int((match[2] or "").ljust(3, "0")) * unit // 1000
    if number > most:
        raise Invalid(f"{name} must be at most {most:,}.", field=name)
    return number


_SIZES = {"stored_bytes": " of bytes, or a size such as 50 GB"}

OWNED = {  # by kind, the table; reviews know accounts, so that they cannot be imported here
    "recording": "snapshots.Recording",
    "topology": "snapshots.Topology",
    "mapping": "snapshots.Mapping",
    "review": "reviews.Review",
}
PLURALS = {"topology": "topologies"}


@dataclass(frozen=True, slots=True)
class HandOver:
    """How many rows of each kind moved to another person, and sentences about the rest."""

    moved: dict[str, int]
    left: list[str]

    @property
    def words(self) -> str:
        """Describe what was moved: "2 recordings and 1 topology", or "nothing"."""
        words = [
            counted(number, kind, PLURALS.get(kind, ""))
            for kind, number in self.moved.items()
            if number
        ]
        return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words) or "nothing"


def owned(kind: str, account: User) -> QuerySet:
    """Return what an account owns of a kind in ``OWNED``."""
    return apps.get_model(OWNED[kind])._default_manager.filter(owner=account)


@transaction.atomic
def hand_over(giver: User, taker: User, by: User | None) -> HandOver:
    """Give what one person has to another.

    That is recordings, topologies, mappings, reviews, jobs, archive and collectors. The other
    person becomes an owner of the teams that would have none without the giver.

    What the taker has already (a collector of the same address, an archived job of the same key)
    stays with the giver. Raises: Conflict.
    """
    if giver.pk == taker.pk:
        raise Conflict(f"{giver} has them already: name another person.")
    if not taker.is_active:
        raise Conflict(f"The account of {taker} is closed: open it first.")
    _require_proven(taker)
    Job.objects.filter(owner=giver).update(owner=taker)
    moved = {kind: owned(kind, giver).update(owner=taker) for kind in OWNED}
    collectors, kept_collectors = _move(Collector, giver, taker, "engine", "url", "job_key")
    jobs, kept_jobs = _move(EngineJob, giver, taker, "engine", "key", "run")
    EngineJob.objects.filter(owner=taker, collector__owner=giver).update(collector=None)
    moved |= {"collector": collectors, "archived job": jobs, "team": _lead(giver, taker)}
    left = [
        *[
            f"The collector of {row} stays: {taker} has one of that address."
            for row in kept_collectors
        ],
        *[f"The archived job “{row}” stays: {taker} has that job too." for row in kept_jobs],
    ]
    audit.note(audit.HANDED_OVER, by, f"to {taker}", person=giver, moved=moved, left=left)
    audit.note(audit.HANDED_OVER, by, f"from {giver}", person=taker, moved=moved, left=left)
    return HandOver(moved, left)


def _lead(giver: User, taker: User) -> int:
    """Make the taker an owner of the teams that only the giver owns; return their number."""
    teams = sole_owner_of(giver)
    for team in teams:
        Membership.objects.update_or_create(team=team, person=taker, defaults={"role": Role.OWNER})
    return len(teams)


def sole_owner_of(user: User) -> list[Team]:
    """Return the teams whose only owner with an open account is the person, by name."""
    owned = Team.objects.filter(memberships__in=user.memberships.filter(role=Role.OWNER))
    others = Membership.objects.filter(role=Role.OWNER, person__is_active=True).exclude(person=user)
    return list(owned.exclude(memberships__in=others))


def _move(model: type[Model], giver: User, taker: User, *key: str) -> tuple[int, list[Model]]:
    """Move the rows whose key the taker does not have; return their number and the other rows."""
    taken = set(model._default_manager.filter(owner=taker).values_list(*key))
    rows = list(model._default_manager.filter(owner=giver))
    left = [row for row in rows if tuple(getattr(row, name) for name in key) in taken]
    going = {row.pk for row in rows} - {row.pk for row in left}
    return model._default_manager.filter(pk__in=going).update(owner=taker), left
