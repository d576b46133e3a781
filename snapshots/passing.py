"""Tells failures that pass by themselves from those that would come again.

A job that such a failure stopped is tried again later; a request is answered with 503 or 507.
"""

import errno
import sqlite3
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError

from snapshots.problems import NoRoom, Problem, Unavailable

FULL = 507
BUSY = 503
RETRY_AFTER = 5  # seconds


@dataclass(frozen=True, slots=True)
class Passing:
    """Why something failed that a later try may do. ``status``: of the answer to a request."""

    status: int
    sentence: str


DISK_FULL = Passing(FULL, "The server's disk is full. Its operator has to make room.")
DISK_READ_ONLY = Passing(
    BUSY, "The server's disk cannot be written at the moment. Its operator has to look at it."
)
DATABASE_BUSY = Passing(BUSY, "The database is busy or cannot be reached at the moment.")
DATABASE_READ_ONLY = Passing(BUSY, "The database cannot be written at the moment.")

_BY_NUMBER = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: DISK_FULL,
    errno.EROFS: DISK_READ_ONLY,
    errno.EACCES: DISK_READ_ONLY,
    errno.EPERM: DISK_READ_ONLY,
    errno.EIO: DISK_READ_ONLY,
}
_BY_WORDS = (
    ("No space left on device", DISK_FULL),
    ("Disk quota exceeded", DISK_FULL),
    ("database or disk is full", DISK_FULL),
    ("Read-only file system", DISK_READ_ONLY),
    ("Permission denied", DISK_READ_ONLY),
)
_LASTING = ("no such ", "syntax error", "has no column", "too many ")  # SQLite's, of a wrong query


def passing(error: BaseException | None) -> Passing | None:
    """Return why ``error`` may pass by itself, also from its causes; None where it will not."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found = _of(error)
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


def problem_of(error: BaseException | None) -> Problem | None:
    """Return what a request is answered whose work ``error`` stopped; None where it will last."""
    found = passing(error)
    if found is None:
        return None
    kind = NoRoom if found.status == FULL else Unavailable
    return kind(f"{found.sentence} Try again in a moment.", retry_after=RETRY_AFTER)


def _of(error: BaseException) -> Passing | None:
    if isinstance(error, OperationalError | InterfaceError | sqlite3.OperationalError):
        return _of_database(error)
    if isinstance(error, DatabaseError):
        return None
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        return _BY_NUMBER[error.errno]
    return _by_words(str(error))


def _of_database(error: BaseException) -> Passing | None:
    text = str(error)
    if any(words in text for words in _LASTING):
        return None
    if "readonly" in text or "read-only" in text:
        return DATABASE_READ_ONLY
    return _by_words(text) or DATABASE_BUSY


def _by_words(text: str) -> Passing | None:
    """Recognise what a worker of Spark or a library quoted from the system."""
    return next((found for words, found in _BY_WORDS if words in text), None)
