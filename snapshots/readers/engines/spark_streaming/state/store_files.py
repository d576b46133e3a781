"""List the versions of state on disk, in ``state/<operator>/<partition>[/<store>]/``.

The version of a batch is its number plus one. The HDFS-backed provider writes deltas and snapshots.
RocksDB writes changelogs, and zips as snapshots, with tables in ``SSTs/``. In checkpoint format 2
each name has a unique id, and only the ids in the commit log are valid.

Source: Spark's HDFSBackedStateStoreProvider, RocksDBFileManager.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from snapshots.readers.engines.spark_streaming.files import Files
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered

DEFAULT_STORE = "default"
DELTA, SNAPSHOT, CHANGELOG, ZIP = "delta", "snapshot", "changelog", "zip"
WHOLE = (SNAPSHOT, ZIP)  # files with the whole state of a version
CHANGES = (DELTA, CHANGELOG)  # files with the changes of a version
_NAME = re.compile(r"(0|[1-9]\d{0,17})(?:_([0-9A-Za-z-]{1,64}))?\.(delta|snapshot|changelog|zip)")


@dataclass(frozen=True, order=True)
class VersionFile:
    """One state file.

    Attributes:
        kind: DELTA, SNAPSHOT, CHANGELOG or ZIP.
        unique_id: none in checkpoint format 1.
        path: relative to the checkpoint.
    """

    version: int
    kind: str
    unique_id: str | None
    path: str


@dataclass(frozen=True)
class PartitionFiles:
    """The state files of one partition of one store.

    Attributes:
        tables: the paths of RocksDB's table files.
    """

    partition: int
    files: tuple[VersionFile, ...]
    tables: tuple[str, ...] = ()

    @property
    def snapshots(self) -> list[int]:
        return sorted({file.version for file in self.files if file.kind in WHOLE})

    def changes(self, version: int, ids: dict[int, str]) -> VersionFile | None:
        """Return the file with the changes of a version; ``ids`` are as for ``chain``."""
        valid = (file for file in self.files if _is_valid(file, ids))
        return next((f for f in valid if f.version == version and f.kind in CHANGES), None)

    def has(self, version: int) -> bool:
        return any(file.version == version for file in self.files)


@dataclass(frozen=True)
class Chain:
    """The files that make up one version: a snapshot, if any, then all changes after it.

    Attributes:
        lacking: how many files are missing: of changes, or the whole snapshot of RocksDB where
            none has changes.
        missing: the name of the first missing file.
    """

    files: tuple[VersionFile, ...]
    lacking: int = 0
    missing: str | None = None


StoreVersions = dict[int, dict[str, dict[int, PartitionFiles]]]
"""State files by operator, store and partition."""


def list_versions(files: Files) -> StoreVersions:
    """List all files below ``state/`` that have names of state files."""
    versions: StoreVersions = {}
    for operator in numbered(files.children("state")):
        stores: dict[str, dict[int, PartitionFiles]] = {}
        for partition in numbered(files.children(f"state/{operator}")):
            folder = f"state/{operator}/{partition}"
            for name, store in _stores(files, folder).items():
                state = _partition(files, f"{folder}/{name}" if name else folder, partition)
                if state.files or store == DEFAULT_STORE:
                    stores.setdefault(store, {})[partition] = state
        versions[operator] = dict(sorted(stores.items()))
    return versions


def _stores(files: Files, folder: str) -> dict[str, str]:
    """Return names of stores by their folder in that of the partition, "" for the latter."""
    folders = (name for name in files.children(folder) if files.is_folder(f"{folder}/{name}"))
    inner = {name: name for name in folders if name != "SSTs" and not name.startswith(("_", "."))}
    own = any(_NAME.fullmatch(name) for name in files.children(folder))
    return inner | ({"": DEFAULT_STORE} if own or not inner else {})


def _partition(files: Files, folder: str, partition: int) -> PartitionFiles:
    listed = []
    for name in files.children(folder):
        path = f"{folder}/{name}"
        if (match := _NAME.fullmatch(name)) is not None and path in files:
            listed.append(VersionFile(int(match[1]), match[3], match[2], path))
    tables = [name for name in files.children(f"{folder}/SSTs") if name.endswith(".sst")]
    return PartitionFiles(
        partition,
        tuple(sorted(listed, key=lambda file: (file.version, file.kind, file.unique_id or ""))),
        tuple(f"{folder}/SSTs/{name}" for name in sorted(tables)),
    )


def chain(partition: PartitionFiles, version: int, ids: dict[int, str] | None = None) -> Chain:
    """Return the files that make up a version.

    Args:
        partition: the state files.
        version: 1 or more; version 0 is empty.
        ids: in format 2 the valid unique id of each version, as the commit log has them.
    """
    valid = [file for file in partition.files if _is_valid(file, ids or {})]
    bases = {f.version: f for f in valid if f.kind in WHOLE and f.version <= version}
    base = max(bases, default=0)
    changes = {f.version: f for f in valid if f.kind in CHANGES and base < f.version <= version}
    files = [bases[base]] if base else []
    files += [changes[number] for number in sorted(changes)]
    lacking = version - base - len(changes)
    if not lacking:
        return Chain(tuple(files))
    if has_no_changes(partition.files):
        return Chain(tuple(files), 1, whole_name(version))
    first = next(number for number in count(base + 1) if number not in changes)
    rocksdb = any(file.kind in (CHANGELOG, ZIP) for file in partition.files)
    return Chain(tuple(files), lacking, f"{first}.{CHANGELOG if rocksdb else DELTA}")


def has_no_changes(files: Iterable[VersionFile]) -> bool:
    """Tell whether RocksDB wrote every version as a whole, with the changelog turned off."""
    return {file.kind for file in files} == {ZIP}


def whole_name(version: int) -> str:
    """Return the name of the file with a whole version in RocksDB, without an id."""
    return f"{version}.{ZIP}"


def _is_valid(file: VersionFile, ids: dict[int, str]) -> bool:
    return file.unique_id is None or ids.get(file.version, file.unique_id) == file.unique_id


def left_overs(
    versions: StoreVersions, ids: dict[tuple[int, str, int], dict[int, str]]
) -> list[VersionFile]:
    """Return the files of failed attempts, whose ids differ from those in the commit log.

    ``ids`` are as for ``chain``, by operator, store and partition.
    """
    return [
        file
        for operator, stores in versions.items()
        for store, partitions in stores.items()
        for partition, state in partitions.items()
        for file in state.files
        if not _is_valid(file, ids.get((operator, store, partition), {}))
    ]
