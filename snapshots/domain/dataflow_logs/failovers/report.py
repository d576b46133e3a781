"""Describes a failure with its repair, and what failures did at the sinks.

A rid is a list ``[split, offset, derived]``. Counts are complete; examples are the first
MOST_EXAMPLES. Source of the table of effects: docs/formats/protocols.md, "5. Failover".
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from snapshots.domain.model.topology import ProcessId

MOST_EXAMPLES = 20
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
FULL, PIPELINE, REGION, SOME = "full", "pipeline", "region", "some"

Rid = list[object]


@dataclass(frozen=True, slots=True)
class ReRead:
    """What one split reads again: records whose offset is in from .. to and that had been read.

    caught_up_at: when it has read offset ``to`` again; None where the log ends before.
    """

    split: str
    from_: int
    to: int
    records: int
    caught_up_at: int | None
    examples: tuple[Rid, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return {name.rstrip("_"): value for name, value in asdict(self).items()} | {
            "examples": list(self.examples)
        }


@dataclass(frozen=True, slots=True)
class SinkEffect:
    """What happened at a sink because of one failure, or, in a total, because of all.

    repeated: writes of records that had been written before, seen or not. duplicates: those that a
    reader sees beside the first (an idempotent sink has none). rewritten: those that an idempotent
    sink writes over the same key; rewound: those of them that replace the value of a newer record
    for a while. differing: repeated writes with another value than the first: the state counted
    something twice, or the order differed. committed_again: commits of transactions that were
    committed already, which changes nothing. aborted: transactions given up. lost: records that
    nobody will see any more.
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

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        own = {name: getattr(self, name) for name in SinkEffect.__slots__}
        return own | {"examples": {name: list(rids) for name, rids in self.examples.items()}}


@dataclass(frozen=True, slots=True)
class SinkTotal:
    """written: all writes; visible: those that a reader sees at the end, or, of an idempotent sink,
    saw until the same key was written again; pending: records that are neither visible nor lost
    when the log ends; committed, timed_out: transactions."""

    effect: SinkEffect
    written: int = 0
    visible: int = 0
    pending: int = 0
    committed: int = 0
    timed_out: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        own = {name: getattr(self, name) for name in self.__slots__ if name != "effect"}
        return self.effect.to_json() | own


@dataclass(frozen=True, slots=True)
class Dropped:
    """Records that a restart threw out of the inputs of a vertex and that never came again."""

    vertex: str
    records: int
    examples: tuple[Rid, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self) | {"examples": list(self.examples)}


@dataclass(frozen=True, slots=True)
class FailoverReport:
    """process: None where the job failed as a whole. attempt: the one that failed. strategy: what
    the scope amounts to: all tasks, a pipeline, a region. restored: the checkpoint; None where
    there was none. lost_progress: since its trigger, or since the beginning. guarantee: its own.
    discarded: records thrown out of the channels. counted_twice: records whose effect is in the
    restored state and that are read again all the same.
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

    @property
    def records_re_read(self) -> int:
        """Return how many records were read again over all splits."""
        return sum(item.records for item in self.re_read)

    @property
    def time_to_catch_up(self) -> int | None:
        """Return how long the job took to catch up, or None if it did not."""
        return None if self.caught_up_at is None else self.caught_up_at - self.at

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return own | {
            "scope": list(self.scope),
            "re_read": [item.to_json() for item in self.re_read],
            "sinks": [item.to_json() for item in self.sinks],
            "records_re_read": self.records_re_read,
            "time_to_catch_up": self.time_to_catch_up,
        }


@dataclass(frozen=True, slots=True)
class Failovers:
    """All failures of a recording, and what they did in all."""

    reports: tuple[FailoverReport, ...]
    sinks: tuple[SinkTotal, ...]
    dropped: tuple[Dropped, ...]

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return {
            "items": [report.to_json() for report in self.reports],
            "sinks": [total.to_json() for total in self.sinks],
            "dropped": [item.to_json() for item in self.dropped],
            "total": len(self.reports),
        }


def compare(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """The same failure under different strategies, a row for each. reports: FailoverReport as JSON,
    which is how they are stored."""
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
