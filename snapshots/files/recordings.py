"""Open, publish, remove and sweep the folders of recordings under ``STORE_URL``.

A folder is named after the job and the attempt that wrote it, plus a random part, so no two runs
share one. When a row names another folder, that is what everyone opens next.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from snapshots.files import aside, journals
from snapshots.files.folders import STORED, is_stored_name
from snapshots.growing.recording import SoFar
from snapshots.models import Recording, Snapshot
from snapshots.problems import LISTED_DEFECTS
from snapshots.store import publish as publishing
from snapshots.store.errors import StoreUnreachable
from snapshots.store.locations import TEMPORARY, Store
from snapshots.store.objects.paths import is_complete, is_here, remove_tree, tree_bytes
from snapshots.store.reader import StoredRecording, close_removed, open_cached

logger = logging.getLogger(__name__)

_REPLACED_LASTS = timedelta(hours=1)

NAMING = ("upload", "journal", "store")
"""The columns of recordings that name files."""

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


def named(columns: Collection[str] = NAMING) -> tuple[set[str], set[str]]:
    """Return the names of the uploads and of the stores that rows name.

    The journals of open recordings count as uploads. ``columns`` are those that the table has, if
    it may be of an earlier version.
    """
    uploads, stores = set(), set()
    for row in Recording.objects.values(*(name for name in NAMING if name in columns)).iterator():
        uploads |= {row["upload"], row.get("journal", "")}
        stores.add(row["store"])
    return uploads - {""}, stores - {""}


def open_recording(recording: Recording) -> StoredRecording:
    """Return the stored recording of a ready row, or what has come to an open one.

    Raises: StoreError.
    """
    if recording.is_open:
        so_far = journals.so_far(recording)
        keep_judged(recording, so_far)
        return so_far
    return open_cached(store().folder(recording.store))


def keep_judged(recording: Recording, so_far: SoFar) -> None:
    """Write the judged snapshots of an open recording that no row has yet into rows."""
    fresh = dict(so_far.fresh)
    if not fresh:
        return
    with transaction.atomic():
        rows = Recording.objects.select_for_update().filter(status=Recording.Status.OPEN)
        if rows.filter(pk=recording.pk).first() is None:
            return
        codes = dict(recording.snapshots.values_list("snapshot", "code"))
        for snapshot, summary in fresh.items():
            fields = {name: summary[name] for name in (*_KEPT_OF_A_SNAPSHOT, "answers")}
            code = codes.setdefault(snapshot, len(codes))
            recording.snapshots.update_or_create(code=code, defaults=fields)
    for snapshot, summary in fresh.items():
        if so_far.fresh.get(snapshot) is summary:  # else it was judged again meanwhile
            del so_far.fresh[snapshot]


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
    return tree_bytes(folder)


def measure() -> None:
    """Fill in the size of stores that were published before sizes were kept."""
    for row in Recording.objects.filter(stored_bytes=0).exclude(store=""):
        size = folder_bytes(store().folder(row.store))
        Recording.objects.filter(pk=row.pk, store=row.store).update(stored_bytes=size)


def remove(name: str) -> None:
    """Remove a recording's folder; what an object store does not remove now is left to a sweep.

    Other processes that have it open keep what they mapped, and so its space on the disk, until
    they open a recording again. From an object store they may have to read more, and then it is
    gone.
    """
    if not name:
        return
    try:
        remove_tree(store().folder(name))
        close_removed()
    except StoreUnreachable as error:
        logger.warning("The folder %s is left to a sweep: %s", name, error)


def remove_replaced(name: str) -> None:
    """Remove the folder that another one has replaced.

    On an object store it stays for an hour, for those who have it open: they still read from it.
    """
    if not name:
        return
    if store().is_here:
        remove(name)
        return
    why = "Another run of its recording has replaced it."
    try:
        aside.put(store().folder(name), aside_folder(), aside.STORE, why, _REPLACED_LASTS)
    except StoreUnreachable as error:
        logger.warning("The folder %s is left to a sweep: %s", name, error)


def drop_unfinished(name: str) -> None:
    """Remove what a run wrote, unless that was published and a row names it."""
    root_store = store()
    for path in root_store.root.glob(f"{name}.*"):
        remove_tree(path)
    if root_store.folder(name).exists() and not Recording.objects.filter(store=name).exists():
        remove(name)


def unpacking_folder() -> Path:
    """Return where packages are unpacked if the store is no folder of this machine."""
    return Path(settings.DATA_DIR) / "tmp" / "unpacked"


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
    if unpacking_folder().is_dir():
        for path in unpacking_folder().iterdir():
            if not is_being_written(path.name):
                remove_tree(path)
    root_store = store()
    if not root_store.root.is_dir():
        return []
    seen = set(named) | (set() if is_here(root_store.root) else aside.noted(aside_folder()))
    names = [path.name for path in root_store.root.iterdir() if path.name not in seen]
    ended = [name for name in names if STORED.fullmatch(name) and not is_being_written(name)]
    leftovers = [root_store.root / name for name in ended if _is_leftover(name)]
    return [path.name for path in leftovers if _swept(path, may_touch)]


def _swept(path: Path, may_touch: Callable[[Path], bool]) -> bool:
    if TEMPORARY in path.name or not is_complete(path):  # derived from an upload, which is kept
        remove_tree(path)
        return True
    with aside.logged_faults(path.name):
        if path.exists() and may_touch(path):  # else its job published it meanwhile
            aside.put(path, aside_folder(), aside.STORE, "No recording in the database names it.")
            return True
    return False


def _is_leftover(name: str) -> bool:
    """Tell whether no row names a folder; check first that no worker writes it."""
    return not is_stored_name(name) or not Recording.objects.filter(store=name).exists()
