"""Declare and build the payloads of snapshots with their contents, of cuts and of events.

States and values are sent as the JSON text that the store has.
"""

from typing import Annotated, Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.judging.channel_counts import ChannelCounts
from snapshots.domain.judging.unended import Cause, Effect, Unended
from snapshots.domain.model.derived import is_derived, why_empty, why_unknown
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.models import Snapshot
from snapshots.payloads.declaring import Payload, described, payload_of
from snapshots.payloads.outlines import (
    CutOutlinePayload,
    SnapshotOutlinePayload,
    outline_of_snapshot,
)
from snapshots.payloads.recordings import SnapshotSummary, snapshot_summary
from snapshots.store.excerpts import Excerpt
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import StoredSnapshot

UnendedEffect = payload_of(Effect, "UnendedEffect")
UnendedCause = payload_of(Cause, "UnendedCause")
UnendedPayload = payload_of(Unended)


@described
class SidesOfSnapshot(TypedDict):
    """States and contents of channels; what is not known is absent.

    Attributes:
        processes: the state of each process.
        channels: the values of the messages in each channel; null for a value that is not known.
    """

    processes: dict[str, Any]
    channels: dict[str, list[Any]]


@described
class Part(TypedDict):
    """How much there is in all, where an answer lists a part of it.

    Attributes:
        processes: how many processes there are, listed or not.
        channels: how many channels hold a message, listed or not.
        empty_channels: how many channels are known to be empty; none of them is listed.
        unknown_channels: how many channels are not known; none of them is listed.
    """

    processes: int
    channels: int
    empty_channels: int
    unknown_channels: int


@described
class PartOfSnapshot(Part):
    """How much there is of a snapshot in all, where an answer lists a part of it.

    Attributes:
        omitted: for each listed channel how many recomputed messages are not listed.
        omitted_recorded: for each listed channel how many recorded messages are not listed.
    """

    omitted: dict[str, int]
    omitted_recorded: dict[str, int]


@described
class SnapshotDetail(SnapshotSummary):
    """One snapshot with the states and contents that it recorded and that the log recomputes.

    Attributes:
        processes: the recomputed state of each process; absent where it is not known.
        channels: the recomputed values in each channel; null where they are not known.
        recorded: what the snapshot recorded.
        recomputed: what the log recomputes.
        messages: the ids of the recomputed messages of each channel.
        recorded_messages: the ids of the recorded messages of each channel.
        recorded_at: when each process recorded its state, in the time unit of the recording.
        why_empty: why channels of a derived recording are known to be empty, as a sentence; null
            for all other recordings.
        why_unknown: why channels of a derived recording are not known, as a sentence; null for all
            other recordings.
        part: how much there is in all, where a limit was given; null where all of it is listed.
        outline: what is told of everything, where it was asked for.
        unended: which condition of the paper is violated, and what follows, where the snapshot does
            not end; null where it ends or the log has no marker of it; only in the answer of one.
    """

    processes: dict[str, Any]
    channels: dict[str, list[Any] | None]
    recorded: SidesOfSnapshot
    recomputed: SidesOfSnapshot
    messages: dict[str, list[str]]
    recorded_messages: dict[str, list[str]]
    recorded_at: dict[str, int]
    why_empty: str | None
    why_unknown: str | None
    part: PartOfSnapshot | None
    outline: NotRequired[SnapshotOutlinePayload]
    unended: NotRequired[Annotated[dict[str, Any], Payload(UnendedPayload)] | None]


@described
class CutAnswer(TypedDict):
    """A cut, and what lies in it.

    Attributes:
        consistent: whether the cut is consistent; null in a derived recording, and where no send
            explains a receive inside the cut, unless a message shows that it is not.
        positions: how many events of each process lie inside.
        at: the instant of the last event inside, in the time unit; null where no event is inside.
        states: the state of each process; absent where it is not known.
        watermarks: the watermark of each task, in words; absent where it has none or the log has
            none.
        channels: the values of the messages in each channel; null for a value that is not known.
            A channel of which nothing is known is absent.
        messages: the ids of the messages in each channel.
        ordinals: the numbers of these messages on their channels, from 0; of frames alone.
        omitted: for each channel how many messages are not listed.
        orphans: the first 100 messages that were received inside the cut and sent outside it.
        orphans_total: how many messages were received inside the cut and sent outside it.
        strays: the first 100 receives inside the cut that no send explains.
        strays_total: how many receives inside the cut no send explains.
        total: the sum of all states and values; null where not all are numbers, and in a derived
            recording.
        nearest: the positions of the nearest consistent cut, where this one is not consistent.
        part: how much there is in all, where a limit was given; absent where all of it is listed.
        outline: what is told of everything, where it was asked for.
    """

    consistent: bool | None
    positions: dict[str, int]
    at: int | None
    states: dict[str, Any]
    watermarks: dict[str, str]
    channels: dict[str, list[Any]]
    messages: dict[str, list[str]]
    ordinals: NotRequired[dict[str, list[int]]]
    omitted: dict[str, int]
    orphans: list[dict[str, Any]]
    orphans_total: int
    strays: list[dict[str, Any]]
    strays_total: int
    total: int | float | None
    nearest: NotRequired[dict[str, dict[str, int]]]
    part: NotRequired[Part]
    outline: NotRequired[CutOutlinePayload]


@described
class Flight(TypedDict):
    """The way of one message or marker.

    Attributes:
        channel: the channel on which it travels.
        ordinal: its number on the channel, in the order of sending.
        sent_index: the index of the event that sends it, within the sending process.
        sent_at: when it is sent, in the time unit.
        received_index: the index of the event that receives it; null where none does.
        received_at: when it is received, in the time unit; null where it never is.
    """

    channel: str
    ordinal: int
    sent_index: int
    sent_at: int
    received_index: int | None
    received_at: int | None


@described
class EventDetail(TypedDict):
    """One event with everything that the log says of it.

    Attributes:
        process: the process of the event.
        index: its number within the process, from 0.
        at: its instant in causal time, in the time unit.
        step: its place in the order of the whole recording, from 0.
        line: the line of the log.
        kind: the kind of event, such as ``send`` or ``record_state``.
        channel: the channel; null where the event has none.
        snapshot: the id of the snapshot; null where the event has none.
        message: the id of the message; null where the event has none.
        messages: the ids of the messages that the event records; null where it records none.
        label: a text for people; null where the log has none.
        logged_at: the time that the log gives it, in the time unit; null where it is ``at``.
        state: the state of the process after the event; absent where the log does not say it.
        value: the value of the message; absent where the log does not say it.
        extra: what else the log says; absent where it says nothing else.
        flight: the message or marker that it sends or receives; null where there is none.
        messages_omitted: how many ids of messages are not listed; absent where all are.
    """

    process: str
    index: int
    at: int
    step: int
    line: int
    kind: str
    channel: str | None
    snapshot: str | None
    message: str | None
    messages: list[str] | None
    label: str | None
    logged_at: int | None
    state: NotRequired[Any]
    value: NotRequired[Any]
    extra: NotRequired[Any]
    flight: Flight | None
    messages_omitted: NotRequired[int]


@described
class ProcessKnowledge(TypedDict):
    """What a process came to know of a snapshot.

    Attributes:
        whole: the event at which it knew the whole recorded state; null where it never did.
        missing: the processes whose pieces it never received.
        pieces: for each process the event at which its piece was learned.
    """

    whole: dict[str, Any] | None
    missing: list[str]
    pieces: dict[str, dict[str, Any]]


@described
class ChannelCountsPayload(TypedDict):
    """The counts of section 3.1 of Chandy and Lamport for every channel of a snapshot.

    Attributes:
        snapshot: the id of the snapshot.
        items: the counts of each channel, in the order of the topology.
    """

    snapshot: str
    items: list[Annotated[dict[str, Any], Payload(payload_of(ChannelCounts))]]


@described
class KnowledgePayload(TypedDict):
    """Who knew which pieces of a snapshot when.

    Attributes:
        snapshot: the id of the snapshot.
        processes: what each process came to know.
    """

    snapshot: str
    processes: dict[str, ProcessKnowledge]


@described
class ConeEdge(TypedDict):
    """The edge of a cone, with one entry for each process in the order of the topology.

    Attributes:
        positions: in the past, how many events of the process are in it; in the future, the first
            index in it, or the number of events where there is none.
        at: the instant of the cone's outermost event; null where it has none of the process.
        step: the step of the cone's outermost event; null where it has none of the process.
    """

    positions: list[int]
    at: list[int | None]
    step: list[int | None]


@described
class ConesPayload(TypedDict):
    """What happened before an event, and what it could influence.

    Attributes:
        process: the process of the event.
        index: the number of the event within its process.
        past: the events that happened before it, itself included: its vector clock.
        future: the events that it could influence, itself included.
        before: how many other events happened before it.
        after: how many other events happened after it.
        concurrent: how many other events happened neither before nor after it.
    """

    process: str
    index: int
    past: ConeEdge
    future: ConeEdge
    before: int
    after: int
    concurrent: int


def snapshot_detail(
    row: Snapshot, stored: StoredRecording, outcome: str, excerpt: Excerpt | None = None
) -> SnapshotDetail:
    """Return what the log recomputes, and beside it what was recorded.

    Args:
        outcome: the word of the snapshot for lists.
        excerpt: the part that is asked for; None for all of it.

    Raises: ChannelNotInSnapshot.
    """
    name, summary = SnapshotId(row.snapshot), snapshot_summary(row, outcome)
    if excerpt is None:
        return _detail(stored.snapshot(name), summary, stored, None)
    found = stored.excerpt(name, excerpt)
    listed = found.snapshot.states
    positions = summary["positions"].items()
    summary["positions"] = {process: n for process, n in positions if process in listed}
    part: PartOfSnapshot = {
        "processes": found.processes,
        "channels": found.filled,
        "empty_channels": found.empty,
        "unknown_channels": found.unknown,
        "omitted": found.omitted,
        "omitted_recorded": found.omitted_recorded,
    }
    detail = _detail(found.snapshot, summary, stored, part)
    if excerpt.has_outline:
        detail["outline"] = outline_of_snapshot(found.outline)
    return detail


def _detail(
    snapshot: StoredSnapshot,
    summary: SnapshotSummary,
    stored: StoredRecording,
    part: PartOfSnapshot | None,
) -> SnapshotDetail:
    recorded = _recorded(snapshot)
    recomputed = _recomputed(snapshot)
    every_channel = dict.fromkeys(snapshot.channels) | recomputed["channels"]
    return {
        **summary,
        "processes": recomputed["processes"],
        "channels": every_channel,
        "recorded": recorded,
        "recomputed": recomputed,
        "messages": {
            name: [message.id for message in channel.recomputed]
            for name, channel in snapshot.channels.items()
            if channel.recomputed is not None
        },
        "recorded_messages": {
            name: list(channel.recorded)
            for name, channel in snapshot.channels.items()
            if channel.recorded is not None
        },
        "recorded_at": {
            name: state.recorded_at
            for name, state in snapshot.states.items()
            if state.recorded_at is not None
        },
        **_reasons(snapshot.id, stored),
        "part": part,
    }


class _Reasons(TypedDict):
    why_empty: str | None
    why_unknown: str | None


def _reasons(snapshot: str, stored: StoredRecording) -> _Reasons:
    extra = stored.manifest.header_extra
    if not is_derived(extra):
        return {"why_empty": None, "why_unknown": None}
    return {"why_empty": why_empty(extra, snapshot), "why_unknown": why_unknown(extra, snapshot)}


def _recorded(snapshot: StoredSnapshot) -> SidesOfSnapshot:
    return {
        "processes": {
            name: orjson.Fragment(state.recorded)
            for name, state in snapshot.states.items()
            if state.recorded is not None
        },
        "channels": {
            name: [_value(message) for message in channel.sent]
            for name, channel in snapshot.channels.items()
            if channel.recorded is not None
        },
    }


def _recomputed(snapshot: StoredSnapshot) -> SidesOfSnapshot:
    return {
        "processes": {
            name: orjson.Fragment(state.recomputed)
            for name, state in snapshot.states.items()
            if state.recomputed is not None
        },
        "channels": {
            name: [_value(message) for message in channel.recomputed]
            for name, channel in snapshot.channels.items()
            if channel.recomputed is not None
        },
    }


def _value(message: Message | None) -> orjson.Fragment:
    """Return the value of a message, or null if it or the message itself is not known."""
    value = None if message is None else message.value
    return orjson.Fragment("null" if value is None else value)
