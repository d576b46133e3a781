"""Copy rows, uploads and stored recordings while Cutline runs, each file with its SHA-256.

Uploads and stored recordings never change once a row names them; they are only removed. The journal
of an open recording only grows, and what it has at some moment is valid. So the
named files are copied first. Then the rows are read at one moment at which every named file is
copied already. If one is not (an upload came meanwhile), it is copied and the rows are read again.

A backup is a folder: ``rows.jsonl``, ``uploads/``, ``store/``, ``manifest.json``, and written last,
``SHA256SUMS``, which ``sha256sum --check`` reads. The secret key is left out: it only signs
sessions, and these are left out too.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from snapshots.files import dump, identity, kept, recordings, starting, uploads
from snapshots.models import Recording
from snapshots.store.objects.paths import copy_here, is_here
from snapshots.store.parts import sync_folder, sync_tree

FORMAT = "cutline-backup"
VERSION = 1
ROWS = "rows.jsonl"
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
UPLOADS = "uploads"
STORE = "store"
MOST_TRIES = 50


class CannotBackUp(Exception):
    """No backup can be made; the message gives the reason."""


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """An upload or a stored recording that a row names; ``kind`` is UPLOADS or STORE."""

    kind: str
    name: str

    @property
    def source(self) -> Path:
        if self.kind == UPLOADS:
            return kept.path_of(self.name)
        return recordings.store().root / self.name

    def below(self, folder: Path) -> Path:
        return folder / self.kind / self.name


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a backup in numbers; ``missing`` lists named files that are gone."""

    rows: dict[str, int]
    uploads: int
    stores: int
    size: int
    missing: list[str]


def back_up(folder: Path) -> Report:
    """Write a backup into ``folder``, which must be new or empty.

    Raises: CannotBackUp, OSError, DatabaseError.
    """
    _require_room(folder)
    for kind in (UPLOADS, STORE):
        (folder / kind).mkdir(parents=True)
    copy = _Copy(folder)
    rows = copy.take_rows()
    copy.drop_unnamed()
    missing = sorted(f"{item.kind}/{item.name}" for item in copy.missing)
    _write_manifest(folder, rows, missing)
    size = _write_sums(folder)
    kinds = [item.kind for item in copy.copied]
    return Report(rows, kinds.count(UPLOADS), kinds.count(STORE), size, missing)


def _require_room(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotBackUp(f"{folder} is not empty: name a new folder for the backup.")
    for root in (Path(settings.DATA_DIR), recordings.store().root):
        if folder.resolve().is_relative_to(root.resolve()):
            raise CannotBackUp(f"{folder} lies in {root} and would be lost together with it.")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


class _Copy:
    """The files copied so far, and those that rows name and that are gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.copied: set[Named] = set()
        self.missing: set[Named] = set()

    def take_rows(self) -> dict[str, int]:
        """Write the rows of a moment at which every file that they name is copied."""
        for _ in range(MOST_TRIES):
            self._copy(_named() - self.copied - self.missing)
            with dump.one_moment():
                named = _named()
                if named <= self.copied | self.missing:
                    self.named = named
                    return dump.write(self.folder / ROWS)
        raise CannotBackUp(
            f"In {MOST_TRIES} tries, uploads came faster than they could be copied. Is there a "
            "quieter moment, or a folder on the same disk (its copies are links)?"
        )

    def drop_unnamed(self) -> None:
        """Remove files whose rows were deleted after the files were copied."""
        for item in self.copied - self.named:
            remove(item.below(self.folder))
        self.copied &= self.named
        self.missing &= self.named

    def _copy(self, named: set[Named]) -> None:
        journals = set(Recording.objects.exclude(journal="").values_list("journal", flat=True))
        for item in sorted(named):
            try:
                own = uploads.path_of(item.name)
                if item.name in journals and own.exists():
                    shutil.copyfile(own, item.below(self.folder))  # a link would grow with it
                else:
                    _copy_tree(item.source, item.below(self.folder))
                self.copied.add(item)
            except FileNotFoundError:
                remove(item.below(self.folder))
                if item in _named():  # else it was deleted meanwhile
                    self.missing.add(item)


def _named() -> set[Named]:
    named_uploads, named_stores = recordings.named()
    return {Named(UPLOADS, name) for name in named_uploads} | {
        Named(STORE, name) for name in named_stores
    }


def _copy_tree(source: Path, target: Path) -> None:
    """Link or copy a file or a folder. Raises: FileNotFoundError if it goes away meanwhile."""
    if not is_here(source):
        copy_here(source, target)
        return
    if not source.is_dir():
        _link_or_copy(source, target)
        return
    target.mkdir()
    for path in source.iterdir():
        _copy_tree(path, target / path.name)


def _link_or_copy(source: Path, target: Path) -> None:
    """Link a file if possible: a link costs nothing, and the file never changes."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        shutil.copyfile(source, target)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_manifest(folder: Path, rows: dict[str, int], missing: list[str]) -> None:
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made_at": timezone.now().isoformat(),
        "identity": identity.require_pair().identity,
        "migrations": starting.applied_migrations(),
        "rows": rows,
        "missing": missing,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))


def _write_sums(folder: Path) -> int:
    """Hash all files of the backup and return their bytes.

    The sums appear whole or not at all, when everything is on the disk.
    """
    draft = folder / f"{SUMS}.part"
    size = 0
    with draft.open("w") as sums:
        for path in files_of(folder):
            if path != draft:
                sums.write(f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n")
                size += path.stat().st_size
    sync_tree(folder)
    draft.rename(folder / SUMS)
    sync_folder(folder)
    sync_folder(folder.parent)
    return size


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in a fixed order."""
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
