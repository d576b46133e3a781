"""Check what must hold before anything runs on a database and its files.

The launcher, each worker, each web process and the commands that touch files call this first.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from snapshots.files import identity, kept, privacy, recordings
from snapshots.files.identity import NotPaired
from snapshots.files.privacy import NotPrivate
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import is_here

FORMER_APPS = {"sessions", "account", "socialaccount"}
"""Apps of earlier versions, and of single sign-on, whose migrations stay in the database."""
PATIENCE_SECONDS = 30


class CannotStart(Exception):
    """Cutline cannot start; the message says what is wrong and what to do."""


def require_all(*, patience: float = PATIENCE_SECONDS) -> None:
    """Check tables, versions, the pair, and that files are private. Raises: CannotStart.

    ``patience`` is how many seconds to wait for a database that does not answer.
    """
    try:
        require_tables(patience=patience)
        identity.require_pair()
        close_to_others()
    except (NotPaired, StoreUnreachable) as problem:
        raise CannotStart(str(problem)) from None
    except DatabaseError as error:
        raise CannotStart(f"The database cannot be read or written: {_first(error)}") from None


def require_tables(*, patience: float = 0) -> None:
    """Check that the database answers and has this version's tables. Raises: CannotStart."""
    _require_store_url()
    _wait_for_database(patience)
    require_known_migrations()
    _require_all_migrations()
    _require_all_columns()


def require_all_from_a_thread() -> None:
    """Call ``require_all`` where an event loop occupies the main thread. Raises: CannotStart."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_in_thread).result()


def _in_thread() -> None:
    try:
        require_all()
    finally:
        connections.close_all()


def require_before_migrating() -> None:
    """Check that it is safe to change the tables. Raises: CannotStart, DatabaseError."""
    _require_store_url()
    require_known_migrations()
    try:
        identity.require_no_stranger()
    except (NotPaired, StoreUnreachable) as problem:
        raise CannotStart(str(problem)) from None


def _require_store_url() -> None:
    try:
        recordings.store()
        kept.root()
    except ValueError as problem:
        raise CannotStart(str(problem)) from None


def require_known_migrations() -> None:
    """Refuse a database that a newer version has changed. Raises: CannotStart."""
    unknown = unknown_migrations()
    if unknown:
        listed = ", ".join(unknown[:3]) + (" …" if len(unknown) > 3 else "")
        raise CannotStart(
            f"The database was changed by a newer version of Cutline, which this one does not "
            f"know ({listed}). Start the newer version, or go back as docs/upgrading.md says."
        )


def unknown_migrations() -> list[str]:
    """Return the applied migrations that this code does not have, as ``app.name``."""
    on_disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    applied = MigrationRecorder(connection).applied_migrations()
    unknown = set(applied) - set(on_disk)
    return sorted(f"{app}.{name}" for app, name in unknown if app not in FORMER_APPS)


def applied_migrations() -> list[str]:
    """Return the applied migrations of this version's apps, as ``app.name``."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied if app not in FORMER_APPS)


def missing_migrations() -> list[str]:
    """Return this code's migrations that are not applied to the database, as ``app.name``."""
    loader = MigrationLoader(connection, ignore_no_migrations=True)
    missing = set(loader.graph.nodes) - set(loader.applied_migrations)
    return sorted(f"{app}.{name}" for app, name in missing)


def _require_all_migrations() -> None:
    missing = missing_migrations()
    if missing:
        count = f"lacks {len(missing)} changes of this version"
        state = "has no tables yet" if _is_empty() else count
        raise CannotStart(
            f"The database {state}: run “python manage.py migrate”, or “make run”. "
            "If that is not expected, is DATABASE_URL right?"
        )


def _require_all_columns() -> None:
    """Refuse tables that are not those which the applied migrations make. Raises: CannotStart."""
    if lacking := missing_columns():
        listed = ", ".join(lacking[:3]) + (" …" if len(lacking) > 3 else "")
        raise CannotStart(
            f"The database lacks {listed}, although the changes that make them are noted as done. "
            "A commit between two versions of Cutline made its tables. Restore a backup that a "
            "version made, or start with a new database and upload again."
        )


def missing_columns() -> list[str]:
    """Return the columns of this code's tables that the database lacks, as ``table.column``."""
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
        return [
            f"{table}.{column}"
            for table, columns in sorted(_own_columns().items())
            for column in sorted(columns - _columns(cursor, table, there))
        ]


def _own_columns() -> dict[str, set[str]]:
    models = apps.get_models(include_auto_created=True)
    own = [model._meta for model in models if model._meta.managed and not model._meta.proxy]
    return {
        meta.db_table: {str(field.column) for field in meta.local_concrete_fields} for meta in own
    }


def _columns(cursor: CursorWrapper, table: str, there: set[str]) -> set[str]:
    if table not in there:
        return set()
    return {column.name for column in connection.introspection.get_table_description(cursor, table)}


def _is_empty() -> bool:
    return not connection.introspection.table_names()


def close_to_others() -> None:
    """Take other users' rights from all that is kept. Raises: CannotStart."""
    try:
        for root in kept_roots():
            privacy.mend(root)
    except NotPrivate as problem:
        raise CannotStart(str(problem)) from None


def kept_roots() -> list[Path]:
    """Return the folders that hold everything that is kept."""
    data, store = Path(settings.DATA_DIR), recordings.store().root
    if not is_here(store):
        return [data]
    inside = store.resolve().is_relative_to(data.resolve())
    return [data] if inside or not store.exists() else [data, store]


def _wait_for_database(patience: float) -> None:
    """Wait for the database. Raises: CannotStart if it does not answer in ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.ensure_connection()
            return
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() >= deadline:
                raise CannotStart(
                    f"The database (DATABASE_URL) cannot be opened: {_first(error)}"
                ) from None
        time.sleep(0.5)


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
