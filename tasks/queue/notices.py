"""Send notices from threads of each worker's main process."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connections

from webapp.notices import sending
from webapp.notices.models import Delivery

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
AT_ONCE = 8  # deliveries at once, so that one slow receiver does not delay the others

_stopping = threading.Event()


@worker_ready.connect
def begin_sending(**_) -> None:
    _stopping.clear()
    threading.Thread(target=_send_until_stopped, name="notices", daemon=True).start()


@worker_shutting_down.connect
def end_sending(**_) -> None:
    _stopping.set()


def _send_until_stopped() -> None:
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notice") as pool:
        while not _stopping.wait(LOOK_SECONDS):
            send_due(pool)


def send_due(pool: ThreadPoolExecutor) -> None:
    """Send what is due; a failure of the database is logged, and the next look repeats it."""
    try:
        list(pool.map(_deliver, sending.claim_due(AT_ONCE)))
    except DatabaseError as error:
        logger.warning("Sending notices was put off: %s", error)
    finally:
        connections.close_all()


def _deliver(delivery: Delivery) -> None:
    try:
        sending.deliver(delivery)
    except DatabaseError as error:
        logger.warning("%s was not noted and will be repeated: %s", delivery, error)
    except Exception:
        logger.exception("%s failed", delivery)
    finally:
        connections.close_all()
