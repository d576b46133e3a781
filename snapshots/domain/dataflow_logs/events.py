"""Picks the events of a checkpoint protocol out of a log; they are few beside its records.

Reports are made from these events and from counts of records. A field that is missing, or has
another type than docs/formats/dataflow-events.md says, counts as unknown.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_END,
    ANNOUNCE,
    BATCH_PLAN,
    BLOCK,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECISION,
    CP_DECLINE,
    CP_NOTIFIED,
    CP_REQUEST,
    CP_TRIGGER,
    DATAFLOW_KINDS,
    END,
    JOB_FAIL,
    OVERTAKEN_OUT,
    RESTART,
    SCHEMA_APPLY,
    SCHEMA_RESUME,
    SCHEMA_STOP,
    SNAP_ASYNC,
    SWITCH_UNALIGNED,
    TX_ABORT,
    TX_BEGIN,
    TX_COMMIT,
    TX_PRECOMMIT,
    TX_RECOVER_COMMIT,
    TX_TIMEOUT,
    UNBLOCK,
)
from snapshots.domain.model.recording import (
    CRASH,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    Event,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.model.values import parsed

CHECKPOINT_KINDS = (
    CP_TRIGGER,
    CP_COMPLETE,
    CP_ABORT,
    MARKER_SEND,
    MARKER_RECEIVE,
    ANNOUNCE,
    BLOCK,
    UNBLOCK,
    ALIGN_END,
    SWITCH_UNALIGNED,
    OVERTAKEN_OUT,
    RECORD_STATE,
    RECORD_CHANNEL,
    SNAP_ASYNC,
    CP_ACK,
    CP_DECLINE,
    CP_NOTIFIED,
    TX_PRECOMMIT,
)
"""Kinds of events that belong to the checkpoint that they name."""
RUN_KINDS = (
    CP_REQUEST,
    CP_DECISION,
    CP_COMPLETE,
    JOB_FAIL,
    CRASH,
    RESTORE,
    RESTART,
    END,
    TX_BEGIN,
    TX_PRECOMMIT,
    TX_COMMIT,
    TX_RECOVER_COMMIT,
    TX_ABORT,
    TX_TIMEOUT,
    BATCH_PLAN,
    SCHEMA_STOP,
    SCHEMA_APPLY,
    SCHEMA_RESUME,
)
"""Kinds of events of the run, which every checkpoint's report may need."""
NAMING_KINDS = frozenset(CHECKPOINT_KINDS) & frozenset(DATAFLOW_KINDS)
"""Kinds of events whose snapshot is a checkpoint."""
DISCARDED, SKIPPED = "discarded", "skipped"


@final
@dataclass(frozen=True, slots=True)
class ProtocolEvent:
    """An event of a checkpoint protocol, with its further fields parsed.

    Attributes:
        held: how many messages a ``record_channel`` lists. None if it lists none.
        fields: the further fields of the event.
    """

    process: ProcessId
    index: int
    kind: str
    at: int
    step: int
    channel: ChannelId | None = None
    snapshot: str | None = None
    label: str | None = None
    held: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, event: Event) -> "ProtocolEvent":
        """Build a protocol event from an event of the recording."""
        return cls(
            process=event.process,
            index=event.index,
            kind=event.kind,
            at=event.at,
            step=event.step,
            channel=event.channel,
            snapshot=event.snapshot,
            label=event.label,
            held=None if event.messages is None else len(event.messages),
            fields=fields_of(event.extra),
        )

    def text(self, name: str) -> str | None:
        """Return a field that holds text, or None for anything else."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else None

    def whole(self, name: str) -> int | None:
        """Return a field that holds a whole number, or None for anything else."""
        return whole(self.fields.get(name))

    def is_so(self, name: str) -> bool:
        """Tell whether a field is exactly true."""
        return self.fields.get(name) is True

    def is_inferred(self, name: str) -> bool:
        """Tell whether no log says ``name``, such as ``at``, so that it only serves the order."""
        return name in (self.names("inferred") or ())

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return the texts in a field that holds a list, or None if it holds no list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            return None
        return tuple(item for item in value if isinstance(item, str))


def fields_of(extra: JsonText | None) -> dict[str, Any]:
    """Parse an event's extra fields. Anything but a JSON object counts as no fields."""
    value = parsed(extra)
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int | None:
    """Return the value if it is a whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dataflow_of(header_extra: object) -> Dataflow | None:
    """Return the logical graph in a header, or None if it has none or an invalid one."""
    document = header_extra.get("dataflow") if hasattr(header_extra, "get") else None
    try:
        return Dataflow.from_json(document)
    except (DataflowRefused, TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Plan:
    """What the header says of a run: the topology, and the dataflow if the header holds one.

    ``is_derived``: the run is put together from checkpoints, which do not tell what sinks wrote.
    ``started_from``: what the header says of an earlier run from which this one starts.
    """

    topology: Topology
    dataflow: Dataflow | None
    time_unit: str = "us"
    is_derived: bool = False
    started_from: object = None

    @property
    def tasks(self) -> tuple[ProcessId, ...]:
        """Return all processes but the coordinators."""
        names = (process.id for process in self.topology.processes)
        return tuple(name for name in names if not name.startswith("coordinator"))

    def vertex_of(self, process: ProcessId) -> str:
        """Return ``map`` for ``map[1]``; the dataflow decides if it has the task."""
        subtask = None if self.dataflow is None else self.dataflow.subtask_by_id.get(process)
        if subtask is not None:
            return subtask.vertex
        return process.rpartition("[")[0] or process if process.endswith("]") else process


def by_checkpoint(events: Iterable[ProtocolEvent]) -> dict[str, list[ProtocolEvent]]:
    """Group events by checkpoint, in their order, without snapshots that are no checkpoints."""
    by_snapshot: dict[str, list[ProtocolEvent]] = {}
    for event in events:
        if event.snapshot is not None:
            by_snapshot.setdefault(event.snapshot, []).append(event)
    return {
        snapshot: group
        for snapshot, group in by_snapshot.items()
        if any(event.kind in NAMING_KINDS for event in group)
    }
