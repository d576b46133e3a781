"""Make a copy of a checkpoint that Spark can read safely.

It holds only what a read needs, and only state files that have been checked, because Spark trusts
the lengths and offsets in them. Paths in operator metadata point into the copy. Files are linked if
that is possible, and never written in place.
"""

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import orjson

from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.files import DamagedFile, open_regular
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import read_zip
from snapshots.readers.engines.spark_streaming.state.store_files import ZIP, VersionFile
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    NotDecodable,
    Place,
    chain_of,
    check_state,
    ids_of,
    listed,
)

_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
_COPIED_ROLES = ("query id", "offset log", "commit log", "operator metadata", "state schema")


@dataclass
class PrivateCopy:
    """A copy of a checkpoint.

    Attributes:
        folder: an empty folder with a plain path, since Spark interprets ``%`` and spaces in paths.
        refused: the damage of state files that the copy does not hold, by path.
    """

    checkpoint: SparkCheckpoint
    folder: Path
    limits: SparkLimits = field(default_factory=SparkLimits)
    refused: dict[str, DamagedFile] = field(default_factory=dict)
    _added: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not _PLAIN_PATH.fullmatch(str(self.folder)):
            raise ValueError(f"{self.folder} is no plain path.")
        (self.folder / "offsets").mkdir(parents=True)
        (self.folder / "commits").mkdir()
        for path, role in self.checkpoint.roles.items():
            if role in _COPIED_ROLES:
                self._add(path)
        for operator in self.checkpoint.operators:
            if operator.file is not None and operator.properties is not None:
                self._redirect(operator.id, operator.file)

    def add_state(self, operator: int, first: int, last: int) -> list[DamagedFile]:
        """Add the files for versions ``first`` to ``last`` of an operator's state.

        Returns the damaged files among them, which are left out.
        """
        needed = {
            file.path: (place, file)
            for store, partitions in self.checkpoint.versions.get(operator, {}).items()
            for partition in partitions
            for place in [Place(operator, store, partition)]
            for file in self._needed(place, first, last)
        }
        for place, file in needed.values():
            self._add_version(place, file)
        return [self.refused[path] for path in needed if path in self.refused]

    def commit(self, batch: int) -> None:
        """Mark a batch as committed although it is not, so that Spark reads its state.

        Raises: NotDecodable if it is not certain which files belong to it.
        """
        target = self.folder / "commits" / str(batch)
        if target.exists():
            return
        document: dict[str, object] = {"nextBatchWatermarkMs": 0}
        if self.checkpoint.state_format == 2:
            document["stateUniqueIds"] = self._ids_on_disk(batch + 1)
        version = "v2" if "stateUniqueIds" in document else "v1"
        target.write_bytes(version.encode() + b"\n" + orjson.dumps(document))

    def _ids_on_disk(self, version: int) -> dict[str, list[list[str]]]:
        ids: dict[str, list[list[str]]] = {}
        for operator in self.checkpoint.operators:
            stores = [store.name for store in operator.stores or ()]
            ids[str(operator.id)] = [
                [
                    self._id_on_disk(Place(operator.id, store, partition), version)
                    for store in stores
                ]
                for partition in range(operator.used_partitions or 0)
            ]
        return ids

    def _id_on_disk(self, place: Place, version: int) -> str:
        files = listed(self.checkpoint, place).files
        ids = {file.unique_id for file in files if file.version == version}
        unique_id = ids.pop() if len(ids) == 1 else None
        if unique_id is None:
            raise NotDecodable(
                f"Partition {place.partition} has {len(ids)} files of version {version}, and "
                "without a commit it is not known which of them counts."
            )
        return unique_id

    def _needed(self, place: Place, first: int, last: int) -> list[VersionFile]:
        """Return the needed files of one partition, and make its folder in the copy."""
        folder = self.folder / f"state/{place.operator}/{place.partition}"
        folder.mkdir(parents=True, exist_ok=True)
        partition = listed(self.checkpoint, place)
        ids = ids_of(self.checkpoint, place)
        changes = [partition.changes(f.version, ids) for f in partition.files]
        return [
            *chain_of(self.checkpoint, place, first).files,
            *chain_of(self.checkpoint, place, last).files,
            *(f for f in changes if f is not None and first <= f.version <= last),
        ]

    def _add_version(self, place: Place, file: VersionFile) -> None:
        if file.path in self._added or file.path in self.refused:
            return
        try:
            check_state(self.checkpoint, place, file, self.limits)
            if file.kind == ZIP:
                for table in read_zip(self.checkpoint.files, file.path, self.limits).tables:
                    self._add(table)
        except DamagedFile as error:
            self.refused[file.path] = error
        else:
            self._add(file.path)

    def _add(self, path: str, *, with_checksum: bool = True) -> None:
        if path in self._added:
            return
        self._added.add(path)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(self.checkpoint.files.root / path, target)
        if with_checksum:
            folder, _, name = path.rpartition("/")
            checksums = (f"{folder}/.{name}.crc", f"{path}.crc", f"{folder}/.{name}.crc.crc")
            for checksum in (each.lstrip("/") for each in checksums):
                if checksum in self.checkpoint.files:
                    self._add(checksum, with_checksum=False)

    def _redirect(self, operator: int, path: str) -> None:
        """Replace the paths of state schemas in operator metadata by those in the copy."""
        text = self.checkpoint.files.read(path, self.limits.log_bytes)
        first, _, rest = text.partition(b"\n")
        document = orjson.loads(rest)
        for store in document["stateStoreInfo"]:
            base = f"state/{operator}/_stateSchema/{store['storeName']}"
            names = [unquote(url).rsplit("/", 1)[-1] for url in store["stateSchemaFilePaths"]]
            store["stateSchemaFilePaths"] = [
                (self.folder / base / name).as_uri()
                for name in names
                if f"{base}/{name}" in self._added
            ]
        target = self.folder / path
        target.unlink()
        target.with_name(f".{target.name}.crc").unlink(missing_ok=True)
        target.write_bytes(first + b"\n" + orjson.dumps(document))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        with open_regular(source) as data, target.open("xb") as copy:
            shutil.copyfileobj(data, copy)
