"""What the log says of each snapshot: who recorded what and when, and where its markers went."""

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
    """The events of one snapshot. Of a process's (or channel's) records the first one counts.

    states: the record_state of each process. channels: the record_channel of each channel; absent
    where the log does not say what was recorded. first_marker: index of each process's first
    marker_receive. began: (step, at) of its first event. ended_at: of its last event that
    is no marker_send; None where there is none.
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
        """The cut: a process's events before its first record_state lie inside."""
        return {process: event.index for process, event in self.states.items()}

    @property
    def has_markers(self) -> bool:
        """Tell whether the log holds a marker of the snapshot."""
        return bool(self.markers_sent or self.markers_received)

    def initiators(self) -> tuple[ProcessId, ...]:
        """Who recorded before any marker of it came, or without; by process.

        A log without markers does not tell; then it is the one that recorded first (by step).
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
        """Adds one event; those of a process come in its order."""
        self.began = min(self.began, (event.step, event.at))
        self.involved.add(event.process)
        if event.kind == MARKER_SEND:
            self.markers_sent += 1
            return
        self.ended_at = event.at if self.ended_at is None else max(self.ended_at, event.at)
        if event.kind == RECORD_STATE:
            self.states.setdefault(event.process, event)
        elif event.kind == RECORD_CHANNEL:
            self.channels.setdefault(event.channel, event)
        else:
            self.markers_received += 1
            self.first_marker.setdefault(event.process, event.index)


def snapshot_logs(recording: Recording) -> tuple[SnapshotLog, ...]:
    """Every snapshot that the log names in a record or a marker, in the order of their first step.

    Within one, processes and channels stand in the order of the header.
    """
    logs: dict[SnapshotId, SnapshotLog] = {}
    for process in recording.topology.processes:
        for event in recording.events.get(process.id, ()):
            if event.kind in SNAPSHOT_KINDS:
                log = logs.get(event.snapshot)
                if log is None:
                    log = logs[event.snapshot] = SnapshotLog(event.snapshot, (event.step, event.at))
                log.take(event)
    for channel in recording.topology.channels:
        for marker in recording.markers.get(channel.id, ()):
            logs[marker.snapshot].markers.setdefault(channel.id, []).append(marker)
    return tuple(sorted(logs.values(), key=lambda log: log.began))
