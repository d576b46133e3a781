"""Describes a failure with its repair, and what failures did at the sinks.

A rid is a list ``[split, offset, derived]``. Counts are complete; examples are the first
MOST_EXAMPLES. Source of the table of effects: docs/formats/protocols.md, "5. Failover".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from snapshots.domain.model.as_json import JsonName, json_property, members_as_json
from snapshots.domain.model.topology import ProcessId

MOST_EXAMPLES = 20
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
FULL, PIPELINE, REGION, SOME = "full", "pipeline", "region", "some"

Rid = list[object]


@dataclass(frozen=True, slots=True)
class ReRead:
    """The records that one split reads again: those from ``from`` to ``to`` that it had read.

    Attributes:
        from_: the offset to which the split goes back.
        caught_up_at: when it has read offset ``to`` again; None where the log ends before.
        examples: the first records, each as ``[split, offset, derived]``.
    """

    split: str
    from_: int
    to: int
    records: int
    caught_up_at: int | None
    examples: tuple[Rid, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkEffect:
    """What happened at a sink because of one failure, or, in a total, because of all.

    Attributes:
        repeated: writes of records that had been written before, seen or not.
        duplicates: repeated writes that a reader sees beside the first; none at an idempotent sink.
        rewritten: writes of an idempotent sink over the same key.
        rewound: those of them that replace the value of a newer record for a while.
        differing: repeated writes with another value than the first: the state counted something
            twice, or the order differed.
        committed_again: commits of transactions that were committed already, which changes nothing.
        aborted: transactions that were given up.
        lost: records that nobody will see any more.
        examples: for each of these words the first records, as ``[split, offset, derived]``.
    """

    sink: str
    kind: str | None
    repeated: int = 0
    duplicates: int = 0
    rewritten: int = 0
    rewound: int = 0
    differing: int = 0
    committed_again: int = 0
    aborted: int = 0
    lost: int = 0
    examples: dict[str, tuple[Rid, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SinkTotal:
    """What all failures did at a sink, and how its writes and transactions ended.

    In JSON the members of ``effect`` stand beside the others.

    Attributes:
        written: all writes.
        visible: records that a reader sees at the end; at an idempotent sink also those that it saw
            until the same key was written again.
        pending: records that are neither visible nor lost when the log ends.
        committed: transactions that were committed.
        timed_out: transactions that timed out.
    """

    effect: SinkEffect
    written: int = 0
    visible: int = 0
    pending: int = 0
    committed: int = 0
    timed_out: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values, with the members of its effect beside its own."""
        return members_as_json(self.effect) | members_as_json(self, without=("effect",))


@dataclass(frozen=True, slots=True)
class Dropped:
    """Records that a restart threw out of the inputs of a vertex and that never came again."""

    vertex: str
    records: int
    examples: tuple[Rid, ...] = ()


@dataclass(frozen=True, slots=True)
class FailoverReport:
    """A failure, and how the dataflow came back from it.

    Attributes:
        process: the process that failed; None where the job failed as a whole.
        attempt: the attempt that failed.
        strategy: what the scope amounts to: all tasks, a pipeline, a region.
        restored: the checkpoint that was restored; None where there was none.
        guarantee: what the restored checkpoint guarantees.
        lost_progress: the time since the trigger of that checkpoint, or since the beginning.
        discarded: how many records were thrown out of the channels.
        counted_twice: how many records are read again although their effect is in the restored
            state.
    """

    process: ProcessId | None
    at: int
    cause: str | None
    attempt: int | None
    strategy: str
    scope: tuple[ProcessId, ...]
    tasks_restarted: int
    restored: str | None
    guarantee: str | None
    restarted_at: int | None
    lost_progress: int | None
    discarded: int
    counted_twice: int
    re_read: tuple[ReRead, ...]
    caught_up_at: int | None
    sinks: tuple[SinkEffect, ...]
    sentence: str

    @json_property
    def records_re_read(self) -> int:
        """Return how many records were read again over all splits."""
        return sum(item.records for item in self.re_read)

    @json_property
    def time_to_catch_up(self) -> int | None:
        """Return how long the job took to catch up, or None if it did not."""
        return None if self.caught_up_at is None else self.caught_up_at - self.at


@dataclass(frozen=True, slots=True)
class Failovers:
    """All failures of a recording.

    Attributes:
        reports: the failures.
        sinks: what all failures did together.
        dropped: records that were thrown out of channels and never came again.
    """

    reports: Annotated[tuple[FailoverReport, ...], JsonName("items")]
    sinks: tuple[SinkTotal, ...]
    dropped: tuple[Dropped, ...]

    @json_property
    def total(self) -> int:
        """How many reports there are."""
        return len(self.reports)


def compare(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Return a row for each report of the same failure under another strategy.

    The reports are FailoverReports as JSON, which is how they are stored.
    """
    return [
        {name: report[name] for name in _COMPARED}
        | {name: sum(sink[name] for sink in report["sinks"]) for name in _SUMMED}
        for report in reports
    ]


_COMPARED = (
    "sentence",
    "strategy",
    "process",
    "at",
    "restored",
    "tasks_restarted",
    "records_re_read",
    "counted_twice",
    "time_to_catch_up",
)
_SUMMED = ("repeated", "duplicates", "rewritten", "lost")
