"""Lease jobs to workers: one worker runs a job, and its death is noticed.

A lease is the pair (worker, attempt) in the job's row, taken by compare-and-set and kept alive by a
heartbeat. Every write of a run names its lease, so a worker that lost it (it was frozen, or the job
was deleted) can change nothing. Another worker may take a job whose lease is stale.
"""

import logging
import os
import secrets
import socket
import threading
import time
from datetime import timedelta
from functools import cache
from pathlib import Path

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from snapshots.jobs import live
from snapshots.models import Job, Recording
from webapp.notices import events

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 2.0
STALE_AFTER = timedelta(seconds=20)
CLOCKS_DIFFER = timedelta(minutes=15)
"""A heartbeat further in the future was written before the clock was set back: the worker that
wrote it would have written one since."""
SECONDS_BETWEEN_REPORTS = 0.34  # of a job's progress: at most three a second


class LeaseLost(Exception):
    """The lease on the job ended: the job was deleted, or another worker took it."""


class Cancelled(Exception):
    """The person requested that the job stop."""


def this_worker() -> str:
    """Return ``host/pid/start``, which names this process and no later one with the same pid."""
    return _worker_name(os.getpid())


@cache
def _worker_name(pid: int) -> str:
    return f"{socket.gethostname()}/{pid}/{_started(pid)}"


def is_stale(job: Job) -> bool:
    """Tell whether nobody runs this running job: its heartbeat stopped, or its process is gone."""
    if job.heartbeat_at is None:
        return True
    since = timezone.now() - job.heartbeat_at
    if since > STALE_AFTER or since < -CLOCKS_DIFFER:
        return True
    return _is_ours(job.worker) and _is_gone(job.worker)


def _is_ours(worker: str) -> bool:
    """Tell whether a worker ran on this host."""
    return worker.rpartition("/")[0].rpartition("/")[0] == socket.gethostname()


def _is_gone(worker: str) -> bool:
    """Tell whether no process of this host is that worker."""
    _, pid, started = worker.rsplit("/", 2)
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """Return when the process started, in the kernel's ticks; empty if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


class Lease:
    """The right to run one job; as a context manager it sends the heartbeat.

    ``nonce`` makes the names of this run's files unique, because ids of jobs repeat after a
    database is restored from a backup.
    Raises: LeaseLost from every method that writes, and Cancelled too from ``report``.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.nonce = secrets.token_hex(4)
        self._written_at = 0.0
        self._phase_began = time.monotonic()
        self._cancelled = threading.Event()
        self._lost = threading.Event()
        self._over = threading.Event()

    def __enter__(self) -> "Lease":
        self._heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._heart.start()
        return self

    def __exit__(self, *_) -> None:
        self._over.set()
        self._heart.join()

    @property
    def recording(self) -> Recording:
        """Return the job's recording; every job has one."""
        assert self.job.recording is not None
        return self.job.recording

    @property
    def row(self) -> QuerySet[Job]:
        """Return the job's row as long as this lease holds, else nothing."""
        return Job.objects.filter(
            pk=self.job.pk,
            state=Job.State.RUNNING,
            worker=self.job.worker,
            attempt=self.job.attempt,
        )

    def write(self, **fields) -> None:
        """Change the job's row, and notify the open pages when that is committed.

        The notice of a job's end is written in the same transaction.
        """
        with transaction.atomic():
            if not self.row.update(**fields):
                raise LeaseLost(f"{self.job} is no longer run by {self.job.worker}")
            for name, value in fields.items():
                setattr(self.job, name, value)
            if "state" in fields:
                events.job_ended(self.job)
        self._written_at = time.monotonic()
        transaction.on_commit(lambda: live.job_changed(self.job), robust=True)

    def check(self) -> None:
        """Check that the run may continue. Raises: Cancelled, LeaseLost."""
        if self._lost.is_set():
            raise LeaseLost(f"{self.job} is no longer run by {self.job.worker}")
        if self._cancelled.is_set():
            raise Cancelled

    def report(self, phase: str, progress: float, done: int = 0, total: int | None = None) -> None:
        """Note how far the run is; written when the phase changes, and a few times a second.

        Args:
            phase: what is being done.
            progress: 0..1 of the whole job.
            done, total: events in this phase.
        """
        self.check()
        now = time.monotonic()
        if phase != self.job.phase:
            self._phase_began = now
        elif now - self._written_at < SECONDS_BETWEEN_REPORTS:
            return
        seconds = now - self._phase_began
        rate = done / seconds if done and seconds > 0 else None
        try:
            self.write(phase=phase, progress=progress, done=done, total=total, rate=rate)
        except OperationalError as error:  # the run needs the row only at its end
            logger.warning("%s: its progress was not written (%s)", self.job, error)
            self._written_at = now

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT_SECONDS):
            try:
                if not self.row.update(heartbeat_at=timezone.now()):
                    self._lost.set()
                elif self.row.filter(cancel_requested=True).exists():
                    self._cancelled.set()
            except DatabaseError as error:
                logger.warning("%s: no heartbeat this time (%s)", self.job, error)
            finally:
                connection.close()  # this thread's own


def claim(job_id: int) -> Lease | None:
    """Return the lease on an open job that nobody runs, or None if it is not available.

    If the job's last worker ended during the job, the count of its ``deaths`` rises.
    """
    job = Job.objects.select_related("recording").filter(pk=job_id).first()
    if job is None or not job.is_open:
        return None
    if job.state == Job.State.RUNNING and not is_stale(job):
        return None
    now = timezone.now()
    fields = {
        "state": Job.State.RUNNING,
        "worker": this_worker(),
        "attempt": job.attempt + 1,
        "deaths": job.deaths + _has_died(job),
        "heartbeat_at": now,
        "started_at": now,
        "retry_at": None,
        "phase": "starting",
        "progress": 0.0,
        "done": 0,
        "total": None,
        "rate": None,
        "error": None,
    }
    unchanged = Job.objects.filter(
        pk=job.pk,
        state=job.state,
        worker=job.worker,
        attempt=job.attempt,
        heartbeat_at=job.heartbeat_at,
    )
    if not unchanged.update(**fields):
        return None
    for name, value in fields.items():
        setattr(job, name, value)
    return Lease(job)


def lost() -> list[Job]:
    """Return the running jobs whose worker is gone, the oldest first."""
    running = Job.objects.filter(state=Job.State.RUNNING).order_by("pk")
    return [job for job in running if is_stale(job)]


def _has_died(job: Job) -> bool:
    """Tell whether the worker of a stale running job has ended.

    A worker that still lives on this host was frozen, or could not reach the database for a while.
    """
    if job.state != Job.State.RUNNING or not job.worker:
        return False
    return not _is_ours(job.worker) or _is_gone(job.worker)


def is_current(job_id: int, attempt: int) -> bool:
    """Tell whether this attempt may still end the job: nobody put the job back or claimed it again.

    A heartbeat that is late does not matter. The worker may be alive: its database was locked, say.
    """
    attempts = Job.objects.filter(pk=job_id, attempt=attempt, state=Job.State.RUNNING)
    return attempts.exists()
