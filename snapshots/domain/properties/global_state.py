"""The global state that a snapshot recorded, as plain values: what properties are evaluated on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from snapshots.domain.judging.cuts import Cut, contents, state_at
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.judging.verdicts import SnapshotReport
from snapshots.domain.model.recording import Message, MessageId, Recording
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import ChannelId, Topology
from snapshots.domain.model.values import parsed

START = "start"


@dataclass(frozen=True)
class GlobalState:
    """A state for every process and the contents of every channel of the topology.

    processes: JSON values; None where not known. channels: the values in order, None for a value
    that is not known; None for the whole channel where not even the number is. ends: (source,
    target) of each channel. verdict: that on the snapshot; only of a consistent one anything
    follows for the run.
    """

    snapshot: str
    processes: Mapping[str, object]
    channels: Mapping[str, tuple[object, ...] | None]
    ends: Mapping[str, tuple[str, str]]
    verdict: str = CONSISTENT

    @property
    def in_flight(self) -> dict[str, tuple[object, ...]]:
        """The channels that are known and not empty."""
        return {channel: values for channel, values in self.channels.items() if values}

    @property
    def unknown_processes(self) -> tuple[str, ...]:
        """Return the processes whose state is not known."""
        return tuple(process for process, value in self.processes.items() if value is None)

    @property
    def unknown_channels(self) -> tuple[str, ...]:
        """Return the channels whose contents are not known."""
        return tuple(channel for channel, values in self.channels.items() if values is None)


def at_start(topology: Topology) -> GlobalState:
    """Before the first event: the header's states and empty channels."""
    return GlobalState(
        START,
        {process.id: parsed(process.state) for process in topology.processes},
        {channel.id: () for channel in topology.channels},
        ends_of(topology),
    )


def at_cut(recording: Recording, cut: Cut, name: str = "cut") -> GlobalState:
    """What the log recomputes at a consistent cut."""
    held = contents(recording, cut)
    return GlobalState(
        name,
        {
            process.id: parsed(state_at(recording, process.id, cut.position(process.id)))
            for process in recording.topology.processes
        },
        {channel: _values(messages) for channel, messages in held.items()},
        ends_of(recording.topology),
    )


def of_report(recording: Recording, report: SnapshotReport) -> GlobalState:
    """What was recorded; where the log does not say, what it recomputes."""
    states = {**report.recomputed_states, **report.recorded_states}
    topology = in_scope(recording.topology, report.processes)
    return GlobalState(
        report.snapshot,
        {process.id: parsed(states.get(process.id)) for process in topology.processes},
        {
            channel.id: _channel_of_report(recording, report, channel.id)
            for channel in topology.channels
        },
        ends_of(topology),
        report.verdict,
    )


def of_stored(detail: Mapping[str, Any], topology: Topology) -> GlobalState:
    """The same from a stored snapshot.

    detail: the JSON of GET /api/recordings/ID/snapshots/SNAPSHOT (``snapshot``, ``verdict``, and
    ``positions``, ``processes`` and ``channels`` of both ``recorded`` and ``recomputed``).
    """
    recorded, recomputed = detail["recorded"], detail["recomputed"]
    states = {**recomputed["processes"], **recorded["processes"]}
    channels = {**recomputed["channels"], **recorded["channels"]}
    return GlobalState(
        detail["snapshot"],
        {process.id: states.get(process.id) for process in topology.processes},
        {
            channel.id: tuple(channels[channel.id]) if channel.id in channels else None
            for channel in topology.channels
        },
        ends_of(topology),
        detail["verdict"],
    )


def ends_of(topology: Topology) -> dict[str, tuple[str, str]]:
    """Return the source and the target of each channel."""
    return {channel.id: (channel.source, channel.target) for channel in topology.channels}


def _channel_of_report(
    recording: Recording, report: SnapshotReport, channel: ChannelId
) -> tuple[object, ...] | None:
    messages = recording.messages.get(channel, ())
    if channel in report.recorded_channels:
        return _recorded_values(messages, report.recorded_channels[channel])
    if channel in report.in_flight:
        return _values(messages[ordinal] for ordinal in report.in_flight[channel])
    return None


def _recorded_values(
    messages: tuple[Message, ...], entries: tuple[MessageId, ...]
) -> tuple[object, ...]:
    """None for an entry that was never sent; of several messages of an id, the first."""
    wanted = set(entries)
    by_id = {message.id: message for message in reversed(messages) if message.id in wanted}
    return tuple(parsed(by_id[entry].value) if entry in by_id else None for entry in entries)


def _values(messages: Iterable[Message]) -> tuple[object, ...]:
    return tuple(parsed(message.value) for message in messages)
