"""How a snapshot spreads: who has recorded by a cut, which channels are noted, and its phase.

A process that recorded its state *notes* each message that it receives on a channel, until the
marker of the snapshot arrives there; then the channel is *locked*. A channel whose marker came
before its target recorded is locked at once, and nothing is noted. Where the log has no marker of
the snapshot, a channel is locked by its ``record_channel``, and only messages are noted that were
sent before their sender recorded; a channel without ``record_channel`` is not told then.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snapshots.domain.judging.cuts import Cut, has_arrived, received_index
from snapshots.domain.judging.snapshot_log import SnapshotLog
from snapshots.domain.model.recording import Message, Recording
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId, Topology

NOT_BEGUN, IN_PROGRESS, COMPLETE = "not begun", "spreading", "complete"
MOST_NAMED = 3  # processes or channels in a sentence


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


def marker_tells(channel: Channel) -> bool:
    """Tell whether a marker says which messages of its channel are noted.

    It does not where messages overtake each other, or where the marker overtakes them, as an
    unaligned barrier does: then its target notes what lies in the channel, by other rules.
    """
    return channel.fifo and not channel.overtaking


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


@dataclass(frozen=True, slots=True)
class Some:
    """Processes or channels of which a sentence names the first.

    Attributes:
        total: how many there are.
        first: the ids of the first MOST_NAMED, or of more, in the order of the header.
    """

    total: int
    first: Sequence[str]

    def __str__(self) -> str:
        more = self.total - MOST_NAMED
        return ", ".join(self.first[:MOST_NAMED]) + (f" … and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a snapshot has come, as far as a sentence needs it.

    Attributes:
        processes: how many processes belong to it.
        channels: how many channels are noted in it; 0 if the log does not tell.
        missing: the processes that have not recorded.
        unlocked: the channels that are noted and not locked.
        has_markers: whether the log has markers of it.
    """

    processes: int
    channels: int
    missing: Some
    unlocked: Some
    has_markers: bool

    def phase(self) -> str:
        """Return the phase; ``phase_of`` has the rule."""
        recorded = self.processes - self.missing.total
        return phase_of(recorded, self.processes, self.unlocked.total)

    def said(self) -> str:
        """Say it: "5 of 8 recorded, 3 channels open, waited for: q."."""
        phase, count = self.phase(), self.unlocked.total
        begin = f"{self.processes - self.missing.total:,} of {self.processes:,} recorded"
        if phase == NOT_BEGUN:
            return f"{begin}."
        if phase == COMPLETE:
            return f"{begin}{_locked(self.channels)}."
        unlocked = f", {count:,} channel{'' if count == 1 else 's'} open" if self.channels else ""
        return f"{begin}{unlocked}, waited for: {self._waited_for()}."

    def _waited_for(self) -> str:
        if self.missing.total:
            return str(self.missing)
        several = "" if self.unlocked.total == 1 else "s"
        what = f"marker{several} on" if self.has_markers else f"record{several} of"
        return f"the {what} {self.unlocked}"


def _locked(channels: int) -> str:
    if channels == 0:
        return "; the log does not tell what was noted of the channels"
    return ", the channel locked" if channels == 1 else f", all {channels:,} channels locked"


def progress_at(topology: Topology, log: SnapshotLog, spread: Spread) -> Progress:
    """Return how far a snapshot has come, for its sentence.

    Args:
        topology: the processes and channels in its scope.
    """
    told = sum(_end_of(log, channel) is not None for channel in topology.channels)
    missing = [each.id for each in topology.processes if each.id not in spread.recorded]
    unlocked = [name for name, noted in spread.channels.items() if not noted.is_locked]
    return Progress(
        len(topology.processes),
        told,
        Some(len(missing), missing),
        Some(len(unlocked), unlocked),
        log.has_markers,
    )


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
