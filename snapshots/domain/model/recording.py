"""A recording: a topology, and the events of one run of it."""

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
"""The events of the paper, and the reads and writes of a dataflow.

After one of them that carries no state, the state of its process is not known. All other kinds
leave the state as it was.
"""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event as a log holds it, before it is ordered and matched.

    Attributes:
        line: the line, or the row in Parquet, in the source, from 1.
        index: the place within the process, from 0; None if the log leaves it out.
        at: the time in the unit of the recording; None if the log leaves it out.
        messages: the ids that a ``record_channel`` recorded, in that order.
        extra: the fields that Cutline does not know, as a JSON object; None if there are none.
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
    """One event in its place. Fields that are not described here are as in LoggedEvent.

    Attributes:
        index: the place within the process: 0, 1, 2 … without gaps.
        at: the time, which never falls within a process and never lies before the cause's time.
        step: the place in the whole recording: 0, 1, 2 … in one order that agrees with causality.
        logged_at: the time in the log, if it is not ``at``.
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
    """One message on its way. Both ``received_`` fields are None while it is in flight.

    Attributes:
        ordinal: the place among the channel's messages in the order of sending, from 0.
        taken_back: whether it was never received, and the ``received_`` fields say at which restore
            of its target it left the channel; that may lie before its send.
    """

    channel: ChannelId
    ordinal: int
    id: MessageId
    value: JsonText | None
    sent_index: int
    sent_at: Instant
    received_index: int | None = None
    received_at: Instant | None = None
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker on its way. Both ``received_`` fields are None while it is in flight.

    Attributes:
        ordinal: the place among the channel's markers in the order of sending, from 0.
        taken_back: see Message.
    """

    channel: ChannelId
    ordinal: int
    snapshot: SnapshotId
    sent_index: int
    sent_at: Instant
    received_index: int | None = None
    received_at: Instant | None = None
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """One restore of a process in a log that goes on after it, see ``assembling/restores.py``.

    Attributes:
        row: its index within the process.
        snapshot: the one to which the process goes back; None for the start.
        at: its time as logged, 0 if it has none.
        done: the index of the last event in which the process receives again what the snapshot held
            for it, ``row`` if that is nothing; None if it never received all of it.
        missing: a message that it never received again.
    """

    row: int
    epoch: int
    snapshot: SnapshotId | None
    line: int
    at: int = 0
    done: int | None = None
    missing: MessageId | None = None


@dataclass(frozen=True)
class Recording:
    """One run: the events of every process, and the messages and markers of every channel.

    Attributes:
        strays: the receives, of messages and markers, that no send in the log explains, by line.
        header_extra: the fields of the header that Cutline does not know.
        restores: those with an epoch, of each process that has any, in order.
    """

    topology: Topology
    events: Mapping[ProcessId, tuple[Event, ...]]
    messages: Mapping[ChannelId, tuple[Message, ...]]
    markers: Mapping[ChannelId, tuple[Marker, ...]]
    strays: tuple[Event, ...] = ()
    name: str = ""
    time_unit: str = "us"
    header_extra: Mapping[str, object] = field(default_factory=dict)
    restores: Mapping[ProcessId, tuple[Restored, ...]] = field(default_factory=dict)
