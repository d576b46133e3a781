"""Run a job from the claim to the last write, whatever happens in between.

``steps.py`` has the step of each kind of job. Rows change only when a step has ended; a sweep
removes what a crash leaves.
"""

import logging
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.replaying.reordering_report import NotReorderable
from snapshots.domain.replaying.restore import NotRestorable
from snapshots.files import recordings, uploads
from snapshots.jobs import leases, postponing, steps, sweeping, turns
from snapshots.jobs.leases import Cancelled, Lease, LeaseLost
from snapshots.models import Job, Recording
from snapshots.problems import Refused, cancelled, problem
from snapshots.store.errors import StoreUnreachable
from webapp.operating.job_times import timed
from webapp.operating.logging import about

logger = logging.getLogger(__name__)

MOST_DEATHS = 6
IMPOSSIBLE = {
    NotRestorable: ("not-restorable", "Not restorable"),
    NotReorderable: ("not-reorderable", "Not reorderable"),
}


class WorkerDied(Exception):
    """The job has ended its worker, or Spark, as often as one job may."""

    def __init__(self) -> None:
        super().__init__(
            f"The worker or its Spark ended {MOST_DEATHS} times in the middle of this job. Is the "
            "memory too small for a recording of this size?"
        )


def run_next() -> bool:
    """Run the job whose turn it is; return False if no job can run now."""
    lease = turns.claim_next()
    if lease is not None:
        _run(lease)
    return lease is not None


def run(job_id: int) -> None:
    """Run this job out of turn, unless it has ended or a living worker runs it."""
    lease = leases.claim(job_id)
    if lease is not None:
        _run(lease)


def _run(lease: Lease) -> None:
    """Run a job to its end, or put it back. Every failure is noted in the job's ``error``."""
    with lease, about(job=lease.job.pk, user=lease.job.owner_id), timed(lease.job):
        try:
            _guarded(lease)
        except LeaseLost as lost:
            logger.info("%s", lost)
        finally:
            _drop_leftovers(lease)


def _guarded(lease: Lease) -> None:
    try:
        if lease.job.deaths >= MOST_DEATHS:
            raise WorkerDied
        if lease.job.cancel_requested:
            raise Cancelled
        steps.STEPS[lease.job.kind](lease)
    except LeaseLost:
        raise
    except Cancelled:
        _end(lease, Job.State.CANCELLED, Recording.Status.FAILED, cancelled())
    except InputRefused as refused:
        _refuse(lease, refused)
    except (NotRestorable, NotReorderable) as impossible:
        body = problem(*IMPOSSIBLE[type(impossible)], 422, str(impossible))
        _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body)
    except ExpressionError as error:
        body = Refused.of_expression(error).as_json()
        _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body)
    except Exception as error:
        reason = postponing.reason(error)
        if reason is None or not postponing.put_back(lease, reason, error):
            _end(lease, Job.State.FAILED, Recording.Status.FAILED, _failure(lease, error, reason))
            logger.exception("%s failed", lease.job)  # a job that was deleted has not


def _failure(lease: Lease, error: Exception, reason: postponing.Reason | None) -> dict[str, Any]:
    """Return the problem that says what failed, where, and the likely cause."""
    is_explained = isinstance(error, WorkerDied) or getattr(error, "is_explained", False)
    known = reason is not None or is_explained
    sentence = str(error) if known else f"{type(error).__name__}: {error}"
    if reason is not None:
        sentence = f"{reason.sentence} {postponing.tries(lease.job)}"
    return problem(
        "failed",
        "The job failed",
        500,
        sentence[:2000],
        where=lease.job.phase,
        cause=None if known else "A fault in Cutline; the worker's log has the details.",
    )


def _refuse(lease: Lease, refused: InputRefused) -> None:
    """Note in the recording why it was refused, and remove its upload.

    The log of a recording that was open stays: nobody else has its events any more.
    """
    body = Refused.of(refused, lease.recording.source_name).as_json()
    fields = {"defects": body["defects"], "defects_total": body["defects_total"]}
    if lease.recording.was_open:
        _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body, **fields)
        return
    upload = lease.recording.upload
    _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body, upload="", **fields)
    uploads.remove(upload)


def _end(lease: Lease, state: str, status: str, error: dict[str, Any], **fields: Any) -> None:
    """Write the end of a job that did not succeed.

    The recording gets ``status``, ``error`` and ``fields``, unless the job only reads it.
    """

    @transaction.atomic
    def write() -> None:
        lease.write(state=state, finished_at=timezone.now(), error=error, rate=None)
        lease.job.written_recording().update(status=status, error=error, **fields)

    postponing.insist(write)


def _drop_leftovers(lease: Lease) -> None:
    """Remove the files of a run that did not succeed, or leave them to a later sweep."""
    name = recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce)
    try:
        recordings.drop_unfinished(name)
    except (OSError, DatabaseError, StoreUnreachable) as error:
        logger.warning("%s: what it wrote could not be removed yet (%s)", lease.job, error)


def remove_leftovers() -> None:
    """Remove the files that crashed workers and web processes left."""
    sweeping.sweep()
