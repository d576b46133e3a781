"""The queue's tasks and the worker's sweep.

A message says that there is work; which job runs is decided when a worker is free
(``snapshots/jobs/turns.py``), and the job's row is the record. The queue may lose a message or
deliver it twice: each worker's sweep adds as many as are missing, and one too many does nothing.
"""

import logging
import threading

from celery import current_app, shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connections
from kombu.exceptions import KombuError, OperationalError

from snapshots import runs
from snapshots.jobs import turns
from tasks.spark import scratch
from webapp.operating import presence

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0

_stopping = threading.Event()


@shared_task
def run_job(job_id: int | None = None) -> None:
    """Run the job whose turn it is. ``job_id``: the one whose request sent the message."""
    runs.run_next()


def enqueue(job_id: int | None = None) -> bool:
    """Send a message; False where the queue cannot be reached, and a later sweep sends it."""
    try:
        run_job.apply_async((job_id,), retry=False)
    except (OperationalError, KombuError, OSError) as error:
        logger.warning("Job %s waits: the queue cannot be reached (%s).", job_id, error)
        return False
    return True


@worker_ready.connect
def begin_sweeping(**_) -> None:
    _stopping.clear()
    threading.Thread(target=_sweep_until_stopped, name="sweep", daemon=True).start()


@worker_shutting_down.connect
def end_sweeping(**_) -> None:
    _stopping.set()


def _sweep_until_stopped() -> None:
    while True:
        try:
            sweep()
            presence.note_sweep()
        except (DatabaseError, OSError, OperationalError) as error:
            logger.warning("The sweep was put off: %s", error)
        except Exception:  # a thread that ended would leave lost jobs lost
            logger.exception("The sweep failed")
        finally:
            connections.close_all()
        if _stopping.wait(SWEEP_SECONDS):
            return


def sweep() -> None:
    """Give the queue the messages that it lacks, and remove the files that a crash left."""
    fill_queue()
    runs.remove_leftovers()
    scratch.sweep()


def fill_queue() -> int:
    """Add a message for each job that could run and has none; return how many were added."""
    missing = turns.runnable() - _queue_length()
    for _ in range(missing):
        if not enqueue():
            break
    if missing > 0:
        logger.info("The queue lacked %d messages", missing)
    return max(missing, 0)


def _queue_length() -> int:
    with current_app.connection_for_read() as connection:
        queue = current_app.conf.task_default_queue
        return connection.default_channel.queue_declare(queue).message_count
