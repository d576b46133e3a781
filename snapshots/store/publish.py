"""Move a written recording to its place, so that a crash leaves all of it there or nothing.

Each run of a job has a name of its own, so nothing is at this place before. On a disk, one rename
publishes the folder. An object store cannot rename: there a recording is written where it stays,
and its catalogue publishes it.
"""

from pathlib import Path

from snapshots.store.layout import OUTLINES, PARTED, SIGNS
from snapshots.store.manifest import Manifest
from snapshots.store.objects import catalogues, client
from snapshots.store.objects.paths import ObjectPath, remove_tree
from snapshots.store.parts import sync_folder


def publish(temporary: Path, final: Path) -> None:
    """Move a complete recording to ``final``, without the parts that it does not list.

    Raises: StoreMissing if ``temporary`` has no manifest; OSError, also if ``final`` holds files.
    """
    _drop_unlisted_parts(temporary)
    if isinstance(temporary, ObjectPath):
        publish_objects(temporary)
        return
    _sync_folders(temporary)
    temporary.rename(final)
    sync_folder(final.parent)
    sync_folder(final.parent.parent)  # for the first recording, the store's folder is new


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
