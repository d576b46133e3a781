"""Run a job in a worker, from the claim to the last write, whatever goes wrong in between.

A run writes files under names that nobody else uses. One transaction makes them count, together
with the end of the job. Before that nothing has changed; a sweep removes what a crash leaves.
"""

import logging
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.replaying.reordering_report import NotReorderable
from snapshots.domain.replaying.restore import NotRestorable
from snapshots.files import recordings, uploads
from snapshots.jobs import leases, postponing, steps, sweeping, turns
from snapshots.jobs.leases import Cancelled, Lease, LeaseLost
from snapshots.models import Job, Recording
from snapshots.problems import Refused, cancelled, problem
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
    """Run the next job in turn; return False if no job can run now."""
    lease = turns.claim_next()
    if lease is not None:
        _run(lease)
    return lease is not None


def run(job_id: int) -> None:
    """Run this job, out of turn. Nothing happens if it has ended or a living worker runs it."""
    lease = leases.claim(job_id)
    if lease is not None:
        _run(lease)


def _run(lease: Lease) -> None:
    """Run a job to its end, or put it back. Every failure ends in the job's ``error``."""
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
            logger.exception("%s failed", lease.job)  # not for a job that was deleted


def _failure(lease: Lease, error: Exception, reason: postponing.Reason | None) -> dict[str, Any]:
    """Return the problem that describes what failed, where, and the likely cause."""
    is_explained = reason is not None or isinstance(error, WorkerDied)
    sentence = str(error) if is_explained else f"{type(error).__name__}: {error}"
    if reason is not None:
        sentence = f"{reason.sentence} {postponing.tries(lease.job)}"
    return problem(
        "failed",
        "The job failed",
        500,
        sentence[:2000],
        where=lease.job.phase,
        cause=None if is_explained else "A fault in Cutline; the worker's log has the details.",
    )


def _refuse(lease: Lease, refused: InputRefused) -> None:
    """Keep only the reason of the refusal in the recording, and remove its upload."""
    body = Refused.of(refused, lease.job.recording.source_name).as_json()
    upload = lease.job.recording.upload
    kept = {"upload": "", "defects": body["defects"], "defects_total": body["defects_total"]}
    _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body, **kept)
    uploads.remove(upload)


def _end(lease: Lease, state: str, status: str, error: dict[str, Any], **fields: Any) -> None:
    """Write the end of a job that did not succeed.

    The recording gets ``status``, ``error`` and ``fields``, unless the job only reads it.
    """

    @transaction.atomic
    def write() -> None:
        lease.write(state=state, finished_at=timezone.now(), error=error, rate=None)
        if lease.job.kind in Job.WRITING:
            row = Recording.objects.filter(pk=lease.job.recording_id)
            row.update(status=status, error=error, **fields)

    postponing.insist(write)


def _with_spark(step: Callable[[Lease], None]) -> Callable[[Lease], None]:
    """Wrap a step so that Spark is started first, and Spark's end is not taken for its failure."""

    def run_step(lease: Lease) -> None:
        from tasks.spark import session

        session.get()
        try:
            step(lease)
        except Exception as error:
            explained = session.explained(error)
            if explained is error:
                raise
            raise explained from error

    return run_step


def _ingest(lease: Lease) -> None:
    """Store, judge and publish the upload, then write the rows in one transaction."""
    from tasks.spark.checkpoints.job import explain_checkpoints
    from tasks.spark.ingest.job import ingest
    from tasks.spark.judge.job import judge_snapshots

    recording = lease.job.recording
    Recording.objects.filter(pk=recording.pk).update(status=Recording.Status.RUNNING, error=None)
    name = recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce)
    temporary = recordings.store().temporary(name)
    progress = Progress(lease)
    with opening.opened(recording, name, progress) as source:
        ingest(
            source.path,
            temporary,
            limits=recording_limits(),
            progress=progress,
            format=source.format,
            name=recording.name,
        )
        judge_snapshots(temporary, progress)
        explain_checkpoints(temporary, progress)
        if source.upload is not None:
            progress("keeping the inventory", 0, 0)
            write_inventory(temporary, source.upload)
        reported = archive_uploads.reported_by(source.upload)
    lease.report("publishing", 0.99)
    recordings.publish(temporary, name)
    postponing.insist(lambda: _make_ready(lease, name, source, reported))


def _make_ready(
    lease: Lease, name: str, source: Source, reported: tuple[JobFacts, ...] = ()
) -> None:
    """Write the rows of a recording that was read, and the end of its job.

    ``reported`` holds the engine's own facts about its jobs, for the archive.
    """
    recording = lease.job.recording
    summary = recordings.summary(name)
    if source.shown_format is not None:
        summary.fields["format"] = source.shown_format
    if source.reason is not None:
        summary.fields["parameters"] = (recording.parameters or {}) | {"recognised": source.reason}
    replaced = recording.store
    with transaction.atomic():
        lease.write(
            state=Job.State.DONE,
            finished_at=timezone.now(),
            phase="ready",
            progress=1.0,
            done=summary.fields["event_count"],
            total=summary.fields["event_count"],
            error=None,
            result={"recording": recording.pk, "verdicts": summary.verdicts},
        )
        Snapshot.objects.filter(recording=recording).delete()
        Snapshot.objects.bulk_create(
            [Snapshot(recording=recording, **fields) for fields in summary.snapshots],
            batch_size=200,
        )
        Recording.objects.filter(pk=recording.pk).update(
            status=Recording.Status.READY, store=name, ready_at=timezone.now(), **summary.fields
        )
        archive_uploads.take_upload(recording, recordings.store().folder(name), reported)
        transaction.on_commit(identity.beat, robust=True)
        transaction.on_commit(lambda: recordings.remove(replaced))


def _simulate(lease: Lease) -> None:
    """Simulate to a native file, and ingest it like any upload."""
    recording = lease.job.recording
    lease.report("simulating", 0.0)
    with uploads.Draft() as draft:
        simulations.write(draft, recording.name, recording.parameters, Progress(lease))
        draft.keep()
        replaced, recording.upload = recording.upload, draft.name
        fields = {"upload": draft.name, "size": draft.size, "format": NativeReader.name}
        with transaction.atomic():
            lease.write(phase="simulated")
            Recording.objects.filter(pk=recording.pk).update(**fields)
    uploads.remove(replaced)
    _ingest(lease)


def _restore(lease: Lease) -> None:
    """Restore a snapshot; the report is the job's result, and the recording stays as it is."""
    from tasks.spark.restore.job import restore_snapshot

    folder = recordings.store().folder(lease.job.recording.store)
    report = restore_snapshot(folder, lease.job.snapshot, Progress(lease))
    _answer(lease, "restored", as_json(report))


def _reorder(lease: Lease) -> None:
    """Reorder through a snapshot; the report is the job's result. The recording stays as it is."""
    from tasks.spark.reorder.job import reorder_snapshot

    folder = recordings.store().folder(lease.job.recording.store)
    report = reorder_snapshot(folder, lease.job.snapshot, Progress(lease))
    _answer(lease, "reordered", as_json(report))


def _search(lease: Lease) -> None:
    """Search for a condition; the answer is the job's result, and the recording stays as it is."""
    from tasks.spark.search.job import search_predicate

    folder = recordings.store().folder(lease.job.recording.store)
    answer = search_predicate(folder, lease.job.expression, Progress(lease))
    _answer(lease, "searched", as_json(answer))


def _answer(lease: Lease, phase: str, result: dict[str, Any]) -> None:
    """Write the end of a READING job that succeeded."""
    fields = {"phase": phase, "progress": 1.0, "result": result, "finished_at": timezone.now()}
    postponing.insist(lambda: lease.write(state=Job.State.DONE, **fields))


STEPS: dict[str, Callable[[Lease], None]] = {
    Job.Kind.INGEST: _with_spark(_ingest),
    Job.Kind.SIMULATE: _with_spark(_simulate),
    Job.Kind.RESTORE: _with_spark(_restore),
    Job.Kind.REORDERING: _with_spark(_reorder),
    Job.Kind.PREDICATE: _with_spark(_search),
}


class Progress:
    """Notes a job's progress in its row.

    It is called with a phase, the amount done and the amount in all.
    """

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Report the progress of a phase. Raises: Cancelled, LeaseLost."""
        self._lease.report(phase, *reached(phase, done, total))


def _drop_leftovers(lease: Lease) -> None:
    """Remove what an unsuccessful run wrote; a later sweep removes what cannot be removed now."""
    name = recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce)
    try:
        recordings.drop_unfinished(name)
    except (OSError, DatabaseError) as error:
        logger.warning("%s: its files could not be removed yet (%s)", lease.job, error)


def remove_leftovers() -> None:
    """Remove what crashed workers and web processes left in the folders."""
    sweeping.sweep()
