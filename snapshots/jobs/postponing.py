"""Put a job back that something temporary stopped: a full disk, a busy database, missing Spark.

Such a job has not failed. It waits, with growing pauses, and its row says for what it waits.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from snapshots.jobs.leases import Lease
from snapshots.models import Job, Recording
from snapshots.passing import passing
from snapshots.problems import problem

logger = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(minutes=5)
PATIENCE = timedelta(days=1)  # after this long, a job that was only ever postponed has failed
SECONDS_BETWEEN_WRITES = 1.0
LONGEST_BETWEEN_WRITES = 15.0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a job is put back.

    ``is_death``: Spark ended during the job, and the job may be the cause. That counts like the
    death of a worker, and the job is tried again at once.
    """

    sentence: str
    status: int = 503
    is_death: bool = False


def reason(error: Exception) -> Reason | None:
    """Return why a later attempt may succeed after ``error``, or None if it cannot."""
    if getattr(error, "permanent", True) is False:
        return Reason(str(error), is_death=getattr(error, "is_death", False))
    cause = passing(error)
    return Reason(cause.sentence, cause.status) if cause else None


def put_back(lease: Lease, reason: Reason, error: Exception) -> bool:
    """Queue the job again for later; return False if it has waited as long as it may.

    Raises: LeaseLost.
    """
    now = timezone.now()
    began = lease.job.postponed_at or now
    if not reason.is_death and now - began > PATIENCE:
        return False
    fields = _after_death(lease.job) if reason.is_death else _after_pause(lease.job, began, now)
    logger.warning("%s is put back: %r", lease.job, error)
    body = problem("postponed", "The job waits", reason.status, reason.sentence)
    insist(
        lambda: lease.write(
            state=Job.State.QUEUED,
            worker="",
            phase="waiting to be tried again",
            progress=0.0,
            rate=None,
            error=body | {"where": lease.job.phase},
            **fields,
        )
    )
    insist(lambda: lease.job.written_recording().update(status=Recording.Status.QUEUED))
    return True


def _after_death(job: Job) -> dict:
    return {"deaths": job.deaths + 1, "retry_at": None}


def _after_pause(job: Job, began, now) -> dict:
    count = job.postponements + 1
    return {
        "postponements": count,
        "postponed_at": began,
        "retry_at": now + min(timedelta(seconds=2 ** min(count, 20)), LONGEST_PAUSE),
    }


def tries(job: Job) -> str:
    """Return a sentence that says how often a job was postponed."""
    return (
        f"It was tried {job.postponements + 1:,} times since {job.postponed_at:%Y-%m-%d %H:%M} UTC."
    )


def insist(write: Callable[[], object]) -> None:
    """Write to the database, again and again while it is busy, full or unreachable.

    The end of a run must reach its row; a row left behind would make others run the job again.
    """
    pause = SECONDS_BETWEEN_WRITES
    while True:
        try:
            write()
            return
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database accepts no write (%s); trying again in %g s", error, pause)
        close_old_connections()
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_BETWEEN_WRITES)
