"""Reads zip archives, entry by entry; what their directory says is not trusted."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from snapshots.domain.model.defects import quoted, refuse, times
from snapshots.readers.formats.unpacking.tar import Entry

_BLOCK = 2**20
_LARGEST_DIRECTORY = 64 * 2**20  # bytes
_LONGEST_END = 2**17  # bytes; zipfile looks for the end of the directory in the last 65,557
_ENTRY = b"PK\x01\x02"  # begins each entry of the directory
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError,
    NotImplementedError, OverflowError, IndexError,
)  # fmt: skip


def is_zip(start: bytes) -> bool:
    """Return whether a file begins as a zip archive does, be it an empty one."""
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def entries(file: BinaryIO, most: int) -> Iterator[Entry]:
    """Yield the files and folders of a zip archive with at most ``most``. Raises: InputRefused."""
    try:
        archive = zipfile.ZipFile(_Careful(file, most))
    except _ERRORS as error:
        raise _damaged(error) from None
    with archive:
        for info in archive.infolist():
            _check(info)
            folder = info.filename.endswith(("/", "\\"))
            yield Entry(info.orig_filename, folder, () if folder else _content(archive, info))


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield as many bytes as the directory says; zipfile verifies their checksum."""
    try:
        with archive.open(info) as file:
            while block := file.read(_BLOCK):
                yield block
    except _ERRORS as error:
        raise _damaged(error) from None


def _check(info: zipfile.ZipInfo) -> None:
    name = quoted(info.orig_filename)
    if info.flag_bits & _ENCRYPTED:
        raise refuse("unsafe-archive", f"In the package, {name} is encrypted.")
    if info.compress_type not in _METHODS:
        raise refuse(
            "unknown-format",
            f"In the package, {name} is compressed by a method that is not read here. "
            "Pack it with deflate, as zip does by itself.",
        )
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        noun = "a symbolic link" if kind == stat.S_IFLNK else "a device, a pipe or the like"
        raise refuse("unsafe-archive", f"In the package, {name} is {noun}.")


class _Careful(io.RawIOBase):
    """A file that refuses to give zipfile a huge directory, or one with too many entries."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        if size > _LARGEST_DIRECTORY:
            raise refuse("too-large", f"The zip package's directory has {size:,} bytes.")
        data = self._file.read(_LONGEST_END if size < 0 else size)
        if len(data) >= len(_ENTRY) * self._most and data.count(_ENTRY) > self._most:
            raise refuse(
                "too-large", f"The zip package holds more than {times(self._most, 'file')}."
            )
        return data


def _damaged(error: Exception) -> Exception:
    reason = str(error).rstrip(".") or "it ends in the middle"
    if isinstance(error, OSError):  # only the system refuses a place before the beginning
        reason = "its directory does not lie where it says"
    return refuse("truncated", f"The zip package is damaged: {reason}.")
