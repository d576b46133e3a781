"""Measure the space on the disks of the folders in which Cutline keeps files."""

import shutil
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from snapshots.files import recordings


class Usage(NamedTuple):
    """The size of a disk, in bytes."""

    total: int
    used: int
    free: int


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
