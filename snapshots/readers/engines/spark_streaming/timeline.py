"""The batches of a checkpoint: planned, committed, their times, watermarks and offset ranges.

``offsets/b`` says that batch b was planned, ``commits/b`` that it is complete. The range of a
source in b goes from its offset in b - 1 to that in b.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.logs.commits import CommittedBatch
from snapshots.readers.engines.spark_streaming.logs.offsets import FILE, PlannedBatch, kind_of, span
from snapshots.readers.engines.spark_streaming.logs.sources import SeenFile, SourceLog
from snapshots.readers.engines.spark_streaming.progress import Progress


@dataclass(frozen=True)
class SourceRange:
    """What one source gave to one batch: behind ``start`` up to ``end``, as the source counts.

    start_known: False where the batch before is not on disk. files: names of the input files, None
    where the source is none of files or its log does not reach back. rows: counted in those files;
    None where that is not possible. offset_span: see ``offsets.span``.
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
        """Whether the range holds nothing; None where its start is not known."""
        return self.start == self.end if self.start_known else None


@dataclass(frozen=True)
class Batch:
    """One batch, or one epoch in continuous mode.

    committed: None where its commit file is there and damaged. sources: None where the offset file
    is damaged or gone. Times and watermarks: epoch milliseconds, None where unknown.
    watermark_ms: what is older is evicted; late_before_ms: rows older than it are dropped.
    reported_rows: as a progress report counts them. problem: what is damaged, as a sentence.
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
        """The version of the state after this batch."""
        return self.batch + 1

    @property
    def rows(self) -> int | None:
        """Of all sources; None where one is not known."""
        counts = [source.rows for source in self.sources or ()]
        return sum(counts) if counts and None not in counts else None

    @property
    def has_no_data(self) -> bool | None:
        """Planned only to move the watermark and evict state; None where it cannot be told."""
        empty = [source.is_empty for source in self.sources or ()]
        if not empty or (None in empty and False not in empty):
            return None
        return all(empty)


@dataclass(frozen=True)
class Logs:
    """What the offset and commit logs hold, by batch; a sentence where a file is damaged."""

    planned: Mapping[int, PlannedBatch | str]
    committed: Mapping[int, CommittedBatch | str]

    @property
    def last_committed(self) -> int | None:
        """The newest batch whose commit can be read."""
        return max((b for b, c in self.committed.items() if not isinstance(c, str)), default=None)

    @property
    def in_flight(self) -> list[int]:
        """Planned and not committed, newer than every commit."""
        newest = max(self.committed, default=-1)
        return sorted(batch for batch in self.planned if batch > newest)


def make_timeline(
    logs: Logs,
    source_logs: Mapping[str, SourceLog],
    input_rows: Mapping[str, int],
    reports: Mapping[int, Progress],
) -> tuple[Batch, ...]:
    """input_rows: rows of the uploaded input files by the url in the source's log."""
    batches = sorted(logs.planned.keys() | logs.committed.keys())
    given = _Given(source_logs)
    return tuple(_batch(b, logs, given, input_rows, reports.get(b)) for b in batches)


@dataclass
class _Given:
    """What file sources have given to the batches before. Each file is given once: offsets that go
    back are wrong, and would make every range as long as the whole log. counts: by source."""

    logs: Mapping[str, SourceLog]
    counts: dict[str, int] = field(default_factory=dict)

    def files(self, source: str, start: Json, end: Json) -> tuple[SeenFile, ...] | None:
        """The files of a range; None where they are not known."""
        first, last = (-1 if offset is None else _log_offset(offset) for offset in (start, end))
        if source not in self.logs or first is None or last is None:
            return None
        before = self.counts.get(source, -1)
        self.counts[source] = max(before, last)
        return self.logs[source].between(first, last) if before <= first else None


def _batch(
    batch: int,
    logs: Logs,
    given: _Given,
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
        ranges = _ranges(batch, known_plan, earlier, given, input_rows)
    ran = report if report is not None and not report.idle and known_commit is not None else None
    problems = [one for one in (plan, commit) if isinstance(one, str)]
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
    given: _Given,
    input_rows: Mapping[str, int],
) -> tuple[SourceRange, ...]:
    start_known = batch == 0 or earlier is not None
    ranges = []
    for source, end in plan.offsets.items():
        start = earlier.offsets.get(source) if earlier else None
        between = None
        if start_known and kind_of(end) == FILE:
            between = given.files(source, start, end)
        ranges.append(
            SourceRange(
                source,
                start,
                end,
                start_known,
                None if between is None else tuple(file.name for file in between),
                _rows(between, input_rows),
                span(start, end) if start_known else None,
            )
        )
    return tuple(ranges)


def _log_offset(offset: Json) -> int | None:
    count = offset.get("logOffset") if kind_of(offset) == FILE else None
    fits = isinstance(count, int) and not isinstance(count, bool) and count >= -1
    return count if fits else None


def _rows(files, input_rows: Mapping[str, int]) -> int | None:
    """files: as ``_Given.files`` has them."""
    counts = [input_rows.get(file.url) for file in files or ()]
    return None if files is None or None in counts else sum(counts)
