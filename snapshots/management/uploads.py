"""Open what an engine wrote, for commands that need no server and no database."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.limits import recording_limits
from snapshots.readers import foreign
from snapshots.readers.engines import registry
from snapshots.readers.engines.base import EngineUpload
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory


@contextmanager
def stored(path: Path) -> Iterator[tuple[EngineUpload, StoredInventory]]:
    """Read a folder, a package or a file of an engine, and store its inventory for a while.

    Raises: InputRefused, OSError.
    """
    with tempfile.TemporaryDirectory(prefix="cutline-") as scratch:
        folder = _unpacked(path, Path(scratch) / "files")
        upload = _read(path, folder)
        store = Path(scratch) / "store"
        store.mkdir()
        write_inventory(store, upload)
        yield upload, StoredInventory(store)


def _unpacked(path: Path, scratch: Path) -> Path:
    """Return the folder itself, or the folder into which a package was unpacked."""
    if path.is_dir():
        return path
    registry.unpacked(path, path.name, scratch, recording_limits())
    return scratch


def _read(path: Path, folder: Path) -> EngineUpload:
    files = tuple(
        sorted(item.relative_to(folder).as_posix() for item in folder.rglob("*") if item.is_file())
    )
    if not files:
        raise refuse("empty", f"{path} holds no file.")
    recognised = registry.recognise(folder, files, registry.PACKAGE)
    if recognised.reader is None:
        if named := foreign.named_in_folder(folder, files):
            raise refuse("unknown-format", named.sentence)
        raise refuse("unknown-format", f"{path} is no checkpoint of an engine known here.")
    return recognised.reader.read(folder)
