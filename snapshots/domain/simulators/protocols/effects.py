"""What a step of a snapshot protocol makes its process do."""

from dataclasses import dataclass

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import ChannelId


@dataclass(frozen=True, slots=True)
class RecordState:
    """Record the process's state as it is now."""


@dataclass(frozen=True, slots=True)
class SendMarker:
    """Send a marker on the channel, before any further message.

    ``count``: what the marker says besides the snapshot's name; None if it says nothing else.
    """

    channel: ChannelId
    count: int | None = None


@dataclass(frozen=True, slots=True)
class RecordChannel:
    """Record the channel's state: these messages, in order of receipt."""

    channel: ChannelId
    messages: tuple[MessageId, ...]


Effect = RecordState | SendMarker | RecordChannel
