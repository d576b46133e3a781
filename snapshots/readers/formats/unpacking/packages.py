"""Unpacks an upload into a folder of its own: zip, or tar or a single file, plain, gzip or zstd.

Archives are not trusted: names stay below the folder, links and devices are refused, and bytes are
counted while they are written.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from snapshots.domain.model.defects import quoted, refuse, times
from snapshots.readers.formats.compression import compression_of, open_stream
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.unpacking import tar as tar_entries
from snapshots.readers.formats.unpacking import zip as zip_entries
from snapshots.readers.formats.unpacking.names import Names

RATIO_FLOOR = 64 * 2**20  # bytes that may always be unpacked, however small the archive is
_BLOCK = 2**20
_OTHER_PACKAGES = {
    b"7z\xbc\xaf": "7-Zip",
    b"Rar!": "RAR",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_INNER = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"} | _OTHER_PACKAGES
_NOTES = ("__MACOSX", ".DS_Store")


@dataclass(frozen=True)
class PackageLimits:
    """How much an archive may hold.

    Attributes:
        total_bytes: the bytes of all files, unpacked.
        ratio: the unpacked bytes per packed byte; RATIO_FLOOR bytes are always allowed.
        files: the number of files and folders.
        depth: the number of parts in a name.
        name_bytes: the bytes of a whole name.
    """

    total_bytes: int = 8 * 2**30
    ratio: int = 200
    files: int = 100_000
    depth: int = 32
    name_bytes: int = 1024


@dataclass(frozen=True)
class Unpacked:
    """What was unpacked.

    Attributes:
        files: the names below the folder, with /, in the archive's order.
        bytes: the bytes of all files.
        skipped: name and reason of what was left as it is or left out, such as an archive in the
            archive.
        originals: the name in the archive of each file that has another one here.
    """

    files: tuple[str, ...]
    bytes: int
    skipped: tuple[tuple[str, str], ...]
    originals: dict[str, str] = field(default_factory=dict)


def unpack(
    source: Path,
    target: Path,
    limits: PackageLimits,
    *,
    name: str | None = None,
    plain_names: bool = False,
    watch: Callable[[str], None] = lambda _: None,
) -> Unpacked:
    """Unpack an upload into ``target``, which must be empty or not exist yet.

    Nothing is left of a refused upload.

    Args:
        name: the upload's own name, which a file that is no archive gets.
        plain_names: whether files get names of letters, digits and ._=+- alone.
        watch: is called with the name of each file before it is unpacked.

    Raises: InputRefused (``unsafe-archive``, ``too-large``, ``truncated``, ``empty`` …).
    """
    made = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise FileExistsError(f"{target} is not empty")
    try:
        folder = _Folder(target, limits, source.stat().st_size, plain_names)
        with _entries(source, limits, folder, name or source.name) as entries:
            for entry in entries:
                watch(entry.name)
                folder.add(entry)
        return folder.unpacked()
    except BaseException:
        _clear(target, made)
        raise


def _clear(target: Path, whole: bool) -> None:
    for path in [target] if whole else list(target.iterdir()):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def _entries(
    source: Path, limits: PackageLimits, folder: "_Folder", name: str
) -> Iterator[Iterable[tar_entries.Entry]]:
    """Open an upload of any form, and give its entries."""
    with source.open("rb") as file:
        start = file.read(512)
    if not start:
        raise refuse("empty", "The file is empty.")
    for magic, form in _OTHER_PACKAGES.items():
        if start.startswith(magic):
            raise refuse("unknown-format", f"This is {form}. Pack the files as zip or tar.gz.")
    if zip_entries.is_zip(start):
        with source.open("rb") as file:
            yield zip_entries.entries(file, limits.files)
        return
    bounds = Limits(total_bytes=folder.most + 2048 * limits.files)
    with open_stream(source, bounds) as stream:
        is_tar = tar_entries.is_tar(stream.read(512))
    with open_stream(source, bounds) as stream:
        if is_tar:
            yield tar_entries.entries(stream.read, folder.skip)
            return
        if compression_of(source):
            name = name.removesuffix(".gz").removesuffix(".zst")
        name = name.replace("\\", "/").rpartition("/")[2]
        yield [tar_entries.Entry(name, False, iter(lambda: stream.read(_BLOCK), b""))]


class _Folder:
    """The folder that is being filled."""

    def __init__(self, root: Path, limits: PackageLimits, packed: int, plain_names: bool) -> None:
        # The bytes that may be written in all.
        self.most = min(limits.total_bytes, max(RATIO_FLOOR, limits.ratio * packed))
        self._root, self._limits = root, limits
        self._names = Names(limits.depth, limits.name_bytes, plain=plain_names)
        self._files: list[str] = []
        self._skipped: list[tuple[str, str]] = []
        self._originals: dict[str, str] = {}
        self._entries = self._bytes = 0

    def skip(self, name: str, reason: str) -> None:
        self._skipped.append((name, reason))

    def add(self, entry: tar_entries.Entry) -> None:
        self._entries += 1
        if self._entries > self._limits.files:
            raise refuse(
                "too-large",
                f"The package holds more than {times(self._limits.files, 'file')}, the most that "
                "is unpacked here.",
            )
        parts = self._names.parts(entry.name)
        if entry.folder:
            self._names.take_folder(parts)
            return
        if not parts:
            raise refuse("unsafe-archive", "A file in the package has no name.")
        if any(part in _NOTES for part in parts):
            self.skip("/".join(parts), "A note of macOS's own: no part of the data.")
            return
        self._write("/".join(parts), self._names.take_file(parts), entry.blocks)

    def _write(self, original: str, name: str, blocks: Iterable[bytes]) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        start = b""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            for block in blocks:
                self._count(len(block), original)
                start = start or block[:512]
                file.write(block)
        self._files.append(name)
        if name != original:
            self._originals[name] = original
        if kind := _package_kind(start):
            self.skip(name, f"It is a package ({kind}) in the package: kept as a file.")

    def _count(self, size: int, name: str) -> None:
        self._bytes += size
        if self._bytes > self.most:
            raise refuse(
                "too-large",
                f"Unpacked, the package has more than {self.most:,} bytes (at {quoted(name)}), "
                "the most that is unpacked of one of its size.",
            )

    def unpacked(self) -> Unpacked:
        if not self._files:
            raise refuse("empty", "The package holds no file.")
        return Unpacked(tuple(self._files), self._bytes, tuple(self._skipped), self._originals)


def _package_kind(start: bytes) -> str | None:
    if tar_entries.is_tar(start):
        return "tar"
    return next((kind for magic, kind in _INNER.items() if start.startswith(magic)), None)
