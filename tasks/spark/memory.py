"""Keep the memory that kernels free, so that the next array need not be mapped again.

By default glibc and Arrow return large arrays to the system as soon as they are freed. The next one
then consists of new pages, and the system clears each: that took a sixth of the time of an ingest.
"""

import ctypes

import pyarrow as pa

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT = 2**30  # bytes: larger arrays are mapped by themselves, and no more free ones are kept


def keep_freed() -> None:
    """Let this process, and all that it forks, keep freed memory until ``give_back``."""
    if _set("mallopt", _MMAP_THRESHOLD, _KEPT):
        _set("mallopt", _TRIM_THRESHOLD, _KEPT)
        pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Return all freed memory to the system."""
    _set("malloc_trim", 0)


def _set(function: str, *numbers: int) -> bool:
    """Call a function of glibc. Return whether it did what it was asked; another C has none."""
    called = getattr(ctypes.CDLL(None), function, None)
    return called is not None and bool(called(*numbers))
