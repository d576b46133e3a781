"""Check what this server needs to take requests; each check is quick and limited in time."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import RedisError

from snapshots.files import kept, recordings
from snapshots.quantities import file_size
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import is_here, require_answer
from webapp.operating import disk
from webapp.operating.redis_reading import client


@dataclass(frozen=True, slots=True)
class Check:
    """One part of the server; ``problem`` is a sentence for its operator, empty if all is well."""

    name: str
    problem: str = ""

    @property
    def status(self) -> Literal["ok", "failed"]:
        return "failed" if self.problem else "ok"


def ready() -> list[Check]:
    """Check all parts that a web process needs."""
    checks = CHECKS | ({"object store": object_store} if _far_places() else {})
    return [Check(name, check()) for name, check in checks.items()]


def database() -> str:
    """Return why the database does not answer, or an empty text if it does."""
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        connection.close()
        return f"The database does not answer: {str(error).strip()}"
    return ""


def redis() -> str:
    """Return why Redis does not answer within a second, or an empty text if it does."""
    try:
        with client() as server:
            server.ping()
    except (RedisError, ValueError) as error:
        return f"Redis does not answer: {error}"
    return ""


def free_disk() -> str:
    """Return which folder cannot be written or has too little space; empty if all is well."""
    problems = (_folder_problem(name, path) for name, path in disk.folders().items())
    return " ".join(filter(None, problems))


def migrations() -> str:
    """Return which migrations the database lacks, or an empty text if it has all."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "The migrations cannot be checked, because the database does not answer."
    names = [f"{step.app_label}.{step.name}" for step, _ in plan]
    return f"The database lacks {', '.join(names)}. Run manage.py migrate." if names else ""


def object_store() -> str:
    """Return why the object store does not answer; empty if it does."""
    try:
        for path in _far_places():
            require_answer(path)
    except StoreUnreachable as error:
        return str(error)
    return ""


def _far_places() -> list[Path]:
    return [path for path in (recordings.store().root, kept.root()) if not is_here(path)]


CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "redis": redis,
    "disk": free_disk,
    "migrations": migrations,
}


def _folder_problem(name: str, folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
        free = disk.usage(folder).free
    except OSError as error:
        return f"The folder of the {name} cannot be written: {error.strerror}."
    if free < settings.MIN_FREE_BYTES:
        least = file_size(settings.MIN_FREE_BYTES)
        return (
            f"The disk of the {name} has {file_size(free)} left, less than {least} "
            "(MIN_FREE_BYTES)."
        )
    return ""
