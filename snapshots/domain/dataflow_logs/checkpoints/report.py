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
    """A channel from which a task took nothing while it waited for other barriers."""

    channel: ChannelId
    """The id of the channel."""
    from_: int
    """When the task blocked the channel, in the time unit of the recording."""
    to: int | None
    """When the channel was open again. None means that the log ends before."""
    held_back: int | None
    """How many records were sent behind the barrier meanwhile, wherever on the channel they lay.

    None means that the log does not say when the barrier was sent.
    """


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the critical path."""

    process: ProcessId
    """The task that the checkpoint waited for."""
    channel: ChannelId | None
    """The channel on which the barrier travelled. None in phases that are spent within a task."""
    phase: str
    """What the time was spent on: ``trigger``, ``busy``, ``travel``, ``alignment``, ``sync``,
    ``async``, ``ack`` or ``commit``.
    """
    from_: int
    """When the segment begins, in the time unit of the recording."""
    to: int | None
    """When the segment ends. None means that the log ends before."""
    behind: int | None = None
    """How many records lay on the channel when the barrier was put behind them.

    None for a barrier that overtook them, and where no channel is crossed.
    """
    end: bool = False
    """Whether the end of the channel stood for the barrier."""
    earlier: str | None = None
    """The checkpoint whose copy kept the task busy. None in all other phases."""
    is_inferred: bool = False
    """Whether the channel, and when its barrier was sent, is inferred from the durations of tasks.
    """

    @property
    def length(self) -> int:
        """Return the length of the segment, or 0 while it has no end."""
        return 0 if self.to is None else self.to - self.from_


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did for a checkpoint. None means that the log does not say."""

    process: ProcessId
    """The id of the task."""
    vertex: str
    """The vertex to which the task belongs."""
    mode: str | None = None
    """How the task recorded its state, such as ``aligned`` or ``unaligned``.

    None if the log does not say.
    """
    first_barrier_at: int | None = None
    """When the first barrier was handled; ``last_barrier_at`` if ends of channels stood for all
    barriers. None at a source.
    """
    last_barrier_at: int | None = None
    """When all barriers had come. None at a source."""
    start_delay: int | None = None
    """The time from the trigger to the first barrier, or at a source to its snapshot.

    None if the log does not say.
    """
    alignment: int | None = None
    """The time from the first barrier to the last. None if the last has not come."""
    sync_from: int | None = None
    """When the task began to copy its state. None if the log does not say."""
    sync_to: int | None = None
    """When the state had been copied. None if the log does not say."""
    async_to: int | None = None
    """When the copy had been uploaded. None if the log does not say."""
    acked_at: int | None = None
    """When the task acknowledged. None if it did not."""
    notified_at: int | None = None
    """When the task was notified that the checkpoint was complete. None if it was not."""
    committed_at: int | None = None
    """When the last transaction of this checkpoint was committed. None if there was none."""
    bytes_new: int | None = None
    """The bytes that were uploaded for this checkpoint. None if the log does not say."""
    bytes_total: int | None = None
    """The bytes of all files that the checkpoint needs of this task.

    None if the log does not say.
    """
    blocked: tuple[Blocked, ...] = ()
    """The times in which an input of the task was blocked."""
    overtaken: int = 0
    """How many records the barriers that the task sent have overtaken."""
    in_flight: int = 0
    """How many records were kept as the state of the task's inputs."""
    held_up: int = 0
    """The task's share of the critical path, in the time unit of the recording."""
    busy_until: int | None = None
    """When the task had copied its state for ``busy_with``.

    None if no earlier checkpoint kept it busy.
    """
    busy_with: str | None = None
    """The earlier checkpoint that kept the task busy. None if there was none."""


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What became of one checkpoint, and how long each part of it took."""

    checkpoint: str
    """The name of the checkpoint."""
    pipeline: str | None
    """The number of the checkpoint's coordinator. None if there is only one coordinator."""
    kind: str | None
    """``checkpoint``, ``savepoint`` or another kind that the log names. None if it names none."""
    mode: str | None
    """How the coordinator wanted the barriers handled, such as ``aligned`` or ``unaligned``.

    None if the log does not say.
    """
    status: str
    """``completed``, ``aborted``, ``expired``, ``declined``, ``subsumed`` or ``pending``."""
    reason: str | None
    """Why the checkpoint did not complete, in the words of the log.

    None if it completed or the log does not say.
    """
    triggered_at: int | None
    """When the coordinator triggered the checkpoint. None if the log does not say."""
    completed_at: int | None
    """When the checkpoint completed. None if it did not."""
    ended_at: int | None
    """When the checkpoint completed or was given up.

    None if it was still under way when the log ends.
    """
    duration: int | None
    """The time from the trigger to ``ended_at``. None if either is not known."""
    bytes_new: int | None
    """The bytes that all tasks uploaded for this checkpoint. None if the log does not say."""
    bytes_total: int | None
    """The bytes of all files that the checkpoint needs. None if the log does not say."""
    tasks: tuple[TaskReport, ...]
    """What each task did; the task that held the checkpoint up most comes first."""
    critical_path: tuple[Segment, ...]
    """The chain of segments that set the duration, in the order of time."""
    sentence: str
    """A summary in one or two sentences."""
