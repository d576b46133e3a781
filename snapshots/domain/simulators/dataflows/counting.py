"""What the simulator of dataflows counts while it runs: the truth for whoever analyses the log."""

from collections import Counter
from dataclasses import dataclass, field

from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, Rid


@dataclass
class Failure:
    """One failure and its repair. re_read: records per split that were read again because of it.

    restarted_at, caught_up_at: None where the run ended before; caught_up_at: when each split in
    the scope had been read again as far as before.
    """

    at: int
    process: ProcessId | None
    scope: tuple[ProcessId, ...]
    snapshot: int | None = None
    restarted_at: int | None = None
    re_read: dict[str, int] = field(default_factory=dict)
    caught_up_at: int | None = None

    @property
    def time_to_catch_up(self) -> int | None:
        return None if self.caught_up_at is None else self.caught_up_at - self.at


@dataclass
class Counted:
    """Times in us. alignment: (task, checkpoint) -> from the first barrier handled
    (0 where ends stood for all) to the end of the alignment. blocked: channel -> its
    spans (checkpoint, from, to). channel_state: (channel, checkpoint) -> records kept of the input
    buffer, and of those overtaken at the sender. completed, aborted: checkpoints, with the reason.

    written: of each sink vertex every write; visible: what a reader sees at the end (of a two-phase
    sink what is committed; of an idempotent one the last value of each key, in ``tables``).
    duplicates: visible writes of a record beyond the first (an idempotent sink has none: those that
    it wrote over with the same are ``rewritten``). lost: records that should be visible and never
    were written, or were not committed. finished: the run ended because all was done.
    """

    alignment: dict[tuple[ProcessId, int], int] = field(default_factory=dict)
    blocked: dict[ChannelId, list[tuple[int, int, int]]] = field(default_factory=dict)
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
    states: dict[ProcessId, dict] = field(default_factory=dict)
    finished: bool = False


def surplus(records: list[Record]) -> int:
    """How many of them are of a rid that came before."""
    counts: Counter[Rid] = Counter(record.rid for record in records)
    return sum(counts.values()) - len(counts)
