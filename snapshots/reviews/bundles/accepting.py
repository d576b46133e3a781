"""Accept uploads, of which any may be a recording with its notes."""

import filecmp
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from snapshots import allowances
from snapshots.domain.model.defects import OTHER_FILES
from snapshots.files import uploads
from snapshots.models import Job, Mapping, Recording
from snapshots.problems import Refused
from snapshots.readers.engines.registry import PACKAGE
from snapshots.readers.logs.mapped.lines import PREFIX as MAPPED_DOCUMENT
from snapshots.reviews.bundles.exporting import MAPPED
from snapshots.reviews.bundles.merging import merge
from snapshots.reviews.bundles.opening import Bundle, is_bundle, opened
from snapshots.services import mappings, recordings
from snapshots.services.recordings import Incoming
from webapp.accounts import audit

_Checked = tuple[Incoming, Bundle | None]  # None if the file is no bundle


@dataclass(frozen=True)
class Taken:
    """A file that was accepted.

    Attributes:
        recording: its recording.
        job: the job that ingests it; None if the recording was here already.
        notes: what became of its notes, as sentences; None if the file is no bundle.
    """

    recording: Recording
    job: Job | None
    notes: str | None = None


def accept_files(
    owner: User,
    files: Sequence[uploads.DraftUpload],
    *,
    by: User | None = None,
    format: str = "",
    name: str = "",
    before_commit: Callable[[list[Taken]], None] = lambda taken: None,
) -> list[Taken]:
    """Accept files as ``services.recordings.accept_uploads`` does, and bundles with their notes.

    A bundle is recognised by its beginning, unless a format is given. If the owner has its
    recording already, by the bytes of the upload and how they are read, the notes go there.
    Several files, one of which counts events of another, are the logs of one recording.

    Raises: Refused, Invalid, Conflict, TooMany, TooLarge.
    """
    who = by or owner
    try:
        return _accepted(owner, who, files, format, name, before_commit)
    except Refused as refused:
        if refused.code != OTHER_FILES or len(files) == 1:
            raise
    job = recordings.accept_together(
        owner,
        files,
        (),
        by=who,
        format=format,
        name=name,
        before_commit=lambda jobs: before_commit(taken_by(jobs)),
    )
    return taken_by([job])


def _accepted(
    owner: User,
    who: User,
    files: Sequence[uploads.DraftUpload],
    format: str,
    name: str,
    before_commit: Callable[[list[Taken]], None],
) -> list[Taken]:
    """Accept each file by itself, as ``accept_files``. Raises: as that does."""
    with ExitStack() as stack:
        if format or not any(map(is_bundle, files)):
            items: list[_Checked] = [
                (item, None)
                for item in recordings.incoming(owner, who, files, format=format, name=name)
            ]
        else:
            name = recordings.checked_title(name, files)
            items = [stack.enter_context(_incoming(owner, who, file, name)) for file in files]
        drafts = [item.draft for item, _ in items]
        with recordings.kept(drafts), transaction.atomic():
            taken = [_take(owner, who, item, bundle) for item, bundle in items]
            before_commit(taken)
    return taken


def taken_by(jobs: Sequence[Job]) -> list[Taken]:
    """Return the files whose jobs these are, none of which is a bundle."""
    return [Taken(_recording(job), job) for job in jobs]


def accept_path(owner: User, path: Path, *, format: str = "") -> Taken:
    """Accept a file on this machine. Raises: as ``accept_files``, and OSError."""
    allowances.require_room_for(owner, path.stat().st_size)
    with recordings.drafted(path) as file:
        (taken,) = accept_files(owner, [file], format=format)
        return taken


@contextmanager
def _incoming(owner: User, by: User, file: uploads.DraftUpload, name: str) -> Iterator[_Checked]:
    if not is_bundle(file):
        (item,) = recordings.incoming(owner, by, [file], name=name)
        yield item, None
        return
    allowances.require_room_for(owner, file.size)
    with uploads.Draft() as draft:
        bundle = opened(file, draft)
        yield _of_bundle(bundle, draft, name), bundle


def _of_bundle(bundle: Bundle, draft: uploads.Draft, name: str) -> Incoming:
    """Return the recording of a bundle. Raises: Refused, Invalid if it cannot be read."""
    described, mapping = bundle.recording, _mapping(bundle)
    format = MAPPED if mapping is not None else _checked_format(described.format)
    reading = recordings.read_as_before(bundle.upload, format, mapping)
    return Incoming(
        draft,
        described.source_name,
        name or described.name,
        description=described.description,
        **reading,
    )


def _checked_format(format: str) -> str:
    """Return the format of a bundle. Raises: Refused for a mapping that is none of the bundle's."""
    if format.startswith((MAPPED_DOCUMENT, mappings.FORMAT)):
        raise Refused(
            "The mapping of a recording with its notes stands in the field “mapping”.",
            code="unknown-format",
            field="format",
        )
    return format


def _mapping(bundle: Bundle) -> Mapping | None:
    if bundle.recording.mapping is None:
        return None
    document = mappings.checked(bundle.recording.mapping).document
    return Mapping(name=f"of {bundle.recording.name}", document=document)


def _take(owner: User, by: User, item: Incoming, bundle: Bundle | None) -> Taken:
    if bundle is None:
        return taken_by([recordings.queue(owner, by, item)])[0]
    # Two imports at once would make two recordings.
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if (here := _here_already(owner, item)) is not None:
        item.draft.discard()
        return Taken(here, None, _notes_taken(by, here, bundle, is_new=False))
    job = recordings.queue(owner, by, item)
    row = _recording(job)
    return Taken(row, job, _notes_taken(by, row, bundle, is_new=True))


def _recording(job: Job) -> Recording:
    assert job.recording is not None  # the job of an upload always has one
    return job.recording


def _notes_taken(by: User, recording: Recording, bundle: Bundle, *, is_new: bool) -> str:
    merged = merge(recording, bundle.entries, is_new=is_new)
    if merged.added or merged.updated or merged.left or merged.kept:
        audit.note(
            audit.NOTES_IMPORTED,
            by,
            recording.title,
            person=recording.owner,
            added=merged.added,
            updated=merged.updated,
            left=len(merged.left) + len(merged.kept),
        )
    if is_new:
        return merged.sentences()
    return f"Recording {recording.pk} “{recording}” has the same upload. {merged.sentences()}"


def _here_already(owner: User, item: Incoming) -> Recording | None:
    """Return the owner's oldest recording of the same upload that is read in the same way."""
    rows = Recording.objects.select_for_update(no_key=True).filter(
        owner=owner, size=item.draft.size
    )
    for row in rows.exclude(upload="").order_by("pk"):
        if _is_read_as(row, item) and _is_same(uploads.at_hand(row.upload), item.draft.path):
            return row
    return None


def _is_read_as(row: Recording, item: Incoming) -> bool:
    """Tell whether a recording is read as the item is; what a package holds may not be known."""
    mapping, other = ((each or {}).get("mapping") for each in (row.parameters, item.parameters))
    if mapping is not None or other is not None:
        return mapping == other
    return row.format == item.format or PACKAGE in (row.format, item.format)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and filecmp.cmp(one, other, shallow=False)
