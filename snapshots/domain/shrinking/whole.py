"""What shrinking asks of the whole recording, which may be too large to be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import LoggedEvent, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId


@dataclass(frozen=True, slots=True, order=True)
class EventKey:
    """Names an event of the whole recording by its process and its index there."""

    process: ProcessId
    index: int


class Whole(Protocol):
    """Answers questions about a recording of any size and one of its snapshots.

    No answer needs the whole recording to be read. If the snapshot records a state or a channel
    again, the first record counts.
    """

    @property
    def snapshot(self) -> SnapshotId:
        """The snapshot that the questions are about."""

    @property
    def header(self) -> Header:
        """The header of the recording."""

    @property
    def initiators(self) -> Sequence[ProcessId]:
        """The processes that began the snapshot."""

    @property
    def event_count(self) -> int:
        """The number of events in the recording."""

    def event(self, key: EventKey) -> LoggedEvent:
        """Return an event; its ``line`` is its step. Raises: KeyError if there is none."""

    def other_end(self, key: EventKey) -> EventKey | None:
        """Return the receive of a send, or the send of a receive, of messages and markers.

        It is None for other events, for what never arrived, and for a receive without a send.
        """

    def application_before(self, key: EventKey) -> EventKey | None:
        """Return the last application event of the process before this event."""

    def application_after(self, key: EventKey) -> EventKey | None:
        """Return the first application event of the process after this event.

        The index -1 stands for the start of the process.
        """

    def state_record(self, process: ProcessId) -> EventKey | None:
        """Return the ``record_state`` of a process for the snapshot."""

    def channel_record(self, channel: ChannelId) -> EventKey | None:
        """Return the ``record_channel`` of a channel for the snapshot."""

    def markers(self, channel: ChannelId) -> tuple[EventKey, ...]:
        """Return the sends of the snapshot's markers on a channel."""

    def first_marker(self, process: ProcessId) -> EventKey | None:
        """Return the receive of the snapshot's first marker at a process."""

    def way_to(self, process: ProcessId) -> ChannelId | None:
        """Return the last channel of the shortest path from a process that began the snapshot.

        It is None for a process that began it, and for one to which no path leads.
        """

    def sends(self, channel: ChannelId, message: MessageId) -> tuple[EventKey, ...]:
        """Return the sends of the messages with an id on a channel."""

    def any_record(self, process: ProcessId | None = None) -> EventKey | None:
        """Return one record of the snapshot, of a state if there is one.

        Args:
            process: the process in whose scope the record is to be; None for any scope.
        """

    def any_marker(self) -> EventKey | None:
        """Return the send of one marker of the snapshot, or a receive if the log has no send."""
