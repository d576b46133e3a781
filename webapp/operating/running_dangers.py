"""Find dangers that settings alone do not show: they ask the database, Redis and the disk.

A part that does not answer is no danger here; ``checks.py`` reports it.
"""

import stat
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Warning
from django.db import DatabaseError, connection
from django.utils import timezone

from snapshots.models import Recording
from snapshots.quantities import age, counted
from webapp.accounts import audit
from webapp.operating import checks, connections
from webapp.operating.noted import Noted

OLDEST_BACKUP = timedelta(days=1)


def every(noted: Noted) -> Iterator[CheckMessage]:
    """Yield what is dangerous wherever the server runs."""
    finders: list[Callable[[], Iterator[CheckMessage]]] = [
        *(_readable_secrets, _space, _backup),
        *(partial(find, noted) for find in (_connections, _one_machine, _eviction)),
    ]
    for find in finders:
        try:
            yield from find()
        except (DatabaseError, OSError):
            continue


def _readable_secrets() -> Iterator[CheckMessage]:
    """Look at what a later chmod may have opened; processes close it when they start."""
    names = ("secret_key", "cutline.sqlite3", "redis/url")
    paths = [Path(settings.DATA_DIR), *(Path(settings.DATA_DIR) / name for name in names)]
    for path in paths:
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            yield Warning(
                f"Other users of this machine may open {path}. What lies in DATA_DIR signs "
                "sessions and holds all recordings.",
                hint=f"Run “chmod -R go= {settings.DATA_DIR}”, or start Cutline again: it does so.",
                obj="DATA_DIR",
                id="cutline.W014",
            )
            return


def _space() -> Iterator[CheckMessage]:
    if problem := checks.free_disk():
        yield Warning(
            f"{problem} Uploads are refused, and /readyz answers 503.",
            hint="Free some space, or move DATA_DIR (or STORE_URL) to a larger disk.",
            obj="DATA_DIR",
            id="cutline.W015",
        )


def _backup() -> Iterator[CheckMessage]:
    """Ask for a backup once people's recordings are older than one should be."""
    newest, since = audit.last(audit.BACKED_UP), timezone.now() - OLDEST_BACKUP
    if newest is None:
        oldest = Recording.objects.filter(owner__isnull=False).order_by("created_at").first()
        if oldest is None or oldest.created_at > since:
            return
        problem = "No backup was ever made with manage.py backup. All is lost with the disk."
    elif newest.at > since:
        return
    else:
        passed = age(round((timezone.now() - newest.at).total_seconds() * 1000))
        problem = (
            f"The newest backup is {passed} old ({newest.at:%Y-%m-%d %H:%M} UTC). What came since "
            "then is lost with the disk."
        )
    yield Warning(
        problem,
        hint="Run “manage.py backup FOLDER” every day, with a new folder on another disk. If "
        "something else makes the backups, accept this with SILENCED_CHECKS=cutline.W016.",
        obj="manage.py backup",
        id="cutline.W016",
    )


def _connections(noted: Noted) -> Iterator[CheckMessage]:
    if connection.vendor != "postgresql":
        return
    limit, needed = connections.limit(), connections.needed(noted)
    if needed.most > limit.number:
        yield Warning(
            f"PostgreSQL takes {counted(limit.number, 'connection')} ({limit.words}), and "
            f"{needed.words} may open {needed.most} at once. When all are taken, requests and jobs "
            "fail.",
            hint=f"{limit.change}, so that Cutline has {needed.most}, or run fewer processes.",
            obj="DATABASE_URL",
            id="cutline.W017",
        )


def _one_machine(noted: Noted) -> Iterator[CheckMessage]:
    hosts = sorted({each.host for each in noted.workers} | {each.host for each in noted.webs})
    if connection.vendor == "sqlite" and len(hosts) > 1:
        yield Warning(
            f"DATABASE_URL is SQLite, and Cutline runs on {len(hosts)} machines "
            f"({', '.join(hosts[:5])}). SQLite's locks do not hold over a network: rows can be "
            "damaged, or each machine has rows of its own.",
            hint="Move to PostgreSQL (docs/upgrading.md), or run everything on one machine.",
            obj="DATABASE_URL",
            id="cutline.W018",
        )


def _eviction(noted: Noted) -> Iterator[CheckMessage]:
    policy = noted.memory.get("maxmemory_policy", "noeviction")
    if noted.memory.get("maxmemory") and policy != "noeviction":
        yield Warning(
            f"Redis removes keys when its memory is full (maxmemory-policy {policy}). It then "
            "drops messages and notes of workers without a word: jobs wait for the next sweep, and "
            "pages say that nothing runs.",
            hint="Set maxmemory-policy of Redis to noeviction, and give it enough memory.",
            obj="REDIS_URL",
            id="cutline.W019",
        )
