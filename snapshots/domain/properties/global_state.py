"""Make the global state that a snapshot recorded; properties are evaluated on it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from snapshots.domain.judging.cuts import Cut, contents, state_at
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import Message, MessageId, Recording
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import ChannelId, Topology
from snapshots.domain.model.values import parsed

START = "start"


@dataclass(frozen=True)
class GlobalState:
    """The states of the processes and the contents of the channels of a topology, as JSON.

    Attributes:
        snapshot: the id of the snapshot, or another name for the state.
        processes: the state of each process; None if it is not known.
        channels: the values in each channel in order; None if their number is not known. A single
            value that is not known is None.
        ends: the source and the target of each channel.
        verdict: the verdict on the snapshot. Conclusions for the run need a consistent one.
        is_derived: whether the snapshot belongs to a derived recording.
    """

    snapshot: str
    processes: Mapping[str, object]
    channels: Mapping[str, tuple[object, ...] | None]
    ends: Mapping[str, tuple[str, str]]
    verdict: str = CONSISTENT
    is_derived: bool = False

    @property
    def in_flight(self) -> dict[str, tuple[object, ...]]:
        """The contents of the channels that are known and not empty."""
        return {channel: values for channel, values in self.channels.items() if values}

    @property
    def unknown_processes(self) -> tuple[str, ...]:
        """The processes whose state is not known."""
        return tuple(process for process, value in self.processes.items() if value is None)

    @property
    def unknown_channels(self) -> tuple[str, ...]:
        """The channels whose contents are not known."""
        return tuple(channel for channel, values in self.channels.items() if values is None)

    def within(self, other: "GlobalState") -> "GlobalState":
        """Return this state without the processes and channels that another state does not have."""
        if self.processes.keys() == other.processes.keys():
            return self
        processes = {p: value for p, value in self.processes.items() if p in other.processes}
        channels = {c: values for c, values in self.channels.items() if c in other.channels}
        ends = {channel: self.ends[channel] for channel in channels}
        return replace(self, processes=processes, channels=channels, ends=ends)


def at_start(topology: Topology) -> GlobalState:
    """Return the state before the first event: the header's states and empty channels."""
    return GlobalState(
        START,
        {process.id: parsed(process.state) for process in topology.processes},
        {channel.id: () for channel in topology.channels},
        ends_of(topology),
    )


def at_cut(recording: Recording, cut: Cut, name: str = "cut") -> GlobalState:
    """Return the state that the log recomputes at a consistent cut."""
    return GlobalState(
        name,
        {
            process.id: parsed(state_at(recording, process.id, cut.position(process.id)))
            for process in recording.topology.processes
        },
        {channel: _values(messages) for channel, messages in contents(recording, cut).items()},
        ends_of(recording.topology),
    )


def of_report(recording: Recording, report: SnapshotReport) -> GlobalState:
    """Return the recorded state, and recomputed parts where the log holds no record."""
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
        is_derived(recording.header_extra),
    )


def of_stored(
    detail: Mapping[str, Any], topology: Topology, *, is_derived: bool = False
) -> GlobalState:
    """Return the state that ``of_report`` gives, for a stored snapshot.

    Args:
        detail: the JSON of GET /api/recordings/ID/snapshots/SNAPSHOT (``snapshot``, ``verdict``,
            and ``processes`` and ``channels`` of both ``recorded`` and ``recomputed``).
        topology: the scope of the snapshot.
        is_derived: whether the recording is derived.
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
        is_derived,
    )


def ends_of(topology: Topology) -> dict[str, tuple[str, str]]:
    """Return (source, target) of each channel."""
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
    """Return the values of recorded ids, with None for one that was never sent.

    If several messages have an id, the first one counts.
    """
    recorded = set(entries)
    by_id = {message.id: message for message in reversed(messages) if message.id in recorded}
    return tuple(parsed(by_id[entry].value) if entry in by_id else None for entry in entries)


def _values(messages: Iterable[Message]) -> tuple[object, ...]:
    return tuple(parsed(message.value) for message in messages)
