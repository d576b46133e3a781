"""Pair a database with its data folder, so that neither is used with another one.

The row ``Installation`` and the file ``installation.json`` hold the same identity. They are created
together when both are new. Without the pairing, the sweep of another database would take every
file in the folder for a leftover.
"""

import contextlib
import fcntl
import json
import logging
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from snapshots.files import kept, recordings
from snapshots.files.folders import stored_names, upload_names
from snapshots.models import Installation, Recording
from snapshots.store.objects.paths import is_here
from snapshots.store.parts import write_bytes

logger = logging.getLogger(__name__)

FILE = "installation.json"
ROW = 1
BEFORE_ANYTHING = timedelta(minutes=1)
"""How far an empty folder's knowledge is dated back: clocks of file systems are coarse."""


class NotPaired(Exception):
    """The database and the data folder do not belong together; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The identity in a folder's file, and the last count of beats that a worker wrote there."""

    identity: str
    beats: int = 0


def mark_path() -> Path:
    return Path(settings.DATA_DIR) / FILE


def store_mark_path() -> Path | None:
    """Return the path of the identity at the store's root, or None if the store is in DATA_DIR."""
    root = recordings.store().root.resolve()
    inside = root.is_relative_to(Path(settings.DATA_DIR).resolve())
    return None if inside else root / FILE


def require_pair() -> Installation:
    """Return the row of the pair; create the pair if the database and the folder are new.

    Raises: NotPaired.
    """
    mark = _read(mark_path())  # before the row, because only the row may be ahead of the folder
    row = _row()
    if row is None:
        _require_safe(mark)
        row = _make_pair(mark or Mark(secrets.token_hex(16)))
    _join(row)
    _require_same(row, _read(mark_path()), mark_path())
    _require_store(row)
    return _noticing_older_database(row, mark)


def require_no_stranger() -> None:
    """Check, before tables are created or changed, that the folder may belong to this database.

    Raises: NotPaired.
    """
    mark, row = _read(mark_path()), _row()
    if row is None:
        _require_safe(mark)
    else:
        _join(row)
        _require_same(row, _read(mark_path()), mark_path())


def pair_anew() -> Installation:
    """Give the database and the folder a new common identity, whatever they had.

    The files in the folder count as older than the database's knowledge.
    """
    mark = Mark(secrets.token_hex(16))
    with transaction.atomic():
        row, _ = Installation.objects.update_or_create(
            pk=ROW,
            defaults={"identity": mark.identity, "beats": 0, "known_since": timezone.now()},
        )
        _write_marks(mark)
    return row


def beat() -> None:
    """Count one beat in the row, and after the commit in the folder.

    There is a beat at each sweep and whenever rows begin to name a file. Without the latter, a
    database restored from a backup of a moment ago would look as new as the folder.
    """
    with transaction.atomic():
        Installation.objects.filter(pk=ROW).update(beats=F("beats") + 1)
        row = Installation.objects.get(pk=ROW)
    _advance(Mark(row.identity, row.beats))


def known_since() -> datetime:
    return Installation.objects.values_list("known_since", flat=True).get(pk=ROW)


def is_older(path: Path, moment: datetime) -> bool:
    """Tell whether a file or folder was last written before ``moment``."""
    return path.lstat().st_mtime < moment.timestamp()


def _row() -> Installation | None:
    tables = connection.introspection.table_names()
    if Installation._meta.db_table not in tables:
        return None
    return Installation.objects.filter(pk=ROW).first()


def _read(path: Path) -> Mark | None:
    """Read the identity at a path; None if there is no file.

    Raises: NotPaired if the file cannot be read or understood.
    """
    try:
        members = json.loads(path.read_bytes())
        return Mark(str(members["identity"]), int(members.get("beats", 0)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotPaired(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotPaired(
            f"{path} cannot be understood, so it is unknown to which database these files belong. "
            f"{_REMEDY}"
        ) from None


_REMEDY = (
    "Set DATABASE_URL or DATA_DIR back; if the two do belong together, "
    "“python manage.py pair_data” explains what pairing them means, and does it."
)


def _require_safe(mark: Mark | None) -> None:
    """Check that a database without an identity may take the folder. Raises: NotPaired."""
    named = _named_files()
    if any(path.exists() for path in named):
        return
    if named:
        raise NotPaired(
            f"The database names {len(named):,} uploads and stores, and none of them is in "
            f"DATA_DIR ({settings.DATA_DIR}) or STORE_URL. {_REMEDY}"
        )
    if (mark is not None and mark.beats) or holds_files():
        raise NotPaired(
            f"The data folder {settings.DATA_DIR} (DATA_DIR) is in use with another database: this "
            f"one (DATABASE_URL) names none of the files in it. {_REMEDY}"
        )


def _named_files() -> set[Path]:
    """Return the paths of the uploads and stores that rows name; empty if there are no tables.

    The tables may be those of an earlier version.
    """
    table = Recording._meta.db_table
    if table not in connection.introspection.table_names():
        return set()
    with connection.cursor() as cursor:
        columns = {
            each.name for each in connection.introspection.get_table_description(cursor, table)
        }
    uploads, root = kept.root(), recordings.store().root
    named_uploads, named_stores = recordings.named(columns)
    return {uploads / name for name in named_uploads} | {root / name for name in named_stores}


def holds_files() -> bool:
    """Tell whether there is any upload or stored recording."""
    return bool(stored_names(recordings.store().root)) or any(True for _ in upload_names())


def _make_pair(mark: Mark) -> Installation:
    """Create the row and the file; the file first, so that a crash leaves no row without it."""
    known_since = timezone.now()
    if not holds_files():
        known_since -= BEFORE_ANYTHING
    try:
        with transaction.atomic():
            row = Installation.objects.create(
                pk=ROW, identity=mark.identity, beats=mark.beats, known_since=known_since
            )
            _write_marks(mark)
        return row
    except IntegrityError:  # another process created it at the same moment
        return Installation.objects.get(pk=ROW)


def _write_marks(mark: Mark) -> None:
    _write(mark_path(), mark)
    store_mark = store_mark_path()
    if store_mark is not None:
        _write(store_mark, replace(mark, beats=0))


def _require_same(row: Installation, mark: Mark | None, path: Path) -> None:
    if mark is None:
        raise NotPaired(
            f"The database (DATABASE_URL) belongs to another data folder: {path.parent} has no "
            f"{FILE}. {_REMEDY}"
        )
    if mark.identity != row.identity:
        raise NotPaired(
            f"The database (DATABASE_URL) and the folder {path.parent} belong to different "
            f"installations of Cutline. {_REMEDY}"
        )


def _join(row: Installation) -> None:
    """Mark the new folder of a further machine, if everything that is kept is on object stores.

    The store's mark shows that the settings name the installation of this database.
    """
    store, uploads = store_mark_path(), kept.root()
    if store is None or is_here(store) or is_here(uploads) or _read(mark_path()) is not None:
        return
    mark = _read(store)
    if mark is not None and mark.identity == row.identity:
        _write(mark_path(), Mark(row.identity))


def _require_store(row: Installation) -> None:
    """Check the root of a store outside DATA_DIR; mark an unmarked one if that is safe."""
    path = store_mark_path()
    if path is None:
        return
    mark = _read(path)
    if mark is None and _may_mark_store(path.parent):
        _write(path, Mark(row.identity))
        return
    if mark is None or mark.identity != row.identity:
        raise NotPaired(
            f"The store at {path.parent} (STORE_URL) belongs to another installation than the "
            "database. Set STORE_URL back; if it does belong to it, “python manage.py pair_data” "
            "explains what pairing them means, and does it."
        )


def _may_mark_store(root: Path) -> bool:
    names = stored_names(root)
    _, named = recordings.named()
    return bool(names & named) or (not names and not named)


def _noticing_older_database(row: Installation, mark: Mark | None) -> Installation:
    """Note if the folder is ahead of the row: then this older database may not know its files."""
    if mark is None or mark.beats <= row.beats:
        return row
    changed = Installation.objects.filter(pk=ROW, beats__lt=mark.beats).update(
        beats=mark.beats, known_since=timezone.now()
    )
    if changed:
        logger.warning(
            "The database is older than the data folder %s: it was restored from a backup. Files "
            "that it does not name stay where they are; “python manage.py check_data” lists them.",
            settings.DATA_DIR,
        )
    return Installation.objects.get(pk=ROW)


def _advance(mark: Mark) -> None:
    """Write a higher count of beats into the folder's mark; a mark that is ahead stays."""
    with _locked(mark_path().with_suffix(".lock")):
        written = _read(mark_path())
        if written is not None and written.identity == mark.identity and written.beats < mark.beats:
            _write(mark_path(), mark)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, mark: Mark) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, json.dumps(asdict(mark)).encode())
