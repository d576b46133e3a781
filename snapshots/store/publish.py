"""Putting a written recording in its place, so that a crash leaves the old one or the new one.

A folder is swapped by two renames. A crash between them leaves the old recording beside its place,
where ``sweep`` finds it; workers sweep when they start.
"""

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from snapshots.store.layout import MANIFEST, PARTED
from snapshots.store.locations import REPLACED, TEMPORARY, Store, beside
from snapshots.store.manifest import Manifest


def publish(temporary: Path, final: Path) -> None:
    """Move a complete recording to ``final``, replacing what is there; files nobody lists go.

    Raises: StoreMissing if ``temporary`` has no manifest, OSError.
    """
    _drop_unlisted_parts(temporary)
    _sync_folders(temporary)
    old = beside(final, REPLACED)
    replaces = final.exists()
    if replaces:
        final.rename(old)
    temporary.rename(final)
    _sync(final.parent)
    if replaces:
        shutil.rmtree(old, ignore_errors=True)


def _drop_unlisted_parts(folder: Path) -> None:
    """Tasks that ran twice leave parts behind which the manifest does not list."""
    listed = {folder / part.file for part in Manifest.read(folder).parts}
    for table in PARTED:
        for file in (folder / table).glob("*"):
            if file not in listed:
                file.unlink()


def _sync_folders(folder: Path) -> None:
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        _sync(path)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(store: Store, busy: Collection[str] = ()) -> list[str]:
    """Clear up after crashes: put replaced recordings back whose place is empty, delete leftovers.

    busy: names of recordings that a job writes right now; their folders are left alone.
    Returns the names of the folders put back or deleted.
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
    """The name of the recording whose leftover this is; None for anything else."""
    for mark in (TEMPORARY, REPLACED):
        name, found, _ = path.name.partition(mark)
        if found:
            return name
    return None
