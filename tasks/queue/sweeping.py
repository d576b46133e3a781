"""Sweep regularly in each worker: refill the queue, remove leftovers, delete what is old."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from celery import current_app
from django.db import DatabaseError, connections
from kombu.exceptions import OperationalError
from redis import RedisError

from snapshots.files.identity import NotPaired
from snapshots.jobs import running, sweeping, turns
from snapshots.reviews import due, trail
from snapshots.services import retention
from snapshots.store.errors import StoreUnreachable
from tasks.queue.jobs import enqueue
from tasks.spark import scratch
from webapp.edge import idempotency
from webapp.notices import sending
from webapp.operating import history, presence
from webapp.teams import invitations

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
LONGEST_PAUSE = 300.0  # seconds that a part waits because it took long


def sweep_until(stopping: threading.Event) -> None:
    while not stopping.is_set():
        sweep()
        stopping.wait(SWEEP_SECONDS)


def sweep() -> None:
    """Run every part of the sweep; a part that fails runs again in the next sweep."""
    try:
        for part in PARTS:
            _attempt(part)
    except NotPaired as problem:
        _stop_worker(problem)
    finally:
        connections.close_all()


def _attempt(part: Callable[[], object]) -> None:
    """Run one part of the sweep and log its failure, so that the other parts still run.

    Raises: NotPaired.
    """
    try:
        part()
    except NotPaired:
        raise
    except (DatabaseError, OSError, OperationalError, RedisError, StoreUnreachable) as error:
        logger.warning("A part of the sweep failed and will be repeated: %s", error)
    except Exception:
        logger.exception("A part of the sweep failed")


def _stop_worker(problem: NotPaired) -> None:
    """End the worker that started this process, because its database or folder was exchanged.

    The next worker explains when it starts why it cannot work.
    """
    logger.error("The worker stops without changing anything. %s", problem)
    os.kill(os.getppid(), signal.SIGTERM)


def _hourly(part: Callable[[], object]) -> Callable[[], None]:
    """Return a part of the sweep that runs ``part`` at most once an hour."""
    due = 0.0

    def run_at_times() -> None:
        nonlocal due
        if time.monotonic() >= due:
            part()
            due = time.monotonic() + 3600

    return run_at_times


def _sparing(part: Callable[[], object]) -> Callable[[], None]:
    """Return a part of the sweep that works a fiftieth of the time, and pauses 5 min at most.

    So a slow disk is spared, also one on which the part fails.
    """
    due = 0.0

    def run_at_times() -> None:
        nonlocal due
        began = time.monotonic()
        if began >= due:
            try:
                part()
            finally:
                ended = time.monotonic()
                due = ended + min(50 * (ended - began), LONGEST_PAUSE)

    return run_at_times


def fill_queue() -> int:
    """Send a message for each job that could run and has none; return how many were missing."""
    missing = turns.runnable() - _queue_length()
    for _ in range(missing):
        if not enqueue():
            break
    if missing > 0:
        logger.info("Messages missing from the queue: %d", missing)
    return max(missing, 0)


def _queue_length() -> int:
    with current_app.connection_for_read() as connection:
        queue = current_app.conf.task_default_queue
        return connection.default_channel.queue_declare(queue).message_count


PARTS = (
    fill_queue,
    sweeping.beat,
    _sparing(running.remove_leftovers),
    scratch.sweep,
    _hourly(retention.sweep),
    _hourly(idempotency.forget_old),
    _hourly(sending.forget_old),
    _hourly(invitations.forget_old),
    _hourly(trail.sweep),
    _hourly(due.sweep),
    history.measure,
    presence.note_sweep,
)
"""The parts of a sweep, in order. The last one records for operators that the sweep is done."""
