"""What the checkpoints of a run cost: how fast it was, what waited, and what had to be stored.

All of it comes from the log. Times are in us; None is what the log does not tell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median, quantiles

from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.checkpoints.report import COMPLETED, CheckpointReport
from snapshots.domain.dataflow_logs.events import fields_of
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.dataflow_logs.failovers.rids import rid_of
from snapshots.domain.dataflow_logs.kinds import READ, WRITE
from snapshots.domain.model.recording import Event, Recording


@dataclass(frozen=True, slots=True)
class Written:
    """A record that reached a sink.

    Attributes:
        at: when it was written.
        latency: the time since a source read the record that it was made of, for the last time. A
            result of a window is made of many records: None.
    """

    at: int
    latency: int | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A completed checkpoint.

    Attributes:
        at: when it was complete.
        duration: the time since its trigger.
        bytes: the bytes of state that were uploaded for it.
        in_flight: how many records were stored as the state of channels.
    """

    at: int
    duration: int | None
    bytes: int | None
    in_flight: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run did and what its checkpoints cost.

    Attributes:
        written: the records that reached sinks, in order.
        blocked: the times in which channels were blocked, as (from, to).
        stored: the completed checkpoints, in order.
        failed_at: when tasks failed.
        duplicates: how many records the sinks show twice.
        counted_twice: how many records entered a state twice because of failures.
    """

    written: tuple[Written, ...]
    blocked: tuple[tuple[int, int], ...]
    stored: tuple[Stored, ...]
    failed_at: tuple[int, ...]
    duplicates: int
    counted_twice: int

    @property
    def ended_at(self) -> int | None:
        """When the last record reached a sink."""
        return self.written[-1].at if self.written else None

    @property
    def per_second(self) -> float | None:
        """How many records reached the sinks in a second, on average up to the last one."""
        return len(self.written) * 1_000_000 / self.ended_at if self.ended_at else None

    @property
    def latencies(self) -> list[int]:
        """The latencies that are known."""
        return [item.latency for item in self.written if item.latency is not None]

    @property
    def middle_latency(self) -> float | None:
        """The latency that half of the records do not exceed."""
        return median(self.latencies) if self.latencies else None

    @property
    def high_latency(self) -> float | None:
        """The latency that 95 of 100 records do not exceed; None for fewer than 20 records."""
        return quantiles(self.latencies, n=20)[-1] if len(self.latencies) >= 20 else None

    @property
    def blocked_time(self) -> int:
        """How long channels were blocked, added up over the channels."""
        return sum(to - from_ for from_, to in self.blocked)


def cost_of(recording: Recording) -> Cost:
    """Return what the checkpoints of a run with a dataflow cost."""
    events = sorted((e for own in recording.events.values() for e in own), key=lambda e: e.step)
    reports = checkpoints(recording)
    found = all_failovers(recording)
    end = events[-1].at if events else 0
    return Cost(
        written=tuple(_written(events)),
        blocked=tuple(
            (item.from_, end if item.to is None else item.to)
            for report in reports
            for task in report.tasks
            for item in task.blocked
        ),
        stored=tuple(sorted(_stored(reports), key=lambda item: item.at)),
        failed_at=tuple(report.at for report in found.reports),
        duplicates=sum(total.effect.duplicates for total in found.sinks),
        counted_twice=sum(report.counted_twice or 0 for report in found.reports),
    )


@dataclass(frozen=True, slots=True)
class Series:
    """A cost over time, in spans of the same length.

    Attributes:
        at: the middle of each span.
        per_second: how many records a second reached the sinks.
        latency: the latency that half of these records do not exceed.
        blocked: how many channels were blocked, on average.
    """

    at: tuple[float, ...]
    per_second: tuple[float, ...]
    latency: tuple[float | None, ...]
    blocked: tuple[float, ...]


def series_of(cost: Cost, width: int, count: int) -> Series:
    """Return the cost in ``count`` spans of ``width`` us."""
    by_span = {
        span: list(items)
        for span, items in groupby(cost.written, key=lambda item: min(item.at // width, count - 1))
    }
    spans = [by_span.get(span, []) for span in range(count)]
    return Series(
        at=tuple((span + 0.5) * width for span in range(count)),
        per_second=tuple(len(items) * 1_000_000 / width for items in spans),
        latency=tuple(map(_middle, spans)),
        blocked=tuple(_overlap(cost, span * width, width) / width for span in range(count)),
    )


def _middle(items: Sequence[Written]) -> float | None:
    known = [item.latency for item in items if item.latency is not None]
    return median(known) if known else None


def _overlap(cost: Cost, begin: int, width: int) -> int:
    """Return how long channels were blocked within a span."""
    end = begin + width
    return sum(max(0, min(to, end) - max(from_, begin)) for from_, to in cost.blocked)


def _written(events: Sequence[Event]) -> Iterator[Written]:
    read_at: dict[tuple[object, object], int] = {}
    for event in events:
        if event.kind not in (READ, WRITE):
            continue
        rid = rid_of(fields_of(event.extra))
        if rid is None:
            if event.kind == WRITE:
                yield Written(event.at, None)
        elif event.kind == READ:
            read_at[rid[0], rid[1]] = event.at
        else:
            begun = read_at.get((rid[0], rid[1]))
            yield Written(event.at, None if begun is None else event.at - begun)


def _stored(reports: Sequence[CheckpointReport]) -> Iterator[Stored]:
    for report in reports:
        if report.status == COMPLETED and report.completed_at is not None:
            in_flight = sum(task.in_flight for task in report.tasks)
            yield Stored(report.completed_at, report.duration, report.bytes_new, in_flight)
