"""Payloads of what lies in the store: snapshots with their contents, cuts, events.

States and values are sent as the JSON text that the store has.
"""

from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model.derived import is_derived, why_empty, why_unknown
from snapshots.domain.model.recording import Message
from snapshots.models import Snapshot
from snapshots.payloads.declaring import described
from snapshots.payloads.recordings import SnapshotSummary, snapshot_summary
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import StoredSnapshot


class SidesOfSnapshot(TypedDict):
    """States and contents of channels; what is not known is absent."""

    processes: dict[str, Any]
    channels: dict[str, list[Any]]


@described
class SnapshotDetail(SnapshotSummary):
    """One snapshot with the states and contents that it recorded and that the log recomputes.

    Attributes:
        processes: the recomputed states.
        channels: the recomputed contents; null for a channel whose contents are not known.
        messages: the ids of the recomputed messages of each channel.
        recorded_messages: the ids of the recorded messages of each channel.
        recorded_at: when each process recorded its state.
        why_empty: why channels of a derived recording are known to be empty, as a sentence.
        why_unknown: why channels of a derived recording are not known, as a sentence.
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


@described
class CutAnswer(TypedDict):
    """A cut, and what lies in it.

    Attributes:
        positions: how many events of each process lie inside.
        states: the state of each process; absent where it is not known.
        channels: the values of the messages in each channel.
        messages: the ids of the messages in each channel.
        omitted: for each channel how many messages are not listed.
        orphans: the first messages that were received inside the cut and sent outside it.
        strays: the first receives inside the cut that no send explains.
        total: the sum of all states and values, where all are numbers.
        nearest: the positions of the nearest consistent cut, where this one is not consistent.
    """

    consistent: bool
    positions: dict[str, int]
    at: int | None
    states: dict[str, Any]
    channels: dict[str, list[Any]]
    messages: dict[str, list[str]]
    omitted: dict[str, int]
    orphans: list[dict[str, Any]]
    orphans_total: int
    strays: list[dict[str, Any]]
    strays_total: int
    total: int | float | None
    nearest: NotRequired[dict[str, dict[str, int]]]


@described
class Flight(TypedDict):
    """The way of one message or marker.

    Attributes:
        ordinal: its number on the channel, in the order of sending.
        received_index, received_at: null while it is in flight.
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
        at: its instant in causal time.
        step: its place in the order of the whole recording.
        line: the line of the log.
        logged_at: the time that the log gives it, where that is another.
        state, value, extra: absent where the log does not say it.
        flight: the message or marker that it sends or receives.
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


@described
class ProcessKnowledge(TypedDict):
    """What a process came to know of a snapshot.

    Attributes:
        whole: the event at which it knew the whole recorded state; null where it never did.
        missing: the processes whose pieces it never received.
        pieces: the event at which it learned each process's piece.
    """

    whole: dict[str, Any] | None
    missing: list[str]
    pieces: dict[str, dict[str, Any]]


class KnowledgePayload(TypedDict):
    snapshot: str
    processes: dict[str, ProcessKnowledge]


@described
class ConeEdge(TypedDict):
    """The edge of a cone, with one entry for each process in the order of the topology.

    Attributes:
        positions: in the past, how many events of the process are in it; in the future, the first
            index in it, or the number of events where there is none.
        at: the instant of the cone's outermost event; null where it has none of the process.
        step: the step of that event.
    """

    positions: list[int]
    at: list[int | None]
    step: list[int | None]


@described
class ConesPayload(TypedDict):
    """What happened before an event, and what it could influence.

    Attributes:
        past: the events that happened before it, itself included: its vector clock.
        future: the events that it could influence.
        before, after, concurrent: how many other events happened before it, after it, and neither.
    """

    process: str
    index: int
    past: ConeEdge
    future: ConeEdge
    before: int
    after: int
    concurrent: int


def snapshot_detail(row: Snapshot, stored: StoredRecording) -> SnapshotDetail:
    """Return what the log recomputes, and beside it what was recorded."""
    found = stored.snapshot(row.snapshot)
    recorded = _recorded(found)
    recomputed = _recomputed(found)
    every_channel = dict.fromkeys(found.channels) | recomputed["channels"]
    return {
        **snapshot_summary(row),
        "processes": recomputed["processes"],
        "channels": every_channel,
        "recorded": recorded,
        "recomputed": recomputed,
        "messages": {
            name: [message.id for message in channel.recomputed]
            for name, channel in found.channels.items()
            if channel.recomputed is not None
        },
        "recorded_messages": {
            name: list(channel.recorded)
            for name, channel in found.channels.items()
            if channel.recorded is not None
        },
        "recorded_at": {
            name: state.recorded_at
            for name, state in found.states.items()
            if state.recorded_at is not None
        },
        **_whys(row.snapshot, stored),
    }


def _whys(snapshot: str, stored: StoredRecording) -> dict[str, str | None]:
    told = stored.manifest.header_extra
    if not is_derived(told):
        return {"why_empty": None, "why_unknown": None}
    return {"why_empty": why_empty(told, snapshot), "why_unknown": why_unknown(told, snapshot)}


def _recorded(found: StoredSnapshot) -> SidesOfSnapshot:
    return {
        "processes": {
            name: orjson.Fragment(state.recorded)
            for name, state in found.states.items()
            if state.recorded is not None
        },
        "channels": {
            name: [_value(channel.sent.get(id)) for id in channel.recorded]
            for name, channel in found.channels.items()
            if channel.recorded is not None
        },
    }


def _recomputed(found: StoredSnapshot) -> SidesOfSnapshot:
    return {
        "processes": {
            name: orjson.Fragment(state.recomputed)
            for name, state in found.states.items()
            if state.recomputed is not None
        },
        "channels": {
            name: [_value(message) for message in channel.recomputed]
            for name, channel in found.channels.items()
            if channel.recomputed is not None
        },
    }


def _value(message: Message | None) -> orjson.Fragment:
    """null where the value, or the message itself, is not known."""
    known = message is not None and message.value is not None
    return orjson.Fragment(message.value if known else "null")
