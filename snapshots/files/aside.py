"""Set aside uploads and stored recordings that no row names, before they are removed for good.

A mistaken sweep then loses nothing for SET_ASIDE_DAYS. Beside each file or folder ``NAME`` lies a
note, ``NAME.json``: when, why, by which database. The note is written before the move, so that
nothing is set aside without one.

On an object store nothing moves, since a folder there cannot move at once: its objects stay where
they are, and the note alone says that they are set aside.
"""

import contextlib
import json
import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from snapshots.store.objects.paths import is_here, remove_tree, tree_bytes
from snapshots.store.parts import synced

logger = logging.getLogger(__name__)

UPLOAD = "upload"
STORE = "store"
FOLDER = "aside"
NOTE = ".json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One upload or stored recording that is set aside; ``was`` is the name that rows used."""

    path: Path
    kind: str
    was: str
    since: datetime
    why: str
    note: Path
    lasts: timedelta | None = None

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def is_expired(self) -> bool:
        lasts = self.lasts or timedelta(days=settings.SET_ASIDE_DAYS)
        return timezone.now() - self.since >= lasts

    def size(self) -> int:
        return size_of(self.path)


def put(path: Path, folder: Path, kind: str, why: str, lasts: timedelta | None = None) -> Path:
    """Move ``path`` into ``folder``, with a note beside it; both are on one file system.

    What is on an object store stays where it is, and only the note is written. ``lasts`` is how
    long it is kept; SET_ASIDE_DAYS without it.

    Raises: OSError, and then nothing has moved; StoreUnreachable.
    """
    note = {"kind": kind, "was": path.name, "since": timezone.now().isoformat(), "why": why}
    if lasts is not None:
        note["seconds"] = str(lasts.total_seconds())
    if not is_here(path):
        _note_of(folder / path.name).write_bytes(json.dumps(note).encode())
        return path
    folder.mkdir(parents=True, exist_ok=True)
    target = _free(folder / path.name)
    with synced(_note_of(target)) as file:
        file.write(json.dumps(note).encode())
    try:
        path.rename(target)
    except OSError:
        _note_of(target).unlink(missing_ok=True)
        raise
    return target


def entries(folder: Path, kind: str) -> list[Entry]:
    """Return the entries of ``folder``, the oldest first.

    An entry without a readable note gets this ``kind``.
    """
    if is_here(folder):
        if not folder.is_dir():
            return []
        paths = [path for path in folder.iterdir() if not path.name.endswith(NOTE)]
        listed = [_entry(path, _note_of(path), kind) for path in paths]
    else:
        notes = [note for note in folder.iterdir() if note.name.endswith(NOTE)]
        listed = [_entry(folder.parent / _noted(note), note, kind) for note in notes]
    return sorted((entry for entry in listed if entry), key=lambda entry: (entry.since, entry.name))


def noted(folder: Path) -> set[str]:
    """Return the names in the root of an object store that notes in ``folder`` set aside.

    Raises: StoreUnreachable.
    """
    return {_noted(note) for note in folder.iterdir() if note.name.endswith(NOTE)}


def remove(entry: Entry) -> None:
    """Remove an entry and its note for good. Raises: OSError."""
    if entry.path.is_dir():
        remove_tree(entry.path)
    else:
        entry.path.unlink(missing_ok=True)
    entry.note.unlink(missing_ok=True)


def put_back(entry: Entry, target: Path) -> None:
    """Move an entry to ``target``, which must be free or its own place. Raises: OSError."""
    if entry.path != target:
        if target.exists():
            raise FileExistsError(f"{target} exists already")
        entry.path.rename(target)
    entry.note.unlink(missing_ok=True)


@contextlib.contextmanager
def logged_faults(name: str) -> Iterator[None]:
    """Log an OSError for one file or folder, so that a sweep continues with the next."""
    try:
        yield
    except OSError as error:
        logger.warning("The sweep cannot change %s now: %s", name, error)


def size_of(path: Path) -> int:
    """Return the bytes in a file, or in all files of a folder."""
    if not is_here(path):
        return tree_bytes(path)
    if not path.is_dir():
        return path.lstat().st_size
    return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())


def _entry(path: Path, note: Path, kind: str) -> Entry | None:
    """Return the entry at ``path``, or None if it has gone meanwhile."""
    try:
        told = json.loads(note.read_bytes())
        since = datetime.fromisoformat(told["since"])
        told_kind, was, why = (str(told[name]) for name in ("kind", "was", "why"))
        lasts = timedelta(seconds=float(told["seconds"])) if "seconds" in told else None
        return Entry(path, told_kind, was, since, why, note, lasts)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        since = datetime.fromtimestamp((path if is_here(path) else note).lstat().st_ctime, UTC)
    except FileNotFoundError:
        return None
    return Entry(path, kind, path.name, since, "It has no readable note.", note)


def _noted(note: Path) -> str:
    return note.name.removesuffix(NOTE)


def _note_of(path: Path) -> Path:
    return path.with_name(path.name + NOTE)


def _free(path: Path) -> Path:
    """Return ``path``, or another name beside it if that is taken."""
    while path.exists() or _note_of(path).exists():
        path = path.with_name(f"{path.name.partition('~')[0]}~{secrets.token_hex(4)}")
    return path
