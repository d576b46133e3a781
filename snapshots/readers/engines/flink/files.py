"""The files of an upload, and which of them a handle means.

A path that stands in a file of the upload is never opened: it is only compared with the names of
the regular files found below the root.
"""

import mmap
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from snapshots.domain.model.defects import quoted, refuse
from snapshots.readers.engines.flink.handles import (
    EmptySegment,
    File,
    Inline,
    KeyGroups,
    RelativeFile,
    Segment,
    Stream,
)
from snapshots.readers.formats.budget import Room
from snapshots.readers.formats.cursor import Malformed

MOST_FILES = 200_000
MOST_DEEP = 50  # folders in folders
MOST_READ = 8 * 2**30  # bytes of state, inflated ones too, however often a handle names the same
_MAPPED_FROM = 2**20  # bytes; smaller files are read at once
_KEPT_OPEN = 16
_LONGEST_TAIL = 8  # folders and name that are compared


@dataclass(frozen=True, slots=True)
class Missing:
    """Bytes that a handle names and the upload does not hold. path: as the handle names it."""

    path: str
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """``size`` bytes from ``start`` of the file ``path`` (below the root, with "/")."""

    path: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Which files the checkpoints need.

    used: path -> the checkpoints (as their folders are called) that need it; missing: checkpoint ->
    what it needs and the upload does not hold.
    """

    used: dict[str, tuple[str, ...]]
    missing: dict[str, tuple[Missing, ...]]


class Files:
    """The regular files below ``root``. sizes: path below the root -> bytes.

    refused: path -> why it is not read (links, devices). room: for what handles name.
    Raises: InputRefused for too many files.
    """

    def __init__(self, root: Path, most: int = MOST_FILES) -> None:
        self.root = Path(root)
        self.sizes: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.room = Room("bytes of state", MOST_READ)
        self._most = most
        self._by_tail: dict[str, list[str]] = defaultdict(list)
        self._list()
        self.sizes = dict(sorted(self.sizes.items()))
        for path in self.sizes:
            for tail in _tails(path.split("/")):
                self._by_tail[tail].append(path)
        self._view = lru_cache(_KEPT_OPEN)(self._open)

    def _list(self) -> None:
        folders = [("", 0)]
        while folders:
            folder, depth = folders.pop()
            with os.scandir(self.root / folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False) and depth < MOST_DEEP:
                        folders.append((path, depth + 1))
                    else:
                        self._add(path, entry)

    def _add(self, path: str, entry: os.DirEntry) -> None:
        if len(self.sizes) + len(self.refused) >= self._most:
            raise refuse("too-large", f"There are more than {self._most:,} files in the upload.")
        named = path.encode("utf-8", "replace").decode()
        if entry.is_symlink():
            self.refused[named] = "It is a link, and links are not followed."
        elif entry.is_dir(follow_symlinks=False):
            self.refused[named] = f"Folders more than {MOST_DEEP} deep are not read."
        elif not entry.is_file(follow_symlinks=False):
            self.refused[named] = "It is no ordinary file."
        elif named != path:
            self.refused[named] = "Its name is no text in UTF-8."
        else:
            self.sizes[path] = entry.stat(follow_symlinks=False).st_size

    def whole(self, path: str) -> bytes | memoryview | Missing:
        """A file by its path below the root, as in ``sizes``."""
        if path not in self.sizes:
            return Missing(path, 0, "There is no such file.")
        try:
            return self._view(path)
        except OSError as error:
            return Missing(path, self.sizes[path], f"It cannot be read: {error.strerror}.")

    def _open(self, path: str) -> bytes | memoryview:
        descriptor = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            size = os.fstat(descriptor).st_size
            if size < _MAPPED_FROM:
                return os.read(descriptor, size)
            return memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))
        finally:
            os.close(descriptor)

    def locate(self, stream: File | RelativeFile | Segment, folder: str) -> Place | Missing:
        """Where the bytes of a handle lie; of a log, the whole file.

        folder: that of its `_metadata`, below the root.
        """
        size, start = stream.size, getattr(stream, "start", 0)
        path = self._path(stream, folder)
        if isinstance(path, Missing):
            return path
        found = self.sizes[path]
        if getattr(stream, "log", False):
            return Place(path, 0, found)
        whole = not isinstance(stream, Segment)
        if found != size if whole else start + size > found:
            wanted = f"{size:,} bytes" if whole else f"{size:,} bytes from byte {start:,} on"
            reason = f"The file {quoted(path)} has {found:,} bytes; needed are {wanted}."
            return Missing(stream.path, size, reason)
        return Place(path, start, size)

    def _path(self, stream: File | RelativeFile | Segment, folder: str) -> str | Missing:
        names = [name for name in stream.path.split("/") if name not in ("", ".")]
        if not names or ".." in names:
            return Missing(stream.path, stream.size, "This is no path that an upload can hold.")
        if isinstance(stream, RelativeFile):
            exact = "/".join([folder, *names] if folder else names)
            if exact in self.sizes:
                return exact
        return self._best(stream, names)

    def _best(self, stream: File | RelativeFile | Segment, names: list[str]) -> str | Missing:
        """The one file whose path ends in the longest tail of ``names`` that any has."""
        for tail in _tails(names):
            if found := self._by_tail.get(tail):
                if len(found) == 1:
                    return found[0]
                reason = f"{len(found):,} files of the upload fit equally well."
                return Missing(stream.path, stream.size, reason)
        return Missing(stream.path, stream.size, "No file of that name is in the upload.")

    def read(self, stream: Stream, folder: str) -> bytes | memoryview | Missing:
        """The bytes a handle stands for. folder: that of its `_metadata`, below the root."""
        match stream:
            case Inline():
                return stream.data
            case EmptySegment():
                return b""
            case KeyGroups():
                return self.read(stream.stream, folder)
        place = self.locate(stream, folder)
        if isinstance(place, Missing):
            return place
        try:
            self.room.take(place.size)
        except Malformed as full:
            return Missing(stream.path, stream.size, f"{full.what}.")
        data = self.whole(place.path)
        if isinstance(data, Missing):
            return data
        return data[place.start : place.start + place.size]

    def usage(self, needs: dict[str, Iterable[Stream]]) -> Usage:
        """needs: path of each `_metadata` below the root -> its streams."""
        used: dict[str, dict[str, None]] = {path: {path: None} for path in needs}
        missing: dict[str, tuple[Missing, ...]] = {}
        for metadata, streams in needs.items():
            folder = metadata.rpartition("/")[0]
            lacking = {}
            for stream in streams:
                if isinstance(stream, Inline | EmptySegment):
                    continue
                place = self.locate(stream, folder)
                if isinstance(place, Missing):
                    lacking[place] = None
                else:
                    used.setdefault(place.path, {})[metadata] = None
            missing[metadata] = tuple(lacking)
        return Usage({path: tuple(by) for path, by in used.items()}, missing)


def _tails(names: list[str]) -> list[str]:
    """The last _LONGEST_TAIL names as a path, then one fewer each, to the last one alone."""
    last = names[-_LONGEST_TAIL:]
    return ["/".join(last[place:]) for place in range(len(last))]
