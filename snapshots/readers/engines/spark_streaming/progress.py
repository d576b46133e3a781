"""Read progress reports of a query, in JSON of any layout or out of an event log of Spark's.

Source: Spark's StreamingQueryProgress.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from snapshots.domain.inventory.model import COUNT, EPOCH_MS, Fact
from snapshots.readers.engines.spark_streaming.documents import (
    Json,
    NotReadable,
    whole,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files, open_regular
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.report_documents import (
    Ended,
    Found,
    begins_with_reports,
    decompressed,
    documents,
)

MOST_DAMAGED = 100  # lines of a file that are not reports
_START = 2**16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SourceProgress:
    """The part of a report about one source."""

    description: str | None
    start: Json
    end: Json
    rows: int | None


@dataclass(frozen=True)
class Progress:
    """The report of one trigger.

    Attributes:
        query: the id of the query.
        name: the name that the job gave the query; None if it gave none.
        idle: whether the trigger ran no batch.
        triggered_at_ms: epoch ms.
        watermark_ms: the watermark of the batch, epoch ms; None if the report has none.
        input_rate, processed_rate: rows a second.
        durations_ms: the duration of each phase.
    """

    query: str | None
    name: str | None
    batch: int
    idle: bool
    triggered_at_ms: int | None
    took_ms: int | None
    durations_ms: dict[str, int]
    rows: int | None
    sources: tuple[SourceProgress, ...]
    operators: tuple[dict[str, Json], ...]
    sink: str | None
    watermark_ms: int | None = None
    input_rate: float | None = None
    processed_rate: float | None = None

    @property
    def finished_at_ms(self) -> int | None:
        if self.triggered_at_ms is None or self.took_ms is None:
            return None
        return self.triggered_at_ms + self.took_ms


def looks_like_progress(files: Files, path: str) -> bool:
    """Tell whether a file begins with a progress report, or is empty and named like one."""
    if not files.entries[path].size:
        return path.rsplit("/", 1)[-1].startswith("progress.")
    try:
        with open_regular(files.root / path) as file:
            return begins_with_reports(file.read(_START)) is not None
    except OSError:
        return False


def read_progress(
    files: Files, path: str, limits: SparkLimits
) -> tuple[list[Progress], list[DamagedFile]]:
    """Return the reports of a file in order, and its lines that are not reports."""
    found = read_reports(files, path, limits)
    return found.reports, found.damaged


@dataclass(frozen=True)
class ReportsOfFile:
    """What a file of reports holds.

    Attributes:
        reports: the reports, in their order.
        damaged: what is none where one is expected.
        ended: how queries ended, by an event log.
    """

    reports: list[Progress]
    damaged: list[DamagedFile]
    ended: list[Ended]


def read_reports(files: Files, path: str, limits: SparkLimits) -> ReportsOfFile:
    """Return what a file of reports holds."""
    found = ReportsOfFile([], [], [])
    try:
        data = decompressed(files.read(path, limits.progress_bytes), limits.progress_bytes)
        files.spend("bytes of progress reports", path, len(data), limits.progress_bytes)
    except DamagedFile as error:
        found.damaged.append(error)
        return found
    except NotReadable as error:
        found.damaged.append(DamagedFile(path, str(error)))
        return found
    for item in documents(data, limits.depth):
        if len(found.damaged) == MOST_DAMAGED:
            text = "The rest of the file is not read."
            found.damaged.append(DamagedFile(path, text, item.line))
            break
        try:
            files.spend("progress reports", path, 1, limits.reports, again=True)
            _take(found, item, path)
        except DamagedFile as error:
            found.damaged.append(error)
            break
    return found


def _take(found: ReportsOfFile, item: Found, path: str) -> None:
    if item.ended is not None:
        found.ended.append(item.ended)
        return
    try:
        if item.report is None:
            raise NotReadable(item.problem or "It is no progress report.")
        found.reports.append(progress_of(item.report))
    except NotReadable as error:
        found.damaged.append(DamagedFile(path, str(error), item.line))


def progress_of(document: dict[str, Json]) -> Progress:
    """Return the report that a JSON object is. Raises: NotReadable."""
    durations = document.get("durationMs")
    durations = durations if isinstance(durations, dict) else {}
    durations = {name: ms for name, ms in durations.items() if _number(ms) is not None}
    sink, event_time = document.get("sink"), document.get("eventTime")
    event_time = event_time if isinstance(event_time, dict) else {}
    return Progress(
        query=_text(document.get("id")),
        name=_text(document.get("name")) or None,
        batch=whole(document, "batchId"),
        idle="addBatch" not in durations,
        triggered_at_ms=_instant(document.get("timestamp")),
        took_ms=durations.get("triggerExecution"),
        durations_ms=durations,
        rows=_number(document.get("numInputRows")),
        sources=tuple(map(_source, _objects(document.get("sources")))),
        operators=tuple(_objects(document.get("stateOperators"))),
        sink=_text(sink.get("description")) if isinstance(sink, dict) else None,
        watermark_ms=_instant(event_time.get("watermark")),
        input_rate=_rate(document.get("inputRowsPerSecond")),
        processed_rate=_rate(document.get("processedRowsPerSecond")),
    )


def _source(document: dict[str, Json]) -> SourceProgress:
    return SourceProgress(
        _text(document.get("description")),
        document.get("startOffset"),
        document.get("endOffset"),
        _number(document.get("numInputRows")),
    )


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> int | None:
    return value if type(value) is int and abs(value) < 2**63 else None


def _rate(value: Json) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**63 else None


def _instant(value: Json) -> int | None:
    """Return the epoch milliseconds of an ISO time; None for any other value."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def facts_of(report: Progress) -> Iterator[Fact]:
    """Yield what a report says of its batch."""
    yield Fact("rows", report.rows, unit=COUNT)
    yield Fact("rows a second that came", report.input_rate)
    yield Fact("rows a second that were processed", report.processed_rate)
    if report.idle:
        yield Fact("ran", "no")
    if report.watermark_ms is not None:
        yield Fact("watermark", report.watermark_ms, unit=EPOCH_MS)
    for place, operator in enumerate(report.operators):
        name = operator.get("operatorName")
        label = f"state of operator {place}" + (f" ({name[:40]})" if isinstance(name, str) else "")
        total = operator.get("numRowsTotal")
        if type(total) is int and 0 <= total < 2**63:
            yield Fact(label, total, unit=COUNT)
    for source in report.sources[:20]:
        if source.description is not None:
            yield Fact("source", source.description[:200])
