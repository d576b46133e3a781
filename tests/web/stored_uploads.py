"""An engine's upload as a worker stores it, without Spark.

The derived recording is written and judged by the reference, which makes the same store as Spark.
The inventory and the archive are filled by the code that a worker runs.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from django.contrib.auth.models import User

from snapshots.archive import uploads as archive_uploads
from snapshots.domain.simulators.script import Log
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.readers.engines.base import EngineReader
from snapshots.store.inventory.writing import write_inventory
from tests.web.given import a_ready_recording


def stored_upload(owner: User, reader: EngineReader, folder: Path) -> Recording:
    """Read a folder of an engine's files, and return the recording that a worker would make."""
    upload = reader.read(folder)
    header, events = upload.recording()
    recording = a_ready_recording(owner, Log(header, tuple(events)), format=reader.name)
    store = recordings.store().folder(recording.store)
    write_inventory(store, upload)
    archive_uploads.take_upload(recording, store, archive_uploads.reported_by(upload))
    return recording


def parts_of(case: Path, parts: Iterable[str], target: Path) -> Path:
    """Copy the parts of a case that a person would upload into a folder, and return it."""
    for part in parts:
        if (case / part).is_dir():
            shutil.copytree(case / part, target / part)
    return target
