"""Carry out each kind of job. A new kind is a function here and an entry in ``STEPS``.

A step writes files under unique names. One transaction makes rows name them and ends the job.
``running.py`` handles what a step raises.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from snapshots.archive import uploads as archive_uploads
from snapshots.domain.archive.model import JobFacts
from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import SnapshotId
from snapshots.files import identity, recordings, uploads
from snapshots.growing.canonical import canonical_log
from snapshots.growing.journal import Journal
from snapshots.jobs import opening, postponing
from snapshots.jobs.at_work import AtWork
from snapshots.jobs.leases import Lease
from snapshots.jobs.opening import Source
from snapshots.models import Job, Recording
from snapshots.payloads.progress import reached
from snapshots.readers.logs.native import NativeReader
from snapshots.simulating import simulations
from snapshots.store.inventory.writing import write_inventory
from snapshots.store.objects.paths import remove_tree

KEEPING = "keeping the inventory"


class Progress:
    """Reports the progress of a job: its phase, how much of it is done, and of how much."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Note the progress. Raises: Cancelled, LeaseLost."""
        self._lease.report(phase, *reached(phase, done, total))


def _with_spark(step: Callable[[Lease], None]) -> Callable[[Lease], None]:
    """Start Spark before a step, and explain errors of a Spark that ended during it."""

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
    """Read an upload into a store, judge it, publish it, and write the rows in one transaction."""
    from tasks.spark.checkpoints.job import explain_checkpoints
    from tasks.spark.ingest.job import ingest
    from tasks.spark.judge.job import judge_snapshots

    recording = lease.recording
    Recording.objects.filter(pk=recording.pk).update(status=Recording.Status.RUNNING, error=None)
    if recording.journal:
        _write_log(lease)
    name = _name(lease)
    temporary = recordings.store().temporary(name)
    progress = Progress(lease)
    with opening.opened(recording, name, progress) as source:
        ingest(
            source.path,
            temporary,
            limits=source.limits,
            progress=progress,
            format=source.format,
            name=recording.name,
            header_file=source.header_file,
        )
        judge_snapshots(temporary, progress)
        explain_checkpoints(temporary, progress)
        if source.upload is not None:
            progress(KEEPING, 0, 0)
            write_inventory(temporary, source.upload, watch=partial(_watched, progress))
        reported = archive_uploads.reported_by(source.upload)
    lease.report("publishing", 0.99)
    recordings.publish(temporary, name)
    postponing.insist(lambda: _make_ready(lease, name, source, reported))


def _write_log(lease: Lease) -> None:
    """Write the log of a recording that was open as its upload, in place of its journal."""
    recording = lease.recording
    lease.report("writing the log", 0.0)
    journal = Journal(uploads.at_hand(recording.journal))
    journal.end()
    with uploads.Draft() as draft:
        for lines in canonical_log(journal):
            draft.write(lines)
        draft.keep()
        fields = {"upload": draft.name, "size": draft.size, "sha256": draft.sha256, "journal": ""}
        with transaction.atomic():
            lease.write(phase="log written")
            Recording.objects.filter(pk=recording.pk).update(**fields)
            transaction.on_commit(identity.beat, robust=True)
    uploads.remove(recording.journal)
    recording.upload, recording.journal = draft.name, ""


def _watched(progress: Progress, entries: Iterator[StateEntry]) -> Iterator[StateEntry]:
    """Yield entries of state, and report how many there were and of which state."""
    report = AtWork(progress, KEEPING)
    for entry in entries:
        report("entry", f"state {entry.state or entry.operator}")
        yield entry


def _make_ready(lease: Lease, name: str, source: Source, reported: tuple[JobFacts, ...]) -> None:
    """Replace the recording's rows by those of the new store, and end the job.

    Args:
        name: the folder of the new store.
        source: the log that was read.
        reported: what the engine itself reported about its jobs, for the archive.
    """
    recording = lease.recording
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
        recordings.make_ready(recording, name, summary)
        archive_uploads.take_upload(recording, recordings.store().folder(name), reported)
        transaction.on_commit(identity.beat, robust=True)
        transaction.on_commit(lambda: recordings.remove_replaced(replaced))


def _simulate(lease: Lease) -> None:
    """Simulate to a native file, which is then ingested like any upload."""
    recording = lease.recording
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
    """Restore a snapshot and replay the rest. The report is the job's result."""
    from tasks.spark.restore.job import restore_snapshot

    folder = recordings.store().folder(lease.recording.store)
    with _work_folder(lease) as work:
        report = restore_snapshot(
            folder, SnapshotId(lease.job.snapshot), Progress(lease), work=work
        )
    _answer(lease, "restored", as_json(report))


def _reorder(lease: Lease) -> None:
    """Reorder a run so that it passes through a snapshot. The report is the job's result."""
    from tasks.spark.reorder.job import reorder_snapshot

    folder = recordings.store().folder(lease.recording.store)
    with _work_folder(lease) as work:
        report = reorder_snapshot(
            folder, SnapshotId(lease.job.snapshot), Progress(lease), work=work
        )
    _answer(lease, "reordered", as_json(report))


def _search(lease: Lease) -> None:
    """Search for a predicate. The answer is the job's result."""
    from tasks.spark.search.job import search_predicate

    folder = recordings.store().folder(lease.recording.store)
    with _work_folder(lease) as work:
        answer = search_predicate(folder, lease.job.expression, Progress(lease), work=work)
    _answer(lease, "searched", answer.to_json())


@contextmanager
def _work_folder(lease: Lease) -> Iterator[Path]:
    """Make a folder beside the stores, which all machines of a cluster reach, and remove it.

    After a kill the sweep removes it, because it is named like an unfinished store.
    """
    folder = recordings.store().temporary(_name(lease))
    try:
        yield folder
    finally:
        remove_tree(folder)


def _name(lease: Lease) -> str:
    """Return the name of this run's files."""
    return recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce)


def _answer(lease: Lease, phase: str, result: dict[str, Any]) -> None:
    """Write the end of a job that only reads and has succeeded."""
    fields = {"phase": phase, "progress": 1.0, "result": result, "finished_at": timezone.now()}
    postponing.insist(lambda: lease.write(state=Job.State.DONE, **fields))


STEPS: dict[str, Callable[[Lease], None]] = {
    Job.Kind.INGEST: _with_spark(_ingest),
    Job.Kind.SIMULATE: _with_spark(_simulate),
    Job.Kind.RESTORE: _with_spark(_restore),
    Job.Kind.REORDERING: _with_spark(_reorder),
    Job.Kind.PREDICATE: _with_spark(_search),
}
