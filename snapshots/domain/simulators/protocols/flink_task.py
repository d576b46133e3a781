"""What a Flink task does with barriers, exactly once: aligned, unaligned, aligned with a timeout.

Source: Flink, SingleCheckpointBarrierHandler and its states; Carbone et al., "Lightweight
Asynchronous Snapshots for Distributed Dataflows", 2015. Pure step functions: an aligner and an
event give the next aligner and the effects, to be carried out in their order.

Assumes: a step is taken between two records; barriers and records of a channel come in order,
except for a barrier that overtakes, which comes before all that lies in buffers. A task follows one
checkpoint at a time: a newer barrier ends the alignment for an older one.
"""

from dataclasses import dataclass, replace

from snapshots.domain.model.topology import ChannelId

ALIGNED = "aligned"
UNALIGNED = "unaligned"
TIMEOUT = "aligned with timeout"
AT_LEAST_ONCE = "at-least-once"
MODES = (ALIGNED, UNALIGNED, TIMEOUT, AT_LEAST_ONCE)

SUBSUMED = "subsumed"
CANCELLED = "cancelled"
ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier of checkpoint ``cid``.

    ``switch_at``: the time in us at which TIMEOUT turns unaligned.
    """

    cid: int
    mode: str
    switch_at: int | None = None


@dataclass(frozen=True, slots=True)
class Aligner:
    """How far a task is with the checkpoint that it follows.

    barrier: that of the checkpoint; None if the task follows none.
    arrived: the channels whose barrier has come, or whose end stands for it.
    latest: the newest checkpoint begun or called off. What comes of it later, or of an older one,
        has no effect.
    aborted: the checkpoints that the coordinator called off while they were under way.
    """

    inputs: tuple[ChannelId, ...]
    ended: frozenset[ChannelId] = frozenset()
    barrier: Barrier | None = None
    arrived: tuple[ChannelId, ...] = ()
    blocked: tuple[ChannelId, ...] = ()
    has_recorded: bool = False
    latest: int = 0
    aborted: frozenset[int] = frozenset()

    @property
    def followed(self) -> Barrier:
        """The barrier of the checkpoint that the task follows; there must be one."""
        assert self.barrier is not None
        return self.barrier

    @property
    def all_arrived(self) -> bool:
        """Whether the barriers of all inputs have come."""
        return len(self.arrived) == len(self.inputs)


@dataclass(frozen=True, slots=True)
class Block:
    """Take nothing more from the channel."""

    channel: ChannelId
    cid: int


@dataclass(frozen=True, slots=True)
class Unblock:
    """Take from the channel again, as soon as the state has been copied."""

    channel: ChannelId
    cid: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Send barriers on all outputs, then copy the state.

    ``unaligned``: the barriers overtake records. ``collecting``: the inputs of which everything up
    to the barrier is to be kept from now on.
    """

    barrier: Barrier
    unaligned: bool = False
    collecting: tuple[ChannelId, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChannel:
    """Record the channel's state: what was kept of it since the snapshot."""

    channel: ChannelId
    cid: int


@dataclass(frozen=True, slots=True)
class AlignEnd:
    """Note that the last barrier has come."""

    cid: int


@dataclass(frozen=True, slots=True)
class AlignAbort:
    """End the alignment without a snapshot."""

    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class SwitchUnaligned:
    """Let barriers that wait in input buffers overtake now."""

    cid: int


@dataclass(frozen=True, slots=True)
class SwitchAt:
    """Call ``on_timeout`` at this time."""

    cid: int
    at: int


@dataclass(frozen=True, slots=True)
class SendCancel:
    """Send all outputs, in band, that the checkpoint is off."""

    cid: int


@dataclass(frozen=True, slots=True)
class Decline:
    """Report to the coordinator that this task does not take part."""

    cid: int
    reason: str


Effect = (
    Block
    | Unblock
    | Snapshot
    | RecordChannel
    | AlignEnd
    | AlignAbort
    | SwitchUnaligned
    | SwitchAt
    | SendCancel
    | Decline
)
Step = tuple[Aligner, tuple[Effect, ...]]


def start(inputs: tuple[ChannelId, ...]) -> Aligner:
    """Return the aligner of a task that has seen no barrier."""
    return Aligner(inputs)


def on_trigger(aligner: Aligner, barrier: Barrier) -> Step:
    """Handle the coordinator's trigger, at a source, or behind tasks that have all finished."""
    if barrier.cid <= aligner.latest:
        return aligner, ()
    aligner, begun = _begin(aligner, barrier)
    if aligner.all_arrived:
        aligner, ended = _end(aligner)
        return aligner, (*begun, *ended)
    if barrier.mode == UNALIGNED:
        aligner, snapshot = _record_unaligned(aligner)
        return aligner, (*begun, *snapshot)
    return aligner, begun


def on_barrier(
    aligner: Aligner, channel: ChannelId, barrier: Barrier, *, overtaking: bool = False
) -> Step:
    """Handle a barrier at the head of its channel, or one that has overtaken all before it."""
    if barrier.cid < aligner.latest:
        return aligner, ()
    begun: tuple[Effect, ...] = ()
    if barrier.cid > aligner.latest:
        aligner, begun = _begin(aligner, barrier)
    if aligner.barrier is None:
        return aligner, begun
    if channel not in aligner.arrived:
        aligner, effects = _arrive(aligner, channel, overtaking)
    else:
        aligner, effects = _arrive_behind_end(aligner, channel, overtaking)
    return aligner, (*begun, *effects)


def on_announcement(aligner: Aligner, barrier: Barrier) -> Step:
    """Handle the arrival of a barrier that may turn unaligned in an input buffer."""
    if barrier.cid <= aligner.latest:
        return aligner, ()
    return _begin(aligner, barrier)


def on_timeout(aligner: Aligner, cid: int) -> Step:
    """Turn unaligned, because the time for aligning, counted from the trigger, is over."""
    if aligner.barrier is None or aligner.barrier.cid != cid or aligner.has_recorded:
        return aligner, ()
    return _turn_unaligned(aligner)


def on_end(aligner: Aligner, channel: ChannelId) -> Step:
    """Let the channel's end stand for its barrier, in this and all later checkpoints."""
    aligner = replace(aligner, ended=aligner.ended | {channel})
    if aligner.barrier is None or channel in aligner.arrived:
        return aligner, ()
    return _arrive(aligner, channel, False, blocking=False)


def on_cancel(aligner: Aligner, cid: int) -> Step:
    """Handle a cancellation of the checkpoint that comes from upstream."""
    if cid < aligner.latest or (cid == aligner.latest and aligner.barrier is None):
        return aligner, ()
    if cid == aligner.latest:
        return _give_up(aligner, CANCELLED)
    aligner, effects = _give_up(aligner, SUBSUMED)
    return replace(aligner, latest=cid), (*effects, SendCancel(cid))


def on_aborted(aligner: Aligner, cid: int) -> Step:
    """Note that the coordinator called the checkpoint off: the alignment goes on, the snapshot does
    not.

    Downstream tasks may be blocked by this task's barriers, so they are notified in band.
    """
    if cid < aligner.latest or (cid == aligner.latest and aligner.barrier is None):
        return aligner, ()
    return replace(aligner, aborted=aligner.aborted | {cid}), ()


def _begin(aligner: Aligner, barrier: Barrier) -> Step:
    aligner, effects = _give_up(aligner, SUBSUMED)
    ended = tuple(channel for channel in aligner.inputs if channel in aligner.ended)
    aligner = replace(aligner, barrier=barrier, arrived=ended, latest=barrier.cid)
    timer = () if barrier.switch_at is None else (SwitchAt(barrier.cid, barrier.switch_at),)
    return aligner, (*effects, *timer)


def _arrive(
    aligner: Aligner, channel: ChannelId, overtaking: bool, *, blocking: bool = True
) -> Step:
    barrier = aligner.followed
    before: tuple[Effect, ...] = ()
    unaligned = barrier.mode == UNALIGNED or overtaking
    if unaligned and not aligner.has_recorded:
        aligner, before = _turn_unaligned(aligner)
        if aligner.barrier is None:
            return aligner, before
    aligner = replace(aligner, arrived=(*aligner.arrived, channel))
    if aligner.has_recorded:
        before = (*before, RecordChannel(channel, barrier.cid))
    if aligner.all_arrived:
        aligner, ended = _end(aligner)
        return aligner, (*before, *ended)
    if aligner.has_recorded or not blocking:
        return aligner, before
    return replace(aligner, blocked=(*aligner.blocked, channel)), (
        *before,
        Block(channel, barrier.cid),
    )


def _arrive_behind_end(aligner: Aligner, channel: ChannelId, overtaking: bool) -> Step:
    """Handle a barrier behind the channel's end, which has counted already.

    The channel's next barrier must not come before its time.
    """
    if aligner.all_arrived:
        return _end(aligner)
    if aligner.has_recorded or channel in aligner.blocked:
        return aligner, ()
    if aligner.followed.mode == UNALIGNED or overtaking:
        return _turn_unaligned(aligner)
    blocked = replace(aligner, blocked=(*aligner.blocked, channel))
    return blocked, (Block(channel, aligner.followed.cid),)


def _turn_unaligned(aligner: Aligner) -> Step:
    cid, mode = aligner.followed.cid, aligner.followed.mode
    switch: tuple[Effect, ...] = () if mode == UNALIGNED else (SwitchUnaligned(cid),)
    aligner, snapshot = _record_unaligned(aligner)
    return aligner, (*switch, *snapshot)


def _record_unaligned(aligner: Aligner) -> Step:
    """Record the state as it is; of inputs that have not arrived, all up to the barrier is kept."""
    barrier = aligner.followed
    if barrier.cid in aligner.aborted:
        return _give_up(aligner, ABORTED)
    still_open = tuple(channel for channel in aligner.inputs if channel not in aligner.arrived)
    closed = tuple(RecordChannel(channel, barrier.cid) for channel in aligner.arrived)
    snapshot = Snapshot(barrier, unaligned=True, collecting=still_open)
    return replace(aligner, has_recorded=True), (snapshot, *closed)


def _end(aligner: Aligner) -> Step:
    """Take the snapshot, because all barriers have come."""
    barrier = aligner.followed
    snapshot: tuple[Effect, ...] = ()
    if not aligner.has_recorded:
        if barrier.cid in aligner.aborted:
            return _give_up(aligner, ABORTED)
        records = (RecordChannel(channel, barrier.cid) for channel in aligner.inputs)
        snapshot = (*records, Snapshot(barrier, unaligned=barrier.mode == UNALIGNED))
    ended = (AlignEnd(barrier.cid),) if aligner.inputs else ()
    return _idle(aligner), (*ended, *snapshot, *_unblocked(aligner))


def _give_up(aligner: Aligner, reason: str) -> Step:
    if aligner.barrier is None:
        return aligner, ()
    cid = aligner.barrier.cid
    effects: tuple[Effect, ...] = (AlignAbort(cid, reason), *_unblocked(aligner), SendCancel(cid))
    if reason == SUBSUMED:
        effects = (*effects, Decline(cid, reason))
    return _idle(aligner), effects


def _unblocked(aligner: Aligner) -> tuple[Effect, ...]:
    return tuple(Unblock(channel, aligner.followed.cid) for channel in aligner.blocked)


def _idle(aligner: Aligner) -> Aligner:
    aborted = frozenset(cid for cid in aligner.aborted if cid > aligner.latest)
    return replace(
        aligner, barrier=None, arrived=(), blocked=(), has_recorded=False, aborted=aborted
    )
