"""Payloads of what lies in the store: snapshots with their contents, cuts, events.

States and values go out as the JSON text that they are there.
"""

from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model.derived import is_derived, why_empty, why_unknown
from snapshots.domain.model.recording import Message
from snapshots.models import Snapshot
from snapshots.payloads.recordings import SnapshotSummary, snapshot_summary
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import StoredSnapshot


class SidesOfSnapshot(TypedDict):
    """What is not known is absent."""

    processes: dict[str, Any]
    channels: dict[str, list[Any]]


class SnapshotDetail(SnapshotSummary):
    """processes, channels: what the log recomputes. A channel is null where that is not known.

    why_empty, why_unknown: of a derived recording, why channels are known to be empty, or not
    known, as sentences; null for others.
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


class CutAnswer(TypedDict):
    """states: absent where not known. omitted: how many messages of a channel are not listed."""

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


class Flight(TypedDict):
    """received_*: null while in flight."""

    channel: str
    ordinal: int
    sent_index: int
    sent_at: int
    received_index: int | None
    received_at: int | None


class EventDetail(TypedDict):
    """state, value, extra: absent where the log does not say."""

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


class ProcessKnowledge(TypedDict):
    """whole: the event at which it knew the whole recorded state; null where it never did.
    missing: whose pieces it never got. pieces: where it learned each, by process."""

    whole: dict[str, Any] | None
    missing: list[str]
    pieces: dict[str, dict[str, Any]]


class KnowledgePayload(TypedDict):
    snapshot: str
    processes: dict[str, ProcessKnowledge]


class ConeEdge(TypedDict):
    """One entry a process, in the order of the topology. positions: of the past, how many events
    are in it; of the future, the first index in it, or the number of events. at, step: of the
    cone's outermost event; null where it holds none of the process."""

    positions: list[int]
    at: list[int | None]
    step: list[int | None]


class ConesPayload(TypedDict):
    """past: what happened before the event, itself included: its vector clock. future: what it
    could influence. before, after, concurrent: how many events, without itself."""

    process: str
    index: int
    past: ConeEdge
    future: ConeEdge
    before: int
    after: int
    concurrent: int


def snapshot_detail(row: Snapshot, stored: StoredRecording) -> SnapshotDetail:
    """What the log recomputes, and beside it what was recorded; all JSON texts as they are."""
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
