"""Measure the space on the disks of the folders in which Cutline keeps files."""

import os
import shutil
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from snapshots.files import recordings


class Usage(NamedTuple):
    """The size of a disk, in bytes."""

    total: int
    used: int
    free: int


class Disk(NamedTuple):
    """One file system: what it holds for Cutline, and what is used of it.

    Attributes:
        holds: the names of its folders, such as "data and store".
        path: one of them.
        total, used, free: bytes; ``free`` is for users other than root.
        files, files_free: how many files it can have, and can still take; 0 where it does not
            count them.
    """

    holds: str
    path: str
    total: int
    used: int
    free: int
    files: int
    files_free: int


def disks() -> list[Disk]:
    """Return the disks below the folders, each once. Raises: OSError."""
    on_device: dict[int, dict[str, Path]] = defaultdict(dict)
    for name, path in (folders() | {"uploads": Path(settings.UPLOADS_DIR)}).items():
        on_device[path.stat().st_dev][name] = path
    return [_disk(held) for held in on_device.values()]


def _disk(held: dict[str, Path]) -> Disk:
    path = next(iter(held.values()))
    space, system = usage(path), os.statvfs(path)
    *others, last = held
    holds = f"{', '.join(others)} and {last}" if others else last
    return Disk(holds, str(path), *space, system.f_files, system.f_favail)


def folders() -> dict[str, Path]:
    """Return the folders by what they hold; the store may be on another disk, or on none."""
    data, store = Path(settings.DATA_DIR), recordings.store()
    return {"data": data} | ({"store": _existing(store.root)} if store.is_here else {})


def usage(folder: Path) -> Usage:
    """Return the size of the disk that holds a folder. Raises: OSError."""
    return Usage(*shutil.disk_usage(folder))


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())
