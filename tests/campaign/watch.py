"""Measures how long a job waits whose worker was killed, until somebody runs it again."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.campaign.database import ERRORS
from tests.campaign.system import System

POLL_SECONDS = 0.25
OPEN_JOBS = """
    SELECT id, state, worker, attempt FROM snapshots_job WHERE state IN ('queued', 'running')
"""


@dataclass
class Wait:
    """``seconds``: since the worker was gone. ``served``: those of them in which another lived."""

    job: int
    attempt: int
    began: float
    seconds: float = 0.0
    served: float = 0.0


class Watch:
    """Looks at the open jobs all the time. ``ended``: the waits that are over."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._waits: dict[int, Wait] = {}
        self.ended: list[Wait] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def longest(self) -> Wait | None:
        return max(self.ended, key=lambda wait: wait.served, default=None)

    def longest_between(self, first: float, last: float) -> Wait | None:
        """The longest wait that began between two moments, also one that goes on."""
        waits = (*self.ended, *self._waits.copy().values())
        between = [wait for wait in waits if first <= wait.began < last]
        return max(between, key=lambda wait: wait.seconds, default=None)

    def _look_on(self) -> None:
        before = time.monotonic()
        while not self._is_over.wait(POLL_SECONDS):
            now = time.monotonic()
            with suppress(*ERRORS):  # a strike keeps the database from answering
                self._look(now, now - before, self._system.database.rows(OPEN_JOBS))
            before = now

    def _look(self, now: float, passed: float, jobs: list[tuple[int, str, str, int]]) -> None:
        attempts = {job: attempt for job, _, _, attempt in jobs}
        for job, wait in list(self._waits.items()):
            if attempts.get(job) != wait.attempt:
                self.ended.append(self._waits.pop(job))
        for job, state, worker, attempt in jobs:
            if job not in self._waits and state == "running" and is_gone(worker):
                self._waits[job] = Wait(job, attempt, now)
        for wait in self._waits.values():
            wait.seconds = now - wait.began
            wait.served += passed * (self._system.live_workers() > 0)


def is_gone(worker: str) -> bool:
    """Tell whether no process is the worker of a lease, ``host/pid/start``."""
    _, pid, started = worker.rsplit("/", 2)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    return fields[0] == "Z" or fields[19] != started
