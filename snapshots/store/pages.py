"""Map files, and release the memory that their pages take.

A page that was read counts as memory of this process until it is released. It stays in the
machine's cache, so reading it again costs next to nothing.
"""

import mmap
import threading
import time
import weakref
from pathlib import Path

from snapshots.store.objects.far import far_file
from snapshots.store.objects.paths import ObjectPath

_STATM = Path("/proc/self/statm")
_MOST = 160 * 2**20  # bytes of files in memory, the libraries' own included

_PAUSE = 1.0  # seconds

_lock = threading.Lock()
_released_at = -_PAUSE
_maps: "weakref.WeakSet[MappedFile]" = weakref.WeakSet()


class MappedFile(mmap.mmap):
    """A file mapped for reading. It stays mapped as long as anything refers to it."""


def map_file(path: Path) -> MappedFile | bytes:
    """Map a whole file, or read it if it is on an object store.

    Raises: FileNotFoundError, OSError, StoreUnreachable; ValueError if it is empty.
    """
    if isinstance(path, ObjectPath):
        return far_file(path).whole()
    with path.open("rb") as file:
        mapped = MappedFile(file.fileno(), 0, access=mmap.ACCESS_READ)
    with _lock:
        _maps.add(mapped)
    return mapped


def release_pages(now: float | None = None) -> bool:
    """Release the pages of all mapped files if they take much memory. Return whether it did so.

    It does so at most once a second: each read maps many pages around it, and a release after every
    question would make each question map its pages anew. It is safe at any time: a page that is
    still in use comes from the machine's cache again. ``now`` is in seconds on a monotonic clock.
    """
    global _released_at
    now = time.monotonic() if now is None else now
    with _lock:
        if now - _released_at < _PAUSE or _resident_files() <= _MOST:
            return False
        _released_at = now
        maps = list(_maps)
    for mapped in maps:
        mapped.madvise(mmap.MADV_DONTNEED)
    return True


def _resident_files() -> int:
    """Return the bytes of mapped files in this process's memory; 0 if the system does not say."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[2]) * mmap.PAGESIZE
