"""What a simulator counts while it runs: the truth to which analyses of the log are compared."""

from collections import Counter
from dataclasses import dataclass, field

from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, Rid, State


@dataclass
class Failure:
    """One failure and its repair.

    ``watermarks`` are those of the tasks in the scope when it happened, as numbers, ``regained``
    the times at which they had them again. ``fired_again`` counts the results of windows that were
    sent once more.

    ``re_read`` counts for each split the records that were read again because of it. At
    ``caught_up_at`` each split in the scope had been read again as far as before. This and
    ``restarted_at`` are None if the run ended before.
    """

    at: int
    process: ProcessId | None
    scope: tuple[ProcessId, ...]
    snapshot: int | None = None
    restarted_at: int | None = None
    re_read: dict[str, int] = field(default_factory=dict)
    caught_up_at: int | None = None
    watermarks: dict[ProcessId, int] = field(default_factory=dict)
    regained: dict[ProcessId, int] = field(default_factory=dict)
    fired_again: int = 0

    @property
    def time_to_catch_up(self) -> int | None:
        """The time from the failure until its sources had caught up, in us."""
        return None if self.caught_up_at is None else self.caught_up_at - self.at


@dataclass
class SchemaStop:
    """A reader that stood still for a change of the schema; ``until`` None means to the end."""

    process: ProcessId
    at: int
    until: int | None = None


@dataclass
class Counted:
    """Counts of a run; times are in us.

    alignment: for each (task, checkpoint), the time from the first barrier handled to the end of
        the alignment; 0 if ends of channels stood for all barriers.
    blocked: for each channel, its spans as (checkpoint, from, to).
    buffered: for each (channel, checkpoint), how many records a task took into its own buffer while
        it aligned.
    channel_state: for each (channel, checkpoint), how many records were kept of the input buffer,
        and how many of those overtaken at the sender.
    completed, aborted: checkpoints; the aborted ones with the reason.
    written: for each sink vertex, every write.
    visible: for each sink vertex, what a reader sees at the end. A two-phase sink shows what is
        committed.
    tables: for each sink vertex, the last value of each key.
    duplicates: visible writes of a record beyond the first. An idempotent sink has none.
    rewritten: repeated writes of an idempotent sink, which replace the same record.
    lost: records that should be visible and are not.
    skipped: for each vertex, how many records its tasks skipped because they had taken them before.
    skipped_differing: how many of these had another value than the one that was taken.
    taken_twice: for each vertex, how many records entered the states of its tasks once more.
    fired: the results of windows as (vertex, rid), each time that a window fired.
    late: for each task, how many records it dropped because their windows were over.
    schema_stops: the times in which readers stood still for changes of the schema.
    schema_applied: how often each writer changed its table to each schema.
    finished: whether the run ended because all was done.
    """

    alignment: dict[tuple[ProcessId, int], int] = field(default_factory=dict)
    blocked: dict[ChannelId, list[tuple[int, int, int]]] = field(default_factory=dict)
    buffered: dict[tuple[ChannelId, int], int] = field(default_factory=dict)
    channel_state: dict[tuple[ChannelId, int], tuple[int, int]] = field(default_factory=dict)
    completed: list[int] = field(default_factory=list)
    aborted: dict[int, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    written: dict[str, list[Record]] = field(default_factory=dict)
    visible: dict[str, list[Record]] = field(default_factory=dict)
    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    rewritten: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_differing: Counter[str] = field(default_factory=Counter)
    taken_twice: Counter[str] = field(default_factory=Counter)
    states: dict[ProcessId, State] = field(default_factory=dict)
    fired: list[tuple[str, Rid]] = field(default_factory=list)
    late: Counter[ProcessId] = field(default_factory=Counter)
    schema_stops: list[SchemaStop] = field(default_factory=list)
    schema_applied: Counter[tuple[ProcessId, int]] = field(default_factory=Counter)
    finished: bool = False


def surplus(records: list[Record]) -> int:
    """Count the records whose rid came before."""
    counts: Counter[Rid] = Counter(record.rid for record in records)
    return sum(counts.values()) - len(counts)
