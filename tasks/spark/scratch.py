"""Scratch folders of Spark sessions.

Each session has one of its own, with a lock that the kernel drops when the process that started the
session ends. What a killed process left is therefore known without guessing, and is removed by the
next start and by each worker's sweep.
"""

import fcntl
import logging
import shutil
import tempfile
import time
from pathlib import Path

from tasks.spark.configuration import REPOSITORY, setting

logger = logging.getLogger(__name__)

PREFIX = "session-"
UNFINISHED = ".session-"
LOCK = "lock"
SECONDS_OF_GRACE = 24 * 3600  # for what carries no lock, as the folders of earlier versions


class Scratch:
    """One session's folder, readable by its owner alone and locked until ``remove``.

    Raises: OSError where it cannot be made.
    """

    def __init__(self) -> None:
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=_base()))  # mkdtemp makes it 0700
        self._lock = (unfinished / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        name = unfinished.name.replace(UNFINISHED, PREFIX, 1)
        self.path = unfinished.rename(unfinished.with_name(name))

    def remove(self) -> None:
        """Remove the folder, then give up its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> list[Path]:
    """Remove the folders whose process has ended. Returns what was removed."""
    try:
        entries = sorted(_base().iterdir())
    except OSError as error:
        logger.warning("Spark's temporary folder cannot be swept (%s).", error)
        return []
    leftovers = [entry for entry in entries if _is_leftover(entry)]
    for leftover in leftovers:
        logger.info("%s was left by a Spark session that was killed, and is removed.", leftover)
        _remove(leftover)
    return leftovers


def _base() -> Path:
    """Return the folder of all scratch folders, which is made where it is missing."""
    base = Path(setting("DATA_DIR", str(REPOSITORY / "var")), "tmp", "spark")
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    base.chmod(0o700)
    return base


def _is_leftover(entry: Path) -> bool:
    try:
        if entry.name.startswith(PREFIX) and (entry / LOCK).exists():
            return not _is_locked(entry / LOCK)
        return time.time() - entry.lstat().st_mtime > SECONDS_OF_GRACE
    except OSError:  # removed meanwhile, or of another user
        return False


def _is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)
