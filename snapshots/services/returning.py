"""Set files aside by hand, and bring them back under a row, so that no sweep takes them."""

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from snapshots.archive import uploads as archive_uploads
from snapshots.domain.model.defects import InputRefused
from snapshots.files import aside, kept, recordings, uploads
from snapshots.files.folders import stored_names, upload_names
from snapshots.jobs import sweeping
from snapshots.limits import recording_limits
from snapshots.models import Recording
from snapshots.problems import Problem
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.formats.head import read_head
from snapshots.services.recordings import accept_file
from snapshots.store.errors import StoreError
from snapshots.store.objects.paths import is_here
from snapshots.store.reader import StoredRecording


class CannotBringBack(Exception):
    """An entry cannot be brought back; the message says why and what to do."""


class CannotSetAside(Exception):
    """Something cannot be set aside; the message gives the reason."""


def take(name: str) -> Path:
    """Set aside an upload or a stored recording that no row names; return its new path.

    Raises: CannotSetAside, OSError.
    """
    if name in upload_names():
        kind, path = aside.UPLOAD, kept.path_of(name)
        folder = uploads.aside_folder() if is_here(path) else kept.aside_folder()
        is_free = not uploads.is_being_written(uploads.path_of(name))
    elif name in stored_names(recordings.store().root):
        kind, path, folder = aside.STORE, recordings.store().root / name, recordings.aside_folder()
        is_free = not sweeping.is_being_written(name)
    else:
        raise CannotSetAside(f"There is no upload or stored recording called {name!r}.")
    if not is_free or Recording.objects.filter(**{kind: name}).exists():
        raise CannotSetAside(f"{name} belongs to a recording: delete that instead.")
    return aside.put(path, folder, kind, "An operator set it aside.")


def described(entry: aside.Entry) -> str:
    """Describe an entry from its files."""
    recording = sweeping.recording_of(entry)
    if recording is not None:
        return f"belongs to recording {recording.pk} “{recording.name}”"
    try:
        describe = _upload_in_words if entry.kind == aside.UPLOAD else _store_in_words
        return describe(entry.path)
    except (InputRefused, StoreError, OSError, Problem) as fault:
        return f"cannot be read: {fault}"


def _upload_in_words(path: Path) -> str:
    format, name = _format_and_name(path)
    return f"upload, {format}, “{name}”" if name else f"upload, {format}"


def _format_and_name(path: Path) -> tuple[str, str]:
    """Return an upload's format and its header's name; the name is empty if the format has none.

    Raises: InputRefused, OSError.
    """
    head = read_head(path, recording_limits())
    format = registry.format_of(head, path.name)
    if format is not None:
        return format, ""
    reader = recognition.recognised(head).reader
    return reader.name, reader.header(path, recording_limits()).name


def _store_in_words(folder: Path) -> str:
    manifest = StoredRecording.open(folder).manifest
    return f"stored recording, {manifest.counts['events']:,} events, “{manifest.name}”"


def bring_back(entry: aside.Entry, owner: User) -> str:
    """Put an entry back under a row; return a sentence about it. Raises: CannotBringBack."""
    recording = sweeping.recording_of(entry)
    try:
        if recording is not None:
            return _to_its_row(entry, recording)
        if entry.kind == aside.UPLOAD:
            return _as_new_upload(entry, owner)
        return _as_new_recording(entry, owner)
    except (OSError, StoreError) as fault:
        raise CannotBringBack(f"{entry.name} stays set aside: {fault}") from None
    except Problem as problem:
        raise CannotBringBack(f"{entry.name} stays set aside: {problem.detail}") from None


def _to_its_row(entry: aside.Entry, recording: Recording) -> str:
    target = sweeping.place_of(entry)
    if target != entry.path and target.exists():
        raise CannotBringBack(
            f"{entry.name} stays set aside: recording {recording.pk} already has its {entry.kind}."
        )
    aside.put_back(entry, target)
    return f"{entry.was} is back as the {entry.kind} of recording {recording.pk}."


def _as_new_upload(entry: aside.Entry, owner: User) -> str:
    try:
        _, name = _format_and_name(entry.path)
    except InputRefused as refused:
        raise CannotBringBack(f"{entry.name} stays set aside: {refused}") from None
    job = accept_file(owner, entry.path, name=name[:200])
    aside.remove(entry)
    return f"{entry.was} is queued as recording {job.recording_id}, job {job.pk}."


def _as_new_recording(entry: aside.Entry, owner: User) -> str:
    """Create a ready recording for a store without a row; its upload is unknown."""
    target = sweeping.place_of(entry)
    if target != entry.path and target.exists():
        raise CannotBringBack(f"{entry.name} stays set aside: {target} is taken.")
    name = StoredRecording.open(entry.path).manifest.name or entry.was
    size = entry.size()
    aside.put_back(entry, target)
    try:
        with transaction.atomic():
            recording = Recording.objects.create(
                owner=owner, name=name[:200], store=entry.was, stored_bytes=size
            )
            recordings.make_ready(recording, entry.was, recordings.summary(entry.was))
            folder = recordings.store().folder(entry.was)
            archive_uploads.take_upload(recording, folder, ())
    except BaseException:
        aside.put(target, entry.note.parent, aside.STORE, entry.why)
        raise
    return f"{entry.was} is recording {recording.pk} “{recording.name}” again, without its upload."
