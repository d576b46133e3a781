"""Start the process of the periodic work beside each worker, and start it again when it ends.

The first one is a fork of the worker, made before the worker has opened anything, and shares its
memory. Later ones load everything anew.
"""

import gc
import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from celery import bootsteps

from tasks.queue import periodic
from tasks.spark.sparing import spare_pandas
from webapp.operating import presence
from webapp.operating.processes import die_with_parent

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
END_SECONDS = 10.0


_first: BaseProcess | None = None


def begin() -> None:
    """Load all that a worker needs, and start the process as a fork of this one.

    What is loaded is kept out of garbage collection, which would copy it into each fork.
    """
    global _first
    gc.disable()
    periodic.load()
    spare_pandas()
    import_module("tasks.queue.nursery")
    gc.freeze()
    gc.enable()
    _first = _started(_fork, presence.now())


class Beside(bootsteps.StartStopStep):
    """The part of a worker that keeps the process running as long as the worker runs."""

    requires = ("celery.worker.components:Timer",)

    def start(self, worker) -> None:
        self._started_at = presence.now()
        self._process = _first or _started(_load_anew, self._started_at)
        self._look = worker.timer.call_repeatedly(LOOK_SECONDS, self._start_again)

    def close(self, worker) -> None:
        self._look.cancel()
        self._process.terminate()

    def stop(self, worker) -> None:
        """Wait a while for what is under way, such as an e-mail."""
        self._process.join(END_SECONDS)
        self.terminate(worker)

    def terminate(self, worker) -> None:
        self._process.kill()
        self._process.join()

    def _start_again(self) -> None:
        code = self._process.exitcode
        if code is not None:
            logger.error("The process of the periodic work ended with %d; another starts.", code)
            self._process = _started(_load_anew, self._started_at)


def _started(work: Callable[[str], None], started_at: str) -> BaseProcess:
    process = get_context("fork").Process(target=work, args=(started_at,), daemon=True)
    process.start()
    return process


def _fork(started_at: str) -> None:
    die_with_parent()
    periodic.main(started_at)


def _load_anew(started_at: str) -> None:
    """Become a new Python, since the worker has by now opened what a fork must not share."""
    die_with_parent()
    os.execv(sys.executable, [sys.executable, "-m", periodic.__name__, started_at])
