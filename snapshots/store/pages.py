"""Map files, and release the memory that their pages take.

A page that was read counts as memory of this process until it is released. It stays in the
machine's cache, so reading it again costs next to nothing.
"""

import ctypes
import mmap
import os
import threading
import time
import weakref
from pathlib import Path
from typing import ClassVar

import numpy as np

from snapshots.store.objects.far import far_file
from snapshots.store.objects.paths import ObjectPath

_STATM = Path("/proc/self/statm")
_MOST = 160 * 2**20  # bytes of files in memory, the libraries' own included

_PAUSE = 1.0  # seconds

_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_mmap.restype = ctypes.c_void_p

_lock = threading.Lock()
_released_at = -_PAUSE
_maps: "weakref.WeakSet[MappedFile]" = weakref.WeakSet()


class MappedFile(mmap.mmap):
    """A file mapped for reading. It stays mapped as long as anything refers to it."""


class MappedFiles(MappedFile):
    """Memory in which many files are mapped, each from a page of its own on.

    So numbers of all the files can be read in one step, by their places in this memory. It stays
    mapped as long as anything refers to it.
    """

    _no_reserve: ClassVar = 0x4000  # Linux' MAP_NORESERVE, which this Python does not name
    _fixed: ClassVar = 0x10  # likewise MAP_FIXED

    @classmethod
    def reserve(cls, size: int) -> "MappedFiles":
        """Reserve addresses for so many bytes, which take no memory. Raises: OSError."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | cls._no_reserve
        memory = cls(-1, max(size, 1), flags=flags, prot=mmap.PROT_READ)
        with _lock:
            _maps.add(memory)
        return memory

    @property
    def address(self) -> int:
        """Return the address of the first byte."""
        address: int = np.frombuffer(self, np.uint8).__array_interface__["data"][0]
        return address

    def add(self, path: Path, begin: int, size: int) -> memoryview:
        """Map a file of ``size`` bytes from the byte ``begin`` on, where a page begins.

        Raises: FileNotFoundError, OSError; ValueError if the file is empty or has another size.
        """
        with path.open("rb") as file:
            if not size or os.fstat(file.fileno()).st_size != size:
                raise ValueError(f"it does not have {size} bytes")
            if begin % mmap.PAGESIZE or begin + size > len(self):
                raise ValueError("it has no place in memory")
            flags = mmap.MAP_SHARED | self._fixed
            at = self.address + begin
            if _mmap(at, size, mmap.PROT_READ, flags, file.fileno(), 0) != at:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))
        return memoryview(self)[begin : begin + size]


def pages_of(size: int) -> int:
    """Return the bytes of the pages that a file of this size takes when it is mapped."""
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


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
