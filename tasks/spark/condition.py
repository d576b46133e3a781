"""Keep the condition of each worker process's Spark in Redis, for health pages and metrics.

The key is ``cutline:spark:HOST:PID``, the value JSON that expires a minute after the process
ends. ``webapp/operating/presence.py`` reads it.
"""

import json
import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from tasks.spark.configuration import setting

logger = logging.getLogger(__name__)

STARTING, UP, DOWN = "starting", "up", "down"
PREFIX = "cutline:spark:"
SECONDS_TO_LIVE = 60
SECONDS_BETWEEN_NOTES = 15
SOCKET_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of one worker process's Spark.

    Args:
        state: STARTING, UP or DOWN.
        since: when that state began, in ISO 8601.
        reason: why Spark is DOWN.
        restarts: how often Spark was started after the first time.
    """

    state: str = DOWN
    since: str = ""
    reason: str = ""
    restarts: int = 0
    host: str = ""
    pid: int = 0


_condition = Condition()
_starts = 0
_changed = threading.Event()
_over = threading.Event()


def note(state: str, reason: str = "") -> None:
    """Note the state of this process's Spark; each STARTING after the first is a restart."""
    global _condition, _starts
    _starts += state == STARTING
    if (state, reason) != (_condition.state, _condition.reason):
        since = datetime.now(UTC).isoformat(timespec="seconds")
        _condition = Condition(state, since, reason, max(_starts - 1, 0))
        _changed.set()


def current() -> Condition:
    """Return the condition of this process's Spark."""
    return replace(_condition, host=socket.gethostname(), pid=os.getpid())


def publish(look: Callable[[], None]) -> None:
    """Keep this process's condition in Redis, from a thread that ends with the process.

    ``look`` is called before each note and may update the condition.
    """
    threading.Thread(target=_keep_published, args=(look,), name="condition", daemon=True).start()


def withdraw() -> None:
    """Remove this process's condition from Redis when the process ends."""
    from redis import RedisError

    _over.set()
    try:
        with _redis() as redis:
            redis.delete(_key(current()))
    except (RedisError, OSError) as error:
        logger.warning("Spark's condition cannot be removed from Redis (%s).", error)


def _keep_published(look: Callable[[], None]) -> None:
    is_noted = True
    while not _over.is_set():
        _changed.clear()
        look()
        is_noted = _write(is_noted)
        _changed.wait(SECONDS_BETWEEN_NOTES)


def _write(was_noted: bool) -> bool:
    """Write the condition; return whether that worked.

    Of several failures in a row only the first is logged.
    """
    from redis import RedisError

    try:
        with _redis() as redis:
            redis.set(_key(current()), json.dumps(asdict(current())), ex=SECONDS_TO_LIVE)
    except (RedisError, OSError) as error:
        if was_noted:
            logger.warning("Spark's condition cannot be written to Redis (%s).", error)
        return False
    return True


def _key(condition: Condition) -> str:
    return f"{PREFIX}{condition.host}:{condition.pid}"


def _redis():
    from redis import Redis  # imported here because the workers of a cluster do not have it

    return Redis.from_url(
        setting("REDIS_URL", ""),
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
    )
