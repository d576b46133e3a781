"""Chandy-Lamport snapshots: the two marker rules, as pure step functions.

Source: Chandy and Lamport, "Distributed Snapshots: Determining Global States of Distributed
Systems", ACM TOCS 3(1), 1985, section 3.2.

Assumes: channels are reliable and FIFO for messages and markers together; a process carries out a
step without any other event of its own in between. The snapshot ends at every process that a path
of channels from an initiator reaches. Several processes may begin the same snapshot, and several
snapshots may be under way at once: there is one recorder per process and snapshot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.model.recording import MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.protocols.effects import (
    Effect,
    RecordChannel,
    RecordState,
    SendMarker,
)

NAME = "chandy-lamport"
TITLE = "Chandy–Lamport"
SENTENCE = "Markers on FIFO channels; where messages overtake, the verdict says which."
COLOURS_MESSAGES = False


@dataclass(frozen=True, slots=True)
class Recorder:
    """How far one process is with one snapshot.

    ``arrived``: for each channel that is still being recorded, the messages received on it since
    the process recorded its state, in order of receipt. Empty before that.
    """

    snapshot: SnapshotId
    incoming: tuple[ChannelId, ...]
    outgoing: tuple[ChannelId, ...]
    has_recorded: bool = False
    arrived: Mapping[ChannelId, tuple[MessageId, ...]] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return self.has_recorded and not self.arrived

    @property
    def is_waiting(self) -> bool:
        """Tell that no message must come: what comes behind the marker does not matter."""
        return False


Step = tuple[Recorder, tuple[Effect, ...]]
"""The recorder after a step, and what the process has to do now, in this order."""


def start(
    snapshot: SnapshotId, received: Mapping[ChannelId, int], sent: Mapping[ChannelId, int]
) -> Recorder:
    """Return the recorder of a process that has not seen this snapshot.

    Only the keys of ``received`` and ``sent`` are used: the incoming and outgoing channels.
    """
    return Recorder(snapshot, tuple(received), tuple(sent))


def begin(recorder: Recorder) -> Step:
    """Apply the marker-sending rule: record, then send a marker on every outgoing channel.

    Nothing is done if the process has recorded already, because another initiator was faster.
    """
    if recorder.has_recorded:
        return recorder, ()
    markers = tuple(SendMarker(channel) for channel in recorder.outgoing)
    arrived = dict.fromkeys(recorder.incoming, ())
    return replace(recorder, has_recorded=True, arrived=arrived), (RecordState(), *markers)


def on_marker(recorder: Recorder, channel: ChannelId, count: int | None = None) -> Step:
    """Apply the marker-receiving rule; markers have no count.

    The first marker makes the process record and finds its channel empty; each later one closes its
    channel with what arrived on it since.
    """
    effects: tuple[Effect, ...] = ()
    if not recorder.has_recorded:
        recorder, effects = begin(recorder)
    if channel not in recorder.arrived:
        return recorder, effects
    still_open = dict(recorder.arrived)
    closed = RecordChannel(channel, still_open.pop(channel))
    return replace(recorder, arrived=still_open), (*effects, closed)


def on_message(recorder: Recorder, channel: ChannelId, message: MessageId) -> Step:
    """Add a message to the state of its channel while that is recorded."""
    if channel not in recorder.arrived:
        return recorder, ()
    longer = (*recorder.arrived[channel], message)
    return replace(recorder, arrived={**recorder.arrived, channel: longer}), ()
