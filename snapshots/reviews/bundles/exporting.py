"""Write a recording with its notes as a bundle. The same recording gives the same bytes."""

import hashlib
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from snapshots.files import uploads
from snapshots.models import Recording
from snapshots.problems import Conflict, NotFound
from snapshots.quantities import counted
from snapshots.reviews.bundles import documents
from snapshots.reviews.bundles.documents import MANIFEST, MOST_BYTES, NOTES, UPLOAD
from snapshots.reviews.models import Entry
from snapshots.reviews.subjects import Subject, field_of
from webapp.accounts import audit

MAPPED = "mapping"  # the format of a recording whose mapping is in the bundle
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip knows
_UNIX = 3
_MODE = 0o100600 << 16


def file_name(recording: Recording) -> str:
    """Return the name under which a browser saves the bundle."""
    return f"{recording.name}.cutline.zip"


def bundle_of(recording: Recording, by: User) -> IO[bytes]:
    """Return a recording with its notes as an open file that goes away when it is closed.

    Args:
        recording: a recording that the person may see.
        by: the person, for the audit log.

    Raises: NotFound if the upload is not kept; Conflict if there are too many notes.
    """
    path = uploads.at_hand(recording.upload) if recording.upload else None
    if path is None or not path.exists():
        raise NotFound(
            f"The file that “{recording.name}” was read from is not kept, so there is nothing that "
            "another Cutline could read."
        )
    notes = documents.written(documents.Notes(entries=notes_on(recording)))
    if len(notes) > MOST_BYTES[NOTES]:
        raise Conflict(
            f"The notes on “{recording.name}” take {counted(len(notes), 'byte')}, and a file with "
            f"its notes holds at most {MOST_BYTES[NOTES]:,} of them."
        )
    audit.note(audit.DOWNLOADED, by, f"{recording.title} with its notes")
    return _packed(recording, notes, path)


def _packed(recording: Recording, notes: bytes, upload: Path) -> IO[bytes]:
    with upload.open("rb") as source:
        sha256 = hashlib.file_digest(source, "sha256").hexdigest()
    parts = (
        documents.Part(name=NOTES, bytes=len(notes), sha256=hashlib.sha256(notes).hexdigest()),
        documents.Part(name=UPLOAD, bytes=upload.stat().st_size, sha256=sha256),
    )
    manifest = documents.Manifest(
        format="cutline-recording-with-notes",
        version=1,
        recording=_described(recording),
        parts=parts,
    )
    packed: IO[bytes] = tempfile.TemporaryFile(dir=settings.UPLOADS_DIR)  # noqa: SIM115, the caller closes it
    try:
        with zipfile.ZipFile(packed, "w") as package:
            package.writestr(_member(MANIFEST), documents.written(manifest))
            package.writestr(_member(NOTES), notes)
            with (
                upload.open("rb") as source,
                package.open(_member(UPLOAD), "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target, 2**20)
    except BaseException:
        packed.close()
        raise
    packed.seek(0)
    return packed


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member that is not compressed, and whose time and rights are always the same."""
    member = zipfile.ZipInfo(name, _TIME)
    member.create_system, member.external_attr = _UNIX, _MODE
    return member


def _described(recording: Recording) -> documents.Described:
    mapping = (recording.parameters or {}).get("mapping")
    return documents.Described(
        name=recording.name,
        description=recording.description,
        source_name=recording.source_name,
        format=recording.format if mapping is None else MAPPED,
        mapping=mapping,
    )


def notes_on(subject: Subject) -> tuple[documents.Note, ...]:
    """Return the notes on a recording or an archived job, by number."""
    own = Entry.objects.filter(**field_of(subject))
    rows = list(own.select_related("author", "resolved_by"))
    versions = versions_of(rows)
    answers: defaultdict[int, list[Entry]] = defaultdict(list)
    for row in rows:
        if row.parent_id is not None:
            answers[row.parent_id].append(row)
    entries = sorted(
        ((row.number, row) for row in rows if row.parent_id is None and row.number is not None),
        key=lambda item: item[0],
    )
    return tuple(_note(number, row, answers[row.pk], versions) for number, row in entries)


def _note(
    number: int,
    row: Entry,
    answers: list[Entry],
    versions: Mapping[int, tuple[documents.Version, ...]],
) -> documents.Note:
    return documents.Note(
        **_answer(row, versions),
        number=number,
        place=row.place,
        mark=row.mark,
        sentence=row.sentence,
        at=row.at,
        resolved_by=_name(row.resolved_by, row.imported_resolver),
        answers=tuple(documents.Answer(**_answer(answer, versions)) for answer in answers),
    )


def _answer(row: Entry, versions: Mapping[int, tuple[documents.Version, ...]]) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "author": _name(row.author, row.imported_author),
        "created_at": row.created_at,
        "edited_at": row.edited_at,
        "versions": versions[row.pk],
    }


def _up_to_date(
    row: Entry, versions: tuple[documents.Version, ...]
) -> tuple[documents.Version, ...]:
    """Return the versions of an entry, with the row as the last one if its history lacks it."""
    if versions and said(versions[-1])[1:] == (row.kind, row.text, row.resolved_at, row.due_on):
        return versions
    at = max([row.edited_at or row.created_at, *(each.at for each in versions)])
    return (*versions, _version(row, at, None))


def said(version: documents.Version) -> tuple[Any, ...]:
    """Return all of a version but who made it, which is not known once the account is deleted."""
    return version.at, version.kind, version.text, version.resolved_at, version.due_on


def versions_of(rows: Sequence[Entry]) -> dict[int, tuple[documents.Version, ...]]:
    """Return the history of each entry of a subject by its key, the oldest version first."""
    of_subject = Entry.objects.filter(
        Q(recording__in={row.recording_id for row in rows})
        | Q(engine_job__in={row.engine_job_id for row in rows})
    )
    history = Entry.history.filter(id__in=of_subject.order_by().values("pk"))
    versions: defaultdict[int, list[documents.Version]] = defaultdict(list)
    for each in history.select_related("history_user").order_by("history_date", "history_id"):
        by = _name(each.history_user, each.imported_by)
        versions[each.id].append(_version(each, each.history_date, by))
    return {row.pk: _up_to_date(row, tuple(versions[row.pk])) for row in rows}


def _version(row: Any, at: datetime, by: str | None) -> documents.Version:
    return documents.Version(
        at=at,
        by=by,
        kind=row.kind,
        text=row.text,
        resolved_at=row.resolved_at,
        due_on=row.due_on,
    )


def _name(person: User | None, imported: str) -> str | None:
    return person.get_username() if person is not None else imported or None
