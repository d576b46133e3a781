"""Fetch what a call about one recording reads."""

from django.http import HttpRequest

from snapshots import access
from snapshots.files.recordings import open_recording
from snapshots.models import Snapshot
from snapshots.store.reader import StoredRecording


def stored_recording(request: HttpRequest, id: int) -> StoredRecording:
    """Open a ready recording. Raises: NotFound, Conflict where it is not ready."""
    return open_recording(access.ready_recording(request.user, id))


def snapshot_row(request: HttpRequest, id: int, snapshot: str) -> Snapshot:
    """Return a snapshot of a ready recording. Raises: NotFound, Conflict."""
    return access.snapshot(access.ready_recording(request.user, id), snapshot)
