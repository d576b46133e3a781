"""Derives a recording from SeaTunnel's checkpoints, with the events of a dataflow's log.

Source: docs/formats/dataflow-events.md, "Pipelines (SeaTunnel)".

Every event is ``derived``. Its list ``inferred`` names what no file says: ``at`` (no file has the
time: a state was copied at the latest when it was acknowledged, and where that time is not known
either, when the checkpoint completed), ``acknowledged by`` (which task acknowledged for the
action). ``cp_complete`` is where the file says that the checkpoint was complete, ``cp_stored``
where the name of the file says that it was written, which is later. If the file of a checkpoint is
not in the upload, nobody is known to have recorded anything: it is no snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.kinds import (
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_STORED,
    CP_TRIGGER,
)
from snapshots.domain.inventory.model import COMPLETED, FAILED, UNKNOWN
from snapshots.domain.model.derived import NOT_TOLD
from snapshots.domain.model.recording import RECORD_STATE, LoggedEvent, SnapshotId
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.derived_log import TIME
from snapshots.readers.engines.seatunnel.adapter.checkpoints import Pipelines, SeaTunnelCheckpoint
from snapshots.readers.engines.seatunnel.adapter.graph import Graph, Graphs, graphs_of
from snapshots.readers.engines.seatunnel.adapter.parts import Part, parts_of
from snapshots.readers.engines.seatunnel.adapter.tasks import INFERRED_BY
from snapshots.readers.engines.seatunnel.history import StoredCheckpoint
from snapshots.readers.engines.seatunnel.model import Checkpoint, SubtaskState, SubtaskStatistics

TASK = "acknowledged by"
CLOSED, ABSENT = "closed before", "not part of this checkpoint"
_LONGEST_REASON = 1000  # characters
_NOTES = (
    "Derived from what the engine stores: no record, no barrier and no channel's content is in it.",
    "The files do not say when a subtask copied its state: it is shown at the acknowledgement.",
)
_NO_EDGES = "The files do not say which action feeds which, so no channel is drawn."
_NOT_TOLD = "It is not known of every task which actions it runs. Such a task is drawn by itself."


def derived_recording(upload: Pipelines) -> tuple[Header, Iterator[LoggedEvent]]:
    """Return header and events of the recording of an upload."""
    graphs = graphs_of(upload)
    times = (
        at for _, checkpoint in upload.checkpoints()
        for at in (checkpoint.triggered_at, checkpoint.ended_at)
    )  # fmt: skip
    origin = min((at for at in times if at is not None), default=None)
    events = chain.from_iterable(
        _PipelineWriter(graph, origin).events() for graph in graphs.pipelines
    )
    return _header(upload, graphs, origin), derived_log.numbered(events)


def _header(upload: Pipelines, graphs: Graphs, origin: int | None) -> Header:
    notes = [*_NOTES, *graphs.notes]
    if not graphs.picture.topology.channels:
        notes.append(_NO_EDGES)
    if any(graph.tasks for graph in graphs.pipelines):
        notes.append(_NOT_TOLD)
    elif any(checkpoint.stored for _, checkpoint in upload.checkpoints()):
        notes.append(f"Which task acknowledged for which action is inferred. {INFERRED_BY}")
    about = {
        "why_unknown": NOT_TOLD,
        "notes": notes,
        "epoch": origin,
        "dataflow": graphs.dataflow,
        "channels": graphs.picture.inferred,
    }
    names = (job.name for job in upload.jobs.values() if job is not None and job.name)
    name = next(names, None) or next(iter(upload.jobs), "")
    return derived_log.header("seatunnel", name, graphs.picture.topology, about)


@dataclass(frozen=True)
class _PipelineWriter:
    """Writes the events of one pipeline: the coordinator's, then those of its tasks.

    Attributes:
        origin: the instant 0, in epoch milliseconds; None where no time is known.
    """

    graph: Graph
    origin: int | None

    def events(self) -> Iterator[LoggedEvent]:
        snapshots = self._snapshots()
        yield from _in_time(
            chain.from_iterable(self._at_coordinator(one, name) for one, name in snapshots)
        )
        for checkpoint, name in snapshots:
            yield from self._at_tasks(checkpoint, name)

    def _snapshots(self) -> list[tuple[SeaTunnelCheckpoint, SnapshotId]]:
        """List the checkpoints in the order of time, without the copies of a file."""
        pipeline = self.graph.pipeline
        by_name: dict[SnapshotId, SeaTunnelCheckpoint] = {}
        for checkpoint in pipeline.checkpoints:
            by_name.setdefault(pipeline.snapshots[checkpoint.number], checkpoint)
        return sorted(
            ((checkpoint, name) for name, checkpoint in by_name.items()),
            key=lambda pair: (pair[0].triggered_at or pair[0].ended_at or 0, pair[0].id),
        )

    # --- the coordinator -------------------------------------------------------------------------

    def _at_coordinator(
        self, checkpoint: SeaTunnelCheckpoint, snapshot: SnapshotId
    ) -> Iterator[LoggedEvent]:
        yield from self._begun(checkpoint, snapshot)
        process = self.graph.coordinator
        if checkpoint.status == COMPLETED:
            yield self._event(process, CP_COMPLETE, snapshot, checkpoint.ended_at)
        if checkpoint.stored is not None:
            yield self._written(checkpoint.stored, snapshot)
        if checkpoint.status in (FAILED, UNKNOWN):
            yield self._given_up(checkpoint, snapshot)

    def _begun(
        self, checkpoint: SeaTunnelCheckpoint, snapshot: SnapshotId
    ) -> Iterator[LoggedEvent]:
        process, at = self.graph.coordinator, checkpoint.triggered_at
        about: dict[str, object] = {
            "type": checkpoint.kind,
            "pipeline": self.graph.pipeline.number,
            "checkpoint": str(checkpoint.id),
        }
        if checkpoint.content is None:
            if (entry := checkpoint.entry) is not None:
                about |= {"acknowledged": entry.acknowledged, "tasks": entry.total}
            yield self._event(process, CP_TRIGGER, snapshot, at, about)
            return
        parts = parts_of(self.graph, checkpoint.content)
        asked = [process for process, part in parts.items() if not part.closed]
        about["to_ack"] = asked or None
        yield self._event(process, CP_TRIGGER, snapshot, at, about)
        if asked:
            yield self._event(process, RECORD_STATE, snapshot, at)

    def _written(self, stored: StoredCheckpoint, snapshot: SnapshotId) -> LoggedEvent:
        written = None if stored.name is None else stored.name.written_at
        completed = stored.checkpoint.completed_at
        if written is not None and completed is not None and written < completed:
            written = None
        about = {"file": stored.path, "bytes": stored.bytes}
        return self._event(self.graph.coordinator, CP_STORED, snapshot, written, about)

    def _given_up(self, checkpoint: SeaTunnelCheckpoint, snapshot: SnapshotId) -> LoggedEvent:
        """Return the abort; if its time is not known, it came before the answer was given."""
        listed, at = checkpoint.listed, checkpoint.ended_at
        assert listed is not None  # a checkpoint that did not complete is known by REST alone
        reason = listed.entry.failure or listed.entry.status or UNKNOWN
        about, inferred = {"reason": reason[:_LONGEST_REASON]}, [] if at is not None else [TIME]
        at = listed.asked_at if at is None else at
        return self._event(self.graph.coordinator, CP_ABORT, snapshot, at, about, inferred)

    # --- the tasks -------------------------------------------------------------------------------

    def _at_tasks(
        self, checkpoint: SeaTunnelCheckpoint, snapshot: SnapshotId
    ) -> Iterator[LoggedEvent]:
        if (content := checkpoint.content) is None:
            return
        parts = parts_of(self.graph, content)
        if all(part.closed for part in parts.values()):
            return
        for process in self.graph.processes:
            part = parts.get(process)
            if part is None or part.closed:
                yield self._without_part(content, snapshot, process, part)
            else:
                yield from self._with_part(content, snapshot, process, part)

    def _without_part(
        self, content: Checkpoint, snapshot: SnapshotId, process: ProcessId, part: Part | None
    ) -> LoggedEvent:
        """Return the event of a process that had no part, so that the snapshot does not lack it."""
        label, at = ABSENT if part is None else CLOSED, content.completed_at
        about = {"finished": True}
        return self._event(process, RECORD_STATE, snapshot, at, about, [TIME], label=label)

    def _with_part(
        self, content: Checkpoint, snapshot: SnapshotId, process: ProcessId, part: Part
    ) -> Iterator[LoggedEvent]:
        acked_at = part.acknowledged_at(content)
        about: dict[str, object] = {}
        if part.acks and acked_at is None:
            about["acknowledged_at"] = [ack.acknowledged_at for ack in part.acks]
        at = content.completed_at if acked_at is None else acked_at
        state = _summary(part.states)
        yield self._event(process, RECORD_STATE, snapshot, at, about, [TIME], state=state)
        if acked_at is not None:
            about = {"state_index": part.index, "status": _status(part.acks)}
            inferred = [TASK] if part.is_inferred else []
            yield self._event(process, CP_ACK, snapshot, acked_at, about, inferred)

    def _event(
        self,
        process: ProcessId,
        kind: str,
        snapshot: SnapshotId,
        at_ms: int | None,
        about: Mapping[str, object] | None = None,
        inferred: Iterable[str] = (),
        **fields: Any,
    ) -> LoggedEvent:
        at = derived_log.instant(at_ms, self.origin)
        if at is None and TIME not in inferred:
            inferred = [TIME, *inferred]
        fields["snapshot"] = snapshot
        return derived_log.event(process, kind, at, about or {}, inferred, **fields)


def _in_time(events: Iterable[LoggedEvent]) -> list[LoggedEvent]:
    """Sort events by time; an event without a time stays behind its predecessor."""
    keyed: list[tuple[int, LoggedEvent]] = []
    at = 0
    for event in events:
        at = at if event.at is None else event.at
        keyed.append((at, event))
    return [event for _, event in sorted(keyed, key=itemgetter(0))]


def _summary(states: list[SubtaskState]) -> JsonText | None:
    """Return how many bytes and elements the states have; None if there are no states.

    The elements themselves are in the inventory of the upload.
    """
    if not states:
        return None
    elements = sum(len(state.elements) for state in states)
    return canonical({"bytes": sum(state.size for state in states), "elements": elements})


def _status(acks: list[SubtaskStatistics]) -> str | None:
    """Return the status as the engine writes it, if all have the same."""
    statuses = {ack.status for ack in acks}
    status = statuses.pop() if len(statuses) == 1 else None
    return status if isinstance(status, str) else None
