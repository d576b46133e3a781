"""Recognise failures that pass by themselves, such as a full disk or a busy database.

A job that such a failure stopped is tried again later; a request is answered with 503 or 507.
"""

import errno
import sqlite3
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError

from snapshots.problems import NoRoom, Problem, Unavailable
from snapshots.store.errors import StoreUnreachable

FULL = 507
BUSY = 503
RETRY_AFTER = 5  # seconds


@dataclass(frozen=True, slots=True)
class Passing:
    """A reason for a failure that a later attempt may not have.

    ``status`` is that of the answer to a request.
    """

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
_LASTING = ("no such ", "syntax error", "has no column", "too many ")  # SQLite, for wrong queries


def passing(error: BaseException | None) -> Passing | None:
    """Return why ``error``, or one of its causes, may pass by itself; None if it will not."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if (reason := _reason(error)) is not None:
            return reason
        error = error.__cause__ or error.__context__
    return None


def may_be_done(error: BaseException) -> bool:
    """Tell whether a transaction that failed with ``error`` may have been carried out all the same.

    SQLite has then written all of it and could not sync it. Whoever opens the database next may
    find it.
    """
    name = getattr(error.__cause__, "sqlite_errorname", None) or ""
    return isinstance(error, OperationalError) and name.endswith("_FSYNC")


def problem_of(error: BaseException | None) -> Problem | None:
    """Return the answer to a request that ``error`` stopped; None if the error will not pass."""
    reason = passing(error)
    if reason is None:
        return None
    kind = NoRoom if reason.status == FULL else Unavailable
    return kind(f"{reason.sentence} Try again in a moment.", retry_after=RETRY_AFTER)


def _reason(error: BaseException) -> Passing | None:
    if isinstance(error, OperationalError | InterfaceError | sqlite3.OperationalError):
        return _of_database(error)
    if isinstance(error, DatabaseError):
        return None
    if isinstance(error, StoreUnreachable):
        return Passing(BUSY, str(error))
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
    """Recognise a message of the system that a Spark worker or a library quotes."""
    return next((reason for words, reason in _BY_WORDS if words in text), None)
