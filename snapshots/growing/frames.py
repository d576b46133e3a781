"""A file of frames that only grows, and of which nothing is lost that was acknowledged.

A frame is a head and its bytes. The head has the number of these bytes, their CRC-32, and the
CRC-32 of both, each 4 bytes, little endian. So a wrong length is known from a frame that is cut
short. A frame is on the disk before ``append`` returns. Several processes may append and read: each
holds the lock of the file while it does. A frame that is cut short at the end of the file was never
acknowledged, because its writer died. The next writer removes it.
"""

import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapshots.growing.errors import JournalDamaged, JournalGone

_FACTS = struct.Struct("<II")  # bytes of the content, and its CRC-32
_CHECK = struct.Struct("<I")  # the CRC-32 of these facts
HEAD_BYTES = _FACTS.size + _CHECK.size
_SECTOR = 512  # bytes that a disk writes together


def framed(content: bytes) -> bytes:
    """Return a frame with this content, which neither begins nor ends with a zero byte."""
    facts = _FACTS.pack(len(content), zlib.crc32(content))
    return facts + _CHECK.pack(zlib.crc32(facts)) + content


class Frames:
    """An open file of frames. Safe for threads and processes.

    Attributes:
        end: where the frames that this object has read or written end, in bytes.
    """

    def __init__(self, path: Path) -> None:
        """Open a file that exists. Raises: FileNotFoundError, OSError."""
        self._path = path
        self._handle = path.open("r+b", buffering=0)  # closed when nobody uses this any more
        self._file = self._handle.fileno()
        self._thread_lock = threading.Lock()
        self._is_synced = True
        self.end = 0

    def close(self) -> None:
        self._handle.close()

    @property
    def version(self) -> tuple[int, int]:
        """Return which file it is, for it may be removed and another one take its name."""
        status = os.fstat(self._file)
        return status.st_dev, status.st_ino

    @property
    def is_gone(self) -> bool:
        """Tell whether the file was removed."""
        return os.fstat(self._file).st_nlink == 0

    def alone(self) -> threading.Lock:
        """Return the lock that keeps the other threads out that use this object."""
        return self._thread_lock

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other readers and writers out. Raises: JournalGone if the file was removed."""
        with self._thread_lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                if self.is_gone:
                    raise JournalGone(f"The journal {self._path.name} is gone.")
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def read_on(self) -> Iterator[tuple[int, bytes]]:
        """Yield each further whole frame: where its content begins, and the content.

        Call it with the lock, for a writer removes a frame that it could not bring to the disk.
        """
        while (facts := self._facts()) is not None:
            length, checksum = facts
            begin = self.end + HEAD_BYTES
            content = os.pread(self._file, length, begin)
            if len(content) < length or zlib.crc32(content) != checksum:
                return
            self.end = begin + length
            self._is_synced = False
            yield begin, content

    def read(self, begin: int, count: int) -> bytes:
        """Return some bytes of a frame that is there. Raises: JournalGone if it was deleted."""
        found = os.pread(self._file, count, begin)
        if len(found) < count:
            raise JournalGone(f"The journal {self._path.name} is gone.")
        return found

    def require_sound(self) -> None:
        """Check that nothing is behind the last whole frame but one that is cut short.

        Call it with the lock, after ``read_on``. Raises: JournalDamaged, OSError.
        """
        size = os.fstat(self._file).st_size
        if size < self.end:
            raise JournalDamaged(
                f"The journal {self._path.name} has {size:,} bytes and had {self.end:,}. Was an "
                "older copy of it put in its place?"
            )
        if size > self.end and not self._is_cut_short(size):
            raise JournalDamaged(
                f"The journal {self._path.name} is damaged at byte {self.end:,}: what stands there "
                "is not what was written. Is the disk failing?"
            )

    def cut(self) -> None:
        """Remove what a writer that died has left behind the last whole frame.

        Call it with the lock, after ``require_sound``. Raises: OSError.
        """
        if os.fstat(self._file).st_size > self.end:
            os.ftruncate(self._file, self.end)
            self._is_synced = False

    def sync(self) -> None:
        """Bring to the disk what other processes have written; they may have died before.

        Call it with the lock. Raises: OSError.
        """
        if not self._is_synced:
            os.fsync(self._file)
            self._is_synced = True

    def append(self, content: bytes) -> int:
        """Write a frame to the disk, and return where its content begins.

        Call it with the lock, after ``cut``. Raises: OSError; then nothing of the frame is left.
        """
        frame = memoryview(framed(content))
        begin = self.end
        try:
            written = 0
            while written < len(frame):
                written += os.pwrite(self._file, frame[written:], begin + written)
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, begin)
            raise
        self._is_synced = True
        self.end = begin + len(frame)
        return begin + HEAD_BYTES

    def _facts(self) -> tuple[int, int] | None:
        """Return the bytes and the checksum of the next frame; None if it has no whole head."""
        head = os.pread(self._file, HEAD_BYTES, self.end)
        facts = head[: _FACTS.size]
        if len(head) < HEAD_BYTES or _CHECK.pack(zlib.crc32(facts)) != head[_FACTS.size :]:
            return None
        return _FACTS.unpack(facts)

    def _is_cut_short(self, size: int) -> bool:
        """Tell whether the last frame is not whole because its writer died, or the power went.

        After a power cut, sectors that were not written are zeros. No sector of a frame is.
        """
        rest = size - self.end
        facts = self._facts()
        if facts is not None:
            begin, length = self.end + HEAD_BYTES, facts[0]
            if rest != HEAD_BYTES + length:
                return rest < HEAD_BYTES + length
            return any(not any(part) for part in self._sectors(begin, size))
        if rest < HEAD_BYTES:
            return True
        parts = self._sectors(self.end, size)
        first = next(parts)
        is_head_parted = len(first) < HEAD_BYTES
        return (is_head_parted or not any(first)) and not any(map(any, parts))

    def _sectors(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the bytes ``begin`` .. ``end`` - 1, parted where sectors of the disk begin."""
        while begin < end:
            stop = min(end, (begin // _SECTOR + 1) * _SECTOR)
            yield os.pread(self._file, stop - begin, begin)
            begin = stop
