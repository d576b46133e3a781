"""Note in Redis, from a thread of each worker's main process, that the worker is alive."""

import logging
import threading

from celery.signals import worker_ready, worker_shutting_down
from redis import RedisError

from webapp.operating import presence

logger = logging.getLogger(__name__)

_stopping = threading.Event()


@worker_ready.connect
def begin_noting(sender, **_) -> None:
    _stopping.clear()
    threading.Thread(target=_note, args=(sender.pool,), name="presence", daemon=True).start()


@worker_shutting_down.connect
def end_noting(**_) -> None:
    _stopping.set()


def _note(pool) -> None:
    started_at = presence.now()
    is_noted = True
    while not _stopping.is_set():
        is_noted = _write(started_at, pool, is_noted)
        _stopping.wait(presence.SECONDS_BETWEEN_NOTES)
    _withdraw()


def _write(started_at: str, pool, was_noted: bool) -> bool:
    """Write the note; return whether that worked.

    Of several failures in a row only the first is logged.
    """
    try:
        presence.note_worker(started_at, _pids(pool))
    except RedisError as error:
        if was_noted:
            logger.warning("This worker's note cannot be written to Redis (%s).", error)
        return False
    return True


def _pids(pool) -> list[int]:
    """Return the ids of the processes in which the worker runs jobs."""
    children = getattr(getattr(pool, "_pool", None), "_pool", [])
    return [process.pid for process in children]


def _withdraw() -> None:
    try:
        presence.withdraw_worker()
    except RedisError as error:
        logger.debug("The note of this worker stays in Redis until it expires: %s", error)
