"""Mapped files, and giving back the memory that their pages take.

A page that has been looked at counts as memory of this process until it is given back. It stays in
the machine's cache, so that looking again costs next to nothing.
"""

import mmap
import threading
import time
import weakref
from pathlib import Path

_STATM = Path("/proc/self/statm")
_MOST = 160 * 2**20  # bytes of files in memory, the libraries' own included

_PAUSE = 1.0  # seconds

_lock = threading.Lock()
_given_back_at = -_PAUSE
_maps: "weakref.WeakSet[MappedFile]" = weakref.WeakSet()


class MappedFile(mmap.mmap):
    """A file mapped for reading, for as long as anything looks at it."""


def map_file(path: Path) -> MappedFile:
    """Map a whole file. Raises: FileNotFoundError, OSError; ValueError if it is empty."""
    with path.open("rb") as file:
        mapped = MappedFile(file.fileno(), 0, access=mmap.ACCESS_READ)
    with _lock:
        _maps.add(mapped)
    return mapped


def give_back(now: float | None = None) -> bool:
    """Give the pages of all mapped files back if they take much memory; whether it did so.

    At most once a second: one look maps many pages around it, and giving back after every question
    would make each of them map its pages anew. Safe at any time: who still looks at a page gets it
    from the machine's cache again. now: seconds on a clock that never goes back.
    """
    global _given_back_at
    now = time.monotonic() if now is None else now
    with _lock:
        if now - _given_back_at < _PAUSE or _resident_files() <= _MOST:
            return False
        _given_back_at = now
        maps = list(_maps)
    for mapped in maps:
        mapped.madvise(mmap.MADV_DONTNEED)
    return True


def _resident_files() -> int:
    """Bytes of mapped files in this process's memory; 0 where the system does not tell."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[2]) * mmap.PAGESIZE
