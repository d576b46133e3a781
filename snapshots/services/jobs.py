"""Queue, request and cancel jobs. Each call is one transaction.

Whom a job belongs to is decided by ``access.run_holder``.

Raises: problems.Problem for a wrong request.
"""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from snapshots import access, allowances
from snapshots.access import require_ready
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.replaying.reordering_report import NotReorderable, require_complete
from snapshots.jobs import live
from snapshots.models import Job, Recording, Snapshot
from snapshots.problems import Conflict, cancelled
from snapshots.services import predicates
from tasks.queue import jobs as tasks


def create_job(
    kind: str, owner, *, recording: Recording, by=None, snapshot: str = "", expression: str = ""
) -> Job:
    """Create a queued job; its message goes to the queue when the transaction is committed.

    ``by`` is the person who requests it, by default its owner: it waits for this person's turn.
    Raises: TooMany if the owner has as many open jobs as they may.
    """
    if owner is not None:
        allowances.require_job(owner)
    job = Job.objects.create(
        kind=kind,
        owner=owner,
        asker=by or owner,
        recording=recording,
        snapshot=snapshot,
        expression=expression,
        phase="waiting for a worker",
    )
    transaction.on_commit(lambda: tasks.enqueue(job.pk))
    transaction.on_commit(lambda: live.job_changed(job), robust=True)
    return job


def request_restore(user, recording: Recording, snapshot: Snapshot) -> Job:
    """Return the open or done restore of this snapshot and store, else a new one.

    Raises: Conflict unless the recording is ready.
    """
    require_ready(recording)
    return _existing_or_new(Job.Kind.RESTORE, user, recording, snapshot=snapshot.snapshot)


def request_reordering(user, recording: Recording, snapshot: Snapshot) -> Job:
    """Return the open or done reordering of this snapshot and store, else a new one.

    Raises: Conflict unless the recording is ready and the snapshot complete.
    """
    require_ready(recording)
    try:
        require_complete(SnapshotId(snapshot.snapshot), snapshot.verdicts)
    except NotReorderable as incomplete:
        raise Conflict(str(incomplete)) from None
    return _existing_or_new(Job.Kind.REORDERING, user, recording, snapshot=snapshot.snapshot)


def request_search(user, recording: Recording, expression: Any) -> Job:
    """Return the open or done search for this predicate in this store, else a new one.

    Raises: Conflict unless the recording is ready. Invalid or Refused if the expression is not a
    conjunction of local conditions.
    """
    require_ready(recording)
    text = predicates.checked(recording, expression)
    return _existing_or_new(Job.Kind.PREDICATE, user, recording, expression=text)


def _existing_or_new(kind: str, user, recording: Recording, **question: str) -> Job:
    with transaction.atomic():
        Recording.objects.select_for_update().get(pk=recording.pk)  # the second request waits
        answering = current_jobs(kind, user, recording, **question).filter(
            state__in=[*Job.OPEN, Job.State.DONE], cancel_requested=False
        )
        return answering.first() or create_job(
            kind, access.run_holder(user, recording), by=user, recording=recording, **question
        )


def current_jobs(kind: str, user, recording: Recording, **question: str) -> QuerySet[Job]:
    """Return the jobs requested since the recording's store was written, the newest first."""
    return access.jobs(user).filter(
        kind=kind,
        recording=recording,
        created_at__gte=recording.ready_at or recording.created_at,
        **question,
    )


@transaction.atomic
def cancel_job(job: Job) -> Job:
    """Cancel a queued job now, a running one at its next step. Raises: Conflict if it has ended."""
    if Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.CANCELLED, cancel_requested=True, finished_at=timezone.now(), phase=""
    ):
        job.written_recording().update(status=Recording.Status.FAILED, error=cancelled())
    elif not Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel_requested=True):
        raise Conflict(f"The job has already ended: it is {job.state}.")
    job.refresh_from_db()
    transaction.on_commit(lambda: live.job_changed(job), robust=True)
    return job
