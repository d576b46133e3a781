"""Define the queue's only task, and put messages into the queue.

A message only says that there is work. Which job runs is decided when a worker is free
(``snapshots/jobs/turns.py``), and the job's row is the record. The queue may lose a message or
deliver it twice: each worker's sweep (``tasks/queue/sweeping.py``) adds the missing ones, and
a surplus message does nothing.
"""

import logging

from celery import current_app, shared_task
from kombu import Connection, pools
from kombu.exceptions import KombuError, OperationalError

import webapp.celery  # noqa: F401, makes our queue the one that Celery uses
from snapshots.jobs import running
from webapp.edge.silence import Silence

logger = logging.getLogger(__name__)

PUBLISH_SECONDS = 2.0  # time limit for putting a message into the queue

_silence = Silence("The queue")


@shared_task(name="tasks.recordings.run_job")  # the name in messages that older versions sent
def run_job(job_id: int | None = None) -> None:
    """Run the next job in turn. It need not be ``job_id``, for which the message was sent."""
    running.run_next()


def enqueue(job_id: int | None = None) -> bool:
    """Send a message to the queue; return False if the queue cannot be reached.

    If the message is missing, a worker's sweep (``tasks/queue/sweeping.py``) sends it later.
    """
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
    """Return a connection to the queue with time limits for publishing.

    The worker's own connection must wait without a limit. Equal connections share their sockets.
    """
    limits = {"socket_timeout": PUBLISH_SECONDS, "socket_connect_timeout": PUBLISH_SECONDS}
    return current_app.connection_for_write(transport_options={**limits, "max_retries": 0})
