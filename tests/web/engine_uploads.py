"""Uploads of engines as ready recordings, made without Spark in milliseconds.

The real reader derives the recording and the inventory. The reference judges, as in ``given``.
"""

from pathlib import Path

from django.contrib.auth.models import User

from snapshots.domain.simulators.script import Log
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.readers.engines import registry
from snapshots.store.inventory.writing import write_inventory
from tests.web.given import a_ready_recording


def an_upload(owner: User, format: str, folder: Path) -> Recording:
    """Return the ready recording of the engine's files below a folder, with its inventory."""
    upload = registry.READERS[format].read(folder)
    header, events = upload.recording()
    row = a_ready_recording(owner, Log(header, tuple(events)))
    row.format = format
    row.save()
    write_inventory(recordings.store().folder(row.store), upload)
    return row
