"""Reads plain, gzip and zstd files as a stream of bytes that ends at a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from snapshots.domain.model.defects import refuse
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.places import is_file_here

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 2**20


class BoundedStream:
    """Reads the content of a file, up to a limit.

    Args:
        file: the file, or the stream that unpacks it.
        compression: the file's compression, None for a plain file.
        limit: the number of bytes that may be read; ``read`` refuses more (``too-large``).
    """

    def __init__(self, file: pa.NativeFile, compression: str | None, limit: int) -> None:
        self._file = file
        self.compression = compression
        self._limit = limit
        self._read = 0

    def read(self, size: int = _BLOCK) -> bytes:
        """Return at most ``size`` bytes, none at the end. Raises: InputRefused."""
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
        return refuse("truncated", f"The {self.compression} file {reason}")


def compression_of(path: Path) -> str | None:
    """Return ``gzip`` or ``zstd`` by a file's first bytes, None for anything else."""
    with path.open("rb") as file:
        return _compression(file.read(4))


def _compression(start: bytes) -> str | None:
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


@contextmanager
def open_stream(path: Path, limits: Limits) -> Iterator[BoundedStream]:
    """Open a file as a stream, which unpacks the content while it is read."""
    with _opened(path) as file:
        compression = _compression(file.read(4))
        file.seek(0)
        if compression is None:
            yield BoundedStream(file, None, limits.total_bytes)
            return
        with pa.CompressedInputStream(file, compression) as unpacked:
            yield BoundedStream(unpacked, compression, limits.total_bytes)


def _opened(path: Path) -> pa.NativeFile:
    return pa.OSFile(str(path)) if is_file_here(path) else pa.PythonFile(path.open("rb"), "r")


def spool(path: Path, target: Path, limits: Limits) -> int:
    """Write the unpacked content to ``target`` and return its size. Raises: InputRefused."""
    with open_stream(path, limits) as stream, target.open("wb") as file:
        return sum(file.write(block) for block in iter(stream.read, b""))
