"""List the files of an upload, and find the file that a handle names.

A path that is stored in a file of the upload is never opened. It is only compared with the names of
the regular files below the root.
"""

import mmap
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import unquote

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
MOST_READ = 8 * 2**30  # bytes of state, stored and inflated; repeated reads count again
_MAPPED_FROM = 2**20  # bytes; smaller files are read at once
_KEPT_OPEN = 16
_LONGEST_TAIL = 8  # folders and name that are compared
_MOST_COMPARED = 100  # files of one name
_FLAT_SEPARATOR = re.compile(r"[/\\:_]")
"""What stands for / in the names of objects that were copied out of a store without folders."""

ONLY_LISTED = "Only a listing names it: its content is not in the upload."
SAVEPOINT_FOLDER = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]{12}")
CHECKPOINT_FOLDER = re.compile(rf"chk-\d{{1,18}}|{SAVEPOINT_FOLDER.pattern}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # Flink's names of state files


@dataclass(frozen=True, slots=True)
class Missing:
    """Bytes that a handle names and the upload does not hold.

    Attributes:
        path: the path as the handle has it.
        reason: a sentence.
        damaged: the file of the upload that should hold the bytes and does not, as when its end is
            cut off. None if the upload has no such file.
        is_certain: whether the upload lacks them for certain; else nobody can tell where they are,
            or they are not read because they are too many.
    """

    path: str
    size: int
    reason: str
    damaged: str | None = None
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """``size`` bytes from ``start`` on of the file ``path``, relative to the root."""

    path: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The files that checkpoints need. A checkpoint is named by the path of its `_metadata`.

    Attributes:
        used: for each path the checkpoints that need it.
        missing: for each checkpoint what the upload does not hold.
        damaged: for each path that does not hold what a checkpoint needs of it, why.
    """

    used: dict[str, tuple[str, ...]]
    missing: dict[str, tuple[Missing, ...]]
    damaged: dict[str, str]


class Files:
    """The regular files below ``root``.

    ``sizes`` has their sizes in bytes by path, relative to the root. ``refused`` says by path why
    something is not read (links, devices). ``folders`` are all folders, "" for the root, and
    ``empty`` those without any file. ``room`` is the budget for all that handles name.
    ``listed`` are files that are not there and that listings name; ``sizes`` has them, too. The
    sizes of those in ``rough`` are rounded, and ``is_certain`` is false if the listings may lack
    files. Raises: InputRefused for too many files.
    """

    def __init__(self, root: Path, most: int = MOST_FILES) -> None:
        self.root = Path(root)
        self.sizes: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.listed: frozenset[str] = frozenset()
        self.rough: frozenset[str] = frozenset()
        self.is_certain = True
        self.empty: list[str] = []
        self.folders: list[str] = []
        self.room = Room("bytes of state", MOST_READ)
        self._most = most
        self._by_tail: dict[str, list[str]] = defaultdict(list)
        self._list()
        self.sizes = dict(sorted(self.sizes.items()))
        self._index(self.sizes)
        self._view = lru_cache(_KEPT_OPEN)(self._open)

    def add_listed(
        self, sizes: Mapping[str, int], rough: Iterable[str], empty: Iterable[str]
    ) -> None:
        """Add files, and empty folders, that listings name and the upload does not hold."""
        new = {path: size for path, size in sizes.items() if path not in self.sizes}
        self.listed, self.rough = frozenset(new), frozenset(rough) & new.keys()
        self.sizes = dict(sorted((self.sizes | new).items()))
        self._index(new)
        known = {*self.folders}
        above = {path.rpartition("/")[0] for path in new}
        self.folders += sorted(above - known)
        self.empty += sorted(empty)

    def _index(self, paths: Iterable[str]) -> None:
        for path in paths:
            for tail in _tails(path.split("/")):
                self._by_tail[tail].append(path)

    def _list(self) -> None:
        folders = [("", 0)]
        while folders:
            folder, depth = folders.pop()
            self.folders.append(folder)
            with os.scandir(self.root / folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
                if not entries:
                    self.empty.append(folder)
                for entry in entries:
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
            self.refused[named] = "It is not a regular file."
        elif named != path:
            self.refused[named] = "Its name is not valid UTF-8."
        else:
            self.sizes[path] = entry.stat(follow_symlinks=False).st_size

    @cached_property
    def folder_ends(self) -> frozenset[tuple[str, ...]]:
        """Return the last two names of every folder."""
        return frozenset(tuple(folder.split("/")[-2:]) for folder in self.folders)

    def whole(self, path: str) -> bytes | memoryview | Missing:
        """Return the content of a file by its path, as in ``sizes``."""
        if path not in self.sizes:
            return Missing(path, 0, "There is no such file.")
        if path in self.listed:
            return Missing(path, self.sizes[path], ONLY_LISTED, is_certain=False)
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
        """Return where the bytes of a handle lie; for a log, the whole file.

        ``folder`` is that of its `_metadata`, relative to the root.
        """
        path = self.path_of(stream, folder)
        if isinstance(path, Missing):
            return path
        actual, size = self.sizes[path], stream.size
        if isinstance(stream, Segment):
            place, needed = Place(path, stream.start, size), f" from byte {stream.start:,} on"
            is_complete = stream.start + size <= actual
        else:
            place, needed = Place(path, 0, actual), ""
            is_complete = stream.log or actual == size
        if is_complete or path in self.rough:
            return place
        reason = f"The file {quoted(path)} has {actual:,} bytes; needed are {size:,} bytes{needed}."
        return Missing(stream.path, size, reason, damaged=path)

    def path_of(self, stream: File | RelativeFile | Segment, folder: str) -> str | Missing:
        """Return the path of the file that a handle names, whatever the size of the file is."""
        names = [name for name in stream.path.split("/") if name not in ("", ".")]
        if not names or ".." in names:
            return Missing(stream.path, stream.size, "An upload cannot hold this path.")
        if isinstance(stream, RelativeFile):
            exact = "/".join([folder, *names] if folder else names)
            if exact in self.sizes:
                return exact
            return self._beside(stream, names, folder)
        return self._best(stream, names)

    def _beside(self, stream: RelativeFile, names: list[str], folder: str) -> str | Missing:
        """Return the one file of a folder in whose name a copy out of a store put the folders."""
        tail = "/".join(_flat_parts("/".join(names)))
        found = [
            path for path in self._by_flat_tail.get(tail, ()) if path.rpartition("/")[0] == folder
        ]
        if len(found) == 1:
            return found[0]
        reason = "No such file lies beside the _metadata, where Flink looks for it."
        if found:
            reason = f"{len(found):,} files beside the _metadata fit equally well."
        is_certain = self.is_certain and not found
        return Missing(stream.path, stream.size, reason, is_certain=is_certain)

    def _best(self, stream: File | RelativeFile | Segment, names: list[str]) -> str | Missing:
        """Return the one file that has the longest tail of ``names`` in common with the handle."""
        flat = _flat_parts("/".join(names))
        shortest = len(_flat_parts(names[-1]))
        candidates = _longest_match(self._by_tail, _tails(names)) or _longest_match(
            self._by_flat_tail, _tails(flat)[: max(0, min(len(flat), _LONGEST_TAIL) - shortest + 1)]
        )
        if len(candidates) <= _MOST_COMPARED:
            candidates = [path for path in candidates if not _is_of_another(path, names)]
        if len(candidates) == 1:
            return candidates[0]
        reason = "No file of that name is in the upload."
        if candidates:
            reason = f"{len(candidates):,} files of the upload fit equally well."
        is_certain = self.is_certain and not candidates
        return Missing(stream.path, stream.size, reason, is_certain=is_certain)

    @cached_property
    def _by_flat_tail(self) -> dict[str, list[str]]:
        """The files whose names hold folders, by tails of folders and name."""
        by_tail: dict[str, list[str]] = defaultdict(list)
        for path in self.sizes:
            for tail in _tails(_flat_parts(path.rpartition("/")[2])):
                by_tail[tail].append(path)
        return by_tail

    def read(self, stream: Stream, folder: str) -> bytes | memoryview | Missing:
        """Return the bytes of a handle; ``folder`` is that of its `_metadata`."""
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
        if place.path in self.listed:
            return Missing(stream.path, stream.size, ONLY_LISTED, is_certain=False)
        try:
            self.room.take(place.size)
        except Malformed as full:
            return Missing(stream.path, stream.size, f"{full.what}.", is_certain=False)
        data = self.whole(place.path)
        if isinstance(data, Missing):
            return data
        return data[place.start : place.start + place.size]

    def usage(self, needs: Mapping[str, Iterable[Stream]]) -> Usage:
        """Return which files are needed by whom; ``needs`` has the streams of each `_metadata`."""
        used: dict[str, dict[str, None]] = {path: {path: None} for path in needs}
        missing: dict[str, tuple[Missing, ...]] = {}
        damaged: dict[str, str] = {}
        for metadata, streams in needs.items():
            folder = metadata.rpartition("/")[0]
            lacking: dict[Missing, None] = {}
            for stream in streams:
                if not isinstance(stream, File | RelativeFile | Segment):
                    continue
                place = self.locate(stream, folder)
                path = place.damaged if isinstance(place, Missing) else place.path
                if isinstance(place, Missing):
                    lacking[place] = None
                    damaged |= {} if path is None else {path: place.reason}
                if path is not None:
                    used.setdefault(path, {})[metadata] = None
            missing[metadata] = tuple(lacking)
        users = {path: tuple(by) for path, by in used.items()}
        return Usage(users, missing, damaged)


def _is_of_another(path: str, names: list[str]) -> bool:
    """Tell whether a file lies in the folder of another checkpoint than the one that is named."""
    own, named = path.split("/")[-2:-1], names[-2:-1]
    return own != named and all(
        folder and CHECKPOINT_FOLDER.fullmatch(folder[0]) for folder in (own, named)
    )


def _flat_parts(path: str) -> list[str]:
    """Split a path, or a name into which an object store's path was made, into its parts."""
    return [part for part in _FLAT_SEPARATOR.split(_UUID.sub(r"/\g<0>/", unquote(path))) if part]


def _longest_match(by_tail: Mapping[str, list[str]], tails: list[str]) -> list[str]:
    """Return the files at the longest of the tails that has any."""
    return next((by_tail[tail] for tail in tails if tail in by_tail), [])


def _tails(names: list[str]) -> list[str]:
    """Return the last _LONGEST_TAIL names as a path, then ever shorter tails of it."""
    last = names[-_LONGEST_TAIL:]
    return ["/".join(last[start:]) for start in range(len(last))]
