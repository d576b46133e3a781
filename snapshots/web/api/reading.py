"""Fetch what a call about one recording reads."""

from django.http import HttpRequest

from snapshots import access
from snapshots.files.recordings import open_recording
from snapshots.models import Snapshot
from snapshots.store.reader import StoredRecording


def stored_recording(request: HttpRequest, id: int) -> StoredRecording:
    """Open a recording that is ready, or look at what has come to an open one.

    Raises: NotFound, Conflict where it is neither.
    """
    return open_recording(access.shown_recording(request.user, id))


def snapshot_row(request: HttpRequest, id: int, snapshot: str) -> Snapshot:
    """Return a judged snapshot of a recording that is shown. Raises: NotFound, Conflict."""
    return access.snapshot(access.shown_recording(request.user, id), snapshot)
