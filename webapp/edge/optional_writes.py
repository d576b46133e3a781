"""Try writes that a request can do without, so that reading never fails because of them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse

from snapshots.passing import passing

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOCK_MILLISECONDS = 200
READING = ("GET", "HEAD", "OPTIONS")


def optionally(write: Callable[[], T]) -> T | None:
    """Write, but give up soon and return None if the database cannot accept it now."""
    try:
        with _short_wait(), transaction.atomic():
            return write()
    except Exception as error:
        if passing(error) is None:
            raise
        logger.info("An optional write was left out: %s", error)
        return None


@contextmanager
def _short_wait() -> Iterator[None]:
    """Wait only a moment for SQLite's lock, not as long as a request that must write."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        [previous] = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {LOCK_MILLISECONDS}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {int(previous)}")


class Sessions(SessionMiddleware):
    """Django's sessions, which a page that is only read need not save.

    Django takes every failure to save for a session that was deleted meanwhile, and answers 400.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        save = partial(super().process_response, request, response)
        if request.method in READING and request.session.modified:
            return optionally(save) or response
        try:
            return save()
        except SessionInterrupted as error:
            if passing(error) is None:
                raise
            raise OperationalError("The session could not be saved.") from error
