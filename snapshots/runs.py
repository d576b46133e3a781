"""What a worker does with a job: from the claim to the last write, whatever happens in between.

A run writes files under names that nobody else uses and makes them count in one transaction,
together with the end of the job. Until then nothing has happened; what a crash leaves, a sweep
removes.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from snapshots import engine_uploads, leases, stores, uploads
from snapshots.archive import uploads as archive_uploads
from snapshots.domain.archive.model import JobFacts
from snapshots.domain.defects import InputRefused
from snapshots.domain.expressions import ExpressionError
from snapshots.domain.reordering_report import NotReorderable
from snapshots.domain.restore import NotRestorable
from snapshots.engine_uploads import Source
from snapshots.leases import Cancelled, Lease, LeaseLost
from snapshots.limits import recording_limits
from snapshots.models import Job, Recording, Snapshot
from snapshots.problems import Refused, cancelled, problem
from snapshots.progress import reached
from snapshots.readers.native import NativeReader
from snapshots.simulating import simulations
from snapshots.store.contents_writer import write_contents

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 4
IMPOSSIBLE = {
    NotRestorable: ("not-restorable", "Not restorable"),
    NotReorderable: ("not-reorderable", "Not reorderable"),
}


class TryAgain(Exception):
    """The job could not run now and is queued again; a later try may succeed."""


class WorkerDied(Exception):
    def __init__(self) -> None:
        super().__init__(
            f"The worker stopped {MOST_ATTEMPTS} times while it ran this job. Is its memory too "
            "small for a recording of this size?"
        )


def run(job_id: int) -> None:
    """Run the job to its end. Nothing happens if it has ended or a living worker has it.

    Raises: TryAgain. Everything else that can go wrong ends in the job's ``error``.
    """
    lease = leases.claim(job_id)
    if lease is None:
        return
    with lease:
        try:
            _guarded(lease)
        except LeaseLost as lost:
            logger.info("%s", lost)
        finally:
            _drop_leftovers(lease)


def _guarded(lease: Lease) -> None:
    try:
        if lease.job.attempt > MOST_ATTEMPTS:
            raise WorkerDied
        if lease.job.cancel_requested:
            raise Cancelled
        STEPS[lease.job.kind](lease)
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
        if _is_passing(error) and lease.job.attempt < MOST_ATTEMPTS:
            _put_back(lease, error)
        logger.exception("%s failed", lease.job)
        _end(lease, Job.State.FAILED, Recording.Status.FAILED, _failure(lease, error))


def _is_passing(error: Exception) -> bool:
    """Whether a later try may succeed: the error says so itself."""
    return getattr(error, "permanent", True) is False


def _put_back(lease: Lease, error: Exception) -> None:
    lease.write(state=Job.State.QUEUED, worker="", phase=f"waiting: {error}"[:60], progress=0.0)
    raise TryAgain(str(error)) from error


def _failure(lease: Lease, error: Exception) -> dict[str, Any]:
    """What, where, likely cause."""
    known = hasattr(error, "permanent") or isinstance(error, WorkerDied)
    sentence = str(error) if known else f"{type(error).__name__}: {error}"
    return problem(
        "failed",
        "The job failed",
        500,
        sentence[:2000],
        where=lease.job.phase,
        cause=None if known else "A fault in Cutline; the worker's log has the details.",
    )


def _refuse(lease: Lease, refused: InputRefused) -> None:
    """The recording keeps why it was refused, and nothing else."""
    body = Refused.of(refused, lease.job.recording.source_name).as_json()
    upload = lease.job.recording.upload
    with transaction.atomic():
        Recording.objects.filter(pk=lease.job.recording_id).update(
            upload="", defects=body["defects"], defects_total=body["defects_total"]
        )
        _end(lease, Job.State.REFUSED, Recording.Status.REFUSED, body)
    uploads.remove(upload)


def _end(lease: Lease, state: str, status: str, error: dict[str, Any]) -> None:
    """The end of a job that did not succeed; the READING ones leave their recording as it is."""
    with transaction.atomic():
        lease.write(state=state, finished_at=timezone.now(), error=error, rate=None)
        if lease.job.kind not in Job.READING:
            Recording.objects.filter(pk=lease.job.recording_id).update(status=status, error=error)


def _ingest(lease: Lease) -> None:
    """Upload -> store -> verdicts -> published, and then the rows, in one transaction."""
    from tasks.spark.checkpoints import explain_checkpoints
    from tasks.spark.ingest import ingest
    from tasks.spark.snapshots import judge_snapshots

    recording = lease.job.recording
    Recording.objects.filter(pk=recording.pk).update(status=Recording.Status.RUNNING, error=None)
    name = stores.name_of(lease.job.pk, lease.job.attempt)
    temporary = stores.store().temporary(name)
    progress = Progress(lease)
    with engine_uploads.opened(recording, name, progress) as source:
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
            progress("keeping contents", 0, 0)
            write_contents(temporary, source.upload)
        told = archive_uploads.told_by(source.upload)
    lease.report("publishing", 0.99)
    stores.publish(temporary, name)
    _make_ready(lease, name, source, told)


def _make_ready(lease: Lease, name: str, source: Source, told: tuple[JobFacts, ...] = ()) -> None:
    """source: what was read. told: for the archive."""
    recording = lease.job.recording
    found = stores.summary(name)
    if source.shown_format is not None:
        found.fields["format"] = source.shown_format
    if source.reason is not None:
        found.fields["parameters"] = (recording.parameters or {}) | {"recognised": source.reason}
    replaced = recording.store
    with transaction.atomic():
        lease.write(
            state=Job.State.DONE,
            finished_at=timezone.now(),
            phase="ready",
            progress=1.0,
            done=found.fields["event_count"],
            total=found.fields["event_count"],
            error=None,
            result={"recording": recording.pk, "verdicts": found.verdicts},
        )
        Snapshot.objects.filter(recording=recording).delete()
        Snapshot.objects.bulk_create(
            [Snapshot(recording=recording, **fields) for fields in found.snapshots], batch_size=200
        )
        Recording.objects.filter(pk=recording.pk).update(
            status=Recording.Status.READY, store=name, ready_at=timezone.now(), **found.fields
        )
        archive_uploads.take_upload(recording, stores.store().folder(name), told)
        transaction.on_commit(lambda: stores.remove(replaced))


def _simulate(lease: Lease) -> None:
    """Simulate to a native file, which is then ingested like any upload."""
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
    """The report is the job's result; the recording stays as it is."""
    from tasks.spark.restore import restore_snapshot

    folder = stores.store().folder(lease.job.recording.store)
    report = restore_snapshot(folder, lease.job.snapshot, Progress(lease))
    _answer(lease, "restored", report.to_json())


def _reorder(lease: Lease) -> None:
    """The report is the job's result; the recording stays as it is."""
    from tasks.spark.reordering import reorder_snapshot

    folder = stores.store().folder(lease.job.recording.store)
    report = reorder_snapshot(folder, lease.job.snapshot, Progress(lease))
    _answer(lease, "reordered", report.to_json())


def _search(lease: Lease) -> None:
    """The answer is the job's result; the recording stays as it is."""
    from tasks.spark.predicates import search_predicate

    folder = stores.store().folder(lease.job.recording.store)
    answer = search_predicate(folder, lease.job.expression, Progress(lease))
    _answer(lease, "searched", answer.to_json())


def _answer(lease: Lease, phase: str, result: dict[str, Any]) -> None:
    """The end of a READING job that succeeded."""
    lease.write(
        state=Job.State.DONE,
        finished_at=timezone.now(),
        phase=phase,
        progress=1.0,
        result=result,
    )


STEPS: dict[str, Callable[[Lease], None]] = {
    Job.Kind.INGEST: _ingest,
    Job.Kind.SIMULATE: _simulate,
    Job.Kind.RESTORE: _restore,
    Job.Kind.REORDERING: _reorder,
    Job.Kind.PREDICATE: _search,
}


class Progress:
    """What the jobs call with a phase, how much of it is done, and of how much."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Raises: Cancelled, LeaseLost."""
        self._lease.report(phase, *reached(phase, done, total))


def _drop_leftovers(lease: Lease) -> None:
    """The folders of a run that did not succeed; one that did has none besides the row's."""
    stores.drop_unfinished(stores.name_of(lease.job.pk, lease.job.attempt))


def remove_leftovers() -> None:
    """What crashed workers and web processes left in the folders of uploads and stores."""
    known = Recording.objects.filter
    for name in uploads.sweep(lambda name: known(upload=name).exists()):
        logger.info("The upload %s belonged to nothing and was removed", name)
    for name in stores.sweep():
        logger.info("The folder %s was left by a crash and was removed", name)
