"""Move a written recording to its place, so that a crash leaves the old one or the new one.

On a disk, two renames swap the folders. A crash between them leaves the old recording beside its
place, where ``sweep`` finds it; workers sweep when they start. An object store cannot rename: there
a recording is written where it stays, under a name that no other run has, and its catalogue
publishes it.
"""

import shutil
from collections.abc import Collection
from pathlib import Path

from snapshots.store.layout import MANIFEST, OUTLINES, PARTED, SIGNS
from snapshots.store.locations import REPLACED, TEMPORARY, Store, beside
from snapshots.store.manifest import Manifest
from snapshots.store.objects import catalogues, client
from snapshots.store.objects.paths import ObjectPath, remove_tree
from snapshots.store.parts import sync_folder


def publish(temporary: Path, final: Path) -> None:
    """Replace what is at ``final`` by a complete recording, without the parts it does not list.

    Raises: StoreMissing if ``temporary`` has no manifest; OSError.
    """
    _drop_unlisted_parts(temporary)
    if isinstance(temporary, ObjectPath):
        publish_objects(temporary)
        return
    _sync_folders(temporary)
    old = beside(final, REPLACED)
    replaces = final.exists()
    if replaces:
        final.rename(old)
    temporary.rename(final)
    sync_folder(final.parent)
    if replaces:
        shutil.rmtree(old, ignore_errors=True)


def _drop_unlisted_parts(folder: Path) -> None:
    """Remove the parts that the manifest does not list, the outlines of all, and signs of progress.

    Tasks that ran twice leave such parts, and a task that goes on after its stage leaves signs.
    """
    listed = {folder / part.file for part in Manifest.read(folder).parts}
    for table in PARTED:
        for file in (folder / table).glob("*"):
            if file not in listed:
                file.unlink()
    for left in (folder / OUTLINES, *folder.glob(f"{SIGNS}*")):
        remove_tree(left)


def publish_objects(folder: ObjectPath) -> None:
    """Write the catalogue of all files of a folder, which publishes them where they lie."""
    skipped = len(folder.key) + 1
    sizes = {key[skipped:]: size for key, size in client.listed(folder.bucket, folder.key)}
    catalogues.publish(folder.bucket, folder.key, sizes)


def _sync_folders(folder: Path) -> None:
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        sync_folder(path)


def sweep(store: Store, busy: Collection[str] = ()) -> list[str]:
    """Clear up after crashes and return the names of the folders put back or deleted.

    A replaced recording is put back if its place is empty; other leftovers are deleted. Those of
    ``busy`` recordings, which a job is writing, stay.
    """
    if not store.root.is_dir():
        return []
    leftovers = [path for path in sorted(store.root.iterdir()) if _owner(path) not in (None, *busy)]
    for path in leftovers:
        final = path.with_name(_owner(path) or "")
        if REPLACED in path.name and not final.exists() and (path / MANIFEST).exists():
            path.rename(final)
        else:
            shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in leftovers]


def _owner(path: Path) -> str | None:
    """Return the name of the recording whose leftover this is; None for anything else."""
    for mark in (TEMPORARY, REPLACED):
        if mark in path.name:
            return path.name.partition(mark)[0]
    return None
