"""Collect what the log holds about each snapshot: its records and its markers."""

from dataclasses import dataclass, field

from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    Event,
    Instant,
    Marker,
    Recording,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, ProcessId

SNAPSHOT_KINDS = frozenset({RECORD_STATE, RECORD_CHANNEL, MARKER_SEND, MARKER_RECEIVE})
"""The kinds that take part in a snapshot; a ``restore`` only names one."""


@dataclass
class SnapshotLog:
    """The events of one snapshot. If a state or channel is recorded again, the first record counts.

    Processes and channels stand in the order of the header.

    Attributes:
        began: the step and the time of the first event.
        ended_at: the time of the last event other than a marker_send; None if there is none.
        states: the record_state of each process that recorded.
        channels: the record_channel of each channel for which the log holds one.
        first_marker: the index of the first marker_receive of each process that has one.
        involved: the processes with an event of the snapshot; scopes.py derives its scope from
            them.
    """

    id: SnapshotId
    began: tuple[int, Instant]
    ended_at: Instant | None = None
    states: dict[ProcessId, Event] = field(default_factory=dict)
    channels: dict[ChannelId, Event] = field(default_factory=dict)
    first_marker: dict[ProcessId, int] = field(default_factory=dict)
    markers: dict[ChannelId, list[Marker]] = field(default_factory=dict)
    involved: set[ProcessId] = field(default_factory=set)
    markers_sent: int = 0
    markers_received: int = 0

    @property
    def positions(self) -> dict[ProcessId, int]:
        """The cut: how many events of each process lie before its first record_state."""
        return {process: event.index for process, event in self.states.items()}

    @property
    def has_markers(self) -> bool:
        """Tell whether the log holds a marker of the snapshot."""
        return bool(self.markers_sent or self.markers_received)

    def initiators(self) -> tuple[ProcessId, ...]:
        """Return the processes that recorded before a marker of the snapshot arrived there.

        If the log holds no markers, return the process that recorded first (by step).
        """
        if not self.has_markers:
            first = min(self.states.values(), key=lambda event: event.step, default=None)
            return () if first is None else (first.process,)
        return tuple(
            process
            for process, event in self.states.items()
            if event.index < self.first_marker.get(process, event.index + 1)
        )

    def take(self, event: Event) -> None:
        """Add an event. The events of a process must be added in their order."""
        self.began = min(self.began, (event.step, event.at))
        self.involved.add(event.process)
        if event.kind == MARKER_SEND:
            self.markers_sent += 1
            return
        self.ended_at = event.at if self.ended_at is None else max(self.ended_at, event.at)
        if event.kind == RECORD_STATE:
            self.states.setdefault(event.process, event)
        elif event.kind == RECORD_CHANNEL:
            assert event.channel is not None  # assembly refuses a record_channel without one
            self.channels.setdefault(event.channel, event)
        else:
            self.markers_received += 1
            self.first_marker.setdefault(event.process, event.index)


def snapshot_logs(recording: Recording) -> tuple[SnapshotLog, ...]:
    """Return every snapshot that a record or a marker names, in the order of their first steps."""
    logs: dict[SnapshotId, SnapshotLog] = {}
    for process in recording.topology.processes:
        for event in recording.events.get(process.id, ()):
            if event.kind in SNAPSHOT_KINDS:
                assert event.snapshot is not None  # assembly refuses these kinds without one
                if event.snapshot not in logs:
                    logs[event.snapshot] = SnapshotLog(event.snapshot, (event.step, event.at))
                logs[event.snapshot].take(event)
    for channel in recording.topology.channels:
        for marker in recording.markers.get(channel.id, ()):
            logs[marker.snapshot].markers.setdefault(channel.id, []).append(marker)
    return tuple(sorted(logs.values(), key=lambda log: log.began))
