"""How a snapshot spreads: who has recorded by a cut, which channels are noted, and its phase.

A process that recorded its state *notes* each message that it receives on a channel, until the
marker of the snapshot arrives there; then the channel is *locked*. A channel whose marker came
before its target recorded is locked at once, and nothing is noted. Where the log has no marker of
the snapshot, a channel is locked by its ``record_channel``, and only messages are noted that were
sent before their sender recorded; a channel without ``record_channel`` is not told then.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.judging.cuts import Cut, has_arrived, received_index
from snapshots.domain.judging.snapshot_log import SnapshotLog
from snapshots.domain.model.recording import Message, Recording
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId, Topology

NOT_BEGUN, IN_PROGRESS, COMPLETE = "not begun", "spreading", "complete"


@dataclass(frozen=True, slots=True)
class Noted:
    """What has been noted of one channel whose target has recorded.

    Attributes:
        is_locked: whether nothing more will be noted.
        messages: the noted messages, in the order of noting.
    """

    is_locked: bool
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a snapshot has come at a cut.

    Attributes:
        phase: NOT_BEGUN, IN_PROGRESS or COMPLETE.
        recorded: the processes that have recorded, in the order of the header.
        channels: what is noted of each channel of the scope whose target has recorded.
    """

    phase: str
    recorded: tuple[ProcessId, ...]
    channels: Mapping[ChannelId, Noted]


def phase_of(recorded: int, processes: int, unlocked: int) -> str:
    """Return the phase of a snapshot.

    Args:
        recorded: how many processes have recorded.
        processes: how many belong to the snapshot.
        unlocked: how many channels are noted and not locked.
    """
    if recorded == 0:
        return NOT_BEGUN
    return COMPLETE if recorded == processes and unlocked == 0 else IN_PROGRESS


def spread_at(recording: Recording, log: SnapshotLog, topology: Topology, cut: Cut) -> Spread:
    """Return how far a snapshot has come at a cut.

    Args:
        log: what the recording holds about the snapshot.
        topology: the processes and channels in its scope.
    """
    records = log.positions
    recorded = tuple(
        process.id
        for process in topology.processes
        if process.id in records and cut.includes(process.id, records[process.id])
    )
    noted = {
        channel.id: _noted(recording, log, channel, end, cut)
        for channel in topology.channels
        if channel.target in recorded and (end := _end_of(log, channel)) is not None
    }
    unlocked = sum(not channel.is_locked for channel in noted.values())
    return Spread(phase_of(len(recorded), len(topology.processes), unlocked), recorded, noted)


def _end_of(log: SnapshotLog, channel: Channel) -> float | None:
    """Return the index at which a channel is locked, infinity if never; None if not told."""
    told = log.channels.get(channel.id)
    if not log.has_markers:
        return None if told is None else told.index
    markers = log.markers.get(channel.id, ())
    if markers and has_arrived(markers[0]):
        return received_index(markers[0])
    return float("inf") if told is None else told.index


def _noted(recording: Recording, log: SnapshotLog, channel: Channel, end: float, cut: Cut) -> Noted:
    records = log.positions
    first, limit = records[channel.target], cut.position(channel.target)
    before = None if log.has_markers else records.get(channel.source)
    messages = tuple(
        message
        for message in recording.messages.get(channel.id, ())
        if first < received_index(message) < min(end, limit)
        and (before is None or message.sent_index < before)
    )
    return Noted(end < limit, tuple(sorted(messages, key=received_index)))
