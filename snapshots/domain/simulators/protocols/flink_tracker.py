"""What a Flink task does with barriers, at least once: it counts them and blocks nothing.

Source: Flink, CheckpointBarrierTracker. What comes behind an early barrier is processed before the
snapshot: its effect is in the state, and a restore reads it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.protocols.flink_task import (
    AlignEnd,
    Barrier,
    Effect,
    RecordChannel,
    SendCancel,
    Snapshot,
)

MOST_PENDING = 50


@dataclass(frozen=True, slots=True)
class Tracker:
    """The barriers that a task has counted.

    pending: for each checkpoint under way, by number, the channels whose barrier has come.
    latest: the newest checkpoint that has ended or was called off; older ones have ended with it.
    """

    inputs: tuple[ChannelId, ...]
    ended: frozenset[ChannelId] = frozenset()
    pending: Mapping[int, tuple[Barrier, frozenset[ChannelId]]] = field(default_factory=dict)
    latest: int = 0
    aborted: frozenset[int] = frozenset()


Step = tuple[Tracker, tuple[Effect, ...]]


def start(inputs: tuple[ChannelId, ...]) -> Tracker:
    """Return the tracker of a task that has seen no barrier."""
    return Tracker(inputs)


def on_trigger(tracker: Tracker, barrier: Barrier) -> Step:
    """Handle the coordinator's trigger, at a source, or behind tasks that have all finished."""
    if barrier.cid <= tracker.latest:
        return tracker, ()
    return _ended(_begin(tracker, barrier), barrier)


def on_barrier(
    tracker: Tracker, channel: ChannelId, barrier: Barrier, *, overtaking: bool = False
) -> Step:
    """Count a barrier at the head of its channel."""
    if barrier.cid <= tracker.latest:
        return tracker, ()
    if barrier.cid not in tracker.pending:
        tracker = _begin(tracker, barrier)
    return _ended(_arrived(tracker, barrier, channel), barrier)


def on_announcement(tracker: Tracker, barrier: Barrier) -> Step:
    """Do nothing: no barrier overtakes."""
    return tracker, ()


def on_timeout(tracker: Tracker, cid: int) -> Step:
    """Do nothing: no alignment has a timeout."""
    return tracker, ()


def on_end(tracker: Tracker, channel: ChannelId) -> Step:
    """Let the channel's end stand for its barrier, in all checkpoints under way and later ones."""
    tracker = replace(tracker, ended=tracker.ended | {channel})
    effects: tuple[Effect, ...] = ()
    for cid in sorted(tracker.pending):
        if cid in tracker.pending:
            barrier, _ = tracker.pending[cid]
            tracker, ended = _ended(_arrived(tracker, barrier, channel), barrier)
            effects = (*effects, *ended)
    return tracker, effects


def on_cancel(tracker: Tracker, cid: int) -> Step:
    """Handle a cancellation of the checkpoint that comes from upstream."""
    if cid <= tracker.latest:
        return tracker, ()
    return _without(tracker, cid), (SendCancel(cid),)


def on_aborted(tracker: Tracker, cid: int) -> Step:
    """Note that the coordinator called the checkpoint off."""
    if cid <= tracker.latest:
        return tracker, ()
    return replace(tracker, aborted=tracker.aborted | {cid}), ()


def _begin(tracker: Tracker, barrier: Barrier) -> Tracker:
    """Follow a checkpoint.

    If too many are pending, drop the oldest and ignore its later barriers.
    """
    ended = frozenset(tracker.inputs) & tracker.ended
    pending = {**tracker.pending, barrier.cid: (barrier, ended)}
    tracker = replace(tracker, pending=pending)
    return tracker if len(pending) <= MOST_PENDING else _without(tracker, min(pending))


def _arrived(tracker: Tracker, barrier: Barrier, channel: ChannelId) -> Tracker:
    _, arrived = tracker.pending[barrier.cid]
    pending = {**tracker.pending, barrier.cid: (barrier, arrived | {channel})}
    return replace(tracker, pending=pending)


def _ended(tracker: Tracker, barrier: Barrier) -> Step:
    """Take the snapshot if all barriers have come."""
    _, arrived = tracker.pending[barrier.cid]
    if len(arrived) < len(tracker.inputs):
        return tracker, ()
    records = (RecordChannel(channel, barrier.cid) for channel in tracker.inputs)
    end = (AlignEnd(barrier.cid),) if tracker.inputs else ()
    effects: tuple[Effect, ...] = (*end, *records, Snapshot(barrier))
    if barrier.cid in tracker.aborted:
        effects = (SendCancel(barrier.cid),)
    return _without(tracker, barrier.cid), effects


def _without(tracker: Tracker, cid: int) -> Tracker:
    pending = {other: item for other, item in tracker.pending.items() if other > cid}
    aborted = frozenset(other for other in tracker.aborted if other > cid)
    return replace(tracker, pending=pending, latest=cid, aborted=aborted)
