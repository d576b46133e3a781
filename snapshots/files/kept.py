"""Keep complete uploads: in ``UPLOADS_DIR``, or on an object store if ``UPLOADS_URL`` names one.

An upload is always received into ``UPLOADS_DIR`` of one machine. With an object store it is put
there before its row is committed, and what lies in ``UPLOADS_DIR`` is only a copy: any machine
fetches one when it reads the upload, and drops it when it was not used for a day.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from snapshots.files import aside
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import (
    ObjectPath,
    is_here,
    object_root,
    put_file,
    remove_tree,
)

PIECES = ".pieces"
"""Folder of unfinished uploads; a name that begins with a dot is no complete upload."""
_COPY_SECONDS = 24 * 3600
_COMMIT_SECONDS = 3600  # within which a row is committed after its upload was put
_COPIED_AT_ONCE = 2**20  # bytes


def root() -> Path:
    """Return where complete uploads are kept. Raises: ValueError if UPLOADS_URL is wrong."""
    if not settings.UPLOADS_URL:
        return Path(settings.UPLOADS_DIR)
    try:
        return object_root(settings.UPLOADS_URL)
    except ValueError as error:
        raise ValueError(f"UPLOADS_URL is wrong. {error}") from None


def path_of(name: str) -> Path:
    """Return where an upload is kept."""
    return root() / name


def pieces_folder(name: str) -> Path:
    """Return where the pieces of an unfinished upload lie on the object store."""
    return root() / PIECES / name


def put(path: Path, name: str) -> None:
    """Keep a received file on the object store, if there is one. Raises: StoreUnreachable."""
    target = path_of(name)
    if isinstance(target, ObjectPath):
        put_file(path, target)


def drop(name: str) -> None:
    """Remove an upload from the object store, if there is one. Raises: StoreUnreachable."""
    target = path_of(name)
    if isinstance(target, ObjectPath):
        target.unlink()


def fetch(name: str, new_file: Callable[[], tuple[Path, BinaryIO]], target: Path) -> None:
    """Copy an upload from the object store to ``target``; do nothing if it is not there.

    ``new_file`` opens a new file, which no sweep removes while it is open.
    """
    source = path_of(name)
    if not isinstance(source, ObjectPath):
        return
    path, file = new_file()
    with file:
        try:
            with source.open("rb") as far:
                shutil.copyfileobj(far, file, _COPIED_AT_ONCE)
            file.flush()
            path.rename(target)
        except (FileNotFoundError, StoreUnreachable) as error:
            path.unlink(missing_ok=True)
            if isinstance(error, StoreUnreachable):
                raise


def sweep(named: Collection[str], is_known: Callable[[str], bool], known_since: float) -> list[str]:
    """Set aside the uploads on the object store that no row names.

    Args:
        named: names that rows keep.
        is_known: tells whether a row keeps a name.
        known_since: since when the database knows all uploads, in seconds; older ones stay.

    What was put there within the last hour stays too, since its row may not be committed yet.
    Returns the names of what was set aside. Raises: StoreUnreachable.
    """
    place = root()
    if is_here(place):
        return []
    seen = set(named) | aside.noted(aside_folder()) | {aside.FOLDER, PIECES}
    others = [path for path in place.iterdir() if path.name not in seen]
    return [path.name for path in others if _swept(path, is_known, known_since)]


def sweep_pieces(is_known: Callable[[str], bool]) -> list[str]:
    """Remove the pieces of uploads that are no longer unfinished; return the uploads' names.

    The row of an upload is there before its first piece. Raises: StoreUnreachable.
    """
    if is_here(root()):
        return []
    folders = [path for path in (root() / PIECES).iterdir() if not is_known(path.name)]
    for folder in folders:
        remove_tree(folder)
    return [folder.name for folder in folders]


def _swept(path: Path, is_known: Callable[[str], bool], known_since: float) -> bool:
    with aside.logged_faults(path.name):
        written = path.stat().st_mtime
        is_settled = known_since <= written < time.time() - _COMMIT_SECONDS
        if is_settled and not is_known(path.name):
            aside.put(path, aside_folder(), aside.UPLOAD, "No recording in the database names it.")
            return True
    return False


def aside_folder() -> Path:
    """Return where the notes lie on uploads of the object store that are set aside."""
    return root() / aside.FOLDER


def drop_copies(named: Collection[str], is_used: Callable[[str], bool]) -> None:
    """Drop the local copies of uploads that lie on the object store and were not used for a day.

    ``is_used`` tells whether a job reads the upload of this name. Raises: StoreUnreachable.
    """
    if is_here(root()):
        return
    with os.scandir(settings.UPLOADS_DIR) as entries:
        copies = [Path(entry.path) for entry in entries if entry.name in named and _is_old(entry)]
    for path in copies:
        if not is_used(path.name) and path_of(path.name).is_file():
            _drop_copy(path)


def _drop_copy(path: Path) -> None:
    """Remove a copy, unless someone took it in hand meanwhile."""
    with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_old(path):
            path.unlink()


def touch(path: Path) -> bool:
    """Note that a copy is used from now on; tell whether it is there."""
    try:
        with path.open("rb") as file:
            if _is_old(path, _COMMIT_SECONDS):  # else no sweep drops it, and its writer may hold it
                fcntl.flock(file, fcntl.LOCK_SH)
            os.utime(file.fileno())
            return os.fstat(file.fileno()).st_nlink > 0
    except FileNotFoundError:
        return False


def _is_old(file: os.DirEntry | Path, seconds: float = _COPY_SECONDS) -> bool:
    try:
        return file.stat().st_mtime < time.time() - seconds
    except FileNotFoundError:
        return False
