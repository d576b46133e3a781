"""What loading each version of the stored state takes: bytes, files, and what is missing.

``store_files.chain`` says it for one version, this for all versions of a partition at once.
"""

import struct
import zipfile
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.files import DamagedFile, open_regular
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import read_zip
from snapshots.readers.engines.spark_streaming.state.store_files import (
    CHANGELOG,
    CHANGES,
    DELTA,
    ZIP,
    PartitionFiles,
    VersionFile,
    has_no_changes,
    whole_name,
)

MOST_UNZIPPED = 2**30  # bytes that the zips of a checkpoint may say they unpack to
_ZIP_ERRORS = (
    OSError,
    EOFError,
    KeyError,
    RuntimeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def known_sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of numbers; None if one of them is not known."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


@dataclass(frozen=True)
class Load:
    """What one version of a partition takes.

    Attributes:
        parts: bytes of ``changes``, ``snapshot`` and ``tables``; None where it is not known which
            tables there are.
        shared: how many of the bytes other versions of the upload need, too.
        lacking: how many files are not there.
        missing: the name of the first of them.
        new: how many bytes of each part no earlier version needs; None where it is not known.
    """

    parts: Mapping[str, int | None]
    shared: int
    lacking: int
    missing: str | None
    new: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def bytes(self) -> int | None:
        """The size of all parts; None where it is not known."""
        return known_sum(self.parts.values())


@dataclass(frozen=True)
class StoredVersions:
    """The valid files of one partition of one store.

    Attributes:
        sizes: the size of each file, by path.
        wanted: the versions after the batches of the checkpoint, ascending.
        tables: the tables that each zip names; None where they are not known.
    """

    files: tuple[VersionFile, ...]
    sizes: Mapping[str, int]
    wanted: Sequence[int]
    tables: Mapping[str, tuple[str, ...] | None]

    @cached_property
    def _whole(self) -> dict[int, VersionFile]:
        return {file.version: file for file in self.files if file.kind not in CHANGES}

    @cached_property
    def _changes(self) -> dict[int, VersionFile]:
        return {file.version: file for file in self.files if file.kind in CHANGES}

    @cached_property
    def _bases(self) -> list[int]:
        return sorted(self._whole)

    @cached_property
    def _changed(self) -> list[int]:
        return sorted(self._changes)

    @cached_property
    def _sums(self) -> list[int]:
        """Bytes of the changes before each place of ``_changed``."""
        sizes = (self.sizes[self._changes[version].path] for version in self._changed)
        return [0, *accumulate(sizes)]

    def wrote(self, version: int) -> tuple[VersionFile, ...]:
        """Return the files that were written for a version itself."""
        files = (self._changes.get(version), self._whole.get(version))
        return tuple(file for file in files if file is not None)

    def load(self, version: int) -> Load:
        """Return what loading a version takes."""
        base = self._base(version)
        first, last = (bisect_right(self._changed, one) for one in (base, version))
        parts: dict[str, int | None] = {"changes": self._sums[last] - self._sums[first]}
        if base:
            snapshot = self._whole[base]
            parts["snapshot"] = self.sizes[snapshot.path]
            if snapshot.kind == ZIP:
                parts["tables"] = self._table_bytes(snapshot)
        lacking = version - base - (last - first)
        missing = self._missing(base, first, last) if lacking else None
        if lacking and self._is_whole_only:
            lacking, missing = 1, whole_name(version)
        new = self._new(version, base, parts)
        return Load(parts, self._shared(version, base), lacking, missing, new)

    def _new(
        self, version: int, base: int, parts: Mapping[str, int | None]
    ) -> dict[str, int | None]:
        """Return the bytes of each part that no earlier version needs; None if not known."""
        if base == version:
            new = {"snapshot": parts.get("snapshot"), "tables": self._new_tables(version)}
            return {name: new.get(name, 0) for name in parts}
        change = self._changes.get(version)
        written = None if change is None else self.sizes[change.path]
        return {name: written if name == "changes" else 0 for name in parts}

    def _new_tables(self, version: int) -> int | None:
        """Return the bytes of the tables that no earlier snapshot names.

        None if they are not known, or if the first snapshots are not in the upload.
        """
        named = self.tables.get(self._whole[version].path) if version in self._whole else None
        unread = self._first_unread is not None and self._first_unread <= version
        has_earlier = self._zips and self._zips[0].version < version
        if named is None or unread or not (has_earlier or 1 in self._changes or 1 in self._whole):
            return None
        return sum(self.sizes.get(path, 0) for path in named if self._births[path] == version)

    @cached_property
    def _is_whole_only(self) -> bool:
        return has_no_changes(self.files)

    @cached_property
    def _zips(self) -> list[VersionFile]:
        zips = (file for file in self.files if file.kind == ZIP)
        return sorted(zips, key=lambda file: file.version)

    @cached_property
    def _first_unread(self) -> int | None:
        """The first snapshot whose tables are not known."""
        unread = (file.version for file in self._zips if self.tables.get(file.path) is None)
        return next(unread, None)

    @cached_property
    def _births(self) -> dict[str, int]:
        """The first snapshot that names each table."""
        births: dict[str, int] = {}
        for file in self._zips:
            for path in self.tables.get(file.path) or ():
                births.setdefault(path, file.version)
        return births

    def users(self, file: VersionFile) -> range:
        """Return the places in ``wanted`` of the versions that need the file."""
        whole = self._whole.get(file.version)
        if file.kind in CHANGES and whole is not None:
            return range(0)
        next_base = bisect_right(self._bases, file.version)
        end = self._bases[next_base] if next_base < len(self._bases) else None
        stop = len(self.wanted) if end is None else bisect_left(self.wanted, end)
        return range(bisect_left(self.wanted, file.version), stop)

    def gaps(self, places: range) -> Iterator[tuple[str, range]]:
        """Yield the first missing file of every run of changes, and the places that lack it.

        Where no version is put together of changes, yield every missing file.

        Args:
            places: the places in ``wanted`` that are of interest.

        Spark itself removed the files that are older than all that are there.
        """
        oldest = min([*self._bases[:1], *self._changed[:1]], default=0)
        for base, end in zip([0, *self._bases], [*self._bases, None], strict=True):
            stop = len(self.wanted) if end is None else bisect_left(self.wanted, end)
            last = min(stop, places.stop)
            if last <= bisect_right(self.wanted, base):
                continue
            missing = self.load(self.wanted[last - 1]).missing
            if missing is not None and self._is_whole_only:
                later = range(bisect_right(self.wanted, max(base, oldest)), last)
                yield from ((whole_name(self.wanted[one]), range(one, one + 1)) for one in later)
            elif missing is not None:
                gap = int(missing.partition(".")[0])
                lacking = range(bisect_left(self.wanted, max(gap, base + 1)), last)
                if lacking and gap >= oldest:
                    yield missing, lacking

    def _base(self, version: int) -> int:
        place = bisect_right(self._bases, version)
        return self._bases[place - 1] if place else 0

    def _missing(self, base: int, first: int, last: int) -> str:
        """Name the first gap behind ``base``: up to it, the k-th change has version base + k."""
        low, high = 0, last - first
        while low < high:
            middle = (low + high) // 2
            if self._changed[first + middle] == base + 1 + middle:
                low = middle + 1
            else:
                high = middle
        rocksdb = any(file.kind in (CHANGELOG, ZIP) for file in self.files)
        return f"{base + 1 + low}.{CHANGELOG if rocksdb else DELTA}"

    def _table_bytes(self, snapshot: VersionFile) -> int | None:
        named = self.tables.get(snapshot.path)
        return None if named is None else sum(self.sizes.get(path, 0) for path in named)

    def _shared(self, version: int, base: int) -> int:
        """Return the bytes of files that another wanted version needs.

        Such a version lies between the file and the next snapshot.
        """
        place = bisect_left(self.wanted, version)
        following = self.wanted[place + 1] if place + 1 < len(self.wanted) else None
        before = self.wanted[place - 1] if place else 0
        same = following is not None and self._base(following) == base
        up_to = version if same else before  # files up to this version are shared
        if base > up_to:
            return self._shared_tables(self._whole[base])
        first, last = (bisect_right(self._changed, one) for one in (base, up_to))
        shared = self._sums[last] - self._sums[first]
        if base:
            shared += self.sizes[self._whole[base].path]
            shared += self._table_bytes(self._whole[base]) or 0
        return shared

    def _shared_tables(self, snapshot: VersionFile) -> int:
        """Return the bytes of the tables that another snapshot of the partition needs, too."""
        named = self.tables.get(snapshot.path) or ()
        return sum(self.sizes.get(path, 0) for path in named if self._table_uses[path] > 1)

    @cached_property
    def _table_uses(self) -> Counter[str]:
        """How many of the needed snapshots name each table."""
        needed = (file for file in self.files if file.kind == ZIP and self.users(file))
        return Counter(path for file in needed for path in self.tables.get(file.path) or ())


@dataclass
class StateSizes:
    """All partitions of all stores of a checkpoint, in ``stores`` by operator, store and partition.

    Attributes:
        unzipped: how many bytes the zips unpack to, as they say themselves.
        damaged: the zips that turned out to be damaged.
    """

    checkpoint: SparkCheckpoint
    limits: SparkLimits
    unzipped: int = 0
    damaged: list[DamagedFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wanted = [batch.state_version for batch in self.checkpoint.batches]
        self.sizes = {path: one.size for path, one in self.checkpoint.files.entries.items()}
        left_over = {file.path for file in self.checkpoint.left_overs}
        self.stores: dict[int, dict[str, dict[int, StoredVersions]]] = {
            operator: {
                store: {
                    number: self._versions(listed, left_over)
                    for number, listed in partitions.items()
                }
                for store, partitions in stores.items()
            }
            for operator, stores in self.checkpoint.versions.items()
        }

    def partitions(self) -> Iterator[tuple[int, str, int, StoredVersions]]:
        """Yield operator, store, number and versions of each partition."""
        for operator, stores in self.stores.items():
            for store, partitions in stores.items():
                for partition, versions in partitions.items():
                    yield operator, store, partition, versions

    def _versions(self, listed: PartitionFiles, left_over: set[str]) -> StoredVersions:
        valid = tuple(file for file in listed.files if file.path not in left_over)
        tables = {file.path: self._tables(file) for file in valid if file.kind == ZIP}
        return StoredVersions(valid, self.sizes, self.wanted, tables)

    def _tables(self, file: VersionFile) -> tuple[str, ...] | None:
        """Return the tables of a zip; None if it is damaged, or would unpack to too much."""
        try:
            self.unzipped += _announced(self.checkpoint.files.root / file.path)
            if self.unzipped > MOST_UNZIPPED:
                return None
            return read_zip(self.checkpoint.files, file.path, self.limits).tables
        except DamagedFile as error:
            self.damaged.append(error)
        except _ZIP_ERRORS as error:
            self.damaged.append(DamagedFile(file.path, f"It is no zip file ({error})."))
        return None


def _announced(path: Path) -> int:
    """Return how many bytes a zip says it unpacks to. Raises: _ZIP_ERRORS."""
    with open_regular(path) as file, zipfile.ZipFile(file) as packed:
        return sum(entry.file_size for entry in packed.infolist())
