"""Keep SQLite readable when the disk is full or has become read-only."""

import logging
import sqlite3

from django.conf import settings

logger = logging.getLogger(__name__)

_kept: list[sqlite3.Connection] = []


def keep_open() -> None:
    """Open a connection that stays, so that SQLite's log and shared memory stay on the disk.

    Each request has a connection of its own. The last one to close removes both files. On such a
    disk the next one could not create them again, and even a query would fail.
    """
    if not settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return
    try:
        connection = sqlite3.connect(settings.DATABASES["default"]["NAME"], check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        logger.warning("The database could not be opened at the start: %s", error)
    else:
        _kept.append(connection)
