"""Dump the rows of the database as JSON Lines, and load them into any database of Django's.

SQLite's online backup would be faster, but PostgreSQL could not restore it, nor the other way
round. A dump is read in one transaction, so it is as consistent.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core import serializers
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction

LEFT_OUT = {
    "contenttypes.contenttype",  # made by migrate, like the next one
    "auth.permission",
    "sessions.session",  # who has signed in where
    "accounts.session",
    "accounts.signinlink",
    "snapshots.idempotentrequest",  # answers, which nobody asks for again elsewhere
    "snapshots.resumableupload",  # whose bytes are not in a backup
    "snapshots.installation",  # a restored installation has its own identity
}
BATCH = 500


class CannotLoad(Exception):
    """The rows cannot be loaded; the message says where and why."""


class _Exact(DjangoJSONEncoder):
    """Writes times with all their digits; Django's own encoder keeps only milliseconds."""

    def default(self, o):
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


def kept_models() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if model._meta.label_lower not in LEFT_OUT]


@contextlib.contextmanager
def one_moment() -> Iterator[None]:
    """Read the database as it is at the first query, without blocking writers."""
    if connection.vendor == "sqlite":
        with _deferred(), transaction.atomic():
            yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextlib.contextmanager
def _deferred() -> Iterator[None]:
    """Begin transactions without SQLite's lock for writing, which others would wait for."""
    sqlite: Any = connection  # Django's own, which alone has the mode
    sqlite.ensure_connection()
    previous, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        sqlite.transaction_mode = previous


def write(path: Path) -> dict[str, int]:
    """Write all rows to ``path`` and return their number by model; call it in ``one_moment``."""
    counts = {}
    with path.open("w") as stream:
        for model in kept_models():
            rows = model._base_manager.order_by("pk").iterator(chunk_size=BATCH)
            counts[model._meta.label_lower] = _write(rows, stream)
    return counts


def _write(rows: Iterable[models.Model], stream) -> int:
    counted = _Counted(rows)
    serializers.serialize("jsonl", counted, stream=stream, cls=_Exact, ensure_ascii=True)
    return counted.count


class _Counted:
    """Rows that are counted while they are read."""

    def __init__(self, rows: Iterable[models.Model]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[models.Model]:
        for row in self._rows:
            self.count += 1
            yield row


def used_models() -> list[str]:
    """Return the kept models with rows in the database; a table may be missing."""
    tables = set(connection.introspection.table_names())
    made = [model for model in kept_models() if model._meta.db_table in tables]
    return [str(m._meta.verbose_name_plural) for m in made if m._base_manager.exists()]


def load(path: Path) -> dict[str, int]:
    """Add all rows of a dump and return their number by model; call it in a transaction.

    Raises: CannotLoad, DatabaseError.
    """
    counts: Counter[str] = Counter()
    with path.open() as stream:
        try:
            for row in serializers.deserialize("jsonl", stream):
                row.save(force_insert=True)
                counts[row.object._meta.label_lower] += 1
        except (DeserializationError, json.JSONDecodeError) as error:
            raise CannotLoad(f"Row {sum(counts.values()) + 1:,} of {path}: {error}") from error
    _reset_sequences()
    return dict(counts)


def _reset_sequences() -> None:
    """Let new rows continue from the highest id; PostgreSQL does not notice ids that are given."""
    statements = connection.ops.sequence_reset_sql(no_style(), kept_models())
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
