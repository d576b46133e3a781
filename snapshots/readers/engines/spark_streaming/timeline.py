"""The batches of a checkpoint with their times, watermarks and offset ranges.

``offsets/b`` says that batch b was planned, ``commits/b`` that it is complete. The range of a
source in b goes from its offset in b - 1 to its offset in b.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.logs.commits import CommittedBatch
from snapshots.readers.engines.spark_streaming.logs.offsets import (
    FILE,
    UNKNOWN,
    PlannedBatch,
    kind_of,
    span,
)
from snapshots.readers.engines.spark_streaming.logs.sources import SeenFile, SourceLog
from snapshots.readers.engines.spark_streaming.progress import Progress

NO_LOGS = "The upload holds neither offsets/ nor commits/ of the query, only its state."


@dataclass(frozen=True)
class SourceRange:
    """What a batch read from one source: what follows ``start``, up to and including ``end``.

    Attributes:
        start_known: false if the file of the batch before is missing.
        files: the names of the input files; None for other sources, or if the log lacks the range.
        rows: the number of rows in these files; None if they cannot be counted.
        offset_span: the number of offsets, see ``offsets.span``.
    """

    source: str
    start: Json
    end: Json
    start_known: bool
    files: tuple[str, ...] | None = None
    rows: int | None = None
    offset_span: int | None = None

    @property
    def is_empty(self) -> bool | None:
        """Tell whether the range holds nothing; None if its start is unknown."""
        return self.start == self.end if self.start_known else None


@dataclass(frozen=True)
class Batch:
    """One batch, or one epoch in continuous mode.

    Times and watermarks are epoch milliseconds, None if they are unknown.

    Attributes:
        committed: none if its commit file is damaged.
        watermark_ms: state older than this is evicted.
        late_before_ms: rows older than this are dropped.
        sources: none if its offset file is damaged or missing.
        reported_rows: the number of rows in its progress report.
        problem: what is damaged, as sentences.
    """

    batch: int
    planned: bool
    committed: bool | None
    planned_at_ms: int | None
    committed_at_ms: int | None
    watermark_ms: int | None
    next_watermark_ms: int | None
    late_before_ms: int | None
    sources: tuple[SourceRange, ...] | None
    reported_rows: int | None = None
    durations_ms: Mapping[str, int] | None = None
    problem: str | None = None

    @property
    def state_version(self) -> int:
        """Return the version of the state after this batch."""
        return self.batch + 1

    @property
    def rows(self) -> int | None:
        """Return the rows of all sources together; None if those of one are unknown."""
        return _total([source.rows for source in self.sources]) if self.sources else None

    @property
    def has_no_data(self) -> bool | None:
        """Tell whether it only moves the watermark and evicts state; None if that is unknown."""
        empty = [source.is_empty for source in self.sources or ()]
        if not empty or (None in empty and False not in empty):
            return None
        return all(empty)

    @property
    def went_back(self) -> bool:
        """Tell whether a position of a source lies before the one that the batch before wrote."""
        return any(True for _ in self.back)

    @property
    def back(self) -> Iterator[tuple[SourceRange, str, int, int]]:
        """Yield each position that goes back: its source and name, and both numbers.

        In an offset of Delta the index counts within a version of the table, so that it goes back
        wherever the version goes on. Offsets of a form that is not known are not compared.
        """
        for source in self.sources or ():
            if kind_of(source.end) == kind_of(source.start) != UNKNOWN:
                for name, start, end in positions_back(source.start, source.end):
                    yield source, name, start, end


def positions_back(start: Json, end: Json, name: str = "") -> Iterator[tuple[str, int, int]]:
    """Yield the name of each position that goes back, such as ``topic-0``, and both numbers."""
    if isinstance(start, dict) and isinstance(end, dict):
        for key in sorted(start.keys() & end.keys()):
            yield from positions_back(start[key], end[key], f"{name}-{key}" if name else key)
    elif type(start) is type(end) is int and end < start:
        yield name, start, end


@dataclass(frozen=True)
class Logs:
    """The contents of the offset and commit logs by batch; a sentence for a damaged file."""

    planned: Mapping[int, PlannedBatch | str]
    committed: Mapping[int, CommittedBatch | str]

    @property
    def last_committed(self) -> int | None:
        """Return the newest batch whose commit can be read."""
        return max((b for b, c in self.committed.items() if not isinstance(c, str)), default=None)

    @property
    def in_flight(self) -> list[int]:
        """Return the planned batches that are newer than every commit."""
        newest = max(self.committed, default=-1)
        return sorted(batch for batch in self.planned if batch > newest)


def make_timeline(
    logs: Logs,
    source_logs: Mapping[str, SourceLog],
    input_rows: Mapping[str, int],
    reports: Mapping[int, Progress],
) -> tuple[Batch, ...]:
    """Return all batches of a checkpoint, ascending.

    Args:
        logs: the offset and commit logs.
        source_logs: the logs of file sources by source.
        input_rows: the rows of uploaded input files by the url in the source's log.
        reports: progress reports by batch.
    """
    batches = sorted(logs.planned.keys() | logs.committed.keys())
    consumed = _Consumed(source_logs)
    return tuple(_batch(b, logs, consumed, input_rows, reports.get(b)) for b in batches)


def batches_of_state(versions: Iterable[int]) -> tuple[Batch, ...]:
    """Return the batches whose state is there, of a query without offset and commit log."""
    return tuple(
        Batch(
            batch=version - 1,
            planned=False,
            committed=None,
            planned_at_ms=None,
            committed_at_ms=None,
            watermark_ms=None,
            next_watermark_ms=None,
            late_before_ms=None,
            sources=None,
            problem=NO_LOGS,
        )
        for version in sorted(versions)
        if version > 0
    )


@dataclass
class _Consumed:
    """The files that earlier batches have read.

    A file belongs to one batch at most. Offsets that go back are damage; without this check they
    could make every range as long as the whole log.

    Attributes:
        counts: how far each source's log has been read.
    """

    logs: Mapping[str, SourceLog]
    counts: dict[str, int] = field(default_factory=dict)

    def files(self, source: str, start: Json, end: Json) -> tuple[SeenFile, ...] | None:
        """Return the files of a range; None if they are unknown."""
        first, last = (-1 if offset is None else _log_offset(offset) for offset in (start, end))
        if source not in self.logs or first is None or last is None:
            return None
        before = self.counts.get(source, -1)
        self.counts[source] = max(before, last)
        return self.logs[source].between(first, last) if before <= first else None


def _batch(
    batch: int,
    logs: Logs,
    consumed: _Consumed,
    input_rows: Mapping[str, int],
    report: Progress | None,
) -> Batch:
    plan, commit = logs.planned.get(batch), logs.committed.get(batch)
    before = logs.planned.get(batch - 1)
    known_plan = plan if isinstance(plan, PlannedBatch) else None
    known_commit = commit if isinstance(commit, CommittedBatch) else None
    earlier = before if isinstance(before, PlannedBatch) else None
    ranges = None
    if known_plan is not None:
        ranges = _ranges(batch, known_plan, earlier, consumed, input_rows)
    ran = report if report is not None and not report.idle and known_commit is not None else None
    problems = [problem for problem in (plan, commit) if isinstance(problem, str)]
    return Batch(
        batch=batch,
        planned=plan is not None,
        committed=None if isinstance(commit, str) else commit is not None,
        planned_at_ms=known_plan.planned_at_ms if known_plan else None,
        committed_at_ms=ran.finished_at_ms if ran else None,
        watermark_ms=known_plan.watermark_ms if known_plan else None,
        next_watermark_ms=known_commit.next_watermark_ms if known_commit else None,
        late_before_ms=earlier.watermark_ms if earlier else None,
        sources=ranges,
        reported_rows=ran.rows if ran else None,
        durations_ms=ran.durations_ms if ran else None,
        problem=" ".join(problems) or None,
    )


def _ranges(
    batch: int,
    plan: PlannedBatch,
    earlier: PlannedBatch | None,
    consumed: _Consumed,
    input_rows: Mapping[str, int],
) -> tuple[SourceRange, ...]:
    start_known = batch == 0 or earlier is not None
    ranges = []
    for source, end in plan.offsets.items():
        start = earlier.offsets.get(source) if earlier else None
        files = None
        if start_known and kind_of(end) == FILE:
            files = consumed.files(source, start, end)
        ranges.append(
            SourceRange(
                source,
                start,
                end,
                start_known,
                None if files is None else tuple(file.name for file in files),
                None if files is None else _total([input_rows.get(file.url) for file in files]),
                span(start, end) if start_known else None,
            )
        )
    return tuple(ranges)


def _log_offset(offset: Json) -> int | None:
    count = offset.get("logOffset") if kind_of(offset) == FILE else None
    return count if type(count) is int and count >= -1 else None


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
