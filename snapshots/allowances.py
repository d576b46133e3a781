"""Limit how much a person or a team may use, and refuse requests for more.

A limit of 0 means no limit. Recordings that nobody owns, the samples, have no limits.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Q, Sum
from django.db.transaction import get_connection

from snapshots.files import journals
from snapshots.models import Allowance, Collector, Job, Recording
from snapshots.problems import TooMany
from snapshots.quantities import counted, file_size, thousands

RETRY_SECONDS = 10  # after which some of many open jobs have probably ended


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one person may use; 0 means no limit.

    Attributes:
        open_jobs: how many jobs may be queued or running at once; 0 means no limit.
        collectors: how many collectors the person may have; 0 means no limit.
        stored_bytes: how many bytes uploads and stores may take together; 0 means no limit.
        retention_days: after how many days recordings are deleted; 0 means never.
    """

    open_jobs: int
    collectors: int
    stored_bytes: int
    retention_days: int


NAMES = tuple(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class Usage:
    """How much one person uses.

    Attributes:
        open_jobs: how many jobs of the person are queued or running.
        collectors: how many collectors the person has.
        recordings: how many recordings the person owns.
        stored_bytes: the bytes of the person's uploads and stores together.
    """

    open_jobs: int
    collectors: int
    recordings: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Filled:
    """How full the allowance of a person or a team is; ``limit`` is never 0."""

    owner: User
    used: int
    limit: int

    @property
    def share(self) -> float:
        return self.used / self.limit


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit beside what is used of it, in words.

    Attributes:
        limit: the limit; empty if there is none.
        share: the share of the limit that is used, from 0 to 1; 0 if there is no limit.
    """

    title: str
    used: str
    limit: str
    share: float


def of_the_server() -> Limits:
    """Return the limits of everybody who has no limits of their own."""
    return Limits(
        open_jobs=settings.MAX_OPEN_JOBS,
        collectors=settings.MAX_COLLECTORS,
        stored_bytes=settings.MAX_STORED_BYTES,
        retention_days=settings.RETENTION_DAYS,
    )


def allowance(user) -> Limits:
    """Return a person's own limits, and the server's where there is no own one."""
    return replace(of_the_server(), **own_limits(user))


def own_limits(user) -> dict[str, int]:
    """Return a person's own limits by name; for all others, the server's hold."""
    row = Allowance.objects.filter(owner=user).values(*NAMES).first() or {}
    return {name: value for name, value in row.items() if value is not None}


def usage(user) -> Usage:
    """Return how much the person uses now."""
    rows = Recording.objects.filter(owner=user)
    return Usage(
        open_jobs=open_jobs(user),
        collectors=Collector.objects.filter(owner=user).count(),
        recordings=rows.count(),
        stored_bytes=stored_bytes(user),
    )


def open_jobs(user) -> int:
    return Job.objects.filter(owner=user, state__in=Job.OPEN).count()


def stored_bytes(user) -> int:
    """Return the bytes of the person's stores, and of the uploads and journals that are kept."""
    rows = Recording.objects.filter(owner=user)
    sums = rows.aggregate(uploads=Sum("size", filter=~Q(upload="")), stores=Sum("stored_bytes"))
    growing = rows.exclude(journal="").values_list("journal", flat=True)
    return (sums["uploads"] or 0) + (sums["stores"] or 0) + journals.sizes_of(growing)


def fullest(name: str, most: int) -> list[Filled]:
    """Return the people and teams that use most of a limit, the fullest first.

    Args:
        name: ``stored_bytes``, ``open_jobs`` or ``collectors``.
        most: how many to return. Who uses nothing, or has no limit, is none of them.
    """
    used = _USED[name]()
    own = dict(Allowance.objects.exclude(**{name: None}).values_list("owner", name))
    owners = User.objects.select_related("team").in_bulk(list(used))
    filled = [
        Filled(owners[pk], number, own.get(pk, getattr(of_the_server(), name)))
        for pk, number in used.items()
        if pk in owners and number
    ]
    limited = (each for each in filled if each.limit)
    return sorted(limited, key=lambda each: (-each.share, each.owner.pk))[:most]


def _stored_by_owner() -> dict[int, int]:
    """Return what ``stored_bytes`` returns for everybody who owns a recording."""
    rows = Recording.objects.filter(owner__isnull=False).order_by()
    kept = Sum("size", filter=~Q(upload=""), default=0)
    totals = rows.values("owner").annotate(bytes=kept + Sum("stored_bytes"))
    stored = dict(totals.values_list("owner", "bytes"))
    for owner, journal in rows.exclude(journal="").values_list("owner", "journal"):
        stored[owner] += journals.sizes_of([journal])
    return stored


def _counted_by_owner(rows) -> dict[int, int]:
    return dict(rows.order_by().values("owner").annotate(n=Count("pk")).values_list("owner", "n"))


_USED: dict[str, Callable[[], dict[int, int]]] = {
    "stored_bytes": _stored_by_owner,
    "open_jobs": lambda: _counted_by_owner(
        Job.objects.filter(owner__isnull=False, state__in=Job.OPEN)
    ),
    "collectors": lambda: _counted_by_owner(Collector.objects.all()),
}


def quotas(user) -> list[Quota]:
    """Return what the person uses beside each limit, in words."""
    limits, used = allowance(user), usage(user)
    return [
        _quota("Stored", used.stored_bytes, limits.stored_bytes, file_size),
        _quota("Open jobs", used.open_jobs, limits.open_jobs, thousands),
        _quota("Collectors", used.collectors, limits.collectors, thousands),
    ]


def _quota(title: str, used: int, limit: int, words) -> Quota:
    share = min(1.0, used / limit) if limit else 0.0
    return Quota(title, words(used), words(limit) if limit else "", share)


def require_room_for(user, size: int) -> int:
    """Refuse ``size`` more bytes if the person may not store so many; return how many they may.

    Raises: TooMany.
    """
    limit = _limit_of(user, "stored_bytes")
    used = stored_bytes(user) if limit else 0
    if limit and used + size > limit:
        team = getattr(user, "team", None)
        whose, who = (
            ("Your recordings", "you") if team is None else (f"The recordings of {team}", "it")
        )
        raise TooMany(
            f"{whose} take {file_size(used)} of the {file_size(limit)} that {who} may store, "
            f"and {file_size(size)} more do not fit. Delete recordings that you no longer need, or "
            "have an operator raise the limit.",
            limit=limit,
            used=used,
        )
    return limit - used if limit else sys.maxsize


def require_job(user) -> None:
    """Refuse another job if the person has as many open ones as allowed. Raises: TooMany."""
    limit = _limit_of(user, "open_jobs")
    used = open_jobs(user) if limit else 0
    if limit and used >= limit:
        raise TooMany(
            f"{_has(user)} {counted(used, 'open job')}, and may have {thousands(limit)}. Wait "
            "until some have ended, or cancel those that you no longer need on the page of jobs.",
            limit=limit,
            used=used,
            retry_after=RETRY_SECONDS,
        )


def require_collector(user) -> None:
    """Refuse another collector if the person has as many as allowed. Raises: TooMany."""
    limit = _limit_of(user, "collectors")
    used = Collector.objects.filter(owner=user).count() if limit else 0
    if limit and used >= limit:
        raise TooMany(
            f"{_has(user)} {counted(used, 'collector')}, and may have {thousands(limit)}. Remove "
            "one that you no longer need on the page of the archive.",
            limit=limit,
            used=used,
        )


def _has(user) -> str:
    """Begin a sentence about what a person or a team has."""
    team = getattr(user, "team", None)
    return "You have" if team is None else f"The team {team.name} has"


def _limit_of(user, name: str) -> int:
    """Return one limit; a person who owns nothing has none.

    In a transaction it locks the person's row, so that two requests do not both take what is left.
    """
    if user is None:
        return 0
    if get_connection().in_atomic_block:
        User.objects.select_for_update(no_key=True).filter(pk=user.pk).first()
    return getattr(allowance(user), name)
