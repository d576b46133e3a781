"""A recording: a topology and the events of one run of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

from snapshots.domain.dataflow_logs.kinds import DATAFLOW_KINDS, READ, WRITE
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology

Instant = NewType("Instant", int)  # in the recording's time unit, since it began
MessageId = NewType("MessageId", str)  # unique on its channel; an integer id is written in decimal
SnapshotId = NewType("SnapshotId", str)

INTERNAL = "internal"
SEND = "send"
RECEIVE = "receive"
MARKER_SEND = "marker_send"
MARKER_RECEIVE = "marker_receive"
RECORD_STATE = "record_state"
RECORD_CHANNEL = "record_channel"
CRASH = "crash"
RESTORE = "restore"

KINDS = (
    INTERNAL,
    SEND,
    RECEIVE,
    MARKER_SEND,
    MARKER_RECEIVE,
    RECORD_STATE,
    RECORD_CHANNEL,
    CRASH,
    RESTORE,
    *DATAFLOW_KINDS,
)
"""The kinds of the native format. Any other kind is kept as it is and reported as a defect."""

APPLICATION_KINDS = frozenset({INTERNAL, SEND, RECEIVE, READ, WRITE})
"""The paper's events, and a dataflow's reads and writes. One that carries no state leaves the state
not known; all other kinds leave the state as it was."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event as a log holds it, before it is ordered and matched.

    line: 1-based line (or row) in the source. index, at: None where the log leaves them out.
    messages: of ``record_channel``, the ids in the order recorded. extra: JSON text of the fields
    that Cutline does not know, kept as they are.
    """

    line: int
    process: ProcessId
    kind: str
    index: int | None = None
    at: int | None = None
    channel: ChannelId | None = None
    message: MessageId | None = None
    value: JsonText | None = None
    state: JsonText | None = None
    snapshot: SnapshotId | None = None
    messages: tuple[MessageId, ...] | None = None
    label: str | None = None
    extra: JsonText | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event in its place.

    index: 0, 1, 2 … within its process, without gaps. at: never falls within a process and never
    lies before the cause (a receive not before its send). step: 0, 1, 2 … over the whole recording,
    one order that agrees with causality. logged_at: what the log said, where that is not ``at``.
    """

    process: ProcessId
    index: int
    kind: str
    at: Instant
    step: int
    line: int
    channel: ChannelId | None = None
    message: MessageId | None = None
    value: JsonText | None = None
    state: JsonText | None = None
    snapshot: SnapshotId | None = None
    messages: tuple[MessageId, ...] | None = None
    label: str | None = None
    extra: JsonText | None = None
    logged_at: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message on its way; ``received_*`` is None while it is in flight.

    ordinal: 0, 1, 2 … on its channel in the order of sending. Markers are not counted.
    """

    channel: ChannelId
    ordinal: int
    id: MessageId
    value: JsonText | None
    sent_index: int
    sent_at: Instant
    received_index: int | None = None
    received_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker on its way; fields as in Message, the ordinal counts the channel's markers."""

    channel: ChannelId
    ordinal: int
    snapshot: SnapshotId
    sent_index: int
    sent_at: Instant
    received_index: int | None = None
    received_at: Instant | None = None


@dataclass(frozen=True)
class Recording:
    """A run in order: every process of the topology has its events, every channel its messages.

    strays: receives (of messages and markers) that no send in the log explains, in order of line.
    """

    topology: Topology
    events: Mapping[ProcessId, tuple[Event, ...]]
    messages: Mapping[ChannelId, tuple[Message, ...]]
    markers: Mapping[ChannelId, tuple[Marker, ...]]
    strays: tuple[Event, ...] = ()
    name: str = ""
    time_unit: str = "us"
    header_extra: Mapping[str, object] = field(default_factory=dict)
