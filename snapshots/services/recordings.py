"""Accept, rename, ingest again and delete recordings. Each call is one transaction.

Access is checked before, and jobs do the work after. Raises: problems.Problem for a wrong request.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from snapshots import allowances
from snapshots.domain.model.defects import InputRefused
from snapshots.fields import clipped
from snapshots.files import identity, journals, recordings, uploads
from snapshots.files.uploads import flushed_path
from snapshots.jobs import live
from snapshots.limits import recording_limits
from snapshots.models import LONGEST_FORMAT, WHOLE_STATE, Job, Mapping, Recording
from snapshots.passing import may_be_done
from snapshots.problems import Conflict, Invalid, Refused
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.formats.excerpt import with_excerpt
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.unpacking.names import Names
from snapshots.readers.formats.unpacking.packages import PackageLimits
from snapshots.services import mappings
from snapshots.services.jobs import create_job
from snapshots.simulating import topology_documents
from webapp.accounts import audit


def accept_uploads(
    owner,
    files: Sequence[uploads.DraftUpload],
    *,
    by=None,
    format: str = "",
    name: str = "",
    before_commit: Callable[[list[Job]], None] = lambda jobs: None,
) -> list[Job]:
    """Queue a recording for each file: for all of them, or for none with nothing left behind.

    Args:
        owner: the account of a person or of a team.
        by: the person who uploads, if not the owner.
        format: a reader's name, or ``mapping:ID``; empty to recognise it from the content.
        name: name of the recording; only with one file.
        before_commit: called in the transaction; what it raises undoes everything.

    Raises: Refused, Invalid.
    """
    items = incoming(owner, by or owner, files, format=format, name=name)
    with kept(item.draft for item in items), transaction.atomic():
        jobs = [queue(owner, by or owner, item) for item in items]
        before_commit(jobs)
    return jobs


def checked_title(name: str, files: Sequence[uploads.DraftUpload]) -> str:
    """Return the name that a person gave; empty to use a file's own. Raises: Invalid, Refused."""
    if name and len(files) > 1:
        raise Invalid("A name can only go with one file, and there are several.", field="name")
    return topology_documents.checked_name(name) if name else ""


def check_format(by, format: str) -> None:
    """Check a format before the file is there. Raises: Refused, Invalid if there is none such."""
    if not format or format in registry.FORMATS or mappings.of_format(by, format):
        return
    try:
        recognition.reader_named(format)
    except InputRefused as refused:
        raise Refused.of(refused, "") from None


@dataclass(frozen=True)
class Incoming:
    """A checked file that is about to become a recording.

    Attributes:
        draft: its bytes.
        source_name: what the file was called.
        name: the name of the recording.
        format: the format in which it is read.
        parameters: the mapping, and how the format was recognised; None if that is not known yet.
        description: the description of the recording.
    """

    draft: uploads.Draft
    source_name: str
    name: str
    format: str
    parameters: dict[str, Any] | None = None
    description: str = ""


def incoming(
    owner, by, files: Sequence[uploads.DraftUpload], *, format: str = "", name: str = ""
) -> list[Incoming]:
    """Check files and the limits of their owner. Raises: Refused, Invalid, TooMany."""
    if not files:
        raise Invalid(
            "The request has no file. Send it as the multipart field “file”.", field="file"
        )
    name = checked_title(name, files)
    allowances.require_room_for(owner, sum(file.size for file in files))
    return [
        Incoming(file.draft, file.name, name or file.name, **reading)
        for file, reading in zip(files, _readings(by, files, format), strict=True)
    ]


def accept_together(
    owner,
    files: Sequence[uploads.DraftUpload],
    paths: Sequence[str],
    *,
    by=None,
    format: str = "",
    name: str = "",
    before_commit: Callable[[list[Job]], None] = lambda jobs: None,
) -> Job:
    """Queue one recording of several files, as of a folder; they are kept as one package.

    Args:
        owner: the account of a person or of a team.
        paths: the files' paths below the folder, with /; empty to use their names.
        by: the person who uploads, if not the owner.
        before_commit: as in ``accept_uploads``.

    Raises: Refused, Invalid, TooLarge.
    """
    if not files:
        raise Invalid(
            "The request has no file. Send them as the multipart field “file”.", field="file"
        )
    if paths and len(paths) != len(files):
        raise Invalid(f"The request has {len(files)} files and {len(paths)} paths.", field="paths")
    reading = _reading_together(by or owner, files[0], format)
    allowances.require_room_for(owner, sum(file.size for file in files))
    names = _checked_paths(list(paths) or [file.name for file in files])
    name = topology_documents.checked_name(name or common_folder(names) or f"{len(files)} files")
    with uploads.Draft() as draft:
        members = zip(names, (file.draft.path for file in files), strict=True)
        uploads.pack(draft, members)
        with kept([draft]), transaction.atomic():
            job = queue(owner, by or owner, Incoming(draft, f"{name}.zip", name, **reading))
            before_commit([job])
    return job


def _reading_together(by, file: uploads.DraftUpload, format: str) -> dict[str, Any]:
    """Return the fields of a row that say how several files are read; ``file`` is the first.

    Raises: Refused, Invalid.
    """
    mapping = mappings.of_format(by, format)
    if mapping is not None:
        mappings.require_fit(mapping, file)
        return _read_with(mapping, mapping.format)
    if format and format not in registry.FORMATS:
        raise Invalid(
            f"Several files together have one of the formats {', '.join(registry.FORMATS)}, or a "
            "mapping.",
            field="format",
        )
    return {"format": format or registry.PACKAGE}


def accept_folder(owner, folder: Path, *, format: str = "", name: str = "") -> Job:
    """Queue a recording for a folder on this machine. Raises: Refused, TooLarge, OSError."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        raise Refused(f"The folder {folder.name} holds no file.", code="empty")
    allowances.require_room_for(owner, sum(path.stat().st_size for path in files))
    with uploads.Draft() as draft:
        uploads.pack(draft, ((path.relative_to(folder).as_posix(), path) for path in files))
        with kept([draft]), transaction.atomic():
            kind = format or registry.PACKAGE
            item = Incoming(draft, f"{folder.name}.zip", name or folder.name, kind)
            return queue(owner, owner, item)


def _checked_paths(paths: list[str]) -> list[str]:
    """Check the paths of a package.

    Raises: Refused for a path that leads out of its folder, or that occurs twice.
    """
    limits = PackageLimits()
    names = Names(limits.depth, limits.name_bytes)
    try:
        for path in paths:
            names.take_file(names.parts(path))
    except InputRefused as refused:
        raise Refused.of(refused, "") from None
    return paths


def common_folder(paths: Sequence[str]) -> str:
    """Return the outermost folder that all paths share, or an empty text if there is none."""
    folders = {path.split("/")[0] for path in paths if "/" in path}
    return folders.pop() if len(folders) == 1 and all("/" in path for path in paths) else ""


def accept_file(owner, path: Path, *, format: str = "", name: str = "") -> Job:
    """Queue a recording for a file on this machine. Raises: Refused, Invalid, TooMany, OSError."""
    allowances.require_room_for(owner, path.stat().st_size)
    with drafted(path) as file:
        (item,) = incoming(owner, owner, [file], format=format)
        with kept([file.draft]), transaction.atomic():
            return queue(owner, owner, replace(item, name=name or item.name))


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[uploads.DraftUpload]:
    """Copy a file on this machine into a draft, as if it were sent. Raises: TooLarge, OSError."""
    with uploads.Draft() as draft, path.open("rb") as source:
        while chunk := source.read(1 << 20):
            draft.write(chunk)
        draft.flush()
        yield uploads.DraftUpload(draft, path.name, "")


def read_as_before(
    file: uploads.DraftUpload, format: str, mapping: Mapping | None
) -> dict[str, Any]:
    """Check a file that another Cutline has read; return the fields that say how it is read.

    Args:
        format: the format as which the other has read it; empty if it did not know that.
        mapping: the mapping with which it has read it.

    Raises: Refused, Invalid.
    """
    if mapping is not None:
        mappings.require_fit(mapping, file)
        return _read_with(mapping, format)
    head = read_head(flushed_path(file), recording_limits())
    if format not in registry.READERS and registry.is_package(head):
        format = registry.PACKAGE
    known, reason = _checked_head(file, format)
    return {"format": known, "parameters": None if reason is None else {"recognised": reason}}


def _readings(user, files: Sequence[uploads.DraftUpload], format: str) -> list[dict[str, Any]]:
    """Return the fields of each file's row that say how it is read. Raises: Refused, Invalid."""
    mapping = mappings.of_format(user, format)
    if mapping is None:
        checked = (_checked_head(file, format) for file in files)
        return [
            {"format": known, "parameters": None if reason is None else {"recognised": reason}}
            for known, reason in checked
        ]
    for file in files:
        mappings.require_fit(mapping, file)
    return [_read_with(mapping, mapping.format) for _ in files]


def _read_with(mapping: Mapping, format: str) -> dict[str, Any]:
    reason = f"The mapping “{mapping.name}” was given."
    return {
        "format": format,
        "parameters": {"mapping": mapping.document, "recognised": reason},
    }


def _checked_head(file: uploads.DraftUpload, format: str) -> tuple[str, str | None]:
    """Recognise the format of a file from its head.

    Returns (format, reason). The reason is None if only the unpacked files can tell. Raises:
    Refused.
    """
    file.draft.file.flush()
    try:
        if format in registry.FORMATS:
            return format, None
        head = read_head(file.draft.path, recording_limits())
        if not format and (engine := registry.format_of(head, file.name)):
            return engine, None
        checked = recognition.check_head(head, format or None)
    except InputRefused as refused:
        shown = with_excerpt(refused, file.draft.path, recording_limits())
        raise Refused.of(shown, file.name) from None
    if len(checked.format) > LONGEST_FORMAT:
        raise Refused(
            f"The name of the execution is longer than {LONGEST_FORMAT} characters. Choose the "
            'execution by its number, as in "shiviz:1".',
            field="format",
        )
    return checked.format, checked.reason


@contextlib.contextmanager
def kept(drafts: Iterable[uploads.Draft]):
    """Keep the drafts if the block, a transaction, succeeds; discard them if it fails.

    Where it may have been carried out all the same, a sweep sets aside what no row names.
    """
    drafts = list(drafts)
    try:
        for draft in drafts:
            draft.keep()
        yield
    except BaseException as error:
        if not may_be_done(error):
            for draft in drafts:
                draft.discard()
        raise


def queue(owner, by, item: Incoming) -> Job:
    """Create the row and the job of an upload, whose draft is kept by the open transaction.

    Raises: TooMany.
    """
    allowances.require_room_for(owner, item.draft.size)
    recording = Recording.objects.create(
        owner=owner,
        name=printable(item.name),
        description=item.description,
        source_name=item.source_name and printable(item.source_name),
        format=item.format,
        size=item.draft.size,
        sha256=item.draft.sha256,
        upload=item.draft.name,
        parameters=item.parameters,
    )
    if owner is not None:  # samples belong to the server
        other = owner if owner != by else None
        audit.note(audit.UPLOADED, by, recording.title, person=other, bytes=item.draft.size)
    transaction.on_commit(identity.beat, robust=True)
    return create_job(Job.Kind.INGEST, owner, by=by, recording=recording)


def printable(name: str) -> str:
    """Turn a file's name into a recording's: at most 200 characters, unprintable ones marked."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name).strip()
    return clipped(text or "recording", 200)


def rename_recording(recording: Recording, name: str) -> Recording:
    """Give a recording another name. Raises: Refused."""
    recording.name = topology_documents.checked_name(name)
    recording.save(update_fields=["name"])
    return recording


@transaction.atomic
def delete_recording(recording: Recording, by=None, **detail: Any) -> None:
    """Delete a recording with its snapshots and jobs, its upload and its store.

    Args:
        by: the person who requested it; None for the server itself or its shell.
        detail: further members of the audit log's entry.

    A job that runs on the recording loses its lease and stops. Files are removed after the commit;
    the workers' sweep removes what a crash leaves of them.
    """
    pk, upload, store = recording.pk, recording.upload, recording.store
    journal = recording.journal
    audit.note(audit.DELETED, by, recording.title, person=recording.owner, **detail)
    recording.delete()
    transaction.on_commit(lambda: live.recording_deleted(pk), robust=True)
    transaction.on_commit(lambda: uploads.remove(upload))
    transaction.on_commit(lambda: journals.remove(journal))
    if store:
        transaction.on_commit(lambda: recordings.remove(store))


@transaction.atomic
def ingest_again(recording: Recording, by=None, *, whole_state: bool = False) -> Job:
    """Ingest the kept upload again, after a failure or for a newer store.

    Args:
        whole_state: whether the state of all batches of Spark is read, now and from now on.

    Raises: Conflict.
    """
    if recording.place is not None:
        raise Conflict(
            "This recording was read from its place on the server. An operator can read it again "
            "with “python manage.py ingest”."
        )
    if recording.is_open:
        raise Conflict("This recording is open. Close it, and it is read as a whole.")
    if not recording.upload and not recording.journal:
        raise Conflict("The upload of this recording is no longer kept. Upload the file again.")
    if recording.jobs.filter(state__in=Job.OPEN, kind__in=[Job.Kind.INGEST, Job.Kind.SIMULATE]):
        raise Conflict("A job on this recording is still under way.")
    recording.status = Recording.Status.QUEUED
    recording.error = None
    if whole_state:
        recording.parameters = (recording.parameters or {}) | {WHOLE_STATE: True}
    recording.save(update_fields=["status", "error", "parameters"])
    return create_job(Job.Kind.INGEST, recording.owner, by=by, recording=recording)
