"""The files below a folder, each listed once, and read only within limits."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from snapshots.domain.model.defects import refuse

DEEPEST = 16  # folders below the upload's


class DamagedFile(ValueError):
    """A file is not what it should be.

    file: relative to the folder that is read, with ``/``. line: 1-based, None where the file has
    no lines. what: a sentence without the file's name.
    """

    def __init__(self, file: str, what: str, line: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: {what}")
        self.file = file
        self.line = line
        self.what = what


@dataclass
class Spent:
    """How much of an upload has been read. counts: by kind; kept: what counts only once."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: set[tuple[str, Path]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """size: in bytes. modified_ms: epoch milliseconds, of this copy of the file."""

    path: str
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Files:
    """The regular files below ``root``, by relative path; links and devices are left out.

    left_out: what is there and is no regular file, lies too deep, or has an unreadable name.
    spent: of the whole upload, shared by all views of it.
    """

    root: Path
    entries: dict[str, FileEntry]
    left_out: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent, compare=False, repr=False)
    _folders: dict[str, set[str]] = field(default_factory=dict, repr=False)

    def __contains__(self, path: str) -> bool:
        return path in self.entries

    def below(self, folder: str) -> list[str]:
        """Paths of the files below ``folder`` ("" for all), sorted."""
        start = f"{folder}/" if folder else ""
        return sorted(path for path in self.entries if path.startswith(start))

    def children(self, folder: str) -> set[str]:
        """Names of the files and folders right in ``folder``."""
        if not self._folders:
            for path in self.entries:
                parts = path.split("/")
                for depth in range(len(parts)):
                    self._folders.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
        return self._folders.get(folder, set())

    def is_folder(self, folder: str) -> bool:
        return bool(self.children(folder))

    def inside(self, folder: str) -> "Files":
        """The files below ``folder``, with paths relative to it."""
        if not folder:
            return self
        start = len(folder) + 1
        entries = {
            path[start:]: FileEntry(path[start:], entry.size, entry.modified_ms)
            for path, entry in self.entries.items()
            if path.startswith(f"{folder}/")
        }
        return Files(self.root / folder, entries, spent=self.spent)

    def spend(self, kind: str, path: str, amount: int, most: int, *, again: bool = False) -> None:
        """Counts what is read of a file, each file once unless it is to count ``again``.

        kind: a plural. most: of this kind in the whole upload. Raises: DamagedFile beyond it.
        """
        key = kind, self.root / path
        if not again and key in self.spent.kept:
            return
        if self.spent.counts[kind] + amount > most:
            raise DamagedFile(
                path,
                f"It is not read: the {kind} of the upload that are read are at most {most:,}.",
            )
        self.spent.counts[kind] += amount
        if not again:
            self.spent.kept.add(key)

    def read(self, path: str, most: int) -> bytes:
        """A whole file. Raises: DamagedFile where it is longer than ``most`` bytes, or gone."""
        try:
            with open_regular(self.root / path) as file:
                data = file.read(most + 1)
        except OSError as error:
            raise DamagedFile(path, f"It cannot be read ({error.strerror}).") from error
        if len(data) > most:
            raise DamagedFile(path, f"It is longer than {most:,} bytes, the most that is read.")
        return data


def open_regular(path: Path):
    """The file itself, opened for reading; never what a link points at. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return os.fdopen(descriptor, "rb")


def list_files(root: Path, most: int) -> Files:
    """Raises: InputRefused where there are more than ``most`` files."""
    entries: dict[str, FileEntry] = {}
    left_out: list[str] = []
    for path, found in _walk(root, "", 0):
        if found is None or not stat.S_ISREG(found.st_mode):
            left_out.append(path)
        else:
            entries[path] = FileEntry(path, found.st_size, found.st_mtime_ns // 1_000_000)
        if len(entries) + len(left_out) > most:
            raise refuse(
                "too-large",
                f"The upload holds more than {most:,} files, the most that are read here.",
            )
    return Files(root, entries, tuple(sorted(left_out)))


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result | None]]:
    """Everything below ``folder`` that is no folder; None for what is not looked into."""
    with os.scandir(folder) as found:
        for entry in found:
            path = prefix + entry.name
            if not path.isprintable():
                yield path.encode("utf-8", "backslashreplace").decode(), None
            elif not entry.is_dir(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False)
            elif depth < DEEPEST:
                yield from _walk(Path(entry.path), f"{path}/", depth + 1)
            else:
                yield path, None
