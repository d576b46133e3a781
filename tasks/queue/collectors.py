"""Run the schedule of the collectors in a thread of the process beside each worker.

This is not a Celery task: it would wait behind long jobs, and Flink keeps only its last ten
checkpoints. The database decides which worker polls which engine (``collecting.due``), so any
number of workers may run.
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import DatabaseError, connections

from snapshots.archive import collecting
from snapshots.models import Collector

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
AT_ONCE = 4  # collectors at once, so that one that hangs does not delay the others


def collect_until(stopping: threading.Event) -> None:
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="collector") as pool:
        while not stopping.wait(LOOK_SECONDS):
            try:
                for collector in collecting.due():
                    pool.submit(_collect, collector)
            except DatabaseError as error:
                logger.warning("Collecting was put off: %s", error)
            finally:
                connections.close_all()


def _collect(collector: Collector) -> None:
    try:
        collecting.collect(collector)
    except DatabaseError as error:
        logger.warning("A round of collector %s failed and will be repeated: %s", collector, error)
    finally:
        connections.close_all()
