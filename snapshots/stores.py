"""The folders of recordings under ``STORE_URL``: opening, removing, sweeping.

A folder is named after the job and the attempt that wrote it, so no two runs share one, and a row
that changes its folder changes what everyone opens next.
"""

import re
import shutil
from pathlib import Path

from django.conf import settings

from snapshots import leases
from snapshots.models import Recording
from snapshots.store import publish as publishing
from snapshots.store.locations import Store
from snapshots.store.reader import StoredRecording, open_cached

_NAME = re.compile(r"j(?P<job>[0-9]+)-(?P<attempt>[0-9]+)(?P<rest>\..*)?")


def store() -> Store:
    return Store.at(settings.STORE_URL)


def name_of(job_id: int, attempt: int) -> str:
    return f"j{job_id}-{attempt}"


def open_recording(recording: Recording) -> StoredRecording:
    """The stored recording of a ready row. Raises: StoreError."""
    return open_cached(store().folder(recording.store))


def publish(temporary: Path, name: str) -> None:
    """Move a complete recording to its place."""
    publishing.publish(temporary, store().folder(name))


def remove(name: str) -> None:
    """Remove a recording's folder; those who have it open keep what they mapped."""
    if name:
        shutil.rmtree(store().folder(name), ignore_errors=True)


def drop_unfinished(name: str) -> None:
    """After a run: remove what it wrote, unless that was published and a row names it."""
    place = store()
    for path in place.root.glob(f"{name}.*"):
        shutil.rmtree(path, ignore_errors=True)
    if place.folder(name).exists() and not Recording.objects.filter(store=name).exists():
        remove(name)


def sweep() -> list[str]:
    """Remove what crashed jobs left: folders no row names and no living job writes."""
    place = store()
    if not place.root.is_dir():
        return []
    leftovers = [path for path in place.root.iterdir() if _is_leftover(path.name)]
    for path in leftovers:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in leftovers]


def _is_leftover(name: str) -> bool:
    match = _NAME.fullmatch(name)
    if match is None or leases.is_held(int(match["job"]), int(match["attempt"])):
        return False
    return bool(match["rest"]) or not Recording.objects.filter(store=name).exists()
