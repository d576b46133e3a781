"""The queue's tasks: thin, ids in, nothing out, safe to run twice.

The job's row is the record. The queue may lose a message or deliver it twice; a lease on the row
(``snapshots/leases.py``) sees to it that one worker runs the job, and each worker's sweep gives the
queue again what it lost.
"""

import logging
import threading
from datetime import timedelta

from celery import current_app, shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connections
from kombu.exceptions import KombuError, OperationalError

from snapshots import leases, runs

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
LOST_AFTER = timedelta(seconds=30)  # in the queue's hands, though the queue is empty
MOST_WAITING = 15  # seconds between two tries; below the queue's visibility timeout

_stopping = threading.Event()


@shared_task(bind=True, max_retries=None)
def run_job(self, job_id: int) -> None:
    """Run a job, unless it has ended or another worker runs it."""
    try:
        runs.run(job_id)
    except runs.TryAgain as error:
        seconds = min(2 ** (self.request.retries + 1), MOST_WAITING)
        raise self.retry(exc=error, countdown=seconds) from None


def enqueue(job_id: int) -> bool:
    """Give the job to the queue. False: it cannot be reached; a worker's sweep tries later."""
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
        except (DatabaseError, OSError, OperationalError) as error:
            logger.warning("The sweep was put off: %s", error)
        except Exception:  # a thread that ended would leave lost jobs lost
            logger.exception("The sweep failed")
        finally:
            connections.close_all()
        if _stopping.wait(SWEEP_SECONDS):
            return


def sweep() -> None:
    """Queue again the jobs that a crash left behind, and remove the files that it left."""
    lost = leases.lost(queued_for=LOST_AFTER)
    if lost and _queue_is_empty():
        for job in lost:
            if enqueue(job.pk):
                leases.note_enqueued(job)
                logger.info("%s was lost and is queued again", job)
    runs.remove_leftovers()


def _queue_is_empty() -> bool:
    with current_app.connection_for_read() as connection:
        queue = current_app.conf.task_default_queue
        return not connection.default_channel.queue_declare(queue).message_count
