"""Plain, gzip and zstd files as one bounded stream of bytes: nothing is unpacked beyond a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from snapshots.domain.model.defects import refuse
from snapshots.readers.logs.base import Limits

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 2**20


class BoundedStream:
    """Reads what is inside a file, up to ``limit`` bytes.

    Raises: InputRefused (``truncated``, ``too-large``) from read.
    """

    def __init__(self, file: pa.NativeFile, compression: str | None, limit: int) -> None:
        self._file = file
        self._compression = compression
        self._limit = limit
        self._read = 0

    def read(self, size: int = _BLOCK) -> bytes:
        """At most ``size`` bytes; none at the end."""
        try:
            data = self._file.read(size)
        except OSError as error:
            raise self._damaged(error) from error
        self._read += len(data)
        if self._read > self._limit:
            raise refuse(
                "too-large",
                f"The file holds more than {self._limit:,} bytes after decompression, "
                "the most that is read here. Split it, or raise MAX_RECORDING_BYTES.",
            )
        return data

    def _damaged(self, error: OSError) -> Exception:
        reason = (
            "ends in the middle: was the upload or the copy cut short?"
            if "Truncated" in str(error)
            else f"is damaged after {self._read:,} bytes of content, or something else follows it."
        )
        return refuse("truncated", f"The {self._compression} file {reason}")


def compression_of(path: Path) -> str | None:
    """``gzip`` or ``zstd`` by the first bytes, None for anything else."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


@contextmanager
def open_stream(path: Path, limits: Limits) -> Iterator[BoundedStream]:
    """The content of the file, unpacked while it is read."""
    compression = compression_of(path)
    with pa.OSFile(str(path)) as file:
        if compression is None:
            yield BoundedStream(file, None, limits.total_bytes)
            return
        with pa.CompressedInputStream(file, compression) as unpacked:
            yield BoundedStream(unpacked, compression, limits.total_bytes)


def spool(path: Path, target: Path, limits: Limits) -> int:
    """Writes the unpacked content to ``target``; gives its bytes. Raises: InputRefused."""
    with open_stream(path, limits) as stream, target.open("wb") as file:
        return sum(file.write(block) for block in iter(stream.read, b""))
