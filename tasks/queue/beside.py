"""Start the process of the periodic work beside each worker, and start it again when it ends."""

import logging
import subprocess
import sys
from contextlib import suppress

from celery import bootsteps

from webapp.operating import presence
from webapp.operating.processes import die_with_parent

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
END_SECONDS = 10.0


class Beside(bootsteps.StartStopStep):
    """The part of a worker that keeps the process running as long as the worker runs."""

    requires = ("celery.worker.components:Timer",)

    def start(self, worker) -> None:
        self._started_at = presence.now()
        self._process = self._started()
        self._look = worker.timer.call_repeatedly(LOOK_SECONDS, self._start_again)

    def close(self, worker) -> None:
        self._look.cancel()
        self._process.terminate()

    def stop(self, worker) -> None:
        """Wait a while for what is under way, such as an e-mail."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self.terminate(worker)

    def terminate(self, worker) -> None:
        self._process.kill()
        self._process.wait()

    def _start_again(self) -> None:
        code = self._process.poll()
        if code is not None:
            logger.error("The process of the periodic work ended with %d; another starts.", code)
            self._process = self._started()

    def _started(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "tasks.queue.periodic", self._started_at]
        return subprocess.Popen(command, preexec_fn=die_with_parent)  # noqa: PLW1509, one thread
