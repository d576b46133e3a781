"""Restore a backup into an installation that holds nothing yet."""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, transaction

from snapshots.files import backup, dump, identity, kept, recordings, starting, uploads
from snapshots.models import Recording
from snapshots.store.objects.paths import ObjectPath, is_complete, is_here, put_tree, remove_tree
from snapshots.store.parts import sync_folder, sync_tree
from snapshots.store.publish import publish_objects


class CannotRestore(Exception):
    """The backup cannot be restored, and nothing was changed; the message gives the reason."""


def restore(folder: Path) -> dict[str, int]:
    """Restore the backup in ``folder`` and return the number of rows by model.

    Raises: CannotRestore, OSError, DatabaseError.
    """
    manifest = verified(folder)
    with _alone():
        _require_empty()
        _require_no_rows()
        call_command("migrate", verbosity=0)
        _require_same_version(manifest)
        placed: list[Path] = []
        try:
            _place(folder, placed)
            _sync(placed)
            counts = _load(folder / backup.ROWS, manifest)
            _place_journals(folder)
            return counts
        except BaseException:
            for path in placed:
                _remove(path)
            raise


def verified(folder: Path) -> dict[str, Any]:
    """Return a backup's manifest after checking that every file is as it was written.

    Raises: CannotRestore.
    """
    sums = _sums(folder)
    present = {path.relative_to(folder).as_posix() for path in backup.files_of(folder)}
    for name in sorted(sums.keys() - present):
        raise CannotRestore(f"The backup is incomplete: {name} is missing.")
    for name in sorted(present - sums.keys() - {backup.SUMS}):
        raise CannotRestore(f"{name} does not belong to the backup.")
    for name, expected in sums.items():
        if backup.sha256(folder / name) != expected:
            raise CannotRestore(f"The backup is damaged: {name} does not match its SHA-256.")
    manifest = json.loads((folder / backup.MANIFEST).read_bytes())
    if (manifest["format"], manifest["version"]) != (backup.FORMAT, backup.VERSION):
        raise CannotRestore(f"{folder} is not a backup that this version of Cutline reads.")
    return manifest


def _sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file by its path in the backup."""
    try:
        lines = (folder / backup.SUMS).read_text().splitlines()
    except OSError:
        raise CannotRestore(
            f"{folder} is not a complete backup: it has no {backup.SUMS}, which is written last."
        ) from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Lock the data folder, so that no Cutline runs meanwhile. Raises: CannotRestore."""
    with (Path(settings.DATA_DIR) / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRestore(
                f"Cutline is running with the data in {settings.DATA_DIR}: stop it first."
            ) from None
        yield


def _require_empty() -> None:
    """Check that there are no files yet and that the folder is not another's.

    Raises: CannotRestore.
    """
    if identity.holds_files():
        raise CannotRestore(
            f"{settings.DATA_DIR} or STORE_URL already holds uploads or stored recordings. "
            "A backup is restored into an empty installation: set DATA_DIR (and STORE_URL) to "
            "new folders, and DATABASE_URL to a new database."
        )
    try:
        starting.require_before_migrating()
    except starting.CannotStart as problem:
        raise CannotRestore(str(problem)) from None


def _require_no_rows() -> None:
    used = dump.used_models()
    if used:
        raise CannotRestore(
            f"The database already has {', '.join(used)}. A backup is restored into an empty "
            "installation: set DATABASE_URL to a new database."
        )


def _require_same_version(manifest: dict[str, Any]) -> None:
    """Check that the backup's version wrote the same tables as this one. Raises: CannotRestore."""
    theirs, ours = set(manifest["migrations"]), set(starting.applied_migrations())
    if theirs != ours:
        newer = "an older" if theirs < ours else "another"
        raise CannotRestore(
            f"The backup was made by {newer} version of Cutline: restore it with that version, and "
            "then upgrade as docs/upgrading.md says."
        )


def _place(folder: Path, placed: list[Path]) -> None:
    """Copy uploads and stored recordings to their folders; ``placed`` collects the new paths."""
    root = recordings.store().root
    root.mkdir(parents=True, exist_ok=True)
    for kind, target in ((backup.UPLOADS, kept.root()), (backup.STORE, root)):
        for path in sorted((folder / kind).iterdir()):
            placed.append(target / path.name)
            _copy(path, target / path.name)


def _sync(placed: list[Path]) -> None:
    """Force what was copied to the disk, before rows name it."""
    here = [path for path in placed if is_here(path)]
    for path in here:
        sync_tree(path)
    for parent in {path.parent for path in here}:
        sync_folder(parent)
        sync_folder(parent.parent)


def _place_journals(folder: Path) -> None:
    """Copy the journals of open recordings to this machine, if uploads are kept elsewhere."""
    if is_here(kept.root()):
        return
    for name in Recording.objects.exclude(journal="").values_list("journal", flat=True):
        if (folder / backup.UPLOADS / name).exists():  # else the backup lists it as missing
            shutil.copyfile(folder / backup.UPLOADS / name, uploads.path_of(name))


def _copy(source: Path, target: Path) -> None:
    if isinstance(target, ObjectPath):
        put_tree(source, target)
        if source.is_dir() and not is_complete(target):  # it comes from a disk
            publish_objects(target)
    elif source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(source, target)


def _remove(path: Path) -> None:
    if path.is_dir():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _load(path: Path, manifest: dict[str, Any]) -> dict[str, int]:
    with transaction.atomic():
        try:
            counts = dump.load(path)
        except (dump.CannotLoad, DatabaseError, ValueError) as error:
            raise CannotRestore(f"The rows cannot be loaded: {error}") from error
        expected = {model: count for model, count in manifest["rows"].items() if count}
        if counts != expected:
            raise CannotRestore(f"The backup's rows do not match its manifest: {counts}.")
        identity.pair_anew()
    return counts
