"""Files that only grow, and stay whole lines whatever happens; and locks that end with a process.

These work on Linux and macOS.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK = 64 * 1024


class InUse(RuntimeError):
    """Another process, or another part of this one, writes there."""


class Lines:
    """A file of lines to which this object alone appends."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. A last line that was cut off is removed.

        Raises: InUse, OSError.
        """
        self.path = path
        self._file = path.open("ab", buffering=0)
        try:
            lock(self._file.fileno(), path)
            self.size = _end_of_last_line(path)
            os.ftruncate(self._file.fileno(), self.size)
        except BaseException:
            self._file.close()
            raise

    def append(self, data: bytes) -> None:
        """Write whole lines. Raises: OSError; then the file is as it was."""
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            os.ftruncate(self._file.fileno(), self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        self._file.close()


def lock(descriptor: int, path: Path) -> None:
    """Lock an open file until it is closed or its process ends. Raises: InUse."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise InUse(f"{path} is in use. Does the process run twice?") from None


def last_line(path: Path) -> bytes:
    """Return the last line of a file that ends with a line; empty if the file is."""
    tail = b""
    for block in _blocks_from_the_end(path):
        tail = block + tail
        if b"\n" in tail[:-1]:
            break
    return tail[:-1].rpartition(b"\n")[2]


def replace(path: Path, data: bytes, *, to_disk: bool = False) -> None:
    """Put a file in the place of another, so that there is always one of the two.

    to_disk: whether that has to hold after a power cut as well.
    """
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(data)
        if to_disk:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def _end_of_last_line(path: Path) -> int:
    end = path.stat().st_size
    for block in _blocks_from_the_end(path):
        if b"\n" in block:
            return end - len(block) + block.rindex(b"\n") + 1
        end -= len(block)
    return 0


def _blocks_from_the_end(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        end = path.stat().st_size
        while end > 0:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            yield file.read(end - begin)
            end = begin
