"""Lai-Yang snapshots: colours instead of order, for channels that may deliver in any order.

Sources: Lai and Yang, "On Distributed Snapshots", Information Processing Letters 25(3), 1987; the
counting is Mattern's, "Efficient Algorithms for Distributed Snapshots and Global Virtual Time
Approximation", JPDC 18(4), 1993.

For each snapshot a process is white until it records its state, and red from then on. Every message
carries its sender's colour at the time of sending. The one rule: a white process to which a red
message comes records its state before it receives it. So nothing that was sent after a recording is
received before one, in whatever order the channels deliver. The white messages that a red process
receives are the state of their channel.

In Lai and Yang's paper every process keeps all that it sends and receives. Here, as in Mattern's
variant, a number suffices: a red process sends each neighbour how many white messages it has sent
to it, and the channel's state is known when so many have come. This number is what a marker is
here. It goes out as a message of its own when the process records, so that it also reaches
neighbours to which no other message goes, and again with every red message; the first to arrive
counts. It may overtake, and be overtaken by, anything.

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
        recorded; all of them are white.
    arrived: for each incoming channel that is still being recorded, the white messages received
        since, in order of receipt; empty before that.
    announced: how many white messages there are on a channel altogether, once its marker has come.
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
        """Tell whether messages that were announced have not come yet."""
        return any(channel in self.announced for channel in self.arrived)


Step = tuple[Recorder, tuple[Effect, ...]]
"""The recorder after a step, and what the process has to do now, in this order."""


def start(
    snapshot: SnapshotId, received: Mapping[ChannelId, int], sent: Mapping[ChannelId, int]
) -> Recorder:
    """Return the recorder of a process that has not seen this snapshot, with its counts so far."""
    return Recorder(snapshot, dict(received), dict(sent))


def begin(recorder: Recorder) -> Step:
    """Turn red: record, then send every neighbour how many white messages it was sent.

    Nothing is done if the process is red already.
    """
    if recorder.has_recorded:
        return recorder, ()
    markers = tuple(SendMarker(channel, count) for channel, count in recorder.sent.items())
    arrived = dict.fromkeys(recorder.received, ())
    return replace(recorder, has_recorded=True, arrived=arrived), (RecordState(), *markers)


def on_message(recorder: Recorder, channel: ChannelId, message: MessageId) -> Step:
    """Add a white message that a red process receives to the channel's state."""
    if channel not in recorder.arrived:
        return recorder, ()
    longer = (*recorder.arrived[channel], message)
    recorder = replace(recorder, arrived={**recorder.arrived, channel: longer})
    return _closed_if_all_came(recorder, channel)


def on_marker(recorder: Recorder, channel: ChannelId, count: int | None) -> Step:
    """Handle the first red message on a channel, or the marker by itself.

    A white process records. ``count``: how many white messages there are on the channel.
    """
    assert count is not None  # every marker of this protocol has one
    recorder, effects = begin(recorder)
    if channel not in recorder.arrived:
        return recorder, effects
    recorder = replace(recorder, announced={**recorder.announced, channel: count})
    recorder, closed = _closed_if_all_came(recorder, channel)
    return recorder, (*effects, *closed)


def _closed_if_all_came(recorder: Recorder, channel: ChannelId) -> Step:
    received = recorder.received[channel] + len(recorder.arrived[channel])
    if recorder.announced.get(channel) != received:
        return recorder, ()
    still_open = dict(recorder.arrived)
    closed = RecordChannel(channel, still_open.pop(channel))
    return replace(recorder, arrived=still_open), (closed,)
