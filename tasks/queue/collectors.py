"""Run the schedule of the collectors in a thread of each worker's main process.

This is not a Celery task: it would wait behind long jobs, and Flink keeps only its last ten
checkpoints. The database decides which worker polls which engine (``collecting.due``), so any
number of workers may run.
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connections

from snapshots.archive import collecting
from snapshots.models import Collector

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
AT_ONCE = 4  # collectors at once, so that one that hangs does not delay the others

_stopping = threading.Event()


@worker_ready.connect
def begin_collecting(**_) -> None:
    _stopping.clear()
    threading.Thread(target=_collect_until_stopped, name="collectors", daemon=True).start()


@worker_shutting_down.connect
def end_collecting(**_) -> None:
    _stopping.set()


def _collect_until_stopped() -> None:
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="collector") as pool:
        while not _stopping.wait(LOOK_SECONDS):
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
