"""The database of a campaign, looked at and disturbed from outside: SQLite or PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests import postgres

TIMES = ("heartbeat_at", "started_at", "created_at", "retry_at", "postponed_at")
ERRORS = (sqlite3.Error, psycopg.Error)


def new_database() -> str:
    """Return the URL of an empty database of the tests' own PostgreSQL server."""
    postgres.server().start()
    return postgres.server().new_database()


def lock_tables(connection: psycopg.Connection) -> None:
    """Lock jobs and recordings, again where PostgreSQL breaks a deadlock with a transaction."""
    while True:
        try:
            connection.execute("LOCK snapshots_job, snapshots_recording IN EXCLUSIVE MODE")
            return
        except psycopg.errors.DeadlockDetected:
            connection.rollback()


@dataclass(frozen=True)
class Database:
    url: str

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite:")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, in a connection of its own. Raises: ERRORS."""
        with closing(self._connect()) as connection:
            return connection.execute(query).fetchall()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else can write jobs or recordings while this lasts."""
        with closing(self._connect()) as connection:
            if self.is_sqlite:
                connection.execute("BEGIN IMMEDIATE")
            else:
                lock_tables(connection)
            yield
            connection.rollback()

    def move_times(self, hours: int) -> None:
        """Make all that open jobs remember of the time look so many hours later."""
        with closing(self._connect()) as connection:
            sets = ", ".join(f"{name} = {self._moved(name, hours)}" for name in TIMES)
            connection.execute(
                f"UPDATE snapshots_job SET {sets} WHERE state IN ('queued', 'running')"
            )
            connection.commit()

    def _moved(self, name: str, hours: int) -> str:
        if self.is_sqlite:  # as Django writes it, with six digits behind the point
            return f"strftime('%Y-%m-%d %H:%M:%f', {name}, '{hours:+} hours') || '000'"
        return f"{name} + interval '{hours} hours'"

    def _connect(self) -> sqlite3.Connection | psycopg.Connection:
        if self.is_sqlite:
            return sqlite3.connect(urlsplit(self.url).path, timeout=30)
        return psycopg.connect(self.url)
