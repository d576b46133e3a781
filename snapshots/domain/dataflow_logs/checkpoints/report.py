"""The report of one checkpoint.

Instants and durations are in the recording's time unit; None is what the log does not say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapshots import quantities
from snapshots.domain.dataflow_logs.schema_changes import SchemaChange
from snapshots.domain.model.topology import ChannelId, ProcessId

COMPLETED, ABORTED, EXPIRED, DECLINED, SUBSUMED, PENDING = STATUSES = (
    "completed",
    "aborted",
    "expired",
    "declined",
    "subsumed",
    "pending",
)
TRIGGER, BUSY, TRAVEL, ALIGNMENT, SYNC, ASYNC, REST, ACK, COMMIT = (
    "trigger",
    "busy",
    "travel",
    "alignment",
    "sync",
    "async",
    "rest",
    "ack",
    "commit",
)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A channel from which a task took nothing while it waited for other barriers.

    Attributes:
        channel: the id of the channel.
        from_: when the task blocked the channel, in the time unit of the recording.
        to: when the channel was open again. None means that the log ends before.
        held_back: how many records were sent behind the barrier meanwhile, wherever on the channel
            they lay. None means that the log does not say when the barrier was sent.
        buffered: how many of these records the task took into a buffer of its own, and processed
            before all others when the channel was open again. None if it leaves them in the
            channel, or if the log does not say.
    """

    channel: ChannelId
    from_: int
    to: int | None
    held_back: int | None
    buffered: int | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the critical path.

    Attributes:
        process: the task that the checkpoint waited for.
        channel: the channel on which the barrier travelled. None in phases that are spent within a
            task.
        phase: what the time was spent on: ``trigger``, ``busy``, ``travel``, ``alignment``,
            ``sync``, ``async``, ``rest``, ``ack`` or ``commit``. The ``rest`` of a task lies
            between the end of its upload or alignment and its acknowledgement.
        from_: when the segment begins, in the time unit of the recording.
        to: when the segment ends. None means that the log ends before.
        behind: how many records lay on the channel when the barrier was put behind them. None for a
            barrier that overtook them, and where no channel is crossed.
        end: whether the end of the channel stood for the barrier.
        earlier: the checkpoint whose copy kept the task busy. None in all other phases.
        is_inferred: whether the channel, and when its barrier was sent, is inferred from the
            durations of tasks.
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
    """What one task did for a checkpoint. None means that the log does not say.

    Attributes:
        process: the id of the task.
        vertex: the vertex to which the task belongs.
        mode: how the task recorded its state, such as ``aligned`` or ``unaligned``. None if the log
            does not say.
        first_barrier_at: when the first barrier was handled; ``last_barrier_at`` if ends of
            channels stood for all barriers. None at a source.
        last_barrier_at: when all barriers had come. None at a source.
        start_delay: the time from the trigger to the first barrier, or at a source to its snapshot.
            None if the log does not say.
        alignment: the time from the first barrier to the last. None if the last has not come.
        sync_from: when the task began to copy its state. None if the log does not say.
        sync_to: when the state had been copied. None if the log does not say.
        async_to: when the copy had been uploaded. None if the log does not say.
        acked_at: when the task acknowledged. None if it did not.
        notified_at: when the task was notified that the checkpoint was complete. None if it was
            not.
        committed_at: when the last transaction of this checkpoint was committed. None if there was
            none.
        bytes_new: the bytes that were uploaded for this checkpoint. None if the log does not say.
        bytes_total: the bytes of all files that the checkpoint needs of this task. None if the log
            does not say.
        blocked: the times in which an input of the task was blocked.
        overtaken: how many records the barriers that the task sent have overtaken.
        in_flight: how many records were kept as the state of the task's inputs.
        held_up: the task's share of the critical path, in the time unit of the recording.
        busy_until: when the task had copied its state for ``busy_with``. None if no earlier
            checkpoint kept it busy.
        busy_with: the earlier checkpoint that kept the task busy. None if there was none.
        watermark: where the watermark of the task stood when it recorded its state, in
            microseconds. None if it had none, if ``has_ended``, or if the log has no watermarks.
        has_ended: whether the watermark was the end of time then.
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
    watermark: int | None = None
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class SchemaPoint:
    """The change of the schema that a checkpoint comes before or after.

    Attributes:
        is_before: whether the checkpoint comes before the change.
        change: the change, and what the log holds of it.
        put_off: how many requests for other checkpoints were put off meanwhile.
        sentence: a summary in words.
    """

    is_before: bool
    change: SchemaChange
    put_off: int
    sentence: str


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What became of one checkpoint, and how long each part of it took.

    Attributes:
        checkpoint: the name of the checkpoint.
        pipeline: the number of the checkpoint's coordinator. None if there is only one coordinator.
        kind: ``checkpoint``, ``savepoint`` or another kind that the log names. None if it names
            none.
        mode: how the coordinator wanted the barriers handled, such as ``aligned`` or ``unaligned``.
            None if the log does not say.
        schema_point: the change of the schema that the checkpoint comes before or after. None for
            other kinds, and if the log does not show the change.
        why_no_mode: why the mode is not known, as a sentence. None if it is known, or if the log
            does not say why.
        status: ``completed``, ``aborted``, ``expired``, ``declined``, ``subsumed`` or ``pending``.
        reason: why the checkpoint did not complete, in the words of the log. None if it completed
            or the log does not say.
        triggered_at: when the coordinator triggered the checkpoint. None if the log does not say.
        completed_at: when the checkpoint completed. None if it did not.
        ended_at: when the checkpoint completed or was given up. None if it was still under way when
            the log ends.
        duration: the time from the trigger to ``ended_at``. None if either is not known.
        bytes_new: the bytes that all tasks uploaded for this checkpoint. None if the log does not
            say.
        bytes_total: the bytes of all files that the checkpoint needs. None if the log does not say.
        tasks: what each task did; the task that held the checkpoint up most comes first.
        critical_path: the chain of segments that set the duration, in the order of time.
        sentence: a summary in one or two sentences.
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
    why_no_mode: str | None = None
    schema_point: SchemaPoint | None = None


def takes_no_barrier(task: Mapping[str, Any]) -> bool:
    """Tell whether a task of a report recorded without a barrier, as a source does."""
    return task["first_barrier_at"] is None and task["sync_from"] is not None


def alignment_words(alignment: int | None, unit: str, *, takes_barriers: bool) -> str:
    """Return how long a task aligned its barriers; a task that takes no barriers has none."""
    if alignment is not None:
        return quantities.duration(alignment, unit)
    return "not known" if takes_barriers else "none"
