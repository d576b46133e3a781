"""A recording as the sentences of its events ask it: the plain reference of the stored one."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from snapshots.domain.explaining.dataflow import engine_of
from snapshots.domain.judging.cuts import Cut
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.judging.spreading import spread_at
from snapshots.domain.model.recording import Event, Recording, SnapshotId
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId, Topology


class LogOfRecording:
    """Answers what ``steps.Log`` asks."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.engine = engine_of(recording.header_extra)

    @cached_property
    def _logs(self) -> Mapping[SnapshotId, SnapshotLog]:
        return {log.id: log for log in snapshot_logs(self.recording)}

    def event(self, process: ProcessId, index: int) -> Event | None:
        """Return an event; None if there is none with that index."""
        events = self.recording.events.get(process, ())
        return events[index] if 0 <= index < len(events) else None

    def channel(self, channel: ChannelId) -> Channel:
        """Return a channel by its id."""
        return self.recording.topology.channel_by_id[channel]

    def _scope(self, snapshot: SnapshotId) -> Topology:
        return in_scope(self.recording.topology, self._logs[snapshot].involved)

    def incoming(self, process: ProcessId) -> int:
        """Count the channels to a process."""
        channels = self.recording.topology.channels
        return sum(channel.target == process for channel in channels)

    def outgoing(self, snapshot: SnapshotId, process: ProcessId) -> int:
        """Count the channels on which a process sends markers of a snapshot."""
        return sum(each.source == process for each in self._scope(snapshot).channels)

    def with_record(self, record: Event) -> Sequence[tuple[str, ChannelId | None, int]]:
        """Return kind, channel and index of what a process does next, at once, for a snapshot."""
        found = []
        for event in self.recording.events[record.process][record.index + 1 :]:
            if (event.snapshot, event.at) != (record.snapshot, record.at):
                break
            found.append((event.kind, event.channel, event.index))
        return found

    def recorded_at(self, snapshot: SnapshotId, process: ProcessId) -> int | None:
        """Return the index at which a process records; None if it never does."""
        log = self._logs.get(snapshot)
        return None if log is None else log.positions.get(process)

    def is_noted(self, snapshot: SnapshotId, receive: Event) -> bool:
        """Tell whether the message of a receive is noted for a snapshot."""
        log, ends = self._logs.get(snapshot), self.recording.events
        if log is None or receive.channel is None:
            return False
        whole = Cut({process: len(events) for process, events in ends.items()})
        spread = spread_at(self.recording, log, self._scope(snapshot), whole)
        noted = spread.channels.get(receive.channel)
        return noted is not None and receive.index in {
            message.received_index for message in noted.messages
        }
