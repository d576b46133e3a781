"""Bring the files of a source to executors that do not share the worker's disk.

With the store in a shared folder, or executors on this machine, every file is read from where it
lies. Otherwise the worker puts what tasks read beside the working files on the object store. A
source that lies on an object store itself is read there.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapshots.store.objects.paths import ObjectPath, copy_here, is_here, path_of, put_tree

HANDED = "handed"


class Handing:
    """Puts files of the worker where tasks find them, each once.

    Args:
        work: the folder of working files.
        shares_files: whether the executors see the files of this process.
    """

    def __init__(self, work: Path, *, shares_files: bool) -> None:
        self._folder = work / HANDED
        self._is_needed = not shares_files and not is_here(work)
        self._handed: dict[Path, str] = {}

    def place(self, path: Path) -> str:
        """Return where tasks find a file, or a folder with files. Raises: OSError."""
        if not self._is_needed or not is_here(path):
            return str(path)
        if path not in self._handed:
            target = self._folder / str(len(self._handed)) / path.name
            put_tree(path, target)
            self._handed[path] = str(target)
        return self._handed[path]


@contextmanager
def fetched(place: str | Path) -> Iterator[Path]:
    """Make a file or folder readable on this machine, wherever it lies. Raises: OSError."""
    path = path_of(place)
    if not isinstance(path, ObjectPath):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder, path.name)
        copy_here(path, local)
        yield local
