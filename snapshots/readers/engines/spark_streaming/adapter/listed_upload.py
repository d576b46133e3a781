"""What listings tell of Spark's checkpoint directories, by names and sizes alone.

Only the newest batch is checked, since a query starts again from it. What a listing does not name
is absent only if each of its lines was understood and it has more of the directory than one folder.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import (
    COMPLETED,
    IN_PROGRESS,
    TO_WATCH,
    UNKNOWN,
    UNKNOWN_ID,
    CheckpointInventory,
    Fact,
    JobInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.restore_check import AS_LISTED, LISTED, Findings, NeededFile
from snapshots.domain.inventory.spark_plan import UPLOAD_ITSELF
from snapshots.domain.model.defects import times
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN
from snapshots.readers.engines.spark_streaming.adapter.flaws import state_path
from snapshots.readers.engines.spark_streaming.adapter.restore_check import (
    COMMITS,
    IN_A_GAP,
    NO_COMMIT_BEFORE,
    NO_OFFSETS,
    NO_OFFSETS_BEFORE,
    NO_QUERY,
    OFFSETS,
    QUERY,
)
from snapshots.readers.engines.spark_streaming.adapter.restore_state import CHANGED, NO_PARTITION
from snapshots.readers.engines.spark_streaming.files import FileEntry, Files
from snapshots.readers.engines.spark_streaming.incidents import HOW_FAR, in_flight
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.store_files import (
    ZIP,
    PartitionFiles,
    StoreVersions,
    chain,
    list_versions,
)
from snapshots.readers.engines.spark_streaming.timeline import Batch
from snapshots.readers.engines.spark_streaming.upload import find_checkpoints
from snapshots.readers.engines.told import Told, ToldUpload
from snapshots.readers.formats.listings import Listing, join

LISTING = "listing of a folder"
MOST_BATCHES = 20_000
_MOST_ABSENT = 100  # partitions of a store that are named
_PARTS = ("offsets", "commits", "metadata", "sources", "state")  # of a checkpoint directory
_EMPTY = "The listing gives it 0 bytes, and Spark writes no such file empty: it cannot be read."
_ONE_PART = (
    "The listing names nothing of the checkpoint directory but {}: whether it lists all of it is "
    "not known."
)
_NO_STATE = (
    "The listing names no folder state/: either the query keeps no state, or the folder is not "
    "there."
)
_MODES = (
    "A listing does not tell whether the query runs in continuous or real-time mode, where offsets "
    "are written at the end."
)
_NOT_CHECKED = "A listing is checked for the newest batch alone."
_NO_COMMIT = "It has no file in commits/; later batches are there, so it ended or was given up."
_TABLES = (
    "Which tables a snapshot of RocksDB needs is written in the snapshot, so the listing does not "
    "tell whether all are there."
)


def names_spark(paths: Iterable[str]) -> bool:
    """Tell whether a listing names files of a checkpoint directory."""
    return bool(_checkpoints({path: FileEntry(path, 0, 0) for path in paths}))


def _checkpoints(entries: dict[str, FileEntry]) -> dict[str, Files]:
    """Return the files of each checkpoint directory by its folder."""
    files = Files(Path(), entries)
    return {folder: files.inside(folder) for folder in find_checkpoints(files)}


def listed_upload(listings: tuple[Listing, ...], sizes: dict[str, int]) -> ToldUpload:
    """Return what listings tell of checkpoint directories that are not uploaded as a whole.

    Args:
        sizes: the sizes of all files of the upload.
    """
    uploaded = _checkpoints({path: FileEntry(path, size, 0) for path, size in sizes.items()})
    entries = {path: FileEntry(path, size, 0) for path, size in join(listings).items()}
    is_whole = all(listing.is_whole for listing in listings)
    jobs: list[JobInventory] = []
    checkpoints: list[Told] = []
    for folder, own in _checkpoints(entries).items():
        if any(own.entries.keys() <= other.entries.keys() for other in uploaded.values()):
            continue
        query = _Query(folder, own, len(jobs), is_whole=is_whole)
        jobs.append(query.job())
        checkpoints += query.batches()
    return ToldUpload(
        "spark",
        tuple(jobs),
        tuple(checkpoints),
        {listing.path: LISTING for listing in listings},
        sizes,
        tuple(listing.sentence() for listing in listings),
    )


class _Query:
    """A checkpoint directory that a listing names."""

    def __init__(self, folder: str, files: Files, number: int, *, is_whole: bool) -> None:
        self._folder = folder
        self._key = f"{LISTED}{folder or 'the root'}"
        self._files = files
        self._number = number
        self._planned = _numbers(files, "offsets")
        self._committed = _numbers(files, "commits")
        self._versions = list_versions(files)
        parts = [part for part in _PARTS if part in files.children("")]
        self._only = f"{parts[0]}/" if len(parts) == 1 else None
        self._is_certain = is_whole and self._only is None
        ids = sorted({*self._planned, *self._committed})[-MOST_BATCHES:]
        self._ids = ids or sorted(_newest_version(self._versions))

    def job(self) -> JobInventory:
        """Return the query, which a listing does not name."""
        facts = [UNKNOWN_ID, Fact("folder", self._folder or UPLOAD_ITSELF)]
        gaps = [gap for gap in self._gaps() if self._is_certain]
        if gaps:
            more = f" {times(len(gaps) - 1, 'other')} of its kind." if len(gaps) > 1 else ""
            facts.append(Fact(TO_WATCH, f"{gaps[0]}{more}"))
        return JobInventory(self._key, None, tuple(facts))

    def _gaps(self) -> Iterator[str]:
        """Name each partition of which a version between others is not there."""
        for operator, stores in self._versions.items():
            for store, partitions in stores.items():
                for partition, own in partitions.items():
                    there = {file.version for file in own.files}
                    every = range(min(there, default=0), max(there, default=0))
                    lacking = [version for version in every[:MOST_BATCHES] if version not in there]
                    if lacking:
                        folder = self._path(state_path(operator, partition, store))
                        yield (
                            f"{folder} has a gap: version {spans_text(lacking)} of the state is "
                            "not there, and later ones are."
                        )

    def batches(self) -> Iterator[Told]:
        """Yield the batches that have a file in one of the logs."""
        for batch in self._ids:
            is_last = batch == self._ids[-1]
            findings = Findings()
            if is_last:
                self._check(findings, batch)
            else:
                findings.doubt(_NOT_CHECKED)
            yield Told(self._item(batch, findings), findings, is_last)

    def _item(self, batch: int, findings: Findings) -> CheckpointInventory:
        status = COMPLETED if batch in self._committed else UNKNOWN
        problem = None if status == COMPLETED else _NO_COMMIT
        notes: tuple[str, ...] = ()
        if batch in self._planned and batch > max(self._committed, default=-1):
            status, problem = IN_PROGRESS, None
            notes = (self._how_far(batch), _MODES)
        log = "offsets" if batch in self._planned else "commits"
        return CheckpointInventory(
            job=self._key,
            id=batch,
            kind="batch",
            status=status,
            path=self._path(f"{log}/{batch}"),
            notes=notes,
            bytes=self._bytes(batch + 1),
            operators=tuple(
                OperatorInventory(str(id), None, max(map(len, stores.values()), default=0))
                for id, stores in self._versions.items()
            ),
            problem=problem,
            snapshot=f"{batch} (listed{f' {self._number + 1}' if self._number else ''})",
            why_unknown=WHY_UNKNOWN[NOT_TOLD],
            why_state_unknown=None if self._versions else _NO_STATE,
            facts=tuple(Fact("names and sizes tell", said) for said in findings.unknown),
        )

    def _bytes(self, version: int) -> int | None:
        """Return the bytes of a version; None if files lack, or a snapshot names more of them."""
        total = 0
        for stores in self._versions.values():
            for partitions in stores.values():
                for own in partitions.values():
                    needed = chain(own, version)
                    if needed.missing is not None or any(one.kind == ZIP for one in needed.files):
                        return None
                    total += sum(self._files.entries[one.path].size for one in needed.files)
        return total

    def _how_far(self, batch: int) -> str:
        """Say how far a batch in flight came, by the state that it wrote."""
        operators = tuple(Operator(id, None, None, None) for id in self._versions)
        plain = Batch(batch, True, False, 0, None, None, None, None, None)
        return HOW_FAR[in_flight(plain, operators, self._versions).kind].replace(
            "The upload holds", "The listing names"
        )

    def _check(self, findings: Findings, batch: int) -> None:
        """Note what a start after the newest batch needs."""
        need = self._needing(findings)
        need("metadata", QUERY, NO_QUERY)
        is_over = batch in self._committed
        if self._planned or self._committed:
            need(f"offsets/{batch}", OFFSETS, NO_OFFSETS)
        if batch and self._planned:
            is_gap = batch - 1 not in {*self._planned, *self._committed} and len(self._ids) > 1
            absent = IN_A_GAP if is_gap else NO_OFFSETS_BEFORE
            need(f"offsets/{batch - 1}", OFFSETS, absent, is_certain=not is_gap)
        if is_over:
            need(f"commits/{batch}", COMMITS, "")
        elif batch and self._planned:
            need(f"commits/{batch - 1}", COMMITS, NO_COMMIT_BEFORE, is_certain=False)
        self._state(findings, batch + 1 if is_over or not self._planned else batch)
        if self._only is not None:
            findings.doubt(_ONE_PART.format(self._only))
        if findings.witnesses or any(AS_LISTED not in one for one in findings.unknown):
            return
        size = sum(file.uploaded or 0 for file in findings.files.values())
        every = times(len(findings.files), "file")
        findings.doubt(
            f"{AS_LISTED}, all {every} that a restart reads of its logs and its state are there "
            f"({size:,} bytes). Their content is not known."
        )

    def _needing(self, findings: Findings) -> Callable[..., None]:
        def need(path: str, role: str, absent: str, *, is_certain: bool = True) -> None:
            entry = self._files.entries.get(path)
            if entry is None:
                file = NeededFile(self._path(path), role, None, None, None, absent)
                findings.need(file, is_certain=self._is_certain and is_certain)
            else:
                problem = None if entry.size else _EMPTY
                findings.need(NeededFile(self._path(path), role, None, None, entry.size, problem))

        return need

    def _state(self, findings: Findings, version: int) -> None:
        """Note the files that make up a version of the state; 0 is the empty state."""
        if not self._versions:
            findings.doubt(_NO_STATE)
            return
        for operator, stores in self._versions.items():
            for store, partitions in stores.items():
                for partition in _partitions(partitions) if version else ():
                    folder = state_path(operator, partition, store)
                    own = partitions.get(partition)
                    if own is None or not own.files:
                        user = f"operator {operator}, partition {partition}"
                        file = NeededFile(
                            self._path(folder), CHANGED, user, None, None, NO_PARTITION
                        )
                        findings.need(file, is_certain=self._is_certain)
                    else:
                        self._partition(findings, folder, own, version)

    def _partition(
        self, findings: Findings, folder: str, files: PartitionFiles, version: int
    ) -> None:
        need = self._needing(findings)
        needed = chain(files, version)
        if needed.missing is not None:
            more = f", nor are {needed.lacking - 1:,} more" if needed.lacking > 1 else ""
            absent = f"It is not there{more}, and version {version} of the state needs it."
            need(f"{folder}/{needed.missing}", CHANGED, absent)
        for file in needed.files:
            same = [
                one for one in files.files if (one.version, one.kind) == (file.version, file.kind)
            ]
            if len(same) > 1:
                findings.doubt(
                    f"{self._path(file.path)}: {len(same):,} files are of version {file.version}; "
                    "the commit names the valid one, and a listing does not show it."
                )
            need(file.path, CHANGED, "")
            if file.kind == ZIP:
                findings.doubt(_TABLES)

    def _path(self, path: str) -> str:
        return f"{self._folder}/{path}" if self._folder else path


def _partitions(listed: Collection[int]) -> list[int]:
    """Return partitions that are listed, and the first ones below the highest that are not."""
    absent = (number for number in range(max(listed, default=0)) if number not in listed)
    return sorted({*listed, *islice(absent, _MOST_ABSENT)})


def _numbers(files: Files, folder: str) -> set[int]:
    return set(numbered({name for name in files.children(folder) if f"{folder}/{name}" in files}))


def _newest_version(versions: StoreVersions) -> set[int]:
    """Return the newest batch whose state is named, where no log is."""
    found = {
        file.version - 1
        for stores in versions.values()
        for partitions in stores.values()
        for partition in partitions.values()
        for file in partition.files
        if file.version > 0
    }
    return {max(found)} if found else set()
