"""The number of events that a process has logged, kept where ``kill -9`` cannot take it.

Events wait in memory for some milliseconds before they are written. If the process is killed then,
they are lost. Their number is not: it stands in a file that is mapped into memory, which the kernel
keeps. The next start goes on behind it, so the log shows a gap in ``index`` of the right size. A
power cut may take both.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NUMBERS = struct.Struct("<qq")  # the next index, and the time of the last event


class Counter:
    """Two numbers in a file: the index of the next event, and the latest time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < _NUMBERS.size:
                # Written, not only made longer: a map on a full disk would end the process.
                os.pwrite(descriptor, bytes(_NUMBERS.size), 0)
            self._map = mmap.mmap(descriptor, _NUMBERS.size)
        finally:
            os.close(descriptor)

    def read(self) -> tuple[int, int]:
        index, at = _NUMBERS.unpack_from(self._map)
        return index, at

    def write(self, index: int, at: int) -> None:
        _NUMBERS.pack_into(self._map, 0, index, at)

    def close(self) -> None:
        self._map.close()
