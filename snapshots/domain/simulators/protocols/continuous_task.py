"""What the tasks of Spark's continuous mode do with the markers of epochs, as step functions.

Source: Spark Structured Streaming, ContinuousQueuedDataReader, ContinuousWriteRDD,
UnsafeRowReceiver. A reader puts the marker of an epoch between two records. A task passes it on. A
task that gathers several partitions takes nothing more of a partition whose marker has come, until
the markers of all have come.
"""

from dataclasses import dataclass, replace

from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock


@dataclass(frozen=True, slots=True)
class Gathering:
    """How far a task is with the end of its epoch.

    Attributes:
        inputs: all inputs of the task.
        arrived: the inputs on which the marker has come.
    """

    inputs: tuple[ChannelId, ...]
    arrived: tuple[ChannelId, ...] = ()


@dataclass(frozen=True, slots=True)
class EndTask:
    """End the epoch at this task, and send the marker on."""

    epoch: int


Effect = Block | Unblock | AlignEnd | RecordChannel | EndTask
Step = tuple[Gathering, tuple[Effect, ...]]


def start(inputs: tuple[ChannelId, ...]) -> Gathering:
    """Return the state of a task that has seen no marker."""
    return Gathering(inputs)


def on_marker(gathering: Gathering, channel: ChannelId, epoch: int) -> Step:
    """Handle a marker at the head of its channel; the last one ends the epoch."""
    arrived = (*gathering.arrived, channel)
    if len(arrived) < len(gathering.inputs):
        return replace(gathering, arrived=arrived), (Block(channel, epoch),)
    records = tuple(RecordChannel(input_, epoch) for input_ in gathering.inputs)
    unblock = tuple(Unblock(input_, epoch) for input_ in gathering.arrived)
    return start(gathering.inputs), (AlignEnd(epoch), *records, EndTask(epoch), *unblock)
