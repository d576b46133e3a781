"""Lai-Yang snapshots: colours instead of order, for channels that may deliver in any order.

Sources: Lai and Yang, "On Distributed Snapshots", Information Processing Letters 25(3), 1987; the
counting is Mattern's, "Efficient Algorithms for Distributed Snapshots and Global Virtual Time
Approximation", JPDC 18(4), 1993.

For each snapshot a process is white until it records its state, and red from then on. Every message
carries its sender's colour at the time of sending. The one rule: a white process to which a red
message comes records its state before it receives it. So nothing that was sent after a recording is
received before one, in whatever order the channels deliver. The white messages that a red process
receives are the state of their channel.

Lai and Yang have every process keep all that it sends and receives, and hand these histories in.
Here, as in Mattern's variant, a number does: a red process tells each neighbour how many white
messages it has sent to it, and the neighbour knows the channel's state when so many have come. This
is what a marker is here. It goes out as a message of its own when the process records, so that it
also reaches those to whom no other message goes, and again with every red message; the first to
arrive counts. It may overtake, and be overtaken by, anything.

Assumes: channels are reliable; a process carries out a step without any other event of its own in
between. There is one recorder per process and snapshot, as in Chandy-Lamport; several processes may
begin the same snapshot, and several snapshots may be under way at once.
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

NAME = "lai-yang"
TITLE = "Lai–Yang"
SENTENCE = "No markers: messages carry the colour of their sender, so channels need not be FIFO."
COLOURS_MESSAGES = True


@dataclass(frozen=True, slots=True)
class Recorder:
    """How far one process is with one snapshot.

    received, sent: how many messages have come in, and gone out, on each of its channels before it
    recorded; all of them are white. arrived: of every incoming channel that is still being
    recorded, the white messages received since, in order of receipt; empty before that.
    announced: how many white messages there are on a channel altogether, where its marker came.
    """

    snapshot: SnapshotId
    received: Mapping[ChannelId, int]
    sent: Mapping[ChannelId, int]
    has_recorded: bool = False
    arrived: Mapping[ChannelId, tuple[MessageId, ...]] = field(default_factory=dict)
    announced: Mapping[ChannelId, int] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return self.has_recorded and not self.arrived

    @property
    def is_waiting(self) -> bool:
        """Whether messages that were announced to it have not come yet."""
        return any(channel in self.announced for channel in self.arrived)


Step = tuple[Recorder, tuple[Effect, ...]]
"""The recorder after a step, and what the process has to do now, in this order."""


def start(
    snapshot: SnapshotId, received: Mapping[ChannelId, int], sent: Mapping[ChannelId, int]
) -> Recorder:
    """Of a process that is about to hear of a snapshot: with the messages it has counted so far."""
    return Recorder(snapshot, dict(received), dict(sent))


def begin(recorder: Recorder) -> Step:
    """Turn red: record, then tell every neighbour how many white messages it was sent.

    Nothing to do for a process that is red already.
    """
    if recorder.has_recorded:
        return recorder, ()
    markers = tuple(SendMarker(channel, count) for channel, count in recorder.sent.items())
    arrived = dict.fromkeys(recorder.received, ())
    return replace(recorder, has_recorded=True, arrived=arrived), (RecordState(), *markers)


def on_message(recorder: Recorder, channel: ChannelId, message: MessageId) -> Step:
    """A white message that a red process receives belongs to the channel's state."""
    if channel not in recorder.arrived:
        return recorder, ()
    longer = (*recorder.arrived[channel], message)
    recorder = replace(recorder, arrived={**recorder.arrived, channel: longer})
    return _closed_if_all_came(recorder, channel)


def on_marker(recorder: Recorder, channel: ChannelId, count: int) -> Step:
    """The first red message on a channel, or the marker by itself: a white process records, and it
    knows now how many white messages (``count``) there are on the channel."""
    recorder, effects = begin(recorder)
    if channel not in recorder.arrived:
        return recorder, effects
    recorder = replace(recorder, announced={**recorder.announced, channel: count})
    recorder, closed = _closed_if_all_came(recorder, channel)
    return recorder, (*effects, *closed)


def _closed_if_all_came(recorder: Recorder, channel: ChannelId) -> Step:
    came = recorder.received[channel] + len(recorder.arrived[channel])
    if recorder.announced.get(channel) != came:
        return recorder, ()
    still_open = dict(recorder.arrived)
    closed = RecordChannel(channel, still_open.pop(channel))
    return replace(recorder, arrived=still_open), (closed,)
