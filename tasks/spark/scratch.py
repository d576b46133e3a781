"""Create, lock and sweep the scratch folders of Spark sessions.

Each session has its own folder, with a lock that the kernel releases when the session's process
ends. So a killed process's folder is recognised for certain, and the next start or a worker's
sweep removes it.
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
SECONDS_OF_GRACE = 24 * 3600  # for folders without a lock, which earlier versions made


class Scratch:
    """One session's folder, readable only by its owner and locked until ``remove``.

    Raises: OSError if it cannot be created.
    """

    def __init__(self) -> None:
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=_base()))  # mode 0700
        self._lock = (unfinished / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        name = unfinished.name.replace(UNFINISHED, PREFIX, 1)
        self.path = unfinished.rename(unfinished.with_name(name))

    def remove(self) -> None:
        """Remove the folder, then release its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> list[Path]:
    """Remove the folders of ended processes and return their paths."""
    try:
        entries = sorted(_base().iterdir())
    except OSError as error:
        logger.warning("Spark's temporary folder cannot be swept (%s).", error)
        return []
    leftovers = [entry for entry in entries if _is_leftover(entry)]
    for leftover in leftovers:
        logger.info("Removing %s, which a killed Spark session left.", leftover)
        _remove(leftover)
    return leftovers


def _base() -> Path:
    """Return the folder of all scratch folders; create it if it is missing."""
    base = Path(setting("DATA_DIR", str(REPOSITORY / "var")), "tmp", "spark")
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    base.chmod(0o700)
    return base


def _is_leftover(entry: Path) -> bool:
    try:
        if entry.name.startswith(PREFIX) and (entry / LOCK).exists():
            return not _is_locked(entry / LOCK)
        return time.time() - entry.lstat().st_mtime > SECONDS_OF_GRACE
    except OSError:  # removed meanwhile, or another user's
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
