"""What a request does, each in one transaction. Access is checked before, work is done after.

Whatever is wrong with a request is a ``problems.Problem``.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from snapshots import access, allowances, live, mappings, predicates, stores, topologies, uploads
from snapshots.domain.dataflows.failover import FAILOVERS
from snapshots.domain.defects import InputRefused
from snapshots.domain.reordering_report import NotReorderable, require_complete
from snapshots.domain.spark_streaming.failover import SPARK_FAILOVERS
from snapshots.fields import clipped
from snapshots.files import identity
from snapshots.limits import recording_limits
from snapshots.models import Job, Mapping, Recording, Snapshot, Topology
from snapshots.problems import Conflict, Invalid, Refused, cancelled
from snapshots.readers import engines, registry
from snapshots.readers.unpacking.archives import ArchiveLimits
from snapshots.readers.unpacking.names import Names
from snapshots.simulating.simulations import checked_for
from tasks import recordings as tasks
from webapp.accounts import audit

STRATEGIES = {"flink": FAILOVERS, "spark": SPARK_FAILOVERS}
"""The failover strategies of the engines that have several."""
LONGEST_FORMAT = Recording._meta.get_field("format").max_length


def accept_uploads(
    user,
    files: Sequence[uploads.DraftUpload],
    *,
    format: str = "",
    name: str = "",
    before_commit: Callable[[list[Job]], None] = lambda jobs: None,
) -> list[Job]:
    """A queued recording for each file: all of them, or none and nothing left behind.

    format: a reader's name, or ``mapping:ID``; empty to tell from the content. name: of the
    recording, where there is one file. before_commit: called in the transaction; what it raises
    takes all back. Raises: Refused, Invalid.
    """
    if not files:
        raise Invalid("No file came. Send it as the multipart field “file”.", field="file")
    if name and len(files) > 1:
        raise Invalid("A name goes with one file; several came.", field="name")
    if name:
        name = topologies.checked_name(name)
    allowances.require_room_for(user, sum(file.size for file in files))
    mapping = mappings.of_format(user, format)
    if mapping is not None:
        for file in files:
            mappings.require_fit(mapping, file)
    found = [_by(mapping) if mapping else _checked_head(file, format) for file in files]
    fields = {"parameters": {"mapping": mapping.document}} if mapping else {}
    with kept(file.draft for file in files), transaction.atomic():
        jobs = [
            _queue_upload(user, file.draft, file.name, name or file.name, *told, **fields)
            for file, told in zip(files, found, strict=True)
        ]
        before_commit(jobs)
    return jobs


def accept_together(
    user,
    files: Sequence[uploads.DraftUpload],
    paths: Sequence[str],
    *,
    format: str = "",
    name: str = "",
    before_commit: Callable[[list[Job]], None] = lambda jobs: None,
) -> Job:
    """One recording of several files, as of a folder: kept as an archive of them.

    paths: of the files below the folder, with /; empty for their names. before_commit: as in
    accept_uploads. Raises: Refused, Invalid, TooLarge.
    """
    if not files:
        raise Invalid("No file came. Send them as the multipart field “file”.", field="file")
    if paths and len(paths) != len(files):
        raise Invalid(f"{len(files)} files came with {len(paths)} paths.", field="paths")
    if format and format not in engines.FORMATS:
        raise Invalid(
            f"Several files together are one of {', '.join(engines.FORMATS)}.", field="format"
        )
    allowances.require_room_for(user, sum(file.size for file in files))
    names = _checked_paths(list(paths) or [file.name for file in files])
    name = topologies.checked_name(name or common_folder(names) or f"{len(files)} files")
    with uploads.Draft() as draft:
        contents = zip(names, (file.draft.path for file in files), strict=True)
        uploads.pack(draft, contents)
        with kept([draft]), transaction.atomic():
            job = _queue_upload(user, draft, f"{name}.zip", name, format or engines.ARCHIVE)
            before_commit([job])
    return job


def accept_folder(owner, folder: Path, *, format: str = "", name: str = "") -> Job:
    """A queued recording for a folder of this machine. Raises: Refused, TooLarge, OSError."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        raise Refused(f"The folder {folder.name} holds no file.", code="empty")
    allowances.require_room_for(owner, sum(path.stat().st_size for path in files))
    with uploads.Draft() as draft:
        uploads.pack(draft, ((path.relative_to(folder).as_posix(), path) for path in files))
        with kept([draft]), transaction.atomic():
            source_name = f"{folder.name}.zip"
            return _queue_upload(
                owner, draft, source_name, name or folder.name, format or engines.ARCHIVE
            )


def _checked_paths(paths: list[str]) -> list[str]:
    """Raises: Refused for a path that leads out of its folder, or that stands twice."""
    limits = ArchiveLimits()
    names = Names(limits.depth, limits.name_bytes)
    try:
        for path in paths:
            names.take_file(names.parts(path))
    except InputRefused as refused:
        raise Refused.of(refused, "") from None
    return paths


def common_folder(paths: Sequence[str]) -> str:
    """The folder that all paths lie in, the outermost part of it; empty where there is none."""
    folders = {path.split("/")[0] for path in paths if "/" in path}
    return folders.pop() if len(folders) == 1 and all("/" in path for path in paths) else ""


def accept_file(owner, path, *, format: str = "", name: str = "", **fields: Any) -> Job:
    """A queued recording for a file of this machine. fields: of the row.

    Raises: Refused, TooMany.
    """
    allowances.require_room_for(owner, path.stat().st_size)
    with uploads.Draft() as draft, path.open("rb") as source:
        while chunk := source.read(1 << 20):
            draft.write(chunk)
        draft.file.flush()
        upload = uploads.DraftUpload(draft, path.name, "")
        mapping = mappings.of_format(owner, format)
        if mapping is not None:
            mappings.require_fit(mapping, upload)
            fields["parameters"] = {"mapping": mapping.document}
        told = _by(mapping) if mapping else _checked_head(upload, format)
        with kept([draft]), transaction.atomic():
            return _queue_upload(owner, draft, path.name, name or path.name, *told, **fields)


def _by(mapping: Mapping) -> tuple[str, str]:
    return mapping.format, f"The mapping “{mapping.name}” was given."


def _checked_head(file: uploads.DraftUpload, format: str) -> tuple[str, str | None]:
    """The name of the file's format, after a look at its beginning, and why it is that; None:
    that is known when the file has been unpacked. Raises: Refused."""
    file.draft.file.flush()
    try:
        if format in engines.FORMATS:
            return format, None
        if not format and (
            found := engines.format_of(file.draft.path, file.name, recording_limits())
        ):
            return found, None
        head = registry.check_head(file.draft.path, recording_limits(), format=format or None)
    except InputRefused as refused:
        raise Refused.of(refused, file.name) from None
    if len(head.format) > LONGEST_FORMAT:
        raise Refused("Choose the execution by its number: its name is too long.", field="format")
    return head.format, head.reason


@contextlib.contextmanager
def kept(drafts: Iterable[uploads.Draft]):
    """The drafts outlive the request iff the block, a transaction, succeeds."""
    drafts = list(drafts)
    try:
        for draft in drafts:
            draft.keep()
        yield
    except BaseException:
        for draft in drafts:
            draft.discard()
        raise


def _queue_upload(
    owner,
    draft: uploads.Draft,
    source_name: str,
    name: str,
    format: str,
    recognised: str | None = None,
    **fields: Any,
) -> Job:
    """recognised: what the format was told by, where that is known already."""
    if recognised is not None:
        fields["parameters"] = fields.get("parameters", {}) | {"recognised": recognised}
    allowances.require_room_for(owner, draft.size)
    recording = Recording.objects.create(
        owner=owner,
        name=_printable(name),
        source_name=_printable(source_name),
        format=format,
        size=draft.size,
        upload=draft.name,
        **fields,
    )
    if owner is not None:  # the samples are the server's own
        audit.note(audit.UPLOADED, owner, recording.title, bytes=draft.size)
    transaction.on_commit(identity.beat, robust=True)
    return create_job(Job.Kind.INGEST, owner, recording=recording)


def _printable(name: str) -> str:
    """A file's name as a recording's: what cannot be shown is marked, at most 200 characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name).strip()
    return clipped(text or "recording", 200)


def create_job(
    kind: str, owner, *, recording: Recording, snapshot: str = "", expression: str = ""
) -> Job:
    """Return a queued job; a message goes to the queue when the transaction is committed.

    Raises: TooMany where its owner has as many open jobs as they may.
    """
    if owner is not None:
        allowances.require_job(owner)
    job = Job.objects.create(
        kind=kind,
        owner=owner,
        recording=recording,
        snapshot=snapshot,
        expression=expression,
        phase="waiting for a worker",
    )
    transaction.on_commit(lambda: tasks.enqueue(job.pk))
    transaction.on_commit(lambda: live.job_changed(job), robust=True)
    return job


def rename_recording(recording: Recording, name: str) -> Recording:
    """Raises: Refused."""
    recording.name = topologies.checked_name(name)
    recording.save(update_fields=["name"])
    return recording


@transaction.atomic
def delete_recording(recording: Recording, by=None, **detail: Any) -> None:
    """Delete a recording with its snapshots and jobs, its upload and its store.

    Args:
        by: the person who asked for it; None for the server itself or its shell.
        detail: further members of the audit log's entry.

    A job that runs on it finds its lease gone and stops. Files go after the commit; what a crash
    leaves of them, the workers' sweep removes.
    """
    pk, upload, store = recording.pk, recording.upload, recording.store
    audit.note(audit.DELETED, by, recording.title, person=recording.owner, **detail)
    recording.delete()
    transaction.on_commit(lambda: live.recording_deleted(pk), robust=True)
    transaction.on_commit(lambda: uploads.remove(upload))
    if store:
        transaction.on_commit(lambda: stores.remove(store))


@transaction.atomic
def ingest_again(recording: Recording) -> Job:
    """Ingest the kept upload again, after a failure or for a newer store. Raises: Conflict."""
    if not recording.upload:
        raise Conflict("The upload of this recording is no longer kept. Upload the file again.")
    if recording.jobs.filter(state__in=Job.OPEN, kind__in=[Job.Kind.INGEST, Job.Kind.SIMULATE]):
        raise Conflict("A job on this recording is still under way.")
    recording.status = Recording.Status.QUEUED
    recording.error = None
    recording.save(update_fields=["status", "error"])
    return create_job(Job.Kind.INGEST, recording.owner, recording=recording)


def request_restore(user, recording: Recording, snapshot: Snapshot) -> Job:
    """Return the person's open or done restore of this snapshot of this store, else a new one.

    Raises: Conflict unless the recording is ready.
    """
    require_ready(recording)
    return _found_or_new(Job.Kind.RESTORE, user, recording, snapshot=snapshot.snapshot)


def request_reordering(user, recording: Recording, snapshot: Snapshot) -> Job:
    """The person's job that is open or done for this snapshot of this store, else a new one.

    Raises: Conflict unless the recording is ready and the snapshot complete.
    """
    require_ready(recording)
    try:
        require_complete(snapshot.snapshot, snapshot.verdicts)
    except NotReorderable as incomplete:
        raise Conflict(str(incomplete)) from None
    return _found_or_new(Job.Kind.REORDERING, user, recording, snapshot=snapshot.snapshot)


def request_search(user, recording: Recording, expression: Any) -> Job:
    """The person's job that is open or done for this predicate on this store, else a new one.

    Raises: Conflict unless the recording is ready; Invalid, Refused for what is no conjunction of
    local conditions.
    """
    require_ready(recording)
    text = predicates.checked(recording, expression)
    return _found_or_new(Job.Kind.PREDICATE, user, recording, expression=text)


def _found_or_new(kind: str, user, recording: Recording, **question: str) -> Job:
    with transaction.atomic():
        Recording.objects.select_for_update().get(pk=recording.pk)  # of two requests one waits
        answering = current_jobs(kind, user, recording, **question).filter(
            state__in=[*Job.OPEN, Job.State.DONE], cancel_requested=False
        )
        return answering.first() or create_job(kind, user, recording=recording, **question)


def current_jobs(kind: str, user, recording: Recording, **question: str) -> QuerySet[Job]:
    """Those asked for since the recording's store was made, the newest first."""
    return access.jobs(user).filter(
        kind=kind,
        recording=recording,
        created_at__gte=recording.ready_at or recording.created_at,
        **question,
    )


def require_ready(recording: Recording) -> None:
    """Raises: Conflict, which says how far the recording is."""
    if not recording.is_ready:
        raise Conflict(
            f"“{recording.name}” is {recording.status}, not ready: there is nothing to look at. "
            "Its job tells how far it is, or why it stopped.",
            recording_status=recording.status,
        )


@transaction.atomic
def request_simulation(user, topology: Topology, parameters: dict[str, Any]) -> Job:
    """A queued recording of a simulated run. Raises: Refused, with the parameter as field."""
    allowances.require_room_for(user, 0)
    checked, word = checked_for(topology.definition, parameters)
    name = checked.pop("name") or f"{topology.name}, {word}"
    recording = Recording.objects.create(
        owner=user,
        name=clipped(name, 200),
        topology=None if topology.is_sample and user is None else topology,
        parameters={**checked, "topology": topology.definition},
    )
    return create_job(Job.Kind.SIMULATE, user, recording=recording)


@transaction.atomic
def request_failover_comparison(user, recording: Recording) -> list[Job]:
    """The recording's simulated dataflow once more for each failover strategy, all else the same.

    Raises: Conflict where it is no such run, or nothing fails in it.
    """
    asked = recording.parameters or {}
    if asked.get("protocol") not in STRATEGIES or not asked.get("failures"):
        raise Conflict(
            "Only a simulated run of Flink or Spark in which a task fails can be run again with "
            "each failover strategy."
        )
    jobs = []
    for failover in STRATEGIES[asked["protocol"]]:
        again = Recording.objects.create(
            owner=user,
            name=clipped(f"{recording.name}, {failover} failover", 200),
            topology=recording.topology,
            parameters={**asked, "failover": failover},
        )
        jobs.append(create_job(Job.Kind.SIMULATE, user, recording=again))
    return jobs


@transaction.atomic
def cancel_job(job: Job) -> Job:
    """Stop a queued job now, a running one at its next step. Raises: Conflict if it has ended."""
    if Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.CANCELLED, cancel_requested=True, finished_at=timezone.now(), phase=""
    ):
        _note_cancelled(job)
    elif not Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel_requested=True):
        raise Conflict(f"The job has already ended: it is {job.state}.")
    job.refresh_from_db()
    transaction.on_commit(lambda: live.job_changed(job), robust=True)
    return job


def _note_cancelled(job: Job) -> None:
    if job.kind not in Job.READING:
        Recording.objects.filter(pk=job.recording_id).update(
            status=Recording.Status.FAILED, error=cancelled()
        )


def save_topology(user, document: Any, *, topology: Topology | None = None) -> Topology:
    """A new topology, or another definition for one. Raises: Refused."""
    definition = topologies.checked(document)
    topology = topology or Topology(owner=user)
    topology.name = definition.pop("name")
    topology.definition = definition
    topology.save()
    return topology


def import_topology(user, file: UploadedFile | None, text: str, name: str = "") -> Topology:
    """From a ``.top`` file, JSON or an edge list, as a file or as its text.

    Raises: Refused with line and field.
    """
    if file is not None:
        text = topologies.decoded(file.read(topologies.MAX_TEXT_BYTES + 1))
        name = name or topologies.checked_name(file.name.rpartition(".")[0] or file.name)
    return save_topology(user, topologies.read(text, name or "imported topology"))


@transaction.atomic
def delete_topology(topology: Topology, by) -> None:
    """Delete a topology. Recordings simulated on it stay: they hold a copy of it."""
    audit.note(audit.DELETED, by, f"topology {topology.pk} “{topology.name}”")
    topology.delete()
