"""Derives a recording from Spark's checkpoint directories, with the events of a dataflow's log.

Source: docs/formats/dataflow-events.md, "Derived from checkpoint directories".

Every event is ``derived``. Its list ``inferred`` names what is inferred: ``at`` (no file has the
time; it lies between those that are known), ``commit`` (the batch must have been committed, but its
commit file is damaged or gone). A batch that was planned and not committed has its plan and what
the partitions wrote: an incomplete snapshot. If the files do not tell whether a batch was
committed, it is no snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.kinds import BATCH_COMMIT, BATCH_PLAN, SINK_WRITE, TASK_END
from snapshots.domain.model.derived import DRAINED
from snapshots.domain.model.recording import (
    INTERNAL,
    RECORD_CHANNEL,
    RECORD_STATE,
    Instant,
    LoggedEvent,
    SnapshotId,
)
from snapshots.domain.model.topology import Channel, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.derived_log import TIME
from snapshots.readers.engines.spark_streaming import upload as uploads
from snapshots.readers.engines.spark_streaming.adapter.flaws import flaws_by_batch
from snapshots.readers.engines.spark_streaming.adapter.graph import Graph, JobGraph, graph_of
from snapshots.readers.engines.spark_streaming.adapter.how_far import (
    how_far,
    stores_of,
    written_files,
)
from snapshots.readers.engines.spark_streaming.adapter.jobs import (
    SparkJob,
    fate_of,
    snapshot_of,
    why_unknown,
)
from snapshots.readers.engines.spark_streaming.adapter.sinks import listed_files
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes, StoredVersions
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange
from snapshots.readers.engines.spark_streaming.topology import SINK
from snapshots.readers.formats.fields import json_problem

MOST_CHANNEL_RECORDS = 500_000
MOST_EVENTS = 2_000_000  # about, without those of channels
READ = "read"  # label of the event with which a source has come to the end of its range
EPOCH_ENDED = "epoch ended"
COMMIT = "commit"  # in ``inferred``
_EVENTS_OF_A_TASK = 3  # in a batch
_MOST_HANDLES = 100  # files of state that one event names
_NO_CHANNEL_RECORDS = "Empty channels are not logged one by one: there would be too many events."


def derived_recording(
    upload: uploads.SparkUpload, jobs: tuple[SparkJob, ...], states: Mapping[str, StateSizes]
) -> tuple[Header, Iterator[LoggedEvent]]:
    """Return header and events; of a history that is too long the newest batches.

    Args:
        states: the stored state of each checkpoint, by its folder.
    """
    graph = graph_of(jobs)
    planned = (batch.planned_at_ms for job in jobs for batch in job.batches)
    origin = min((at for at in planned if at is not None), default=None)
    kept = [_kept(job_graph, len(jobs)) for job_graph in graph.jobs]
    channels = len(graph.picture.topology.channels) * sum(map(len, kept))
    notes = list(graph.notes)
    if left_out := sum(len(job.batches) for job in jobs) - sum(map(len, kept)):
        notes.append(f"The {left_out:,} earliest batches are left out; the inventory has all.")
    if channels > MOST_CHANNEL_RECORDS:
        notes.append(_NO_CHANNEL_RECORDS)
    listed = listed_files(upload, jobs)
    drained = () if channels > MOST_CHANNEL_RECORDS else graph.picture.topology.channels
    writers = (
        _JobWriter(job_graph, batches, origin, listed, drained, states[job_graph.job.folder])
        for job_graph, batches in zip(graph.jobs, kept, strict=True)
    )
    events = chain.from_iterable(writer.events() for writer in writers)
    return _header(graph, origin, notes, states), derived_log.numbered(events)


def _kept(graph: JobGraph, jobs: int) -> tuple[Batch, ...]:
    """Return the newest batches, as many as there is room for, and at least one."""
    events = (len(graph.processes) + 1) * _EVENTS_OF_A_TASK
    return graph.job.batches[-max(1, MOST_EVENTS // jobs // events) :]


def _header(
    graph: Graph, origin: int | None, notes: list[str], states: Mapping[str, StateSizes]
) -> Header:
    about = {
        "why_empty": DRAINED,
        "why_unknown": _why_unknown(graph),
        "notes": notes,
        "epoch": origin if json_problem(origin) is None else None,
        "dataflow": graph.dataflow,
        "channels": graph.picture.inferred,
        "flaws": _flaws(graph, states),
        "how_far": how_far(graph, states),
    }
    name = next((one.job.folder for one in graph.jobs if one.job.folder), "checkpoint")
    return derived_log.header("spark", name, graph.picture.topology, about)


def _flaws(graph: Graph, states: Mapping[str, StateSizes]) -> dict[str, object] | None:
    """Return sentences, and by snapshot the places of its own, as ``domain.model.derived`` says."""
    places: dict[str, int] = {}
    snapshots: dict[str, list[int]] = {}
    for job in (job_graph.job for job_graph in graph.jobs):
        for batch, sentences in flaws_by_batch(job, states[job.folder]).items():
            of_batch = [places.setdefault(sentence, len(places)) for sentence in sentences]
            snapshots[snapshot_of(job, batch)] = of_batch
    return {"sentences": list(places), "snapshots": snapshots} if snapshots else None


def _why_unknown(graph: Graph) -> dict[SnapshotId, str]:
    """Return for each batch the word that explains why its channels are not known."""
    return {
        snapshot_of(job, batch.batch): why_unknown(job)
        for job in (job_graph.job for job_graph in graph.jobs)
        for batch in job.batches
        if job.is_continuous or not fate_of(job, batch).is_over
    }


@dataclass
class _JobWriter:
    """Writes the events of one job.

    Attributes:
        batches: those that are written.
        origin: the instant 0, in epoch milliseconds; None where no time is known.
        listed: how many files a batch added to the file sink, see ``sinks.listed_files``.
        drained: the channels of all jobs that are logged as empty.
        now: the latest time that is known.
        offsets: the position of each source, as JSON.
    """

    graph: JobGraph
    batches: tuple[Batch, ...]
    origin: int | None
    listed: Mapping[int, int]
    drained: tuple[Channel, ...]
    state: StateSizes
    now: Instant | None = None
    offsets: dict[ProcessId, JsonText] = field(default_factory=dict)

    def events(self) -> Iterator[LoggedEvent]:
        self.sources = self.graph.sources
        self.tasks, self.processes = list(self.graph.tasks), self.graph.processes
        own = set(self.processes)
        self.channels = [channel for channel in self.drained if channel.source in own]
        write = self._epoch if self.graph.job.is_continuous else self._batch
        return chain.from_iterable(map(write, self.batches))

    # --- a batch ---------------------------------------------------------------------------------

    def _batch(self, batch: Batch) -> Iterator[LoggedEvent]:
        is_over = fate_of(self.graph.job, batch).is_over
        inferred = self._advance(batch.planned_at_ms)
        if batch.planned:
            yield self._plan(batch, inferred)
        if is_over is not None:
            yield self._event(self.graph.coordinator, RECORD_STATE, batch, inferred=inferred)
        yield from self._wrote(batch)
        if batch.batch in self.listed:
            sink = self.graph.vertices.get(SINK)
            about = {
                "batch": batch.batch,
                "sink": sink and sink.id,
                "files": self.listed[batch.batch],
            }
            yield self._event(self.graph.coordinator, SINK_WRITE, batch, about, [TIME])
        if is_over:
            yield from self._read(batch)
            yield from self._commit(batch)

    def _plan(self, batch: Batch, inferred: list[str]) -> LoggedEvent:
        about: dict[str, object] = {"batch": batch.batch, "problem": batch.problem}
        if batch.sources is not None:
            about |= {"attempt": 1, "ranges": self._ranges(batch.sources)}
        if batch.watermark_ms is not None:
            about["watermark"] = _plain(batch.watermark_ms * 1000)
        return self._event(self.graph.coordinator, BATCH_PLAN, batch, about, inferred)

    def _ranges(self, sources: tuple[SourceRange, ...]) -> Json:
        """Return behind which offset each source begins, and the last offset, in its own words.

        A start that is not known is null.
        """
        return {
            self.sources.get(one.source, one.source): [_plain(one.start), _plain(one.end)]
            for one in sources
        }

    def _wrote(self, batch: Batch) -> Iterator[LoggedEvent]:
        """Yield the ends of tasks whose version lies on disk; their time is not known."""
        self._advance(_tasks_ended_at(batch))
        whole, sizes = self.graph.whole, self.state.sizes
        for operator, partition, process in self.tasks:
            stores = self._stores.get(operator, {})
            written = written_files(stores, partition, batch.state_version, whole=whole)
            if written and all(written):
                handles = [
                    {"file": file.path, "bytes": sizes[file.path]}
                    for files in written
                    for file in files[: 1 if whole else None]
                ]
                about = {
                    "batch": batch.batch,
                    "operator": self.graph.vertices[f"op:{operator}"].id,
                    "partition": None if whole else partition,
                    "state_version": batch.state_version,
                    "handles": handles[:_MOST_HANDLES],
                }
                yield self._event(process, TASK_END, batch, about, [TIME])

    def _read(self, batch: Batch) -> Iterator[LoggedEvent]:
        """Yield the arrival of each source at the end of its range."""
        if batch.sources is None:
            for reader in self.sources.values():
                self.offsets.pop(reader, None)
                yield self._event(reader, INTERNAL, batch, {}, [TIME], label=READ)
            return
        for source in batch.sources:
            if (process := self.sources.get(source.source)) is None:
                continue
            state = canonical({"offset": _plain(source.end)})
            if self.offsets.get(process) != state:
                self.offsets[process] = state
                yield self._event(process, INTERNAL, batch, {}, [TIME], label=READ, state=state)

    def _commit(self, batch: Batch) -> Iterator[LoggedEvent]:
        at_inferred = self._advance(_committed_at(batch))
        inferred = at_inferred if batch.committed else [COMMIT, *at_inferred]
        about: dict[str, object] = {"batch": batch.batch}
        if batch.next_watermark_ms is not None:
            about["next_watermark"] = _plain(batch.next_watermark_ms * 1000)
        yield self._event(self.graph.coordinator, BATCH_COMMIT, batch, about, inferred)
        for channel in () if self.graph.job.is_continuous else self.channels:
            yield self._event(
                channel.target, RECORD_CHANNEL, batch, channel=channel.id, messages=()
            )
        version = {"version": batch.state_version}
        for process in self.processes:
            state = self.offsets.get(process)
            yield self._event(process, RECORD_STATE, batch, version, inferred, state=state)

    # --- an epoch --------------------------------------------------------------------------------

    def _epoch(self, batch: Batch) -> Iterator[LoggedEvent]:
        """Yield the events of an epoch, which has no time; its offsets are written at its end."""
        if batch.planned:
            about: dict[str, object] = {"batch": batch.batch}
            if batch.sources is not None:
                about["ranges"] = self._ranges(batch.sources)
            yield from self._read(batch)
            process = self.graph.coordinator
            yield self._event(process, INTERNAL, batch, about, [TIME], label=EPOCH_ENDED)
        is_over = fate_of(self.graph.job, batch).is_over
        if is_over is not None:
            yield self._event(self.graph.coordinator, RECORD_STATE, batch)
        if is_over:
            yield from self._commit(batch)

    # --- what both have in common ----------------------------------------------------------------

    def _advance(self, at_ms: int | None) -> list[str]:
        """Set ``now`` to a time that a file has; return what is inferred where none has it."""
        at = derived_log.instant(at_ms, self.origin)
        if at is None:
            return [TIME]
        self.now = at
        return []

    def _event(
        self,
        process: ProcessId,
        kind: str,
        batch: Batch,
        about: Mapping[str, object] | None = None,
        inferred: Iterable[str] = (),
        **fields: Any,
    ) -> LoggedEvent:
        if kind != INTERNAL:
            fields["snapshot"] = snapshot_of(self.graph.job, batch.batch)
        return derived_log.event(process, kind, self.now, about or {}, inferred, **fields)

    @cached_property
    def _stores(self) -> dict[int, dict[int, list[StoredVersions]]]:
        """The stores by operator and partition."""
        return stores_of(self.state)


def _plain(value: Json) -> Json:
    """Return a value as it is, or its text if the log cannot keep the value as JSON."""
    return value if json_problem(value) is None else str(value)


def _committed_at(batch: Batch) -> int | None:
    """Return when the batch was committed, in epoch ms, unless the report contradicts the plan."""
    at, planned = batch.committed_at_ms, batch.planned_at_ms
    return None if at is None or (planned is not None and at < planned) else at


def _tasks_ended_at(batch: Batch) -> int | None:
    """Return when all tasks had ended, in epoch ms: by the report, before it was committed."""
    at, after = _committed_at(batch), (batch.durations_ms or {}).get("commitOffsets")
    if at is None or after is None or after < 0:
        return None
    ended = at - after
    return None if batch.planned_at_ms is not None and ended < batch.planned_at_ms else ended
