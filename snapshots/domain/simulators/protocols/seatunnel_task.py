"""What SeaTunnel's tasks do with barriers and splits, as step functions.

Source: SeaTunnel's Zeta engine, SourceSplitEnumeratorTask, SeaTunnelTask, SinkFlowLifeCycle,
SinkAggregatedCommitterTask. An enumerator records, then sends the barrier to its readers by the way
that splits take. A task with one input passes it on, one behind a shuffle aligns. A writer
pre-commits before it records, and sends what it has pre-committed with the barrier. The committer
counts one barrier of every writer. The steps are taken between two records.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier of snapshot ``cid``.

    type: one of ``seatunnel.TYPES``.
    info: the transaction that a writer has pre-committed, for the committer.
    """

    cid: int
    type: str
    info: str | None = None


@dataclass(frozen=True, slots=True)
class Aligner:
    """How far a task is with the checkpoint under way.

    arrived: the inputs on which the barrier has come.
    blocking: whether nothing is taken from these inputs until all barriers have come.
    """

    inputs: tuple[ChannelId, ...]
    blocking: bool = True
    barrier: Barrier | None = None
    arrived: tuple[ChannelId, ...] = ()


@dataclass(frozen=True, slots=True)
class Take:
    """Pre-commit, record the state, and send the barrier on."""

    barrier: Barrier


Effect = Block | Unblock | AlignEnd | RecordChannel | Take
Step = tuple[Aligner, tuple[Effect, ...]]


def start(inputs: tuple[ChannelId, ...], *, blocking: bool = True) -> Aligner:
    """Return the aligner of a task that has seen no barrier."""
    return Aligner(inputs, blocking)


def on_trigger(aligner: Aligner, barrier: Barrier) -> Step:
    """Handle the coordinator's trigger, at an enumerator."""
    return aligner, (Take(barrier),)


def on_barrier(aligner: Aligner, channel: ChannelId, barrier: Barrier) -> Step:
    """Handle a barrier at the head of its channel. There is one checkpoint at a time."""
    arrived = (*aligner.arrived, channel)
    if len(arrived) < len(aligner.inputs):
        block = (Block(channel, barrier.cid),) if aligner.blocking else ()
        return replace(aligner, barrier=barrier, arrived=arrived), block
    records = tuple(RecordChannel(input_, barrier.cid) for input_ in aligner.inputs)
    blocked = arrived[:-1] if aligner.blocking else ()
    unblock = tuple(Unblock(input_, barrier.cid) for input_ in blocked)
    done = replace(aligner, barrier=None, arrived=())
    return done, (AlignEnd(barrier.cid), *records, Take(barrier), *unblock)


def owners(
    splits: Iterable[str], loads: Mapping[ProcessId, int]
) -> tuple[tuple[str, ProcessId], ...]:
    """Assign each split to the reader with the fewest splits; ties go to the first reader.

    ``loads``: how many splits each reader has, in the order of the readers.
    """
    counts = dict(loads)
    assigned = []
    for split in splits:
        reader = min(counts, key=counts.__getitem__)
        counts[reader] += 1
        assigned.append((split, reader))
    return tuple(assigned)
