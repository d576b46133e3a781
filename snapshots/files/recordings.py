"""Open, publish, remove and sweep the folders of recordings under ``STORE_URL``.

A folder is named after the job and the attempt that wrote it, plus a random part, so no two runs
share one. When a row names another folder, that is what everyone opens next.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from snapshots.files import aside
from snapshots.files.folders import STORED, is_stored_name
from snapshots.models import Recording, Snapshot
from snapshots.problems import LISTED_DEFECTS
from snapshots.store import publish as publishing
from snapshots.store.locations import TEMPORARY, Store
from snapshots.store.reader import StoredRecording, open_cached

_KEPT_OF_A_SNAPSHOT = (
    "snapshot",
    "verdict",
    "verdicts",
    "verdict_counts",
    "initiators",
    "began_at",
    "ended_at",
    "markers_sent",
    "markers_received",
    "positions",
    "totals",
)


def store() -> Store:
    return Store.at(settings.STORE_URL)


def name_of(job_id: int, attempt: int, nonce: str = "") -> str:
    """Return the name of the files of one attempt at a job; ``nonce`` is its lease's, in hex."""
    return f"j{job_id}-{attempt}-{nonce}" if nonce else f"j{job_id}-{attempt}"


def named() -> tuple[set[str], set[str]]:
    """Return the names of the uploads and of the stores that rows name."""
    uploads, stores = set(), set()
    for upload, folder in Recording.objects.values_list("upload", "store").iterator():
        uploads.add(upload)
        stores.add(folder)
    return uploads - {""}, stores - {""}


def open_recording(recording: Recording) -> StoredRecording:
    """Return the stored recording of a ready row. Raises: StoreError."""
    return open_cached(store().folder(recording.store))


def publish(temporary: Path, name: str) -> None:
    """Move a complete recording to its published folder."""
    publishing.publish(temporary, store().folder(name))


@dataclass(frozen=True)
class Summary:
    """The parts of a stored recording that rows keep: fields of Recording and of each Snapshot.

    ``verdicts`` counts snapshots by their worst verdict.
    """

    fields: dict[str, Any]
    snapshots: list[dict[str, Any]]
    verdicts: dict[str, int]


def summary(name: str) -> Summary:
    """Summarise a stored recording for its rows. Raises: StoreError."""
    stored = StoredRecording.open(store().folder(name))
    counts, extent = stored.manifest.counts, stored.manifest.extent
    summaries = stored.snapshots()
    defects = stored.defects()
    fields = {
        "format": stored.manifest.source_format,
        "time_unit": stored.manifest.time_unit,
        "event_count": counts["events"],
        "message_count": counts["messages"],
        "marker_count": counts["markers"],
        "process_count": counts["processes"],
        "channel_count": counts["channels"],
        "snapshot_count": len(summaries),
        "began_at": extent.from_,
        "ended_at": extent.to,
        "defects": defects["defects"][:LISTED_DEFECTS],
        "defects_total": defects["total"],
        "stored_bytes": folder_bytes(store().folder(name)),
    }
    snapshots = [
        {"code": code, "answers": item.get("answers", [])}  # older stores have no answers
        | {name: item[name] for name in _KEPT_OF_A_SNAPSHOT}
        for code, item in enumerate(summaries)
    ]
    return Summary(fields, snapshots, Counter(item["verdict"] for item in summaries))


def make_ready(recording: Recording, name: str, summary: Summary) -> None:
    """Replace the rows of a recording by those of a store; call it in a transaction."""
    Snapshot.objects.filter(recording=recording).delete()
    Snapshot.objects.bulk_create(
        [Snapshot(recording=recording, **fields) for fields in summary.snapshots], batch_size=200
    )
    Recording.objects.filter(pk=recording.pk).update(
        status=Recording.Status.READY, store=name, ready_at=timezone.now(), **summary.fields
    )


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder, or 0 if it is gone."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure() -> None:
    """Fill in the size of stores that were published before sizes were kept."""
    for row in Recording.objects.filter(stored_bytes=0).exclude(store=""):
        size = folder_bytes(store().folder(row.store))
        Recording.objects.filter(pk=row.pk, store=row.store).update(stored_bytes=size)


def remove(name: str) -> None:
    """Remove a recording's folder; those who have it open keep what they mapped."""
    if name:
        shutil.rmtree(store().folder(name), ignore_errors=True)


def drop_unfinished(name: str) -> None:
    """Remove what a run wrote, unless that was published and a row names it."""
    root_store = store()
    for path in root_store.root.glob(f"{name}.*"):
        shutil.rmtree(path, ignore_errors=True)
    if root_store.folder(name).exists() and not Recording.objects.filter(store=name).exists():
        remove(name)


def aside_folder() -> Path:
    return store().root / aside.FOLDER


def sweep(
    is_being_written: Callable[[str], bool],
    may_touch: Callable[[Path], bool] = lambda path: True,
    named: Collection[str] = (),
) -> list[str]:
    """Remove unfinished folders of ended runs, and set aside complete ones that no row names.

    Args:
        is_being_written: tells whether a living worker writes the folder of this name.
        may_touch: tells whether a complete folder may be moved.
        named: names that rows keep, which spares the look at most of many folders.

    Returns the names of what was removed or set aside.
    """
    root_store = store()
    if not root_store.root.is_dir():
        return []
    with os.scandir(root_store.root) as entries:
        names = [entry.name for entry in entries if entry.name not in named]
    ended = [name for name in names if STORED.fullmatch(name) and not is_being_written(name)]
    leftovers = [root_store.root / name for name in ended if _is_leftover(name)]
    return [path.name for path in leftovers if _swept(path, may_touch)]


def _swept(path: Path, may_touch: Callable[[Path], bool]) -> bool:
    if TEMPORARY in path.name:  # derived from an upload, which is kept
        shutil.rmtree(path, ignore_errors=True)
        return True
    with aside.logged_faults(path.name):
        if path.exists() and may_touch(path):  # else its job published it meanwhile
            aside.put(path, aside_folder(), aside.STORE, "No recording in the database names it.")
            return True
    return False


def _is_leftover(name: str) -> bool:
    """Tell whether no row names a folder; check first that no worker writes it."""
    return not is_stored_name(name) or not Recording.objects.filter(store=name).exists()
