"""What is told of one checkpoint. Instants and durations are in the recording's time unit; None is
what the log does not say."""

from dataclasses import asdict, dataclass

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
    """A channel from which nothing was taken. to: None where the log ends before. held_back: the
    records that were sent behind the barrier meanwhile, wherever on the channel they lay."""

    channel: ChannelId
    from_: int
    to: int | None
    held_back: int | None

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return _with_from(self)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the critical path. behind: the records that lay on the channel when the barrier was
    put behind them; None for one that overtook them, and off channels. end: the channel's end stood
    for the barrier. earlier: the checkpoint whose copy kept the process busy. is_inferred: which
    channel it was, and when its barrier was sent, is inferred from durations of tasks."""

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

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return _with_from(self)


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did for the checkpoint.

    first_barrier_at: the first that was handled (where ends stood for all, as last_barrier_at);
    last_barrier_at: when all had come; both None at a source. start_delay: from the trigger to the
    first barrier, at a source to its snapshot. alignment: None where the last barrier has not come.
    overtaken: records that its own barriers jumped over. in_flight: records kept as the state of
    its inputs. held_up: its share of the critical path. busy_until: how long after the trigger it
    was still copying its state for the checkpoint ``busy_with``, where that is told.
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

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self) | {"blocked": [item.to_json() for item in self.blocked]}


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """pipeline: the number of its coordinator, where there are several. kind: ``checkpoint``,
    ``savepoint`` or what else the log says. reason: why it did not complete. ended_at: when it
    completed or was given up; duration: until then. tasks: who held it up most first."""

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

    def summary(self) -> dict[str, object]:
        """The JSON without ``tasks``."""
        own = {name: getattr(self, name) for name in self.__slots__ if name != "tasks"}
        return own | {"critical_path": [segment.to_json() for segment in self.critical_path]}

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return self.summary() | {"tasks": [task.to_json() for task in self.tasks]}


def _with_from(item: Blocked | Segment) -> dict[str, object]:
    found = asdict(item)
    return {name.rstrip("_"): value for name, value in found.items()}
