"""Note in Redis, from a thread of the process beside each worker, that the worker is alive."""

import logging
import os
import threading

from redis import RedisError

from webapp.operating import presence, processes

logger = logging.getLogger(__name__)


def note_until(stopping: threading.Event, started_at: str) -> None:
    """Note the worker regularly; ``started_at`` says in ISO 8601 when it started."""
    worker = os.getppid()
    is_noted = True
    while not stopping.is_set():
        is_noted = _write(worker, started_at, is_noted)
        stopping.wait(presence.SECONDS_BETWEEN_NOTES)
    _withdraw(worker)


def _write(worker: int, started_at: str, was_noted: bool) -> bool:
    """Write the note; return whether that worked.

    Of several failures in a row only the first is logged.
    """
    running_jobs = [pid for pid in processes.children_of(worker) if pid != os.getpid()]
    try:
        presence.note_worker(worker, started_at, running_jobs)
    except RedisError as error:
        if was_noted:
            logger.warning("This worker's note cannot be written to Redis (%s).", error)
        return False
    return True


def _withdraw(worker: int) -> None:
    try:
        presence.withdraw_worker(worker)
    except RedisError as error:
        logger.debug("The note of this worker stays in Redis until it expires: %s", error)
