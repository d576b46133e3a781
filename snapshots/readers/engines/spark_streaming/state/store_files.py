"""Which state versions lie on disk: ``state/<operator>/<partition>[/<store>]/``.

A version is the batch plus one. The HDFS-backed provider writes deltas and snapshots, RocksDB
changelogs and zips (its snapshots) with tables in ``SSTs/``. In checkpoint format 2 each name
carries a unique id, and only the ids in the commit log are valid.

Source: Spark's HDFSBackedStateStoreProvider, RocksDBFileManager.
"""

import re
from dataclasses import dataclass
from itertools import count

from snapshots.readers.engines.spark_streaming.files import Files
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered

DEFAULT_STORE = "default"
DELTA, SNAPSHOT, CHANGELOG, ZIP = "delta", "snapshot", "changelog", "zip"
WHOLE = (SNAPSHOT, ZIP)  # hold everything of a version
CHANGES = (DELTA, CHANGELOG)  # hold what a version changed
_NAME = re.compile(r"(0|[1-9]\d{0,17})(?:_([0-9A-Za-z-]{1,64}))?\.(delta|snapshot|changelog|zip)")


@dataclass(frozen=True, order=True)
class VersionFile:
    """unique_id: None in checkpoint format 1. path: relative to the checkpoint."""

    version: int
    kind: str
    unique_id: str | None
    path: str


@dataclass(frozen=True)
class PartitionFiles:
    """tables: RocksDB's table files."""

    partition: int
    files: tuple[VersionFile, ...]
    tables: tuple[str, ...] = ()

    @property
    def snapshots(self) -> list[int]:
        return sorted({file.version for file in self.files if file.kind in WHOLE})

    def changes(self, version: int, ids: dict[int, str]) -> VersionFile | None:
        """The file of what a version changed. ids: as for ``chain``."""
        valid = (file for file in self.files if _is_valid(file, ids))
        return next((f for f in valid if f.version == version and f.kind in CHANGES), None)

    def has(self, version: int) -> bool:
        return any(file.version == version for file in self.files)


@dataclass(frozen=True)
class Chain:
    """What it takes to load one version: a snapshot or nothing, then every change after it.

    lacking: how many files of changes should be there and are not. missing: the first of them.
    """

    files: tuple[VersionFile, ...]
    lacking: int = 0
    missing: str | None = None


StoreVersions = dict[int, dict[str, dict[int, PartitionFiles]]]
"""By operator, store and partition."""


def list_versions(files: Files) -> StoreVersions:
    """Everything below ``state/`` that is named as state is."""
    found: StoreVersions = {}
    for operator in numbered(files.children("state")):
        stores: dict[str, dict[int, PartitionFiles]] = {}
        for partition in numbered(files.children(f"state/{operator}")):
            folder = f"state/{operator}/{partition}"
            for name, store in _stores(files, folder).items():
                listed = _partition(files, f"{folder}/{name}" if name else folder, partition)
                if listed.files or store == DEFAULT_STORE:
                    stores.setdefault(store, {})[partition] = listed
        found[operator] = dict(sorted(stores.items()))
    return found


def _stores(files: Files, folder: str) -> dict[str, str]:
    """Folder below the partition's ("" for itself) to the store's name."""
    folders = (name for name in files.children(folder) if files.is_folder(f"{folder}/{name}"))
    inner = {name: name for name in folders if name != "SSTs" and not name.startswith(("_", "."))}
    own = any(_NAME.fullmatch(name) for name in files.children(folder))
    return inner | ({"": DEFAULT_STORE} if own or not inner else {})


def _partition(files: Files, folder: str, partition: int) -> PartitionFiles:
    listed = []
    for name in files.children(folder):
        path = f"{folder}/{name}"
        if (found := _NAME.fullmatch(name)) is not None and path in files:
            listed.append(VersionFile(int(found[1]), found[3], found[2], path))
    tables = [name for name in files.children(f"{folder}/SSTs") if name.endswith(".sst")]
    return PartitionFiles(
        partition,
        tuple(sorted(listed, key=lambda file: (file.version, file.kind, file.unique_id or ""))),
        tuple(f"{folder}/SSTs/{name}" for name in sorted(tables)),
    )


def chain(partition: PartitionFiles, version: int, ids: dict[int, str] | None = None) -> Chain:
    """The files that make ``version`` (1 and up; version 0 is empty).

    ids: versions to the unique ids that are valid, as the commit log has them (format 2).
    """
    valid = [file for file in partition.files if _is_valid(file, ids or {})]
    bases = {f.version: f for f in valid if f.kind in WHOLE and f.version <= version}
    base = max(bases, default=0)
    changes = {f.version: f for f in valid if f.kind in CHANGES and base < f.version <= version}
    files = [bases[base]] if base else []
    files += [changes[one] for one in sorted(changes)]
    lacking = version - base - len(changes)
    if not lacking:
        return Chain(tuple(files))
    first = next(one for one in count(base + 1) if one not in changes)
    rocksdb = any(file.kind in (CHANGELOG, ZIP) for file in partition.files)
    return Chain(tuple(files), lacking, f"{first}.{CHANGELOG if rocksdb else DELTA}")


def _is_valid(file: VersionFile, ids: dict[int, str]) -> bool:
    return file.unique_id is None or ids.get(file.version, file.unique_id) == file.unique_id


def left_overs(
    versions: StoreVersions, ids: dict[tuple[int, str, int], dict[int, str]]
) -> list[VersionFile]:
    """Files of failed attempts: their id is not the one that the commit log names.

    ids: by operator, store and partition, as for ``chain``.
    """
    return [
        file
        for operator, stores in versions.items()
        for store, partitions in stores.items()
        for partition, listed in partitions.items()
        for file in listed.files
        if not _is_valid(file, ids.get((operator, store, partition), {}))
    ]
