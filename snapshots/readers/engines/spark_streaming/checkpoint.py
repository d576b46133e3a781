"""A whole checkpoint directory, read from its files alone; every file is accounted for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from snapshots.readers.engines.spark_streaming.documents import NotReadable, parse_object, text_of
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.incidents import InFlight, in_flight
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.commits import CommittedBatch, read_commit
from snapshots.readers.engines.spark_streaming.logs.offsets import PlannedBatch, read_offsets
from snapshots.readers.engines.spark_streaming.logs.sources import SourceLog, read_source_log
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.state.operators import Operator, read_operator
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
from snapshots.readers.engines.spark_streaming.timeline import Batch, Logs, make_timeline
from snapshots.readers.engines.spark_streaming.topology import Topology, derive_topology

CONF = "spark.sql.streaming.stateStore."
PARTITIONS = "spark.sql.shuffle.partitions"
_CHECKSUM = re.compile(r"\..+\.crc|.+\.(?:changelog|zip|delta|snapshot)\.crc")


@dataclass(frozen=True)
class SparkCheckpoint:
    """One checkpoint directory. All paths are relative to it.

    schemas: by operator and store. missing_partitions: by operator, those without a folder; reads
    lose their rows without a word. left_overs: state files of failed attempts. damaged: in the
    order of the reading. roles: what each file is, None for those nobody knows.
    """

    files: Files
    query: str | None
    logs: Logs
    batches: tuple[Batch, ...]
    operators: tuple[Operator, ...]
    schemas: Mapping[tuple[int, str], StateSchema]
    versions: StoreVersions
    source_logs: Mapping[str, SourceLog]
    in_flight: tuple[InFlight, ...]
    topology: Topology
    left_overs: tuple[VersionFile, ...]
    missing_partitions: Mapping[int, tuple[int, ...]]
    damaged: tuple[DamagedFile, ...]
    roles: Mapping[str, str | None]

    @property
    def settings(self) -> Mapping[str, str]:
        """Those that stay fixed for the life of the checkpoint; empty in continuous mode."""
        return settings_of(self.logs)

    @property
    def provider(self) -> str | None:
        """The class of the state store provider."""
        return self.settings.get(CONF + "providerClass")

    @property
    def codec(self) -> str:
        return self.settings.get(CONF + "compression.codec", "lz4")

    @property
    def state_format(self) -> int:
        """2 where the commit log names the unique ids of the state's files."""
        commits = self.logs.committed.values()
        return 2 if any(isinstance(c, CommittedBatch) and c.state_ids for c in commits) else 1

    @property
    def unknown_files(self) -> tuple[str, ...]:
        return tuple(sorted(path for path, role in self.roles.items() if role is None))

    @property
    def committed_batches(self) -> list[int]:
        """Those whose commit can be read."""
        return sorted(b for b, c in self.logs.committed.items() if not isinstance(c, str))

    def state_ids(self, operator: int, store: str, partition: int) -> dict[int, str]:
        """The valid unique id of each version, as far as the commit log has it."""
        return state_ids(self.logs, self.operators).get((operator, store, partition), {})


def read_files(
    files: Files,
    limits: SparkLimits,
    input_rows: Mapping[str, int] | None = None,
    reports: Sequence[Progress] = (),
) -> SparkCheckpoint:
    """files: of the checkpoint directory alone. input_rows: as for ``timeline.make_timeline``."""
    return _Reading(files, limits).checkpoint(input_rows or {}, reports)


def read_source_logs(files: Files, limits: SparkLimits) -> dict[str, SourceLog]:
    """Of the checkpoint directory, by source; what is damaged is left out."""
    return _Reading(files, limits).source_logs()


def settings_of(logs: Logs) -> Mapping[str, str]:
    plans = [logs.planned[batch] for batch in sorted(logs.planned)]
    return next((p.settings for p in plans if isinstance(p, PlannedBatch) and p.settings), {})


def state_ids(
    logs: Logs, operators: Iterable[Operator]
) -> dict[tuple[int, str, int], dict[int, str]]:
    """By operator, store and partition: versions to valid unique ids (state format 2)."""
    stores = {one.id: [store.name for store in one.stores or ()] for one in operators}
    found: dict[tuple[int, str, int], dict[int, str]] = {}
    for batch, commit in logs.committed.items():
        ids = commit.state_ids if isinstance(commit, CommittedBatch) else None
        for operator, partitions in (ids or {}).items():
            names = stores.get(operator) or [DEFAULT_STORE]
            for partition, of_stores in enumerate(partitions):
                for name, unique_id in zip(names, of_stores, strict=False):
                    found.setdefault((operator, name, partition), {})[batch + 1] = unique_id
    return found


@dataclass
class _Reading:
    """A checkpoint on its way; collects what is damaged and what each file is."""

    files: Files
    limits: SparkLimits
    damaged: list[DamagedFile] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)

    def checkpoint(
        self, input_rows: Mapping[str, int], reports: Sequence[Progress]
    ) -> SparkCheckpoint:
        query = self._query()
        logs = Logs(
            self._log("offsets", "offset log", read_offsets),
            self._log("commits", "commit log", read_commit),
        )
        source_logs = self.source_logs()
        reports = [one for one in reports if query is None or one.query in (query, None)]
        by_batch = {report.batch: report for report in reports if not report.idle}
        batches = make_timeline(logs, source_logs, input_rows, by_batch)
        versions = list_versions(self.files)
        flying = set(logs.in_flight)
        operators, schemas = self._operators(versions, settings_of(logs))
        return SparkCheckpoint(
            files=self.files,
            query=query,
            logs=logs,
            batches=batches,
            operators=operators,
            schemas=schemas,
            versions=versions,
            source_logs=source_logs,
            in_flight=tuple(
                in_flight(one, operators, versions) for one in batches if one.batch in flying
            ),
            topology=_topology(logs, operators, reports, source_logs),
            left_overs=tuple(left_overs(versions, state_ids(logs, operators))),
            missing_partitions=_missing(operators, versions),
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

    def _log(self, folder: str, role: str, read):
        """Batches to what their files say, or to the sentence about what is damaged."""
        found = {}
        for batch in numbered(self.files.children(folder)):
            path = f"{folder}/{batch}"
            if path not in self.files:
                continue
            self.roles[path] = role
            try:
                found[batch] = read(self.files, path, self.limits)
            except DamagedFile as error:
                self.damaged.append(error)
                found[batch] = str(error)
        return found

    def _note(self, damaged: Iterable[DamagedFile], read: Iterable[str], role: str) -> None:
        self.damaged += damaged
        self.roles.update(dict.fromkeys(read, role))

    def source_logs(self) -> dict[str, SourceLog]:
        logs = {}
        for source in sorted(self.files.children("sources")):
            logs[source], *noted = read_source_log(self.files, f"sources/{source}", self.limits)
            self._note(*noted, "source log")
        return logs

    def _operators(self, versions: StoreVersions, settings: Mapping[str, str]):
        """The operators, and the schemas of their stores."""
        text = settings.get(PARTITIONS, "")
        partitions = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
        operators: list[Operator] = []
        schemas: dict[tuple[int, str], StateSchema] = {}
        for id in numbered(self.files.children("state")):
            folder = f"state/{id}"
            operator, *noted = read_operator(self.files, folder, partitions, self.limits)
            self._note(*noted, "operator metadata")
            try:
                parts = operator.used_partitions or 0
                self.files.spend("partitions", folder, parts, self.limits.partitions)
            except DamagedFile as error:
                self.damaged.append(error)
                continue
            stores = [one.name for one in operator.stores or ()] or list(versions.get(id, {}))
            for store in stores:
                if (schema := self._schema(id, store, len(stores) == 1)) is not None:
                    schemas[id, store] = schema
            found = schemas.get((id, DEFAULT_STORE))
            if found is not None and found.version < 3 and not found.default.key.columns:
                operator = replace(operator, one_partition=True)
            operators.append(operator)
        return tuple(operators), schemas

    def _schema(self, operator: int, store: str, single: bool) -> StateSchema | None:
        """The newest schema of a store that can be read."""
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
                for listed in partitions.values():
                    self.roles.update(dict.fromkeys((f.path for f in listed.files), "state"))
                    self.roles.update(dict.fromkeys(listed.tables, "state table"))
        roles: dict[str, str | None] = {}
        for path in self.files.entries:
            name = path.rsplit("/", 1)[-1]
            role = self.roles.get(path)
            roles[path] = role or ("checksum" if _CHECKSUM.fullmatch(name) else None)
        return roles


def _topology(
    logs: Logs,
    operators: Sequence[Operator],
    reports: Sequence[Progress],
    source_logs: Mapping[str, SourceLog],
) -> Topology:
    plans = {b: plan for b, plan in logs.planned.items() if isinstance(plan, PlannedBatch)}
    sink = None
    if (last := logs.last_committed) is not None:
        sinks = logs.committed[last].sinks
        sink = next((one.provider for one in sinks if one.active is not False), None)
    return derive_topology(
        {batch: plan.offsets for batch, plan in plans.items()},
        operators,
        reports,
        {name: _folder(log) for name, log in source_logs.items()},
        sink,
    )


def _folder(log: SourceLog) -> str | None:
    """The one folder that all files of a source lie in."""
    folders = {file.path.rsplit("/", 1)[0] for files in log.files.values() for file in files}
    return folders.pop() if len(folders) == 1 else None


def _missing(operators: Sequence[Operator], versions: StoreVersions) -> dict[int, tuple[int, ...]]:
    missing = {}
    for operator in operators:
        there = {p for partitions in versions.get(operator.id, {}).values() for p in partitions}
        gone = set(range(operator.used_partitions or 0)) - there
        if gone:
            missing[operator.id] = tuple(sorted(gone))
    return missing
