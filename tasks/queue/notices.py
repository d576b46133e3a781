"""Send notices from threads of the process beside each worker."""

import logging
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from django.db import DatabaseError, connections

from webapp.notices import sending
from webapp.notices.models import Delivery

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
AT_ONCE = 8  # deliveries at once, so that one slow receiver does not delay the others


def send_until(stopping: threading.Event) -> None:
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notice") as pool:
        sender = Sender(pool)
        while not stopping.wait(LOOK_SECONDS):
            sender.send_due()


class Sender:
    """Sends up to AT_ONCE deliveries at once. None of them waits for another to end."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._under_way: dict[Future[None], int] = {}  # with the key of its owner

    def send_due(self) -> None:
        """Begin to send what is due; the next look repeats what a failure of the database stopped.

        It returns at once, while the deliveries are under way.
        """
        self._under_way = {job: owner for job, owner in self._under_way.items() if not job.done()}
        try:
            free = AT_ONCE - len(self._under_way)
            for row in sending.claim_due(free, list(self._under_way.values())) if free else ():
                self._under_way[self._pool.submit(_deliver, row)] = row.notice.owner_id
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
