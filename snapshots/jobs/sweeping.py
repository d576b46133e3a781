"""The sweep of the folders of uploads and stores: each worker's, every few seconds."""

import logging
import time
from datetime import datetime
from pathlib import Path

from snapshots.files import aside, identity, recordings, uploads
from snapshots.files.aside import logged_faults
from snapshots.files.folders import STORED
from snapshots.jobs import leases
from snapshots.models import Recording

logger = logging.getLogger(__name__)

BEAT_SECONDS = 10.0

_last_beat = float("-inf")


def sweep() -> None:
    """Take away what belongs to no row.

    Raises: NotPaired, before anything is touched, where the folder is another database's.
    """
    pair = identity.require_pair()
    with logged_faults(identity.FILE):  # a full disk: what the sweep removes makes room
        _beat_at_times()
    _sweep_uploads(pair.known_since)
    _sweep_stores(pair.known_since)
    for entry in all_aside():
        with logged_faults(entry.was):
            _look_after(entry)


def all_aside() -> list[aside.Entry]:
    """Return what lies aside."""
    folders = {recordings.aside_folder(): aside.STORE, uploads.aside_folder(): aside.UPLOAD}
    return [entry for folder, kind in folders.items() for entry in aside.entries(folder, kind)]


def place_of(entry: aside.Entry) -> Path:
    """Return where the entry came from."""
    if entry.kind == aside.UPLOAD:
        return uploads.path_of(entry.was)
    return recordings.store().root / entry.was


def recording_of(entry: aside.Entry) -> Recording | None:
    """Return the recording whose row names the entry."""
    field = "upload" if entry.kind == aside.UPLOAD else "store"
    return Recording.objects.filter(**{field: entry.was}).first()


def is_being_written(store: str) -> bool:
    """Tell whether a living worker runs the attempt that a store's folder is named after."""
    match = STORED.fullmatch(store)
    return match is not None and leases.is_held(int(match["job"]), int(match["attempt"]))


def _beat_at_times() -> None:
    global _last_beat
    if time.monotonic() - _last_beat >= BEAT_SECONDS:
        identity.beat()
        _last_beat = time.monotonic()


def _sweep_uploads(known_since: datetime) -> None:
    def is_known(name: str) -> bool:
        return Recording.objects.filter(upload=name).exists()

    for name in uploads.sweep(is_known, lambda path: not identity.is_older(path, known_since)):
        logger.info("The upload %s belonged to no recording and was taken away", name)


def _sweep_stores(known_since: datetime) -> None:
    def may_touch(path: Path) -> bool:
        return not identity.is_older(path, known_since)

    for name in recordings.sweep(is_being_written, may_touch):
        logger.info("The folder %s belonged to no recording and was taken away", name)


def _look_after(entry: aside.Entry) -> None:
    """Put back what a row names, and remove what has lain aside long enough."""
    if recording_of(entry) is not None:
        if not place_of(entry).exists():
            aside.put_back(entry, place_of(entry))
            logger.warning("%s lay aside although a recording names it; it is back", entry.was)
    elif entry.is_expired:
        aside.remove(entry)
        logger.info("%s has lain aside long enough and was removed", entry.was)
