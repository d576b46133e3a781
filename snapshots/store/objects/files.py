"""Open an object as a file, of which whole blocks are read, so that their checksums can tell."""

import io
from typing import IO, Any

from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects import client, seals
from snapshots.store.objects.client import Known

_BUFFER = 2**20  # bytes


def reading(bucket: str, key: str, known: Known | None = None) -> IO[bytes]:
    """Open an object as a file that is read by ranges. Raises as ``client.read`` does."""
    known = known or client.look(bucket, key)
    buffer = max(_BUFFER, seals.block_of(known.size)) if known.sums else _BUFFER
    return io.BufferedReader(_Reading(bucket, key, known), buffer)


class _Reading(io.RawIOBase):
    """An object as a file. While it is open, the object must stay as it is."""

    def __init__(self, bucket: str, key: str, known: Known) -> None:
        self._place, self._known = (bucket, key), known
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._known.size
        end = min(self._at + len(buffer), size)
        if self._at >= end:
            return 0
        if self._known.sums and end < size:  # at the end of a block, so that none is read twice
            whole, _ = seals.widened(end, end, size)
            end = whole if whole > self._at else end
        try:
            content = client.read_range(*self._place, self._at, end, self._known)
        except client.CutShort as error:
            raise StoreUnreachable(f"s3://{'/'.join(self._place)}", error.what) from None
        buffer[: len(content)] = content
        self._at = end
        return len(content)

    def readall(self) -> bytes:
        return self.read(max(self._known.size - self._at, 0)) or b""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._known.size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at
