"""Sweep the folders of uploads and stores; each worker does this every few seconds."""

import logging
import time
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from django.db.models import Q

from snapshots.files import aside, identity, kept, recordings, resumable, uploads
from snapshots.files.aside import logged_faults
from snapshots.files.folders import STORED
from snapshots.jobs import leases
from snapshots.models import Installation, Job, Recording
from snapshots.store.objects.paths import is_here

logger = logging.getLogger(__name__)

BEAT_SECONDS = 10.0

_last_beat = float("-inf")


def sweep() -> None:
    """Remove or set aside the files that belong to no row.

    Raises: NotPaired if the folder belongs to another database; then nothing is touched.
    """
    pair = beat()
    uploads_named, stores_named = recordings.named()
    _sweep_uploads(uploads_named, pair.known_since)
    _sweep_stores(stores_named, pair.known_since)
    for entry in all_aside():
        with logged_faults(entry.was):
            _look_after(entry)


def beat() -> Installation:
    """Note at times that a worker lives, and return the row of the pair. Raises: NotPaired."""
    pair = identity.require_pair()
    with logged_faults(identity.FILE):  # the disk may be full, and the sweep frees space
        _beat_at_times()
    return pair


def all_aside() -> list[aside.Entry]:
    """Return all entries that are set aside."""
    folders = {recordings.aside_folder(): aside.STORE, uploads.aside_folder(): aside.UPLOAD}
    if not is_here(kept.root()):
        folders[kept.aside_folder()] = aside.UPLOAD
    return [entry for folder, kind in folders.items() for entry in aside.entries(folder, kind)]


def place_of(entry: aside.Entry) -> Path:
    """Return the path from which the entry came."""
    if not is_here(entry.path):
        return entry.path
    if entry.kind == aside.UPLOAD:
        return uploads.path_of(entry.was)
    return recordings.store().root / entry.was


def recording_of(entry: aside.Entry) -> Recording | None:
    """Return the recording whose row names the entry."""
    if entry.kind == aside.STORE:
        return Recording.objects.filter(store=entry.was).first()
    return Recording.objects.filter(Q(upload=entry.was) | Q(journal=entry.was)).first()


def is_being_written(store: str) -> bool:
    """Tell whether the attempt that a store's folder is named after may still write there."""
    match = STORED.fullmatch(store)
    return match is not None and leases.is_current(int(match["job"]), int(match["attempt"]))


def _beat_at_times() -> None:
    global _last_beat
    if time.monotonic() - _last_beat >= BEAT_SECONDS:
        identity.beat()
        _last_beat = time.monotonic()


def sweep_own_files() -> None:
    """Remove or set aside what the folder of uploads of this machine need not hold.

    Web processes do this, too, if uploads are kept on an object store: their machine may have no
    worker. Raises: NotPaired, StoreUnreachable.
    """
    _sweep_own_files(recordings.named()[0], identity.require_pair().known_since)


def _sweep_uploads(named: Collection[str], known_since: datetime) -> None:
    if expired := resumable.remove_expired():
        logger.info("Uploads that nobody went on with have expired: %d", expired)
    for name in kept.sweep(named, resumable.is_known, known_since.timestamp()):
        logger.info("The upload %s belongs to no recording and was set aside", name)
    for name in kept.sweep_pieces(resumable.is_unfinished):
        logger.info("The pieces of the upload %s, which has ended, were removed", name)
    _sweep_own_files(named, known_since)


def _sweep_own_files(named: Collection[str], known_since: datetime) -> None:
    def may_touch(path: Path) -> bool:
        return not identity.is_older(path, known_since)

    kept.drop_copies(named, _is_used)
    for name in uploads.sweep(resumable.is_known, may_touch, named):
        logger.info("The upload %s belongs to no recording and was set aside or removed", name)


def _is_used(upload: str) -> bool:
    """Tell whether a job that is queued or under way may read an upload."""
    named = Q(upload=upload) | Q(journal=upload)
    return Recording.objects.filter(named, jobs__state__in=Job.OPEN).exists()


def _sweep_stores(named: Collection[str], known_since: datetime) -> None:
    def may_touch(path: Path) -> bool:
        return not identity.is_older(path, known_since)

    for name in recordings.sweep(is_being_written, may_touch, named):
        logger.info("The folder %s belongs to no recording and was set aside or removed", name)


def _look_after(entry: aside.Entry) -> None:
    """Put back an entry that a row names, and remove one that has been set aside long enough."""
    if recording_of(entry) is not None:
        place = place_of(entry)
        if place == entry.path or not place.exists():
            aside.put_back(entry, place)
            logger.warning(
                "%s was set aside although a recording names it, and was put back", entry.was
            )
    elif entry.is_expired:
        aside.remove(entry)
        logger.info("%s was set aside long enough ago and was removed", entry.was)
