"""Describes a failure with its repair, and what failures did at the sinks.

A rid is a list ``[split, offset, derived]``. Counts are complete; examples are the first
MOST_EXAMPLES. Source of the table of effects: docs/formats/protocols.md, "5. Failover".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from snapshots.domain.dataflow_logs.event_time import EventTimeReport
from snapshots.domain.dataflow_logs.starts import StartReport
from snapshots.domain.model.as_json import JsonName, json_property, members_as_json
from snapshots.domain.model.topology import ProcessId

MOST_EXAMPLES = 20
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
FULL, PIPELINE, REGION, SOME = "full", "pipeline", "region", "some"
UPSTREAM = "upstream"

Rid = list[object]


@dataclass(frozen=True, slots=True)
class ReRead:
    """The records that one split reads again: those from ``from`` to ``to`` that it had read.

    Attributes:
        split: the name of the split.
        from_: the offset to which the split goes back.
        to: the last offset that the split had read before.
        records: how many records are read again.
        caught_up_at: when the split has read offset ``to`` again. None means that the log ends
            before.
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
    """What happened at a sink because of one failure, or, in a total, because of all failures.

    Attributes:
        sink: the vertex of the sink.
        kind: ``plain``, ``idempotent`` or ``two-phase``. None if it is not known.
        committed_by: who commits what the writers of a two-phase sink have pre-committed:
            ``committer`` for a process of its own, or ``writer`` for each writer itself. None if
            the log holds no commit of the sink.
        repeated: how many writes were of records that had been written before, seen or not.
        duplicates: how many repeated writes a reader sees beside the first; 0 at an idempotent
            sink.
        rewritten: how many writes of an idempotent sink went over the same key.
        rewound: how many of these replaced the value of a newer record for a while.
        differing: how many repeated writes have another value than the first, because the state
            counted something twice or the order differed.
        committed_again: how many commits were of transactions that were committed already, which
            changes nothing.
        recovered: how many transactions the restart committed, out of the restored checkpoint,
            because nothing had committed them before.
        aborted: how many transactions were given up.
        forgotten: how many of these had been pre-committed for a checkpoint that had completed.
        lost: how many records nobody will ever see.
        skipped: how many records the sink skipped when they came again, because it had gone on.
        skipped_differing: how many of these had another value than the one that it had taken.
        examples: the first records of each of these kinds, each as ``[split, offset, derived]``.
        sentence: a summary in words.
    """

    sink: str
    kind: str | None
    committed_by: str | None = None
    repeated: int = 0
    duplicates: int = 0
    rewritten: int = 0
    rewound: int = 0
    differing: int = 0
    committed_again: int = 0
    recovered: int = 0
    aborted: int = 0
    forgotten: int = 0
    lost: int = 0
    skipped: int = 0
    skipped_differing: int = 0
    examples: dict[str, tuple[Rid, ...]] = field(default_factory=dict)
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class SinkTotal:
    """What all failures did at a sink, and how its writes and transactions ended.

    In JSON the members of ``effect`` stand beside the others.

    Attributes:
        effect: what all failures did at the sink.
        written: how many writes there were.
        visible: how many records a reader sees at the end; at an idempotent sink also those that it
            saw until the same key was written again.
        pending: how many records are neither visible nor lost when the log ends.
        committed: how many transactions were committed.
        timed_out: how many transactions timed out.
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
    """Records that a restart threw out of the inputs of a vertex and that never came again.

    Attributes:
        vertex: the vertex whose inputs lost the records.
        records: how many records there are.
        examples: the first records, each as ``[split, offset, derived]``.
    """

    vertex: str
    records: int
    examples: tuple[Rid, ...] = ()


@dataclass(frozen=True, slots=True)
class FailoverReport:
    """A failure, and how the dataflow came back from it.

    Attributes:
        process: the process that failed. None means that the job failed as a whole.
        at: when the failure happened, in the time unit of the recording.
        cause: why it failed, in the words of the log. None if the log does not say.
        attempt: the number of the attempt that failed. None if the log does not say.
        strategy: what the scope amounts to: ``full`` for all tasks, ``pipeline``, ``region``,
            ``upstream`` for the failed vertex and all before it, or ``some`` for any other set of
            tasks.
        scope: the ids of the tasks that went down.
        tasks_restarted: how many of these tasks came back.
        went_on: how many tasks went on meanwhile with the state that they had, without those that
            had read all their input or were down. None in a derived recording, and in
            micro-batches, where all tasks wait for the one that runs again.
        restored: the checkpoint that was restored. None if there was none.
        guarantee: what the restored checkpoint guarantees of the state: ``exactly-once`` or
            ``at-least-once``. An epoch of continuous mode has no state, and guarantees delivery at
            least once. None if the log does not say.
        restarted_at: when the first task came back. None if no task did.
        lost_progress: the time since the trigger of the restored checkpoint, or since the beginning
            of the recording. None if no task came back or the log does not say.
        discarded: how many records were thrown out of the channels. None in a derived recording,
            which holds no records.
        counted_twice: how many records are read again although their effect is in the restored
            state, or which an operator that went on took once more. None in a derived recording.
        re_read: what each split reads again. None in a derived recording.
        caught_up_at: when all sources were where they had been. None means that the log ends
            before, or that the recording is derived.
        sinks: what the failure did at each sink. None in a derived recording.
        sentence: a summary in two or three sentences.
        skipped: how many records came again to tasks that went on, and were skipped by their ids.
            None in a derived recording.
        skipped_differing: how many of these had another value than the one that was taken. None in
            a derived recording.
        unrepeatable: the sources in the scope that cannot give the same records again, as the log
            says.
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
    discarded: int | None
    counted_twice: int | None
    re_read: tuple[ReRead, ...] | None
    caught_up_at: int | None
    sinks: tuple[SinkEffect, ...] | None
    sentence: str
    went_on: int | None = None
    skipped: int | None = None
    skipped_differing: int | None = None
    unrepeatable: tuple[str, ...] = ()

    @json_property
    def records_re_read(self) -> int | None:
        """The number of records that were read again over all splits, or None if not known."""
        if self.re_read is None:
            return None
        return sum(item.records for item in self.re_read)

    @json_property
    def time_to_catch_up(self) -> int | None:
        """The time from the failure to ``caught_up_at``, or None if the job did not catch up."""
        return None if self.caught_up_at is None else self.caught_up_at - self.at


@dataclass(frozen=True, slots=True)
class Failovers:
    """All failures of a recording.

    Attributes:
        reports: the failures, in their order.
        sinks: what all failures together did at each sink.
        dropped: the records that were thrown out of channels and never came again, by vertex.
        event_time: watermarks, windows and late records. None if the log holds no watermark.
        start: how the run started from a checkpoint of an earlier run. None if it did not.
    """

    reports: Annotated[tuple[FailoverReport, ...], JsonName("items")]
    sinks: tuple[SinkTotal, ...]
    dropped: tuple[Dropped, ...]
    event_time: EventTimeReport | None = None
    start: StartReport | None = None

    @json_property
    def total(self) -> int:
        """The number of failures."""
        return len(self.reports)


def compare(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Return a row for each report of the same failure under another strategy.

    The reports are FailoverReports as JSON, which is how they are stored.
    """
    return [
        {name: report[name] for name in _COMPARED}
        | {name: _sum_of(report["sinks"], name) for name in _SUMMED}
        for report in reports
    ]


def _sum_of(sinks: Iterable[Mapping[str, int]] | None, name: str) -> int | None:
    """Add up a number of all sinks; None if it is not known what happened there."""
    return None if sinks is None else sum(sink[name] for sink in sinks)


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
