"""Derives a recording from SeaTunnel's checkpoints, with the events of a dataflow's log.

Source: docs/formats/dataflow-events.md, "Pipelines (SeaTunnel)".

Every event is ``derived``. Its list ``inferred`` names what no file says: ``at`` (no file has the
time: that of a state's copy is at the latest that of the acknowledgement, and where that is not
known either, that of the completion), ``acknowledged by`` (which task acknowledged for the action).
``cp_complete`` is where the file says that the checkpoint was complete, ``cp_stored`` where the
name of the file says that it was written, which is later. Of a checkpoint whose file is not in the
upload nobody is known to have recorded anything: it is no snapshot.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from snapshots.readers.engines.seatunnel.adapter.graph import Graph, Graphs, graphs_of
from snapshots.readers.engines.seatunnel.adapter.jobs import Found, Known
from snapshots.readers.engines.seatunnel.adapter.parts import Part, parts_of
from snapshots.readers.engines.seatunnel.adapter.tasks import INFERRED_BY
from snapshots.readers.engines.seatunnel.history import StoredCheckpoint
from snapshots.readers.engines.seatunnel.model import SubtaskState, SubtaskStatistics

TASK = "acknowledged by"
CLOSED, ABSENT = "closed before", "not part of this checkpoint"
_NOTES = (
    "Derived from what the engine stores: no record, no barrier and no channel's content is in it.",
    "When a subtask copied its state is not stored: it stands where the acknowledgement does.",
)
_NO_EDGES = "The files do not tell which action feeds which: no channel is drawn."
_NOT_TOLD = "Which actions a task runs cannot be told everywhere: those tasks stand by themselves."


def derived_recording(found: Found) -> tuple[Header, Iterator[LoggedEvent]]:
    graphs = graphs_of(found)
    origin = _origin(found)
    return _header(found, graphs, origin), _events(graphs, origin)


def _origin(found: Found) -> int | None:
    """Epoch milliseconds of the first trigger or completion."""
    times = [
        at
        for pipeline in found.pipelines
        for known in pipeline.checkpoints
        for at in (known.triggered_at, known.ended_at)
        if at is not None
    ]
    return min(times, default=None)


def _header(found: Found, graphs: Graphs, origin: int | None) -> Header:
    notes = [*_NOTES, *graphs.notes]
    if not graphs.topology.channels:
        notes.append(_NO_EDGES)
    if any(graph.tasks for graph in graphs.pipelines):
        notes.append(_NOT_TOLD)
    elif any(known.stored for item in found.pipelines for known in item.checkpoints):
        notes.append(f"Which task acknowledged for which action is inferred. {INFERRED_BY}")
    about = {
        "why_unknown": NOT_TOLD,
        "notes": notes,
        "epoch": origin,
        "dataflow": graphs.dataflow,
        "channels": graphs.inferred,
    }
    job = next((job for job in found.jobs.values() if job is not None and job.name), None)
    name = job.name if job else next(iter(found.jobs), "")
    return derived_log.header("seatunnel", name, graphs.topology, about)


def _events(graphs: Graphs, origin: int | None) -> Iterator[LoggedEvent]:
    line = 1
    for graph in graphs.pipelines:
        for event in _PipelineWriter(graph, origin, line).events():
            line = event.line
            yield event


@dataclass
class _PipelineWriter:
    """The events of one pipeline: the coordinator's, then those of its tasks."""

    graph: Graph
    origin: int | None
    line: int

    def events(self) -> Iterator[LoggedEvent]:
        named = self._named()
        spoken = [event for known, name in named for event in self._spoken(known, name)]
        for event in _in_time(spoken):
            self.line += 1
            yield replace(event, line=self.line)
        for known, snapshot in named:
            for event in self._recorded(known, snapshot):
                self.line += 1
                yield replace(event, line=self.line)

    def _named(self) -> list[tuple[Known, SnapshotId]]:
        """In the order of time, without copies of a file, which tell nothing more."""
        pipeline = self.graph.pipeline
        by_name: dict[SnapshotId, Known] = {}
        for known in pipeline.checkpoints:
            by_name.setdefault(pipeline.snapshots[known.number], known)
        return sorted(
            ((known, name) for name, known in by_name.items()),
            key=lambda pair: (pair[0].triggered_at or pair[0].ended_at or 0, pair[0].id),
        )

    # --- a checkpoint ----------------------------------------------------------------------------

    def _spoken(self, known: Known, snapshot: SnapshotId) -> Iterator[LoggedEvent]:
        """What the coordinator did."""
        if known.stored is None:
            entry = known.listed.entry
            yield self._trigger(
                known, snapshot, {"acknowledged": entry.acknowledged, "tasks": entry.total}
            )
        else:
            parts = parts_of(self.graph, known.stored.checkpoint)
            asked = [process for process, part in parts.items() if not part.closed]
            yield self._trigger(known, snapshot, {"to_ack": asked} if asked else {})
            if asked:
                yield self._at_coordinator(RECORD_STATE, snapshot, known.triggered_at, {})
        if known.status == COMPLETED:
            yield self._at_coordinator(CP_COMPLETE, snapshot, known.ended_at, {})
        if known.stored is not None:
            yield self._written(known.stored, snapshot)
        if known.status in (FAILED, UNKNOWN):
            yield self._abort(known, snapshot)

    def _written(self, stored: StoredCheckpoint, snapshot: SnapshotId) -> LoggedEvent:
        written, completed = stored.name and stored.name.written_at, stored.checkpoint.completed_at
        if None not in (written, completed) and written < completed:
            written = None
        told = {"file": stored.path, "bytes": stored.bytes}
        return self._at_coordinator(CP_STORED, snapshot, written, told)

    def _recorded(self, known: Known, snapshot: SnapshotId) -> Iterator[LoggedEvent]:
        """What the tasks did, where a file tells it."""
        if known.stored is None:
            return
        parts = parts_of(self.graph, known.stored.checkpoint)
        if all(part.closed for part in parts.values()):
            return
        for process in self.graph.processes:
            yield from self._took_part(known, snapshot, process, parts.get(process))

    def _took_part(
        self, known: Known, snapshot: SnapshotId, process: ProcessId, part: Part | None
    ) -> Iterator[LoggedEvent]:
        """One that was not asked has nothing in the snapshot, and the snapshot lacks nothing."""
        checkpoint = known.stored.checkpoint
        if part is None or part.closed:
            label = ABSENT if part is None else CLOSED
            told = {"finished": True}
            ended = checkpoint.completed_at
            yield self._event(process, RECORD_STATE, snapshot, ended, told, [TIME], label=label)
            return
        acked_at = part.acknowledged_at(checkpoint)
        told = {}
        if part.acks and acked_at is None:
            told["acknowledged_at"] = [item.acknowledged_at for item in part.acks]
        at = checkpoint.completed_at if acked_at is None else acked_at
        state = _summary(part.states)
        yield self._event(process, RECORD_STATE, snapshot, at, told, [TIME], state=state)
        if acked_at is not None:
            told = {"state_index": part.index, "status": _status(part.acks)}
            inferred = [TASK] if part.is_inferred else []
            yield self._event(process, CP_ACK, snapshot, acked_at, told, inferred)

    def _abort(self, known: Known, snapshot: SnapshotId) -> LoggedEvent:
        """Where no answer says when, it was when the answer was given, at the latest."""
        entry, ended = known.listed.entry, known.ended_at
        told = {"reason": (entry.failure or entry.status or UNKNOWN)[:1000]}
        at, inferred = (ended, []) if ended is not None else (known.listed.asked_at, [TIME])
        return self._at_coordinator(CP_ABORT, snapshot, at, told, inferred)

    def _trigger(self, known: Known, snapshot: SnapshotId, told: dict) -> LoggedEvent:
        told = {
            "type": known.kind,
            "pipeline": self.graph.pipeline.number,
            "checkpoint": str(known.id),
            **told,
        }
        return self._at_coordinator(CP_TRIGGER, snapshot, known.triggered_at, told)

    # --- events ----------------------------------------------------------------------------------

    def _at_coordinator(
        self,
        kind: str,
        snapshot: SnapshotId,
        at_ms: int | None,
        told: dict[str, object],
        inferred: list[str] | None = None,
    ) -> LoggedEvent:
        return self._event(self.graph.coordinator, kind, snapshot, at_ms, told, inferred or [])

    def _event(
        self,
        process: ProcessId,
        kind: str,
        snapshot: SnapshotId,
        at_ms: int | None,
        told: dict[str, object],
        inferred: list[str],
        **fields: object,
    ) -> LoggedEvent:
        at = derived_log.instant(at_ms, self.origin)
        if at is None and TIME not in inferred:
            inferred = [TIME, *inferred]
        return derived_log.event(0, process, kind, at, told, inferred, snapshot=snapshot, **fields)


def _in_time(events: list[LoggedEvent]) -> list[LoggedEvent]:
    """In the order of time; one without stays behind the one before it."""
    keyed: list[tuple[int, LoggedEvent]] = []
    for event in events:
        before = keyed[-1][0] if keyed else 0
        keyed.append((before if event.at is None else event.at, event))
    return [event for _, event in sorted(keyed, key=lambda pair: pair[0])]


def _summary(states: list[SubtaskState]) -> JsonText | None:
    """What a state consists of; its elements are in the upload's contents."""
    if not states:
        return None
    elements = sum(len(state.elements) for state in states)
    return canonical({"bytes": sum(state.size for state in states), "elements": elements})


def _status(acks: list[SubtaskStatistics]) -> str | None:
    """As the engine writes it, where all say the same."""
    found = {item.status for item in acks}
    status = found.pop() if len(found) == 1 else None
    return status if isinstance(status, str) else None
