"""Set aside uploads and stored recordings that no row names, before they are removed for good.

A mistaken sweep then loses nothing for SET_ASIDE_DAYS. Beside each file or folder ``NAME`` lies a
note, ``NAME.json``: when, why, by which database. The note is written before the move, so that
nothing is set aside without one.
"""

import contextlib
import json
import logging
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

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

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def note(self) -> Path:
        return _note_of(self.path)

    @property
    def is_expired(self) -> bool:
        return timezone.now() - self.since >= timedelta(days=settings.SET_ASIDE_DAYS)

    def size(self) -> int:
        return size_of(self.path)


def put(path: Path, folder: Path, kind: str, why: str) -> Path:
    """Move ``path`` into ``folder``, with a note beside it; both are on one file system.

    Raises: OSError, and then nothing has moved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = _free(folder / path.name)
    note = {"kind": kind, "was": path.name, "since": timezone.now().isoformat(), "why": why}
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
    if not folder.is_dir():
        return []
    listed = [_entry(path, kind) for path in folder.iterdir() if not path.name.endswith(NOTE)]
    return sorted((entry for entry in listed if entry), key=lambda entry: (entry.since, entry.name))


def remove(entry: Entry) -> None:
    """Remove an entry and its note for good. Raises: OSError."""
    if entry.path.is_dir():
        shutil.rmtree(entry.path)
    else:
        entry.path.unlink(missing_ok=True)
    entry.note.unlink(missing_ok=True)


def put_back(entry: Entry, target: Path) -> None:
    """Move an entry to ``target``, which must be free. Raises: OSError."""
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
    if not path.is_dir():
        return path.lstat().st_size
    return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())


def _entry(path: Path, kind: str) -> Entry | None:
    """Return the entry at ``path``, or None if it has gone meanwhile."""
    try:
        note = json.loads(_note_of(path).read_bytes())
        since = datetime.fromisoformat(note["since"])
        return Entry(path, str(note["kind"]), str(note["was"]), since, str(note["why"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        since = datetime.fromtimestamp(path.lstat().st_ctime, UTC)
    except FileNotFoundError:
        return None
    return Entry(path, kind, path.name, since, "It has no readable note.")


def _note_of(path: Path) -> Path:
    return path.with_name(path.name + NOTE)


def _free(path: Path) -> Path:
    """Return ``path``, or another name beside it if that is taken."""
    while path.exists() or _note_of(path).exists():
        path = path.with_name(f"{path.name.partition('~')[0]}~{secrets.token_hex(4)}")
    return path
