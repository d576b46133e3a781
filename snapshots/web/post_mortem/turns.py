"""Let a person have one document made at a time, because a large one takes seconds of a server."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis.exceptions import RedisError
from redis.lock import Lock

from snapshots.problems import TooMany
from webapp.operating import redis_reading

logger = logging.getLogger(__name__)

LASTS = 120  # seconds; then a turn ends, also that of a server process that died
RETRY_AFTER = 10  # seconds


@contextmanager
def turn(user) -> Iterator[None]:
    """Hold the turn of a person while a document is made, in all server processes.

    While Redis does not answer, nobody is refused.

    Raises: TooMany if another document of the person is being made.
    """
    with redis_reading.client() as redis:
        lock = redis.lock(f"cutline:document:{user.pk}", timeout=LASTS)
        if not _acquired(lock):
            raise TooMany(
                "Another document of yours is being made, and one is made at a time. Wait until it "
                f"is there, or {LASTS} seconds if you have closed its page.",
                retry_after=RETRY_AFTER,
            )
        try:
            yield
        finally:
            with suppress(RedisError):  # it ends by itself
                lock.release()


def _acquired(lock: Lock) -> bool:
    try:
        return lock.acquire(blocking=False)
    except RedisError as error:
        logger.info("A document is made without a turn: %s", error)
        return True
