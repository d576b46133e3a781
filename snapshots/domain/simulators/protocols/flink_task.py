"""What a Flink task does with barriers, exactly once: aligned, unaligned, aligned with a timeout.

Source: Flink, SingleCheckpointBarrierHandler and its states; Carbone et al., "Lightweight
Asynchronous Snapshots for Distributed Dataflows", 2015. Pure step functions: an aligner and what
happened give the next aligner and the effects, to be carried out in their order.

Assumes: a step is taken between two records; barriers and records of a channel come in order, but
for a barrier that overtakes, which comes before all that lies in buffers. A task follows one
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
    """cid: number of the checkpoint. switch_at: us at which TIMEOUT turns unaligned."""

    cid: int
    mode: str
    switch_at: int | None = None


@dataclass(frozen=True, slots=True)
class Aligner:
    """How far a task is with the checkpoint that it follows (None: with none).

    arrived: channels whose barrier has come, or whose end stands for it. latest: the newest
    checkpoint begun or called off: what comes of it later, or of an older one, means nothing.
    aborted: called off by the coordinator while they were under way.
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
    def all_arrived(self) -> bool:
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
    """Barriers on all outputs (unaligned: they overtake), then copy the state.

    collecting: the inputs of which everything up to the barrier is to be kept from now on.
    """

    barrier: Barrier
    unaligned: bool = False
    collecting: tuple[ChannelId, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChannel:
    """The channel's state is known: what was kept of it since the snapshot."""

    channel: ChannelId
    cid: int


@dataclass(frozen=True, slots=True)
class AlignEnd:
    """The last barrier has come."""

    cid: int


@dataclass(frozen=True, slots=True)
class AlignAbort:
    """The alignment ends without a snapshot."""

    cid: int
    reason: str


@dataclass(frozen=True, slots=True)
class SwitchUnaligned:
    """Barriers that wait in input buffers overtake now."""

    cid: int


@dataclass(frozen=True, slots=True)
class SwitchAt:
    """Ask ``on_timeout`` at this time."""

    cid: int
    at: int


@dataclass(frozen=True, slots=True)
class SendCancel:
    """Tell all outputs, in band, that the checkpoint is off."""

    cid: int


@dataclass(frozen=True, slots=True)
class Decline:
    """Tell the coordinator that this task does not take part."""

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
    return Aligner(inputs)


def on_trigger(aligner: Aligner, barrier: Barrier) -> Step:
    """The coordinator's word, at a source, or where everything before the task has finished."""
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
    """A barrier is at the head of its channel, or has overtaken all before it."""
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
    """A barrier that may turn unaligned lies in an input buffer."""
    if barrier.cid <= aligner.latest:
        return aligner, ()
    return _begin(aligner, barrier)


def on_timeout(aligner: Aligner, cid: int) -> Step:
    """The time for aligning is over, counted from the trigger."""
    if aligner.barrier is None or aligner.barrier.cid != cid or aligner.has_recorded:
        return aligner, ()
    return _turn_unaligned(aligner)


def on_end(aligner: Aligner, channel: ChannelId) -> Step:
    """The channel's end stands for its barrier, in this and all later checkpoints."""
    aligner = replace(aligner, ended=aligner.ended | {channel})
    if aligner.barrier is None or channel in aligner.arrived:
        return aligner, ()
    return _arrive(aligner, channel, False, blocking=False)


def on_cancel(aligner: Aligner, cid: int) -> Step:
    """Word from upstream that the checkpoint is off."""
    if cid < aligner.latest or (cid == aligner.latest and aligner.barrier is None):
        return aligner, ()
    if cid == aligner.latest:
        return _give_up(aligner, CANCELLED)
    aligner, effects = _give_up(aligner, SUBSUMED)
    return replace(aligner, latest=cid), (*effects, SendCancel(cid))


def on_aborted(aligner: Aligner, cid: int) -> Step:
    """The coordinator's word that the checkpoint is off: the alignment goes on, the snapshot not.

    Downstream tasks may be blocked by this one's barriers: they hear of it in band.
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
    barrier = aligner.barrier
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
    """The channel's end has counted already; its next barrier must not come before its time."""
    if aligner.all_arrived:
        return _end(aligner)
    if aligner.has_recorded or channel in aligner.blocked:
        return aligner, ()
    if aligner.barrier.mode == UNALIGNED or overtaking:
        return _turn_unaligned(aligner)
    blocked = replace(aligner, blocked=(*aligner.blocked, channel))
    return blocked, (Block(channel, aligner.barrier.cid),)


def _turn_unaligned(aligner: Aligner) -> Step:
    cid = aligner.barrier.cid
    switch = () if aligner.barrier.mode == UNALIGNED else (SwitchUnaligned(cid),)
    aligner, snapshot = _record_unaligned(aligner)
    return aligner, (*switch, *snapshot)


def _record_unaligned(aligner: Aligner) -> Step:
    """The state as it is; of what has not arrived, everything up to the barrier will be kept."""
    barrier = aligner.barrier
    if barrier.cid in aligner.aborted:
        return _give_up(aligner, ABORTED)
    still_open = tuple(channel for channel in aligner.inputs if channel not in aligner.arrived)
    closed = tuple(RecordChannel(channel, barrier.cid) for channel in aligner.arrived)
    snapshot = (Snapshot(barrier, unaligned=True, collecting=still_open), *closed)
    return replace(aligner, has_recorded=True), snapshot


def _end(aligner: Aligner) -> Step:
    """All barriers have come."""
    barrier = aligner.barrier
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
    return tuple(Unblock(channel, aligner.barrier.cid) for channel in aligner.blocked)


def _idle(aligner: Aligner) -> Aligner:
    aborted = frozenset(cid for cid in aligner.aborted if cid > aligner.latest)
    return replace(
        aligner, barrier=None, arrived=(), blocked=(), has_recorded=False, aborted=aborted
    )
