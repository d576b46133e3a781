"""Which files of state a query reads when it starts again from one version of its state.

Of each partition it reads the newest snapshot up to the version, and all changes behind it. A
snapshot of RocksDB names the tables that it needs.

Source: Spark's HDFSBackedStateStoreProvider.loadMap, RocksDB.load, RocksDBFileManager.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from snapshots.domain.inventory.restore_check import Findings, NeededFile
from snapshots.readers.engines.spark_streaming.adapter.flaws import state_path
from snapshots.readers.engines.spark_streaming.adapter.needed_files import NeededFiles
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.checkpoint import state_ids
from snapshots.readers.engines.spark_streaming.files import DamagedFile
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.readings import store_names
from snapshots.readers.engines.spark_streaming.state.schemas import schema_paths
from snapshots.readers.engines.spark_streaming.state.store_files import (
    CHANGES,
    DEFAULT_STORE,
    WHOLE,
    ZIP,
    Chain,
    PartitionFiles,
    VersionFile,
    chain,
    whole_name,
)
from snapshots.readers.engines.spark_streaming.state.stored_state import Place, check_state

OPERATOR, SCHEMA = "operator metadata", "state schema"
CHANGED, SNAPSHOT, TABLE = "state changes", "state snapshot", "state table"
NO_PARTITION = "No file of state of this partition is there."
NO_FAMILIES = (
    "It is not there. The state has column families, which only a snapshot names: Spark cannot put "
    "it together from changes alone."
)
NO_TABLE = "A snapshot names this table, and it is absent."
NO_SCHEMA = (
    "There is no schema of it, so that nobody can tell here what its bytes mean. Spark starts, and "
    "takes the schema of the query that starts: it does not notice if that has another one."
)
FIRST_METADATA = "state/{}/_metadata/metadata"
UNREAD_METADATA = "It is damaged. Spark starts without it."
OTHER_WAY = (
    "Without the snapshot the state can be put together from older files; Spark 4.3 was seen to do "
    "so, and older versions may not start."
)
REPAIRED = (
    "Spark 4.2 and later put the state together from older files (automatic snapshot repair, if no "
    "setting below spark.sql.streaming.stateStore.autoSnapshotRepair was changed). Older versions "
    "do not start."
)
MOST_REPLAYED = 500  # changes; the default of autoSnapshotRepair.maxChangeFileReplay
NO_STATE = "The query keeps no state."
NO_FOLDER = "It is absent, and the progress reports name stateful operators."


class NeededState:
    """The files of state of one checkpoint directory."""

    def __init__(self, needed: NeededFiles, state: StateSizes) -> None:
        self._needed = needed
        self._state = state
        self._checkpoint = needed.job.checkpoint
        self._read_before: set[str] = set()

    def note(self, findings: Findings, version: int) -> None:
        """Note the files that make up a version; 0 is the empty state before all batches."""
        if not self._checkpoint.operators:
            self._no_operators(findings, version)
        for operator in self._checkpoint.operators:
            self._metadata(findings, operator)
            names = store_names(operator, self._checkpoint.versions)
            for store in names:
                self._schema(findings, operator, store, single=len(names) == 1)
                if version:
                    self._store(findings, operator, store, version)

    def _no_operators(self, findings: Findings, version: int) -> None:
        """Tell a query without state from one whose folder of state is absent."""
        job = self._needed.job
        if job.keeps_state is False:
            findings.note(NO_STATE)
        elif job.keeps_state and version:
            findings.need(NeededFile(job.path("state/"), "state", None, None, None, NO_FOLDER))
        elif version and job.why_state_unknown is not None:
            findings.doubt(job.why_state_unknown)

    def _metadata(self, findings: Findings, operator: Operator) -> None:
        paths = self._metadata_paths.get(operator.id, [])
        first = FIRST_METADATA.format(operator.id)
        problem, is_certain = self._needed.problem(first) if first in paths else (None, False)
        if problem is not None and is_certain:
            findings.note(f"{self._needed.job.path(first)}: {UNREAD_METADATA}")
            paths = [path for path in paths if path != first]
        for path in paths:
            self._needed.need(findings, path, OPERATOR, f"operator {operator.id}", absent="")
        self._needed.write(findings, FIRST_METADATA.format(operator.id))
        if not paths and self._needed.files.is_folder(f"state/{operator.id}/_stateSchema"):
            folder = self._needed.job.path(f"state/{operator.id}/_metadata")
            findings.doubt(
                f"{folder}: The metadata of operator {operator.id} are absent; they name its state "
                "variables."
            )

    @cached_property
    def _metadata_paths(self) -> dict[int, list[str]]:
        """The paths of the operators' metadata, by operator."""
        paths: dict[int, list[str]] = {}
        for path, role in sorted(self._checkpoint.roles.items()):
            if role == OPERATOR:
                paths.setdefault(int(path.split("/")[1]), []).append(path)
        return paths

    def _schema(self, findings: Findings, operator: Operator, store: str, *, single: bool) -> None:
        user = f"operator {operator.id}, store {store}"
        paths = schema_paths(self._needed.files, operator.id, store, single)
        for path in paths:
            self._needed.need(findings, path, SCHEMA, user, absent="")
        if not paths:
            findings.doubt(f"{user}: {NO_SCHEMA}")
            inner = "" if single else f"/{store}"
            self._needed.write(findings, f"state/{operator.id}/0{inner}/_metadata/schema")

    def _store(self, findings: Findings, operator: Operator, store: str, version: int) -> None:
        listed = self._checkpoint.versions.get(operator.id, {}).get(store, {})
        for partition in sorted({*listed, *range(operator.used_partitions or 0)}):
            if not self._checkpoint.has_partition(partition, version - 1):
                continue
            place = Place(operator.id, store, partition)
            if partition in listed and listed[partition].files:
                self._partition(findings, place, listed[partition], version)
                continue
            folder = self._needed.job.path(state_path(operator.id, partition, store))
            findings.need(
                NeededFile(folder, CHANGED, _user(place), None, None, NO_PARTITION),
                is_certain=self._counts_partitions(operator, store, set(listed)),
            )

    def _counts_partitions(self, operator: Operator, store: str, present: set[int]) -> bool:
        """Tell whether it is known how many partitions there are.

        Metadata count those of the query. A state without a key, which a schema shows, has only the
        first of them.
        """
        may_be_all = present == {0} and (operator.id, store) not in self._checkpoint.schemas
        return operator.file is not None and not may_be_all

    def _partition(
        self, findings: Findings, place: Place, listed: PartitionFiles, version: int
    ) -> None:
        """Note the files that make up a version of the state of one partition."""
        self._needed.left -= len(listed.files)
        ids = self._ids.get((place.operator, place.store, place.partition), {})
        needed = chain(listed, version, ids)
        if (repaired := self._repaired(findings, place, listed, version)) is not None:
            self._partition(findings, place, repaired, version)
            return
        if self._lacks_families(place.operator, needed):
            path = state_path(place.operator, place.partition, place.store, whole_name(1))
            self._needed.need(findings, path, SNAPSHOT, _user(place), absent=NO_FAMILIES)
        if needed.missing is not None:
            more = f", nor are {needed.lacking - 1:,} more" if needed.lacking > 1 else ""
            path = state_path(place.operator, place.partition, place.store, needed.missing)
            absent = f"It is not there{more}, and version {version} of the state needs it."
            self._needed.need(findings, path, CHANGED, _user(place), absent=absent)
        for file in needed.files:
            self._one_of_several(findings, listed, file, ids)
            has_other_way = file.kind in WHOLE and self._has_other_way(
                place.operator, listed, file, version, ids
            )
            self._file(findings, place, file, has_other_way=has_other_way)

    def _repaired(
        self, findings: Findings, place: Place, listed: PartitionFiles, version: int
    ) -> PartitionFiles | None:
        """Return the files without a spoilt snapshot, if Spark does without it; else None.

        PySpark 4.3.0 started from such files, of RocksDB and HDFS-backed, also where all snapshots
        were spoilt.
        """
        ids = self._ids.get((place.operator, place.store, place.partition), {})
        snapshot = next(iter(chain(listed, version, ids).files), None)
        said = None if snapshot is None else self._spoilt(place, snapshot)
        if said is None:
            return None
        others = replace(listed, files=tuple(one for one in listed.files if one is not snapshot))
        way = chain(others, version, ids)
        changes = sum(file.kind in CHANGES for file in way.files)
        if way.lacking or changes > MOST_REPLAYED or not self._is_of_spark_4(place.operator):
            return None
        if self._lacks_families(place.operator, way):
            return None
        findings.note(f"{said} {REPAIRED}")
        return others

    def _spoilt(self, place: Place, snapshot: VersionFile) -> str | None:
        """Say what is wrong with a snapshot, or with a table that it names; None if nothing is."""
        if snapshot.kind in CHANGES:
            return None
        self._read(place, snapshot)
        for path in (snapshot.path, *self._tables(place, snapshot)):
            problem, is_certain = NO_TABLE, True
            if path in self._needed.files:
                found, is_certain = self._needed.problem(path)
                if found is None:
                    continue
                problem = found
            if is_certain:
                return f"{self._needed.job.path(path)}: {problem}"
        return None

    def _is_of_spark_4(self, operator: int) -> bool:
        """Tell whether Spark 4 or later wrote the operator; older versions write no metadata."""
        return any(one.id == operator and one.file for one in self._checkpoint.operators)

    def _has_other_way(
        self,
        operator: int,
        listed: PartitionFiles,
        snapshot: VersionFile,
        version: int,
        ids: dict[int, str],
    ) -> bool:
        """Tell whether the version can be put together without its newest snapshot."""
        others = tuple(file for file in listed.files if file is not snapshot)
        needed = chain(replace(listed, files=others), version, ids)
        return not needed.lacking and not self._lacks_families(operator, needed)

    def _lacks_families(self, operator: int, needed: Chain) -> bool:
        """Tell whether a version with column families would begin without a snapshot."""
        begins_whole = bool(needed.files) and needed.files[0].kind in WHOLE
        return operator in self._with_families and not needed.lacking and not begins_whole

    @cached_property
    def _with_families(self) -> frozenset[int]:
        """The operators whose stores have column families: their metadata are of version 2."""
        operators = self._checkpoint.operators
        return frozenset(one.id for one in operators if one.properties is not None)

    @cached_property
    def _ids(self) -> dict[tuple[int, str, int], dict[int, str]]:
        """The valid unique ids of files of state, by operator, store and partition."""
        return state_ids(self._checkpoint.logs, self._checkpoint.operators)

    def _one_of_several(
        self, findings: Findings, listed: PartitionFiles, file: VersionFile, ids: Mapping[int, str]
    ) -> None:
        """Doubt a file if nothing tells which of several files of its version is valid."""
        same = [one for one in listed.files if (one.version, one.kind) == (file.version, file.kind)]
        if len(same) > 1 and file.version not in ids:
            findings.doubt(
                f"{self._needed.job.path(file.path)}: {len(same):,} files are of version "
                f"{file.version}; the commit that names the valid one is not there."
            )

    def _file(
        self, findings: Findings, place: Place, file: VersionFile, *, has_other_way: bool
    ) -> None:
        self._read(place, file)
        role = CHANGED if file.kind in CHANGES else SNAPSHOT
        if has_other_way and self._doubted(findings, file.path, role, place):
            return
        self._needed.need(findings, file.path, role, _user(place), absent="")
        for table in self._tables(place, file) if file.kind == ZIP else ():
            if has_other_way and self._doubted(findings, table, TABLE, place):
                continue
            self._needed.need(
                findings,
                table,
                TABLE,
                _user(place),
                absent=f"{NO_TABLE} {OTHER_WAY}" if has_other_way else NO_TABLE,
                is_certain=not has_other_way,
            )

    def _doubted(self, findings: Findings, path: str, role: str, place: Place) -> bool:
        """Note a damaged file that leaves the answer open; return whether it is one."""
        if path not in self._needed.files:
            return False
        problem, _ = self._needed.problem(path)
        if problem is None:
            return False
        size, said = self._needed.files.entries[path].size, f"{problem} {OTHER_WAY}"
        own = NeededFile(self._needed.job.path(path), role, _user(place), None, size, said)
        findings.need(own, is_certain=False)
        return True

    def _tables(self, place: Place, file: VersionFile) -> tuple[str, ...]:
        """Return the tables that a snapshot names; none if it is damaged."""
        versions = self._state.stores[place.operator][place.store][place.partition]
        return versions.tables.get(file.path) or ()

    def _read(self, place: Place, file: VersionFile) -> None:
        """Read a file of state to its end, with the tables that it names, once."""
        damage = self._needed.damage
        if file.path in self._read_before or file.path in damage:
            return
        self._read_before.add(file.path)
        try:
            check_state(self._checkpoint, place, file, self._needed.limits)
        except DamagedFile as error:
            if error.file in self._needed.files:  # an absent table is noted by its name
                damage.setdefault(error.file, error)


def _user(place: Place) -> str:
    store = "" if place.store == DEFAULT_STORE else f" of {place.store}"
    return f"operator {place.operator}, partition {place.partition}{store}"
