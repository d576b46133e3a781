"""Whether all the files are there that a query reads when it starts again after a batch.

A query starts again from the newest offset file. If that batch is committed, its state is the
version after it; else the batch runs again from the state before it. So only the newest batch
decides about a checkpoint directory. An older batch counts if everything newer is taken away.

Source: Spark's MicroBatchExecution.populateStartOffsets, ContinuousExecution.getStartOffsets,
FileStreamSourceLog, HDFSBackedStateStoreProvider.loadMap, RocksDB.load.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.inventory.model import FileUse
from snapshots.domain.inventory.restore_check import (
    Findings,
    NeededFile,
    RestoreCheck,
    UnneededFile,
    UploadCheck,
    check_upload,
    conclude,
)
from snapshots.readers.engines.spark_streaming.adapter.flaws import state_path
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.checkpoint import state_ids
from snapshots.readers.engines.spark_streaming.checksums import disagreement
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.offsets import FILE, PlannedBatch, kind_of
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.readings import store_names
from snapshots.readers.engines.spark_streaming.state.schemas import schema_paths
from snapshots.readers.engines.spark_streaming.state.store_files import (
    ZIP,
    PartitionFiles,
    VersionFile,
    chain,
)
from snapshots.readers.engines.spark_streaming.state.stored_state import Place, check_state
from snapshots.readers.engines.spark_streaming.timeline import Batch

QUERY, OFFSETS, COMMITS = "query id", "offset log", "commit log"
SOURCE, OPERATOR, SCHEMA = "source log", "operator metadata", "state schema"
CHANGES, SNAPSHOT, TABLE = "state changes", "state snapshot", "state table"
NO_QUERY = "It is absent. Spark 4 does not start without it; older versions make a new query of it."
NO_OFFSETS = "It is absent, so that nothing tells how far the sources were read."
NO_OFFSETS_BEFORE = "It is absent, and Spark reads it to know where the batch begins."
NO_COMMIT = "It is absent: the batch ended, and what it left for the next one is not known."
NO_COMMIT_BEFORE = (
    "It is absent although a later batch was planned. Spark goes on with a warning; whether the "
    "batch was complete is not known."
)
NO_SOURCE_LOG = "It is absent, so that the source reads again what it has read."
NO_PARTITION = "No file of state of this partition is there."
NO_TABLE = "A snapshot names this table, and it is absent."
NO_SCHEMA = (
    "There is no schema of it, so that nobody can tell here what its bytes mean. Spark takes the "
    "schema of the query that starts."
)
NO_STATE = "Nothing in the directory says that the query keeps state."
NO_USER = "No start after a batch that is still there reads it."
_SOURCE_FILE = re.compile(r"(\d{1,18})(\.compact)?")
_MOST_LACKING = 100  # files named of a partition or source
MOST_LOOKED_UP = 5_000_000  # files of state and of sources' logs, counted for every batch
TOO_MANY = (
    f"It is not checked: before the newest batch at most {MOST_LOOKED_UP:,} files of a query are "
    "looked up, for newer batches first."
)


def restore_check(
    jobs: tuple[SparkJob, ...],
    states: Mapping[str, StateSizes],
    files: tuple[FileUse, ...],
    limits: SparkLimits,
) -> UploadCheck:
    """Check all batches of an upload.

    Args:
        states: the stored state of each checkpoint, by its folder.
        files: what each file of the upload is, and who needs it.
    """
    checks: list[RestoreCheck] = []
    for job in jobs:
        query = _Query(job, states[job.folder], limits)
        last = len(job.batches) - 1
        newest_first = [query.check(place, decides=place == last) for place in range(last, -1, -1)]
        checks += reversed(newest_first)
    return check_upload("spark", checks, list(_unneeded(files)))


def _unneeded(files: tuple[FileUse, ...]) -> Iterator[UnneededFile]:
    for file in files:
        if file.role.startswith("state") and not file.checkpoints:
            yield UnneededFile(file.path, file.bytes, file.reason or NO_USER)


@dataclass
class _Query:
    """The checkpoint directory of one query. A file that several batches need is read once."""

    job: SparkJob
    state: StateSizes
    limits: SparkLimits

    def __post_init__(self) -> None:
        self.checkpoint = self.job.checkpoint
        self.files = self.checkpoint.files
        self._left = MOST_LOOKED_UP
        self._sources_read: dict[str, dict[int, str]] = {}
        self._problems: dict[str, tuple[str | None, bool]] = {}
        damaged = (*self.checkpoint.damaged, *self.state.damaged)
        self._damage = {error.file: error for error in damaged}

    def check(self, place: int, *, decides: bool) -> RestoreCheck:
        """Answer for a start after one batch."""
        batch = self.job.batches[place]
        findings = Findings()
        if decides or self._left > 0:
            self._need(findings, "metadata", QUERY, absent=NO_QUERY)
            version = self._logs(findings, batch)
            self._sources(findings, batch)
            self._state(findings, version)
        else:
            findings.doubt(TOO_MANY)
        log = "offsets" if batch.planned else "commits"
        return conclude(
            findings,
            number=self.job.first + place,
            job=self.job.key,
            id=batch.batch,
            kind="epoch" if self.job.is_continuous else "batch",
            path=self.job.path(f"{log}/{batch.batch}"),
            decides=decides,
        )

    def _need(
        self,
        findings: Findings,
        path: str,
        role: str,
        users: str | None = None,
        *,
        absent: str,
        is_certain: bool = True,
    ) -> None:
        """Note a file; ``absent`` is said if it is not there, and counts if ``is_certain``."""
        problem: str | None = absent
        size = None
        if path in self.files:
            size = self.files.entries[path].size
            problem, is_certain = self._problem(path)
        file = NeededFile(self.job.path(path), role, users, None, size, problem)
        findings.need(file, is_certain=is_certain)

    def _problem(self, path: str) -> tuple[str | None, bool]:
        """Return what is wrong with a file that is there, and whether that is certain."""
        if path not in self._problems:
            self._problems[path] = self._found(path)
        return self._problems[path]

    def _found(self, path: str) -> tuple[str | None, bool]:
        error = self._damage.get(path)
        if error is not None:
            return error.what, not isinstance(error, FileNotRead)
        try:
            against = disagreement(self.files, path, self.limits)
        except DamagedFile as unread:
            return str(unread), not isinstance(unread, FileNotRead)
        return (None, True) if against is None else (against.sentence, against.is_certain)

    # --- logs -------------------------------------------------------------------------------------

    def _logs(self, findings: Findings, batch: Batch) -> int:
        """Note the files of the logs, and return the version of state that the start needs."""
        number, logs = batch.batch, self.checkpoint.logs
        self._need(findings, f"offsets/{number}", OFFSETS, absent=NO_OFFSETS)
        if number and not self.job.is_continuous:
            self._need(findings, f"offsets/{number - 1}", OFFSETS, absent=NO_OFFSETS_BEFORE)
            self._same_sources(findings, number)
        if number in logs.committed:
            self._need(findings, f"commits/{number}", COMMITS, absent="")
            return number + 1
        if number not in self.job.in_flight:
            self._need(findings, f"commits/{number}", COMMITS, absent=NO_COMMIT, is_certain=False)
            return number + 1
        if number:
            has_ids = self.checkpoint.state_format > 1
            self._need(
                findings,
                f"commits/{number - 1}",
                COMMITS,
                absent=NO_COMMIT_BEFORE,
                is_certain=has_ids,
            )
        elif self.job.is_continuous:
            findings.doubt("No epoch is committed: a start reads everything again.")
        return number

    def _same_sources(self, findings: Findings, number: int) -> None:
        """Compare an offset file with the one before: neither sources nor offsets go back."""
        planned = self.checkpoint.logs.planned
        before, after = planned.get(number - 1), planned.get(number)
        if not isinstance(before, PlannedBatch) or not isinstance(after, PlannedBatch):
            return
        path = self.job.path(f"offsets/{number}")
        if lost := before.offsets.keys() - after.offsets.keys():
            findings.doubt(f"{path}: The batch before read {len(lost):,} more sources.")
        for source, end in after.offsets.items():
            start = before.offsets.get(source)
            if type(start) is type(end) is int and end < start:
                findings.doubt(f"{path}: Source {source} goes back from {start:,} to {end:,}.")

    # --- sources ----------------------------------------------------------------------------------

    def _sources(self, findings: Findings, batch: Batch) -> None:
        planned = self.checkpoint.logs.planned.get(batch.batch)
        if not isinstance(planned, PlannedBatch):
            return
        for source, offset in planned.offsets.items():
            numbers = self._source_files(source)
            self._left -= len(numbers)
            end = _log_offset(offset)
            if end is None:
                for number in sorted(numbers):
                    path = f"sources/{source}/{numbers[number]}"
                    if path not in self._damage:  # no log of files, whose form is the source's own
                        self._need(findings, path, SOURCE, f"source {source}", absent="")
                continue
            base = self._compacted(numbers, end)
            newest = max(numbers, default=end) if batch is self.job.batches[-1] else end
            for number in range(base, max(end, newest) + 1)[: len(numbers) + _MOST_LACKING]:
                path = f"sources/{source}/{numbers.get(number, number)}"
                self._need(findings, path, SOURCE, f"source {source}", absent=NO_SOURCE_LOG)

    def _source_files(self, source: str) -> dict[int, str]:
        """Return the names in the log of a source by number; a compacted file goes first."""
        if source in self._sources_read:
            return self._sources_read[source]
        names = self._sources_read[source] = {}
        for name in sorted(self.files.children(f"sources/{source}")):
            if match := _SOURCE_FILE.fullmatch(name):
                names[int(match[1])] = name
        return names

    @staticmethod
    def _compacted(names: Mapping[int, str], end: int) -> int:
        """Return the number of the newest compacted file up to ``end``, else of the first file."""
        compacted = (number for number, name in names.items() if name.endswith(".compact"))
        return max((number for number in compacted if number <= end), default=0)

    # --- state ------------------------------------------------------------------------------------

    def _state(self, findings: Findings, version: int) -> None:
        if not self.checkpoint.operators:
            findings.note(NO_STATE)
        for operator in self.checkpoint.operators:
            self._metadata(findings, operator)
            names = store_names(operator, self.checkpoint.versions)
            for store in names:
                self._schema(findings, operator, store, single=len(names) == 1)
                if version:
                    self._store(findings, operator, store, version)

    def _metadata(self, findings: Findings, operator: Operator) -> None:
        folder = f"state/{operator.id}/_metadata"
        paths = self._metadata_paths.get(operator.id, [])
        for path in paths:
            self._need(findings, path, OPERATOR, f"operator {operator.id}", absent="")
        if not paths and self.files.is_folder(f"state/{operator.id}/_stateSchema"):
            findings.doubt(
                f"{self.job.path(folder)}: The metadata of operator {operator.id} are absent; they "
                "name its state variables."
            )

    @cached_property
    def _metadata_paths(self) -> dict[int, list[str]]:
        """The paths of the operators' metadata, by operator."""
        paths: dict[int, list[str]] = {}
        for path, role in sorted(self.checkpoint.roles.items()):
            if role == OPERATOR:
                paths.setdefault(int(path.split("/")[1]), []).append(path)
        return paths

    def _schema(self, findings: Findings, operator: Operator, store: str, *, single: bool) -> None:
        user = f"operator {operator.id}, store {store}"
        paths = schema_paths(self.files, operator.id, store, single)
        for path in paths:
            self._need(findings, path, SCHEMA, user, absent="")
        if not paths:
            findings.doubt(f"{user}: {NO_SCHEMA}")

    def _store(self, findings: Findings, operator: Operator, store: str, version: int) -> None:
        listed = self.checkpoint.versions.get(operator.id, {}).get(store, {})
        for partition in sorted({*listed, *range(operator.used_partitions or 0)}):
            place = Place(operator.id, store, partition)
            if partition in listed and listed[partition].files:
                self._partition(findings, place, listed[partition], version)
                continue
            folder = self.job.path(state_path(operator.id, partition, store))
            role, users = CHANGES, _user(place)
            findings.need(
                NeededFile(folder, role, users, None, None, NO_PARTITION),
                is_certain=operator.file is not None,
            )

    def _partition(
        self, findings: Findings, place: Place, listed: PartitionFiles, version: int
    ) -> None:
        """Note the files that make up a version of the state of one partition."""
        self._left -= len(listed.files)
        ids = self._ids.get((place.operator, place.store, place.partition), {})
        needed = chain(listed, version, ids)
        if needed.missing is not None:
            more = f", nor are {needed.lacking - 1:,} more" if needed.lacking > 1 else ""
            path = state_path(place.operator, place.partition, place.store, needed.missing)
            absent = f"It is not there{more}, and version {version} of the state needs it."
            self._need(findings, path, CHANGES, _user(place), absent=absent)
        for file in needed.files:
            self._one_of_several(findings, listed, file, ids)
            self._state_file(findings, place, file)

    def _one_of_several(
        self, findings: Findings, listed: PartitionFiles, file: VersionFile, ids: Mapping[int, str]
    ) -> None:
        """Doubt a file if nothing tells which of several files of its version is valid."""
        same = [one for one in listed.files if (one.version, one.kind) == (file.version, file.kind)]
        if len(same) > 1 and file.version not in ids:
            findings.doubt(
                f"{self.job.path(file.path)}: {len(same):,} files are of version {file.version}; "
                "the commit that names the valid one is not there."
            )

    def _state_file(self, findings: Findings, place: Place, file: VersionFile) -> None:
        self._read(place, file)
        role = SNAPSHOT if file.kind not in ("delta", "changelog") else CHANGES
        self._need(findings, file.path, role, _user(place), absent="")
        for table in self._tables(place, file) if file.kind == ZIP else ():
            self._need(findings, table, TABLE, _user(place), absent=NO_TABLE)

    @cached_property
    def _ids(self) -> dict[tuple[int, str, int], dict[int, str]]:
        """The valid unique ids of files of state, by operator, store and partition."""
        return state_ids(self.checkpoint.logs, self.checkpoint.operators)

    def _tables(self, place: Place, file: VersionFile) -> tuple[str, ...]:
        """Return the tables that a snapshot names; none if it is damaged."""
        versions = self.state.stores[place.operator][place.store][place.partition]
        return versions.tables.get(file.path) or ()

    def _read(self, place: Place, file: VersionFile) -> None:
        """Read a file of state to its end, with the tables that it names, once."""
        if file.path in self._read_before:
            return
        self._read_before.add(file.path)
        if file.path in self._damage:
            return
        try:
            check_state(self.checkpoint, place, file, self.limits)
        except DamagedFile as error:
            if error.file in self.files:  # an absent table is noted by its name
                self._damage.setdefault(error.file, error)

    @cached_property
    def _read_before(self) -> set[str]:
        return set()


def _user(place: Place) -> str:
    store = "" if place.store == "default" else f" of {place.store}"
    return f"operator {place.operator}, partition {place.partition}{store}"


def _log_offset(offset: Json) -> int | None:
    """Return the number in the offset of a file source; None for other sources."""
    end = offset.get("logOffset") if isinstance(offset, dict) and kind_of(offset) == FILE else None
    return end if type(end) is int else None
