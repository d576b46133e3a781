"""Picks the events of a checkpoint protocol out of a log; they are few beside its records.

Reports are made from these events and from counts of records. A field that is missing, or has
another type than docs/formats/dataflow-events.md says, is not known here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
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
"""Each of these belongs to the checkpoint that it names."""
RUN_KINDS = (
    CP_REQUEST,
    CP_DECISION,
    JOB_FAIL,
    CRASH,
    RESTORE,
    RESTART,
    END,
    TX_BEGIN,
    TX_COMMIT,
    TX_RECOVER_COMMIT,
    TX_ABORT,
    TX_TIMEOUT,
    BATCH_PLAN,
)
"""These belong to the run: what every checkpoint's report may need."""
NAMING_KINDS = frozenset(CHECKPOINT_KINDS) & frozenset(DATAFLOW_KINDS)
"""A snapshot that one of these names is a checkpoint."""
DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class ProtocolEvent:
    """As ``Event``. fields: its further fields. held: how many messages a ``record_channel`` lists,
    None where it lists none."""

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
        """Whether no log says ``name`` (``at``), so that it is given only for the order."""
        return name in (self.names("inferred") or ())

    def names(self, name: str) -> tuple[str, ...] | None:
        """A list of texts; what is none is left out."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            return None
        return tuple(item for item in value if isinstance(item, str))


def fields_of(extra: str | None) -> dict[str, Any]:
    """Parse an event's extra fields. Anything but a JSON object counts as no fields."""
    found = parsed(extra)
    return found if isinstance(found, dict) else {}


def whole(value: object) -> int | None:
    """The value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dataflow_of(header_extra: object) -> Dataflow | None:
    """The logical graph in a header; None where there is none, or one that cannot be."""
    document = header_extra.get("dataflow") if hasattr(header_extra, "get") else None
    try:
        return Dataflow.from_json(document)
    except (DataflowRefused, TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Plan:
    """What the header says of a run: the topology, and the dataflow where it holds one.

    is_derived: it is put together from checkpoints, which do not tell what its sinks wrote.
    """

    topology: Topology
    dataflow: Dataflow | None
    time_unit: str = "us"
    is_derived: bool = False

    @property
    def tasks(self) -> tuple[ProcessId, ...]:
        """All processes but the coordinators."""
        names = (process.id for process in self.topology.processes)
        return tuple(name for name in names if not name.startswith("coordinator"))

    def vertex_of(self, process: ProcessId) -> str:
        """``map`` of ``map[1]``, by the dataflow where it knows the task."""
        known = None if self.dataflow is None else self.dataflow.subtask_by_id.get(process)
        if known is not None:
            return known.vertex
        return process.rpartition("[")[0] or process if process.endswith("]") else process


def by_checkpoint(events: Iterable[ProtocolEvent]) -> dict[str, list[ProtocolEvent]]:
    """The events of each checkpoint in their order; only snapshots that are checkpoints."""
    found: dict[str, list[ProtocolEvent]] = {}
    for event in events:
        if event.snapshot is not None:
            found.setdefault(event.snapshot, []).append(event)
    return {
        snapshot: own
        for snapshot, own in found.items()
        if any(event.kind in NAMING_KINDS for event in own)
    }
