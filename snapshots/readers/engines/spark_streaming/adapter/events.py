"""Derives a recording from Spark's checkpoint directories, with the events of a dataflow's log.

Source: docs/formats/dataflow-events.md, "Derived from checkpoint directories".

Every event is ``derived``. What is inferred in it stands in its list ``inferred``: ``at`` (no file
has the time; it lies between those that are known), ``commit`` (the batch must have been committed,
but its commit file is damaged or gone). Of a batch that was planned and not committed there is the
plan and what the partitions wrote: an incomplete snapshot. Of one of which the files do not tell
whether it was committed there is no snapshot.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.kinds import BATCH_COMMIT, BATCH_PLAN, SINK_WRITE, TASK_END
from snapshots.domain.model.derived import DRAINED, NOT_TOLD
from snapshots.domain.model.recording import (
    INTERNAL,
    RECORD_CHANNEL,
    RECORD_STATE,
    Instant,
    LoggedEvent,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.derived_log import TIME
from snapshots.readers.engines.spark_streaming import upload as uploads
from snapshots.readers.engines.spark_streaming.adapter.flaws import flaws_by_batch
from snapshots.readers.engines.spark_streaming.adapter.graph import Graph, JobGraph, graph_of
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob, fate_of
from snapshots.readers.engines.spark_streaming.adapter.sinks import listed_files
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes, StoredVersions
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange
from snapshots.readers.formats.fields import json_problem

MOST_CHANNEL_RECORDS = 500_000
MOST_EVENTS = 2_000_000  # about, without those of channels
_EVENTS_OF_A_TASK = 3  # in a batch
READ = "read"  # label of the event with which a source has come to the end of its range
EPOCH_ENDED = "epoch ended"
COMMIT = "commit"  # in ``inferred``
_NO_CHANNEL_RECORDS = "That channels are empty is not logged for each: there would be too many."


def derived_recording(
    upload: uploads.SparkUpload, jobs: tuple[SparkJob, ...], states: dict[str, StateSizes]
) -> tuple[Header, Iterator[LoggedEvent]]:
    """states: by folder of the checkpoint. Of a history that is too long the newest batches."""
    graph = graph_of(jobs)
    planned = (batch.planned_at_ms for job in jobs for batch in job.batches)
    origin = min((at for at in planned if at is not None), default=None)
    kept = {job.job.number: _kept(job, len(jobs)) for job in graph.jobs}
    channels = len(graph.topology.channels) * sum(map(len, kept.values()))
    notes = list(graph.notes)
    if left_out := sum(len(job.batches) - len(kept[job.number]) for job in jobs):
        notes.append(f"The {left_out:,} earliest batches are left out; the contents have all.")
    if channels > MOST_CHANNEL_RECORDS:
        notes.append(_NO_CHANNEL_RECORDS)
    settings = _Settings(
        graph, kept, origin, listed_files(upload, jobs), channels <= MOST_CHANNEL_RECORDS
    )
    return _header(graph, origin, notes, states), _events(settings, states)


def _kept(job: JobGraph, jobs: int) -> tuple[Batch, ...]:
    """The newest batches, as many as there is room for, and at least one."""
    each = (len(job.processes) + 1) * _EVENTS_OF_A_TASK
    return job.job.batches[-max(1, MOST_EVENTS // jobs // each) :]


@dataclass(frozen=True)
class _Settings:
    """batches: those that are written, by number of the job. origin: epoch ms, None where no time
    is known. listed: see ``sinks.listed_files``."""

    graph: Graph
    batches: dict[int, tuple[Batch, ...]]
    origin: int | None
    listed: dict[int, int]
    with_channels: bool


def _header(
    graph: Graph, origin: int | None, notes: list[str], states: dict[str, StateSizes]
) -> Header:
    name = next((job.job.folder for job in graph.jobs if job.job.folder), "checkpoint")
    about = {
        "why_empty": DRAINED,
        "why_unknown": NOT_TOLD,
        "notes": notes,
        "epoch": origin if json_problem(origin) is None else None,
        "dataflow": graph.dataflow,
        "channels": graph.inferred,
        "flaws": _flaws(graph, states),
    }
    return derived_log.header("spark", name, graph.topology, about)


def _flaws(graph: Graph, states: dict[str, StateSizes]) -> dict[str, object] | None:
    """Sentences, and by snapshot the places of those that hold of it (``domain.derived``)."""
    places: dict[str, int] = {}
    snapshots: dict[str, list[int]] = {}
    for own in graph.jobs:
        for batch, sentences in flaws_by_batch(own.job, states[own.job.folder]).items():
            found = [places.setdefault(one, len(places)) for one in sentences]
            snapshots[snapshot_of(own.job, batch)] = found
    return {"sentences": list(places), "snapshots": snapshots} if snapshots else None


def _events(settings: _Settings, states: dict[str, StateSizes]) -> Iterator[LoggedEvent]:
    line = 1
    for job in settings.graph.jobs:
        for event in _JobWriter(settings, job, states[job.job.folder]).events(line):
            line = event.line
            yield event


def snapshot_of(job: SparkJob, batch: int) -> SnapshotId:
    """What the snapshot of a batch is called: by its number, which is the first job's alone."""
    return SnapshotId(f"{batch} ({job.label})" if job.number else str(batch))


@dataclass
class _JobWriter:
    """The events of one job. now: the latest time that is known, us since the recording began.
    offsets: JSON of where each source has come to."""

    settings: _Settings
    own: JobGraph
    state: StateSizes
    line: int = 1
    now: Instant | None = None
    offsets: dict[str, JsonText] = field(default_factory=dict)

    def events(self, line: int) -> Iterator[LoggedEvent]:
        self.line = line
        self.stores = self._stores()
        self.listed = self.settings.listed
        self.sources = self.own.sources
        self.tasks, self.processes = list(self.own.tasks), self.own.processes
        own = set(self.processes)
        self.channels = [
            channel
            for channel in self.settings.graph.topology.channels
            if channel.source in own and self.settings.with_channels
        ]
        write = self._epoch if self.own.job.is_continuous else self._batch
        for batch in self.settings.batches[self.own.job.number]:
            yield from write(batch)

    # --- a batch ---------------------------------------------------------------------------------

    def _batch(self, batch: Batch) -> Iterator[LoggedEvent]:
        fate = fate_of(self.own.job, batch)
        inferred = self._advance(batch.planned_at_ms)
        if batch.planned:
            yield self._plan(batch, inferred)
        if fate.is_over is not None:
            yield self._record(self.own.coordinator, batch, {}, inferred=inferred)
        yield from self._wrote(batch)
        if batch.batch in self.listed:
            yield self._sink_write(batch)
        if fate.is_over:
            yield from self._read(batch)
            yield from self._commit(batch, [] if batch.committed else [COMMIT])

    def _plan(self, batch: Batch, inferred: list[str]) -> LoggedEvent:
        told: dict[str, Json] = {"batch": batch.batch}
        if batch.sources is not None:
            told |= {"attempt": 1, "ranges": self._ranges(batch.sources)}
        if batch.watermark_ms is not None:
            told["watermark"] = _plain(batch.watermark_ms * 1000)
        if batch.problem is not None:
            told["problem"] = batch.problem
        return self._event(self.own.coordinator, BATCH_PLAN, batch, told, inferred)

    def _ranges(self, sources: tuple[SourceRange, ...]) -> Json:
        """From behind the first offset up to the second, in the source's own words; null for a
        start that is not known."""
        return {
            self.sources.get(one.source, one.source): [_plain(one.start), _plain(one.end)]
            for one in sources
        }

    def _wrote(self, batch: Batch) -> Iterator[LoggedEvent]:
        """Whose version lies on disk; when it was written is not known."""
        self._advance(_tasks_ended_at(batch))
        for operator, partition, process in self.tasks:
            stores = self._own_stores(operator, partition)
            found = [versions.wrote(batch.state_version) for versions in stores]
            if found and all(found):
                sizes = self.state.sizes
                told = {
                    "batch": batch.batch,
                    "operator": self.own.vertices[f"op:{operator}"],
                    "partition": None if self.own.whole else partition,
                    "state_version": batch.state_version,
                    "handles": [
                        {"file": file.path, "bytes": sizes[file.path]}
                        for files in found
                        for file in files[: 1 if self.own.whole else None]
                    ][:100],
                }
                yield self._event(process, TASK_END, batch, told, [TIME])

    def _sink_write(self, batch: Batch) -> LoggedEvent:
        told = {
            "batch": batch.batch,
            "sink": self.own.vertices.get("sink"),
            "files": self.listed[batch.batch],
        }
        return self._event(self.own.coordinator, SINK_WRITE, batch, told, [TIME])

    def _read(self, batch: Batch) -> Iterator[LoggedEvent]:
        """The sources have come to the ends of their ranges."""
        if batch.sources is None:
            for process in self.sources.values():
                self.offsets.pop(process, None)
                yield self._event(process, INTERNAL, batch, {}, [TIME], label=READ)
            return
        for one in batch.sources:
            process = self.sources.get(one.source)
            if process is None:
                continue
            state = canonical({"offset": _plain(one.end)})
            if self.offsets.get(process) != state:
                self.offsets[process] = state
                yield self._event(process, INTERNAL, batch, {}, [TIME], label=READ, state=state)

    def _commit(self, batch: Batch, inferred: list[str]) -> Iterator[LoggedEvent]:
        inferred = inferred + self._advance(_committed_at(batch))
        told: dict[str, Json] = {"batch": batch.batch}
        if batch.next_watermark_ms is not None:
            told["next_watermark"] = _plain(batch.next_watermark_ms * 1000)
        yield self._event(self.own.coordinator, BATCH_COMMIT, batch, told, inferred)
        for channel in self.channels:
            yield self._drained(channel.target, channel.id, batch)
        version = {"version": batch.state_version}
        for process in self.processes:
            state = self.offsets.get(process)
            yield self._record(process, batch, version, state, inferred)

    # --- an epoch --------------------------------------------------------------------------------

    def _epoch(self, batch: Batch) -> Iterator[LoggedEvent]:
        """Its offsets are written when every reader has come to its end; no time is known."""
        if batch.planned:
            told: dict[str, Json] = {"batch": batch.batch}
            if batch.sources is not None:
                told["ranges"] = self._ranges(batch.sources)
            yield from self._read(batch)
            yield self._event(
                self.own.coordinator, INTERNAL, batch, told, [TIME], label=EPOCH_ENDED
            )
        fate = fate_of(self.own.job, batch)
        if fate.is_over is not None:
            yield self._record(self.own.coordinator, batch, {})
        if fate.is_over:
            yield from self._commit(batch, [] if batch.committed else [COMMIT])

    # --- events ----------------------------------------------------------------------------------

    def _advance(self, at_ms: int | None) -> list[str]:
        """Sets ``now`` to a time that a file has; says whether it did not."""
        at = derived_log.instant(at_ms, self.settings.origin)
        if at is None:
            return [TIME]
        self.now = at
        return []

    def _record(
        self,
        process: ProcessId,
        batch: Batch,
        told: dict[str, Json],
        state: JsonText | None = None,
        inferred: list[str] | None = None,
    ) -> LoggedEvent:
        return self._event(process, RECORD_STATE, batch, told, inferred or [], state=state)

    def _drained(self, process: ProcessId, channel: ChannelId, batch: Batch) -> LoggedEvent:
        return self._event(process, RECORD_CHANNEL, batch, {}, [], channel=channel, messages=())

    def _event(
        self,
        process: ProcessId,
        kind: str,
        batch: Batch,
        told: dict[str, Json],
        inferred: list[str],
        **fields: object,
    ) -> LoggedEvent:
        self.line += 1
        snapshot = None if kind == INTERNAL else snapshot_of(self.own.job, batch.batch)
        at = self.now
        return derived_log.event(
            self.line, process, kind, at, told, inferred, snapshot=snapshot, **fields
        )

    # --- what lies on disk -----------------------------------------------------------------------

    def _stores(self) -> dict[int, dict[int, list[StoredVersions]]]:
        """By operator and partition."""
        found: dict[int, dict[int, list[StoredVersions]]] = {}
        for operator, stores in self.state.stores.items():
            for partitions in stores.values():
                for partition, versions in partitions.items():
                    found.setdefault(operator, {}).setdefault(partition, []).append(versions)
        return found

    def _own_stores(self, operator: int, partition: int) -> list[StoredVersions]:
        partitions = self.stores.get(operator, {})
        if self.own.whole:
            return [one for stores in partitions.values() for one in stores]
        return partitions.get(partition, [])


def _plain(value: Json) -> Json:
    """As text where the log's format has no room for it."""
    return value if json_problem(value) is None else str(value)


def _committed_at(batch: Batch) -> int | None:
    """Not where the report contradicts the plan."""
    at, planned = batch.committed_at_ms, batch.planned_at_ms
    return None if at is None or (planned is not None and at < planned) else at


def _tasks_ended_at(batch: Batch) -> int | None:
    """When all tasks had ended, by the report: before what came before the commit."""
    at, after = _committed_at(batch), (batch.durations_ms or {}).get("commitOffsets")
    if at is None or after is None or after < 0:
        return None
    ended = at - after
    return None if batch.planned_at_ms is not None and ended < batch.planned_at_ms else ended
