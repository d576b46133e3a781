"""A database and its data folder recognise each other, so that neither is used with a stranger.

The row ``Installation`` and the file ``installation.json`` hold the same identity. They are made
together when both are new. A sweep of a database that does not know a folder would take everything
in it for leftovers.
"""

import contextlib
import fcntl
import json
import logging
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from snapshots.files import recordings
from snapshots.files.folders import stored_names, upload_names
from snapshots.models import Installation, Recording

logger = logging.getLogger(__name__)

FILE = "installation.json"
ROW = 1
BEFORE_ANYTHING = timedelta(minutes=1)
"""How far before now an empty folder is known: the clocks of file systems are coarse."""


class NotPaired(Exception):
    """The database and the data folder do not belong together. The sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a folder says of itself. ``beats``: the last count that a worker wrote there."""

    identity: str
    beats: int = 0


def mark_path() -> Path:
    return Path(settings.DATA_DIR) / FILE


def store_mark_path() -> Path | None:
    """Return where the store's root carries the identity; None where it lies in DATA_DIR."""
    root = recordings.store().root.resolve()
    inside = root.is_relative_to(Path(settings.DATA_DIR).resolve())
    return None if inside else root / FILE


def require_pair() -> Installation:
    """Return the row of the pair, which is made where the database and the folder are new.

    Raises: NotPaired.
    """
    mark = _read(mark_path())  # before the row: the row may only be ahead of the folder
    row = _row()
    if row is None:
        _require_safe(mark)
        row = _make_pair(mark or Mark(secrets.token_hex(16)))
    _require_same(row, _read(mark_path()), mark_path())
    _require_store(row)
    return _noticing_older_database(row, mark)


def require_no_stranger() -> None:
    """Check, before the tables are made or changed, that the folder may belong to this database.

    Raises: NotPaired.
    """
    mark, row = _read(mark_path()), _row()
    if row is None:
        _require_safe(mark)
    else:
        _require_same(row, mark, mark_path())


def pair_anew() -> Installation:
    """Give the database and the folder a new common identity, whatever they had.

    What is in the folder already counts as older than the database's knowledge.
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
    """Count one more beat in the row, and after the commit in the folder.

    Besides the sweep's beats there is one whenever rows begin to name a file. Without it a database
    from a backup of a moment before would look as new as the folder.
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
    """Raises: NotPaired where the file is there and says nothing."""
    try:
        members = json.loads(path.read_bytes())
        return Mark(str(members["identity"]), int(members.get("beats", 0)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotPaired(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotPaired(
            f"{path} cannot be understood, so it is not known which database these files belong "
            f"to. {_REMEDY}"
        ) from None


_REMEDY = (
    "Set DATABASE_URL or DATA_DIR back; if the two do belong together, "
    "“python manage.py pair_data” says what it means to pair them, and does it."
)


def _require_safe(mark: Mark | None) -> None:
    """Check that a database without an identity may take the folder. Raises: NotPaired."""
    named = _named_files()
    if named and _any_is_there(named):
        return
    if named:
        raise NotPaired(
            f"The database names {len(named):,} uploads and stores, and none of them is in "
            f"DATA_DIR ({settings.DATA_DIR}) or STORE_URL. {_REMEDY}"
        )
    if mark is not None and mark.beats:
        raise NotPaired(_used_folder())
    if holds_files():
        raise NotPaired(_used_folder())


def _used_folder() -> str:
    return (
        f"The data folder {settings.DATA_DIR} (DATA_DIR) is in use with another database: this "
        f"one (DATABASE_URL) names none of the files in it. {_REMEDY}"
    )


def _named_files() -> set[Path]:
    """Return where the uploads and stores lie that rows name; empty without tables."""
    if Recording._meta.db_table not in connection.introspection.table_names():
        return set()
    uploads, root = Path(settings.UPLOADS_DIR), recordings.store().root
    rows = Recording.objects.exclude(Q(upload="") & Q(store="")).values_list("upload", "store")
    named = set()
    for upload, store in rows.iterator():
        named |= {uploads / upload} if upload else set()
        named |= {root / store} if store else set()
    return named


def _any_is_there(paths: set[Path]) -> bool:
    return any(path.exists() for path in paths)


def holds_files() -> bool:
    """Tell whether there is any upload or stored recording."""
    return bool(stored_names(recordings.store().root)) or any(True for _ in upload_names())


def _make_pair(mark: Mark) -> Installation:
    """Make the row and the file; the file first, so that a crash leaves no row without it."""
    known = timezone.now()
    if not holds_files():
        known -= BEFORE_ANYTHING
    try:
        with transaction.atomic():
            row = Installation.objects.create(
                pk=ROW, identity=mark.identity, beats=mark.beats, known_since=known
            )
            _write_marks(mark)
        return row
    except IntegrityError:  # another process made it at the same moment
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


def _require_store(row: Installation) -> None:
    """Check the root of a store outside DATA_DIR; an unmarked one is marked if that is safe."""
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
            "says what it means to pair them, and does it."
        )


def _may_mark_store(root: Path) -> bool:
    names = stored_names(root)
    rows = set(Recording.objects.exclude(store="").values_list("store", flat=True))
    return bool(names & rows) or (not names and not rows)


def _noticing_older_database(row: Installation, mark: Mark | None) -> Installation:
    """Note where the folder is ahead of the row: this older database may not know its files."""
    if mark is None or mark.beats <= row.beats:
        return row
    changed = Installation.objects.filter(pk=ROW, beats__lt=mark.beats).update(
        beats=mark.beats, known_since=timezone.now()
    )
    if changed:
        logger.warning(
            "The database is older than the data folder %s: it was restored from a backup. Files "
            "that it does not know stay where they are; “python manage.py check_data” lists them.",
            settings.DATA_DIR,
        )
    return Installation.objects.get(pk=ROW)


def _advance(mark: Mark) -> None:
    """Write the count of a beat unless a later one stands there already."""
    with _locked(mark_path().with_suffix(".lock")):
        there = _read(mark_path())
        if there is not None and there.identity == mark.identity and there.beats < mark.beats:
            _write(mark_path(), mark)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, mark: Mark) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("w") as file:
            json.dump({"identity": mark.identity, "beats": mark.beats}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
