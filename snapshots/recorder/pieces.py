"""The pieces of snapshots: each process keeps its own, in a folder of its own.

A piece is a file of two lines: JSON, and the SHA-256 of the first line. It is there whole or not at
all. A snapshot is complete when every folder has an undamaged piece of it. No process needs to
be asked for that, so it can be found out after all of them were killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .files import lock, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"e(\d+)-n(\d+)-([0-9a-f]*)")
_ENDING = ".piece"
_EPOCH = "epoch"
_NUMBER = re.compile(rb"[0-9]{1,12}")


class EpochUsed(ValueError):
    """An epoch was begun before. A restore takes a new one: see ``next_epoch``."""


class DamagedPiece(ValueError):
    """A piece, or the number of an epoch, is not what was written."""


class SnapshotName(NamedTuple):
    """The name of a snapshot: later ones are greater. Initiators at the same time differ by name.

    epoch: in which it was begun. number: above that of all snapshots that the initiator knew of.
    """

    epoch: int
    number: int
    initiator: str

    def __str__(self) -> str:
        return f"e{self.epoch}-n{self.number}-{self.initiator.encode().hex()}"

    @classmethod
    def parse(cls, text: str) -> SnapshotName:
        """Return the name that was written so. Raises: ValueError."""
        match = _NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the name of a snapshot.")
        return cls(int(match[1]), int(match[2]), bytes.fromhex(match[3]).decode())


class Folder:
    """The pieces of one process. While it is open, nobody else can open it."""

    def __init__(self, path: Path, epoch: int) -> None:
        """Open the folder and begin an epoch in it.

        Raises: InUse, EpochUsed, DamagedPiece, OSError.
        """
        self._path = path
        path.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDONLY)
        try:
            lock(self._descriptor, path)
            self._begin(epoch)
        except BaseException:
            os.close(self._descriptor)
            raise

    def names(self) -> list[SnapshotName]:
        return _names(self._path)

    def write(self, name: SnapshotName, piece: dict[str, Any]) -> None:
        """Write a piece, whole or not at all, so that it outlives a power cut. Raises: OSError."""
        data = json.dumps(piece, ensure_ascii=False, allow_nan=False).encode()
        text = data + b"\n" + hashlib.sha256(data).hexdigest().encode() + b"\n"
        temporary = self._path / f"{name}.new"
        with temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path / f"{name}{_ENDING}")
        os.fsync(self._descriptor)

    def read(self, name: SnapshotName) -> dict[str, Any]:
        """Return a piece. Raises: DamagedPiece, OSError."""
        return read_piece(self._path, name)

    def remove(self, name: SnapshotName) -> None:
        with suppress(FileNotFoundError):
            (self._path / f"{name}{_ENDING}").unlink()

    def close(self) -> None:
        os.close(self._descriptor)

    def _begin(self, epoch: int) -> None:
        if epoch < _next_epoch(self._path):
            raise EpochUsed(f"Epoch {epoch} was begun in {self._path} before. Use a new one.")
        for left in self._path.glob("*.new"):
            left.unlink()
        replace(self._path / _EPOCH, str(epoch).encode(), to_disk=True)
        os.fsync(self._descriptor)


def last_complete(folders: Iterable[str | Path]) -> str | None:
    """Return the latest snapshot of which every folder has an undamaged piece, or None.

    Ask when no process runs any more: one that runs may complete another snapshot.
    Raises: FileNotFoundError if a folder is not there although another has pieces.
    """
    paths = [Path(folder) for folder in folders]
    _check_are_there(paths)
    everywhere = set.intersection(*(set(_names(path)) for path in paths))
    for name in sorted(everywhere, reverse=True):
        if all(_is_whole(path, name) for path in paths):
            return str(name)
    return None


def next_epoch(folders: Iterable[str | Path]) -> int:
    """Return the number of an epoch that no process with one of these folders has begun.

    Raises: DamagedPiece, OSError.
    """
    return max(_next_epoch(Path(folder)) for folder in folders)


def _check_are_there(paths: list[Path]) -> None:
    missing = [path for path in paths if not path.is_dir()]
    full = [path for path in paths if _names(path)]
    if missing and full:
        raise FileNotFoundError(
            f"The folder {missing[0]} is not there, but {full[0]} has pieces of snapshots. If it "
            "is lost for good, create it empty: then the system begins anew."
        )


def _next_epoch(path: Path) -> int:
    file = path / _EPOCH
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return 0
    if not _NUMBER.fullmatch(text):
        raise DamagedPiece(
            f"{file} does not hold the number of an epoch, so it is damaged. Put into it the "
            "number that the same file of another process has."
        )
    return int(text) + 1


def _names(path: Path) -> list[SnapshotName]:
    stems = (file.stem for file in path.glob(f"*{_ENDING}"))
    return sorted(SnapshotName.parse(stem) for stem in stems if _NAME.fullmatch(stem))


def read_piece(path: Path, name: SnapshotName) -> dict[str, Any]:
    """Return a piece in a folder. Raises: DamagedPiece, OSError."""
    file = path / f"{name}{_ENDING}"
    data, _, rest = file.read_bytes().partition(b"\n")
    if rest != hashlib.sha256(data).hexdigest().encode() + b"\n":
        raise DamagedPiece(f"{file} is damaged: its checksum is another one.")
    piece: dict[str, Any] = json.loads(data)
    return piece


def _is_whole(path: Path, name: SnapshotName) -> bool:
    try:
        read_piece(path, name)
    except (DamagedPiece, OSError):
        return False
    return True
