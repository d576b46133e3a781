"""What a document claims about a log: its sizes, its snapshots, cuts, events and messages.

A claim ``says`` only what ``static/js/lib/checking/claims.js`` derives from the evidence again.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from snapshots.domain.judging.cuts import Cut, contents, has_arrived, orphans, state_at
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import RECEIVE, MessageId, Recording
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

LOG, SNAPSHOT, CUT, EVENT, MESSAGE, CHECKPOINT = (
    "log",
    "snapshot",
    "cut",
    "event",
    "message",
    "checkpoint",
)

Says = dict[str, Any]


def log_says(recording: Recording) -> Says:
    """Return the sizes of a log, its events of each kind, and the times between which it lies.

    A derived recording does not hold which messages arrived, nor when its events were.
    """
    derived = is_derived(recording.header_extra)
    events = [event for own in recording.events.values() for event in own]
    messages = [message for own in recording.messages.values() for message in own]
    return {
        "name": recording.name,
        "time_unit": recording.time_unit,
        "events": len(events),
        "kinds": dict(sorted(Counter(event.kind for event in events).items())),
        "messages": len(messages),
        "arrived": None if derived else sum(map(has_arrived, messages)),
        "markers": sum(map(len, recording.markers.values())),
        "strays": len(recording.strays),
        "first": None if derived else min((event.at for event in events), default=None),
        "last": None if derived else max((event.at for event in events), default=None),
    }


def snapshot_says(recording: Recording, report: SnapshotReport) -> Says:
    """Return the verdict of a snapshot with the numbers on which it rests."""
    messages = recording.messages
    return {
        "snapshot": report.snapshot,
        "verdict": report.verdict,
        "counts": dict(report.counts),
        "answers": {answer.question: answer.answer for answer in report.answers},
        "positions": dict(report.positions),
        "recorded_states": dict(report.recorded_states),
        "recomputed_states": dict(report.recomputed_states),
        "recorded_channels": {name: list(ids) for name, ids in report.recorded_channels.items()},
        "in_flight": {
            name: [messages[name][ordinal].id for ordinal in ordinals]
            for name, ordinals in report.in_flight.items()
        },
        "values": {name: values_of(recording, report, name) for name in channels_of(report)},
        "markers_sent": report.markers_sent,
        "markers_received": report.markers_received,
        "totals": {
            "start": report.totals.start,
            "processes": report.totals.processes,
            "channels": report.totals.channels,
        },
    }


def channels_of(report: SnapshotReport) -> list[ChannelId]:
    """Return the channels of which a snapshot holds contents, recorded or recomputed."""
    return list(dict.fromkeys([*report.recorded_channels, *report.in_flight]))


def values_of(
    recording: Recording, report: SnapshotReport, channel: ChannelId
) -> list[tuple[MessageId, JsonText | None]]:
    """Return the ids and values of the messages that a snapshot recorded or that were in flight."""
    recorded = set(report.recorded_channels.get(channel, ()))
    in_flight = set(report.in_flight.get(channel, ()))
    return [
        (message.id, message.value)
        for message in recording.messages.get(channel, ())
        if message.ordinal in in_flight or message.id in recorded
    ]


def cut_says(recording: Recording, cut: Cut) -> Says:
    """Return whether a cut is consistent, and what its channels and processes hold.

    A derived recording does not show what was in flight, so nothing is said of empty channels, nor
    that the cut is consistent.
    """
    strays = sum(
        stray.kind == RECEIVE and cut.includes(stray.process, stray.index)
        for stray in recording.strays
    )
    crossing = len(orphans(recording, cut))
    unknown = strays or is_derived(recording.header_extra)
    positions = {process.id: cut.position(process.id) for process in recording.topology.processes}
    return {
        "positions": positions,
        "consistent": False if crossing else (None if unknown else True),
        "orphans": crossing,
        "strays": strays,
        "in_flight": {
            channel: [message.id for message in messages]
            for channel, messages in contents(recording, cut).items()
            if messages
        },
        "values": {
            channel: [message.value for message in messages]
            for channel, messages in contents(recording, cut).items()
            if messages
        },
        "states": _known_states(recording, positions),
    }


def _known_states(recording: Recording, positions: Mapping[ProcessId, int]) -> dict[str, str]:
    states = {name: state_at(recording, name, position) for name, position in positions.items()}
    return {name: state for name, state in states.items() if state is not None}


def event_says(recording: Recording, process: ProcessId, index: int) -> Says:
    """Return the fields of an event that its sentence states; its time only if the log has it.

    Raises: LookupError if there is no such event.
    """
    event = recording.events[process][index]
    at = () if is_derived(recording.header_extra) else ("at",)
    fields = ("kind", *at, "channel", "message", "snapshot", "value", "state", "label")
    return {
        "process": process,
        "index": index,
        **{name: getattr(event, name) for name in fields if getattr(event, name) is not None},
    }


def message_says(recording: Recording, channel: str, message: str) -> Says:
    """Return the ways of the messages with an id on a channel, in the order of sending.

    One that has not ``arrived`` was in flight at the end of the log, or a restore took it back.
    """
    own = [
        item for name in recording.messages if name == channel for item in recording.messages[name]
    ]
    return {
        "channel": channel,
        "message": message,
        "ways": [
            {
                "sent": item.sent_index,
                "sent_at": item.sent_at,
                "received": item.received_index if has_arrived(item) else None,
                "received_at": item.received_at if has_arrived(item) else None,
                "arrived": has_arrived(item),
                "value": item.value,
            }
            for item in own
            if item.id == message
        ],
    }
