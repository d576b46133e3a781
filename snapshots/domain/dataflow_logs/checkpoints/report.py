"""The report of one checkpoint.

Instants and durations are in the recording's time unit; None is what the log does not say.
"""

from dataclasses import dataclass

from snapshots.domain.model.topology import ChannelId, ProcessId

COMPLETED, ABORTED, EXPIRED, DECLINED, SUBSUMED, PENDING = STATUSES = (
    "completed",
    "aborted",
    "expired",
    "declined",
    "subsumed",
    "pending",
)
TRIGGER, BUSY, TRAVEL, ALIGNMENT, SYNC, ASYNC, ACK, COMMIT = PHASES = (
    "trigger",
    "busy",
    "travel",
    "alignment",
    "sync",
    "async",
    "ack",
    "commit",
)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A channel from which a task took nothing while it waited for other barriers.

    Attributes:
        to: None where the log ends before the channel is open again.
        held_back: how many records were sent behind the barrier meanwhile, wherever on the channel
            they lay.
    """

    channel: ChannelId
    from_: int
    to: int | None
    held_back: int | None


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the critical path.

    Attributes:
        behind: how many records lay on the channel when the barrier was put behind them; None for
            a barrier that overtook them, and off channels.
        end: whether the end of the channel stood for the barrier.
        earlier: the checkpoint whose copy kept the process busy.
        is_inferred: whether the channel, and when its barrier was sent, is inferred from durations
            of tasks.
    """

    process: ProcessId
    channel: ChannelId | None
    phase: str
    from_: int
    to: int | None
    behind: int | None = None
    end: bool = False
    earlier: str | None = None
    is_inferred: bool = False

    @property
    def length(self) -> int:
        """Return the length of the segment, or 0 while it has no end."""
        return 0 if self.to is None else self.to - self.from_


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did for the checkpoint; None is what the log does not say.

    Attributes:
        first_barrier_at: when the first barrier was handled; ``last_barrier_at`` where ends of
            channels stood for all barriers; None at a source.
        last_barrier_at: when all barriers had come; None at a source.
        start_delay: the time from the trigger to the first barrier, at a source to its snapshot.
        alignment: the time from the first barrier to the last; None where the last has not come.
        overtaken: how many records its own barriers jumped over.
        in_flight: how many records were kept as the state of its inputs.
        held_up: its share of the critical path.
        busy_until: how long after the trigger it was still copying its state for ``busy_with``.
        busy_with: the earlier checkpoint that kept it busy.
    """

    process: ProcessId
    vertex: str
    mode: str | None = None
    first_barrier_at: int | None = None
    last_barrier_at: int | None = None
    start_delay: int | None = None
    alignment: int | None = None
    sync_from: int | None = None
    sync_to: int | None = None
    async_to: int | None = None
    acked_at: int | None = None
    notified_at: int | None = None
    committed_at: int | None = None
    bytes_new: int | None = None
    bytes_total: int | None = None
    blocked: tuple[Blocked, ...] = ()
    overtaken: int = 0
    in_flight: int = 0
    held_up: int = 0
    busy_until: int | None = None
    busy_with: str | None = None


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What became of one checkpoint, and how long each part of it took.

    Attributes:
        pipeline: the number of its coordinator, where there are several.
        kind: ``checkpoint``, ``savepoint`` or what else the log says.
        reason: why it did not complete.
        ended_at: when it completed or was given up.
        duration: the time from the trigger to ``ended_at``.
        tasks: the tasks, the one that held it up most first.
        critical_path: the chain that set the duration, in the order of time.
    """

    checkpoint: str
    pipeline: str | None
    kind: str | None
    mode: str | None
    status: str
    reason: str | None
    triggered_at: int | None
    completed_at: int | None
    ended_at: int | None
    duration: int | None
    bytes_new: int | None
    bytes_total: int | None
    tasks: tuple[TaskReport, ...]
    critical_path: tuple[Segment, ...]
    sentence: str
