"""List the files below a folder, and read them within limits."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.readers.formats.cursor import Malformed, NotReadHere

DEEPEST = 16  # folders below the upload's


class DamagedFile(ValueError):
    """A file is damaged.

    Args:
        file: the path, relative to the folder that is read.
        what: a sentence without the file's name.
        line: 1-based; None if the damage is not in a line.
    """

    def __init__(self, file: str, what: str, line: int | None = None) -> None:
        location = file if line is None else f"{file}, line {line}"
        super().__init__(f"{location}: {what}")
        self.file = file
        self.line = line
        self.what = what


class FileNotRead(DamagedFile):
    """A file may be intact: it is of a form, or of a size, that is not read here."""


def damaged_by(file: str, malformed: Malformed) -> DamagedFile:
    """Return what is wrong with a file; a FileNotRead where its bytes may be intact."""
    kind = FileNotRead if isinstance(malformed, NotReadHere) else DamagedFile
    return kind(file, f"{malformed}.")


@dataclass
class Spent:
    """How much of an upload has been read.

    Attributes:
        counts: the amount that was read of each kind.
        kept: kinds and files that count only once, and have been counted.
    """

    counts: Counter[str] = field(default_factory=Counter)
    kept: set[tuple[str, Path]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One regular file.

    Attributes:
        size: Bytes.
        modified_ms: when this copy of the file was modified, in epoch ms.
    """

    path: str
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Files:
    """The regular files below ``root``.

    Attributes:
        entries: the files by path, relative to the root.
        left_out: what is not a regular file, lies too deep, or has an unprintable name.
        spent: how much of the upload has been read; all views of an upload share it.
    """

    root: Path
    entries: dict[str, FileEntry]
    left_out: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent, compare=False, repr=False)
    _folders: dict[str, set[str]] = field(default_factory=dict, repr=False)

    def __contains__(self, path: str) -> bool:
        return path in self.entries

    def below(self, folder: str) -> list[str]:
        """Return the sorted paths of the files below ``folder`` ("" for all)."""
        prefix = f"{folder}/" if folder else ""
        return sorted(path for path in self.entries if path.startswith(prefix))

    def children(self, folder: str) -> set[str]:
        """Return the names of the files and folders directly in ``folder``."""
        if not self._folders:
            for path in self.entries:
                parts = path.split("/")
                for depth in range(len(parts)):
                    self._folders.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
        return self._folders.get(folder, set())

    def is_folder(self, folder: str) -> bool:
        return bool(self.children(folder))

    def inside(self, folder: str, without: Iterable[str] = ()) -> "Files":
        """Return the files below ``folder``, with paths relative to it.

        Args:
            without: folders below it whose files are left out.
        """
        left_out = tuple(f"{inner}/" for inner in without)
        if not folder and not left_out:
            return self
        prefix = f"{folder}/" if folder else ""
        start = len(prefix)
        entries = {
            path[start:]: FileEntry(path[start:], entry.size, entry.modified_ms)
            for path, entry in self.entries.items()
            if path.startswith(prefix) and not path.startswith(left_out)
        }
        return Files(self.root / folder, entries, spent=self.spent)

    def spend(self, kind: str, path: str, amount: int, most: int, *, again: bool = False) -> None:
        """Count what is read of a file. Raises: DamagedFile beyond the limit.

        Args:
            kind: what is counted, a plural such as "bytes of logs".
            path: the file.
            amount: how much is read.
            most: the limit for this kind in the whole upload.
            again: whether a file that has been counted counts again.
        """
        key = kind, self.root / path
        if not again and key in self.spent.kept:
            return
        if self.spent.counts[kind] + amount > most:
            raise FileNotRead(
                path,
                f"It is not read: at most {most:,} {kind} of an upload are read.",
            )
        self.spent.counts[kind] += amount
        if not again:
            self.spent.kept.add(key)

    def read(self, path: str, most: int) -> bytes:
        """Read a whole file. Raises: DamagedFile if it has more than ``most`` bytes, or is gone."""
        try:
            with open_regular(self.root / path) as file:
                data = file.read(most + 1)
        except OSError as error:
            raise DamagedFile(path, f"It cannot be read ({error.strerror}).") from error
        if len(data) > most:
            raise FileNotRead(path, f"It is longer than {most:,} bytes, which is the limit.")
        return data


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, without following links. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return os.fdopen(descriptor, "rb")


def list_files(root: Path, most: int) -> Files:
    """List the files below a folder. Raises: InputRefused if there are more than ``most``."""
    entries: dict[str, FileEntry] = {}
    left_out: list[str] = []
    for path, status in _walk(root, "", 0):
        if status is None or not stat.S_ISREG(status.st_mode):
            left_out.append(path)
        else:
            entries[path] = FileEntry(path, status.st_size, status.st_mtime_ns // 1_000_000)
        if len(entries) + len(left_out) > most:
            raise refuse(
                "too-large",
                f"The upload holds more than {most:,} files, the most that are read here.",
            )
    return Files(root, entries, tuple(sorted(left_out)))


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield path and status of all but folders; the status is None for what is not examined."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if not path.isprintable():
                yield path.encode("utf-8", "backslashreplace").decode(), None
            elif not entry.is_dir(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False)
            elif depth < DEEPEST:
                yield from _walk(Path(entry.path), f"{path}/", depth + 1)
            else:
                yield path, None
