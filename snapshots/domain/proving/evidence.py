"""The part of a log on which the claims of a document rest, as JSON.

A reader's browser derives each claim from it again (static/js/lib/checking). It therefore has
every event, message and marker, but only those states and values that a claim is about. States and
values are canonical JSON texts, because JavaScript would round large numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.judging.cuts import Cut, contents
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.model.derived import flaws, is_derived, only_clocks
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    RECORD_STATE,
    Event,
    MessageId,
    Recording,
)
from snapshots.domain.model.topology import ChannelId, JsonText, Process, ProcessId

MOST_EXACT = 2**53 - 1  # as Number.MAX_SAFE_INTEGER
START = -1  # stands for the index of the state at the start


@dataclass
class Wanted:
    """The states and values on which claims rest.

    Attributes:
        states: the processes and the indexes of the events that set the states; START stands for
            the state in the header.
        values: the channels and the ordinals of the messages.
        records: the snapshots whose recorded states are wanted.
        events: the processes and indexes of the events of which all that is told is wanted.
    """

    states: set[tuple[ProcessId, int]] = field(default_factory=set)
    values: set[tuple[ChannelId, int]] = field(default_factory=set)
    records: set[str] = field(default_factory=set)
    events: set[tuple[ProcessId, int]] = field(default_factory=set)

    def add_cut(self, recording: Recording, cut: Cut) -> None:
        """Add the states at a cut and the values of the messages in flight there."""
        for process, position in cut.positions.items():
            self.states.add((process, state_event(recording, process, position)))
        for channel, messages in contents(recording, cut).items():
            self.values.update((channel, message.ordinal) for message in messages)

    def add_message(self, recording: Recording, channel: ChannelId, message: MessageId) -> None:
        """Add the values of the messages with an id on a channel."""
        self.values.update(
            (channel, item.ordinal)
            for item in recording.messages.get(channel, ())
            if item.id == message
        )

    def add_snapshot(self, recording: Recording, report: SnapshotReport) -> None:
        """Add what a snapshot recorded, what its positions recompute, and what its sums add up."""
        self.records.add(report.snapshot)
        for process in report.processes:
            self.states.add((process, START))
        for process, position in report.positions.items():
            self.states.add((process, state_event(recording, process, position)))
        for channel, ordinals in report.in_flight.items():
            self.values.update((channel, ordinal) for ordinal in ordinals)
        for channel, names in report.recorded_channels.items():
            self.values.update(
                (channel, message.ordinal)
                for message in recording.messages.get(channel, ())
                if message.id in names
            )


def state_event(recording: Recording, process: ProcessId, position: int) -> int:
    """Return the index of the last event that set the state of a process, or START."""
    for event in reversed(recording.events.get(process, ())[:position]):
        if event.kind in APPLICATION_KINDS:
            return event.index
    return START


def evidence(recording: Recording, wanted: Wanted) -> dict[str, Any]:
    """Return the log as JSON, with the wanted states and values."""
    processes, channels = recording.topology.processes, recording.topology.channels
    return {
        "name": recording.name,
        "time_unit": recording.time_unit,
        "derived": is_derived(recording.header_extra),
        "only_clocks": only_clocks(recording.header_extra),
        "flaws": _flaws(recording.header_extra, sorted(wanted.records)),
        "processes": [_process(process, wanted) for process in processes],
        "channels": [
            {
                "id": channel.id,
                "source": channel.source,
                "target": channel.target,
                "fifo": channel.fifo,
                "overtaking": channel.overtaking,
            }
            for channel in channels
        ],
        "events": [
            [_event(event, wanted) for event in recording.events.get(process.id, ())]
            for process in processes
        ],
        "messages": [
            [
                _without_absent(
                    id=message.id,
                    sent=message.sent_index,
                    received=message.received_index,
                    value=message.value if (channel.id, message.ordinal) in wanted.values else None,
                )
                for message in recording.messages.get(channel.id, ())
            ]
            for channel in channels
        ],
        "markers": [
            [
                _without_absent(
                    snapshot=marker.snapshot, sent=marker.sent_index, received=marker.received_index
                )
                for marker in recording.markers.get(channel.id, ())
            ]
            for channel in channels
        ],
        "strays": [{"process": stray.process, "index": stray.index} for stray in recording.strays],
    }


def exact(value: Any) -> Any:
    """Return JSON in which whole numbers beyond 2^53 are decimal texts, since JavaScript rounds."""
    if isinstance(value, Mapping):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    is_large = isinstance(value, int) and abs(value) > MOST_EXACT
    return str(value) if is_large else value


def _flaws(header_extra: Mapping[str, object], snapshots: Iterable[str]) -> dict[str, int]:
    """Count the flaws that a derived header names for each snapshot."""
    counts = {snapshot: len(tuple(flaws(header_extra, snapshot))) for snapshot in snapshots}
    return {snapshot: count for snapshot, count in counts.items() if count}


def _process(process: Process, wanted: Wanted) -> dict[str, Any]:
    state = process.state if (process.id, START) in wanted.states else None
    return _without_absent(id=process.id, scope=process.scope, state=state)


def _event(event: Event, wanted: Wanted) -> dict[str, Any]:
    messages: Sequence[str] | None = event.messages
    is_named = (event.process, event.index) in wanted.events
    return _without_absent(
        kind=event.kind,
        at=event.at,
        step=event.step,
        channel=event.channel,
        message=event.message,
        snapshot=event.snapshot,
        state=_state(event, wanted),
        value=event.value if is_named else None,
        label=event.label if is_named else None,
        messages=None if messages is None else list(messages),
    )


def _state(event: Event, wanted: Wanted) -> JsonText | None:
    is_record = event.kind == RECORD_STATE and event.snapshot in wanted.records
    place = (event.process, event.index)
    is_wanted = is_record or place in wanted.states or place in wanted.events
    return event.state if is_wanted else None


def _without_absent(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
