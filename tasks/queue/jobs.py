"""The queue's only task, and how a message gets into the queue.

A message says that there is work; which job runs is decided when a worker is free
(``snapshots/jobs/turns.py``), and the job's row is the record. The queue may lose a message or
deliver it twice: each worker's sweep (``tasks/queue/sweeping.py``) adds as many as are missing,
and one too many does nothing.
"""

import logging

from celery import current_app, shared_task
from kombu import Connection, pools
from kombu.exceptions import KombuError, OperationalError

from snapshots.jobs import running
from webapp.edge.silence import Silence

logger = logging.getLogger(__name__)

PUBLISH_SECONDS = 2.0  # for giving a job to the queue

_silence = Silence("The queue")


@shared_task(name="tasks.recordings.run_job")  # as messages of older versions call it
def run_job(job_id: int | None = None) -> None:
    """Run the job whose turn it is. ``job_id``: the one whose request sent the message."""
    running.run_next()


def enqueue(job_id: int | None = None) -> bool:
    """Send a message; False where the queue cannot be reached, and a later sweep sends it."""
    try:
        with (
            _silence.respected(OperationalError, OSError),
            pools.producers[_publishing()].acquire(block=True) as producer,
        ):
            run_job.apply_async((job_id,), retry=False, producer=producer)
    except (OperationalError, KombuError, OSError) as error:
        logger.warning("Job %s waits: the queue cannot be reached (%s).", job_id, error)
        return False
    return True


def _publishing() -> Connection:
    """Return the queue's address with time limits, which the worker's own waiting must not have.

    Equal addresses share their open connections.
    """
    limits = {"socket_timeout": PUBLISH_SECONDS, "socket_connect_timeout": PUBLISH_SECONDS}
    return current_app.connection_for_write(transport_options={**limits, "max_retries": 0})
