"""Read a whole checkpoint directory from its files alone, and account for every file."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from snapshots.readers.engines.spark_streaming.documents import NotReadable, parse_object, text_of
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.incidents import InFlight, in_flight
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.commits import CommittedBatch, read_commit
from snapshots.readers.engines.spark_streaming.logs.offsets import (
    FILE,
    UNKNOWN,
    PlannedBatch,
    kind_of,
    read_offsets,
)
from snapshots.readers.engines.spark_streaming.logs.own_logs import OWN_LOG, OwnLog, read_own_log
from snapshots.readers.engines.spark_streaming.logs.sources import (
    SourceLog,
    lists_files,
    read_source_log,
)
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.state.operators import Operator, read_operator
from snapshots.readers.engines.spark_streaming.state.readings import store_names
from snapshots.readers.engines.spark_streaming.state.schemas import (
    StateSchema,
    read_schema,
    schema_paths,
)
from snapshots.readers.engines.spark_streaming.state.store_files import (
    DEFAULT_STORE,
    StoreVersions,
    VersionFile,
    left_overs,
    list_versions,
)
from snapshots.readers.engines.spark_streaming.timeline import (
    Batch,
    Logs,
    batches_of_state,
    make_timeline,
)
from snapshots.readers.engines.spark_streaming.topology import Topology, derive_topology

CONF = "spark.sql.streaming.stateStore."
PARTITIONS = "spark.sql.shuffle.partitions"
T = TypeVar("T")
_CHECKSUM = re.compile(r"\..+\.crc|.+\.(?:changelog|zip|delta|snapshot)\.crc")


@dataclass(frozen=True)
class SparkCheckpoint:
    """One checkpoint directory. All paths are relative to it.

    Attributes:
        query: the id of the query; None if it is unknown.
        schemas: the schemas by operator and store.
        source_logs: the logs of file sources by source.
        own_logs: what other sources keep for themselves, by source.
        left_overs: the state files of failed attempts.
        missing_partitions: the partitions without a folder by operator; Spark reads them as empty
            without an error.
        reported_operators: the most stateful operators that a progress report of the query names;
            None if there is no report.
        damaged: the damaged files, in the order in which they were read.
        roles: the role of each file; None for a file without a known role.
    """

    files: Files
    query: str | None
    logs: Logs
    batches: tuple[Batch, ...]
    operators: tuple[Operator, ...]
    schemas: Mapping[tuple[int, str], StateSchema]
    versions: StoreVersions
    source_logs: Mapping[str, SourceLog]
    own_logs: Mapping[str, OwnLog]
    in_flight: tuple[InFlight, ...]
    topology: Topology
    left_overs: tuple[VersionFile, ...]
    missing_partitions: Mapping[int, tuple[int, ...]]
    reported_operators: int | None
    damaged: tuple[DamagedFile, ...]
    roles: Mapping[str, str | None]

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings that are fixed for the checkpoint; empty in continuous mode."""
        return settings_of(self.logs)

    @property
    def provider(self) -> str | None:
        """Return the class of the state store provider."""
        return self.settings.get(CONF + "providerClass")

    @property
    def codec(self) -> str:
        return self.settings.get(CONF + "compression.codec", "lz4")

    @property
    def state_format(self) -> int:
        """Return 2 if the commit log has unique ids of state files, else 1."""
        commits = self.logs.committed.values()
        return 2 if any(isinstance(c, CommittedBatch) and c.state_ids for c in commits) else 1

    @property
    def is_state_alone(self) -> bool:
        """Tell whether the upload holds the state of a query and neither of its logs."""
        return bool(self.batches) and not self.logs.planned and not self.logs.committed

    @property
    def unknown_files(self) -> tuple[str, ...]:
        return tuple(sorted(path for path, role in self.roles.items() if role is None))

    @property
    def committed_batches(self) -> list[int]:
        """Return the batches whose commit can be read."""
        return sorted(b for b, c in self.logs.committed.items() if not isinstance(c, str))

    def has_partition(self, partition: int, batch: int) -> bool:
        """Tell whether the state after a batch has a partition; repartitioning changes the number.

        True where the offset file of the batch does not say how many there are.
        """
        count = self._partitions_at(batch)
        return count is None or partition < count

    def parallelism(self, operator: Operator, batch: int) -> int | None:
        """Return how many partitions an operator has after a batch; None if that is not known."""
        count = self._partitions_at(batch)
        return operator.used_partitions if operator.one_partition or count is None else count

    def _partitions_at(self, batch: int) -> int | None:
        plan = self.logs.planned.get(batch)
        return partitions_in(plan.settings) if isinstance(plan, PlannedBatch) else None

    def state_ids(self, operator: int, store: str, partition: int) -> dict[int, str]:
        """Return the valid unique id of each version, as far as the commit log has it."""
        return state_ids(self.logs, self.operators).get((operator, store, partition), {})


def read_files(
    files: Files,
    limits: SparkLimits,
    input_rows: Mapping[str, int] | None = None,
    reports: Sequence[Progress] = (),
) -> SparkCheckpoint:
    """Read a checkpoint.

    Args:
        files: the files of the checkpoint directory alone.
        limits: upper bounds.
        input_rows: rows of input files, as for ``timeline.make_timeline``.
        reports: progress reports, also of other queries.
    """
    return _Reader(files, limits).checkpoint(input_rows or {}, reports)


def read_source_logs(files: Files, limits: SparkLimits) -> dict[str, SourceLog]:
    """Return the logs of all file sources of a checkpoint, without what is damaged."""
    reader = _Reader(files, limits)
    return reader.source_logs(reader.log("offsets", "offset log", read_offsets))


def settings_of(logs: Logs) -> Mapping[str, str]:
    """Return the settings in the oldest offset file that has any."""
    return _first_settings(logs, sorted(logs.planned))


def partitions_in(settings: Mapping[str, str]) -> int | None:
    """Return how many partitions state has by the settings in an offset file."""
    text = settings.get(PARTITIONS, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _newest_settings(logs: Logs) -> Mapping[str, str]:
    """Return the settings in the newest offset file that has any; repartitioning changes them."""
    return _first_settings(logs, sorted(logs.planned, reverse=True))


def _first_settings(logs: Logs, batches: Iterable[int]) -> Mapping[str, str]:
    """Return the settings in the first of these batches' offset files that has any."""
    plans = (logs.planned[batch] for batch in batches)
    return next((p.settings for p in plans if isinstance(p, PlannedBatch) and p.settings), {})


def state_ids(
    logs: Logs, operators: Iterable[Operator]
) -> dict[tuple[int, str, int], dict[int, str]]:
    """Return the valid unique id of each version, by operator, store and partition.

    Only the state format 2 has such ids.
    """
    stores = {each.id: [store.name for store in each.stores or ()] for each in operators}
    valid: dict[tuple[int, str, int], dict[int, str]] = defaultdict(dict)
    for batch, commit in logs.committed.items():
        ids = commit.state_ids if isinstance(commit, CommittedBatch) else None
        for operator, partitions in (ids or {}).items():
            names = stores.get(operator) or [DEFAULT_STORE]
            for partition, store_ids in enumerate(partitions):
                for name, unique_id in zip(names, store_ids, strict=False):
                    valid[operator, name, partition][batch + 1] = unique_id
    return dict(valid)


@dataclass
class _Reader:
    """A reader of one checkpoint that collects damaged files and the roles of files."""

    files: Files
    limits: SparkLimits
    damaged: list[DamagedFile] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    own_logs: dict[str, OwnLog] = field(default_factory=dict)

    def checkpoint(
        self, input_rows: Mapping[str, int], reports: Sequence[Progress]
    ) -> SparkCheckpoint:
        query = self._query()
        logs = Logs(
            self.log("offsets", "offset log", read_offsets),
            self.log("commits", "commit log", read_commit),
        )
        source_logs = self.source_logs(logs.planned)
        reports = [each for each in reports if query is None or each.query in (query, None)]
        by_batch = {report.batch: report for report in reports if not report.idle}
        batches = make_timeline(logs, source_logs, input_rows, by_batch)
        versions = list_versions(self.files)
        batches = batches or batches_of_state(_version_numbers(versions))
        uncommitted = set(logs.in_flight)
        operators, schemas = self._operators(versions, partitions_in(_newest_settings(logs)))
        return SparkCheckpoint(
            files=self.files,
            query=query,
            logs=logs,
            batches=batches,
            operators=operators,
            schemas=schemas,
            versions=versions,
            source_logs=source_logs,
            own_logs=self.own_logs,
            in_flight=tuple(
                in_flight(batch, operators, versions)
                for batch in batches
                if batch.batch in uncommitted
            ),
            topology=_topology(logs, operators, reports, source_logs),
            left_overs=tuple(left_overs(versions, state_ids(logs, operators))),
            missing_partitions=(
                _missing(operators, versions, schemas) if _has_ended(logs, batches) else {}
            ),
            reported_operators=max((len(report.operators) for report in reports), default=None),
            damaged=tuple(self.damaged),
            roles=self._roles(versions),
        )

    def _query(self) -> str | None:
        if "metadata" not in self.files:
            return None
        self.roles["metadata"] = "query id"
        try:
            document = parse_object(
                self.files.read("metadata", self.limits.log_bytes), self.limits.depth
            )
            return text_of(document, "id")
        except NotReadable as error:
            self.damaged.append(DamagedFile("metadata", str(error), 1))
        except DamagedFile as error:
            self.damaged.append(error)
        return None

    def log(
        self, folder: str, role: str, read: Callable[[Files, str, SparkLimits], T]
    ) -> dict[int, T | str]:
        """Return the content of each batch's file, or the sentence about its damage."""
        contents: dict[int, T | str] = {}
        for batch in numbered(self.files.children(folder)):
            path = f"{folder}/{batch}"
            if path not in self.files:
                continue
            self.roles[path] = role
            try:
                contents[batch] = read(self.files, path, self.limits)
            except DamagedFile as error:
                self.damaged.append(error)
                contents[batch] = str(error)
        return contents

    def _note(self, damaged: Iterable[DamagedFile], read: Iterable[str], role: str) -> None:
        self.damaged += damaged
        self.roles.update(dict.fromkeys(read, role))

    def source_logs(self, planned: Mapping[int, PlannedBatch | str]) -> dict[str, SourceLog]:
        """Return the logs of file sources, and note what other sources keep for themselves."""
        logs = {}
        kinds = _kinds(planned)
        for source in sorted(self.files.children("sources")):
            folder, kind = f"sources/{source}", kinds.get(source, UNKNOWN)
            if kind == FILE or lists_files(self.files, folder, self.limits):
                log, damaged, read = read_source_log(self.files, folder, self.limits)
                logs[source] = log
                self._note(damaged, read, "source log")
            else:
                own, damaged, read = read_own_log(self.files, folder, kind, self.limits)
                self.own_logs[source] = own
                self._note(damaged, read, OWN_LOG)
        return logs

    def _operators(
        self, versions: StoreVersions, partitions: int | None
    ) -> tuple[tuple[Operator, ...], dict[tuple[int, str], StateSchema]]:
        """Read the operators, and the schemas of their stores."""
        operators: list[Operator] = []
        schemas: dict[tuple[int, str], StateSchema] = {}
        for id in numbered(self.files.children("state")):
            folder = f"state/{id}"
            operator, damaged, read = read_operator(self.files, folder, partitions, self.limits)
            self._note(damaged, read, "operator metadata")
            try:
                used = operator.used_partitions or 0
                self.files.spend("partitions", folder, used, self.limits.partitions)
            except DamagedFile as error:
                self.damaged.append(error)
                continue
            operator = replace(operator, partitions=partitions or operator.partitions)
            stores = store_names(operator, versions)
            for store in stores:
                if (schema := self._schema(id, store, len(stores) == 1)) is not None:
                    schemas[id, store] = schema
            default = schemas.get((id, DEFAULT_STORE))
            if default is not None and default.version < 3 and not default.default.key.columns:
                operator = replace(operator, one_partition=True)
            operators.append(operator)
        return tuple(operators), schemas

    def _schema(self, operator: int, store: str, single: bool) -> StateSchema | None:
        """Return the newest schema of a store that can be read."""
        newest = None
        for path in schema_paths(self.files, operator, store, single):
            self.roles[path] = "state schema"
            try:
                schema = read_schema(self.files, path, self.limits)
            except DamagedFile as error:
                self.damaged.append(error)
            else:
                newest = newest or schema
        return newest

    def _roles(self, versions: StoreVersions) -> dict[str, str | None]:
        for stores in versions.values():
            for partitions in stores.values():
                for partition in partitions.values():
                    self.roles.update(dict.fromkeys((f.path for f in partition.files), "state"))
                    self.roles.update(dict.fromkeys(partition.tables, "state table"))
        roles: dict[str, str | None] = {}
        for path in self.files.entries:
            is_checksum = _CHECKSUM.fullmatch(path.rsplit("/", 1)[-1]) is not None
            roles[path] = self.roles.get(path, "checksum" if is_checksum else None)
        return roles


def _kinds(planned: Mapping[int, PlannedBatch | str]) -> dict[str, str]:
    """Return the kind of each source by its newest offset that tells it."""
    kinds: dict[str, str] = {}
    for batch in sorted(planned):
        plan = planned[batch]
        if isinstance(plan, PlannedBatch):
            known = {name: kind_of(offset) for name, offset in plan.offsets.items()}
            kinds |= {name: kind for name, kind in known.items() if kind != UNKNOWN}
    return kinds


def _version_numbers(versions: StoreVersions) -> set[int]:
    """Return the versions of which some partition has a file."""
    return {
        file.version
        for stores in versions.values()
        for partitions in stores.values()
        for partition in partitions.values()
        for file in partition.files
    }


def _topology(
    logs: Logs,
    operators: Sequence[Operator],
    reports: Sequence[Progress],
    source_logs: Mapping[str, SourceLog],
) -> Topology:
    plans, commits = logs.planned.items(), logs.committed.items()
    offsets = {batch: plan.offsets for batch, plan in plans if isinstance(plan, PlannedBatch)}
    readable = {batch: commit for batch, commit in commits if isinstance(commit, CommittedBatch)}
    sinks = readable[max(readable)].sinks if readable else ()
    return derive_topology(
        offsets,
        operators,
        reports,
        {name: _folder(log) for name, log in source_logs.items()},
        next((sink.provider for sink in sinks if sink.active is not False), None),
    )


def _folder(log: SourceLog) -> str | None:
    """Return the folder of a source's files; None if they lie in several."""
    folders = {file.path.rsplit("/", 1)[0] for files in log.files.values() for file in files}
    return folders.pop() if len(folders) == 1 else None


def _has_ended(logs: Logs, batches: Sequence[Batch]) -> bool:
    """Tell whether a batch is over, so that each partition wrote state; the first needs none."""
    return bool(logs.committed) or not logs.planned or any(batch.batch for batch in batches)


def _missing(
    operators: Sequence[Operator],
    versions: StoreVersions,
    schemas: Mapping[tuple[int, str], StateSchema],
) -> dict[int, tuple[int, ...]]:
    """Return the partitions without a folder by operator.

    Without a schema nothing tells state without a key, which has partition 0 alone.
    """
    with_schema = {operator for operator, _ in schemas}
    missing = {}
    for operator in operators:
        present = {p for partitions in versions.get(operator.id, {}).values() for p in partitions}
        absent = set(range(operator.used_partitions or 0)) - present
        if absent and (present != {0} or operator.id in with_schema):
            missing[operator.id] = tuple(sorted(absent))
    return missing
