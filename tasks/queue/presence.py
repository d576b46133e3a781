"""Each worker notes that it lives, from a thread of its first process."""

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
    well = True
    while not _stopping.is_set():
        well = _write(started_at, pool, well)
        _stopping.wait(presence.SECONDS_BETWEEN_NOTES)
    _withdraw()


def _write(started_at: str, pool, went_well: bool) -> bool:
    """Write once; of several failures only the first goes to the log."""
    try:
        presence.note_worker(started_at, _pids(pool))
    except RedisError as error:
        if went_well:
            logger.warning("This worker cannot be noted in Redis (%s).", error)
        return False
    return True


def _pids(pool) -> list[int]:
    """Return the processes in which the worker runs jobs."""
    children = getattr(getattr(pool, "_pool", None), "_pool", [])
    return [process.pid for process in children]


def _withdraw() -> None:
    try:
        presence.withdraw_worker()
    except RedisError as error:
        logger.debug("The note of this worker lapses by itself: %s", error)
