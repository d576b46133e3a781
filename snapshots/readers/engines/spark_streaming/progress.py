"""Read progress reports of a query, one JSON object per line.

Source: Spark's StreamingQueryProgress.
"""

import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from snapshots.readers.engines.spark_streaming.documents import (
    Json,
    NotReadable,
    parse_object,
    whole,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files, open_regular
from snapshots.readers.engines.spark_streaming.limits import SparkLimits

MOST_DAMAGED = 100  # lines of a file that are not reports
LONGEST_LINE = 4 * 2**20
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
            first = file.readline(LONGEST_LINE)
        document = parse_object(first, SparkLimits.depth)
    except (OSError, NotReadable):
        return False
    return {"batchId", "runId", "sources"} <= document.keys()


def read_progress(
    files: Files, path: str, limits: SparkLimits
) -> tuple[list[Progress], list[DamagedFile]]:
    """Return the reports of a file in order, and its lines that are not reports."""
    try:
        data = files.read(path, limits.progress_bytes)
        files.spend("bytes of progress reports", path, len(data), limits.progress_bytes)
    except DamagedFile as error:
        return [], [error]
    reports: list[Progress] = []
    damaged: list[DamagedFile] = []
    for number, line in enumerate(io.BytesIO(data), start=1):
        if not line.strip():
            continue
        if len(damaged) == MOST_DAMAGED:
            damaged.append(DamagedFile(path, "The rest of the file is not read.", number))
            break
        try:
            files.spend("progress reports", path, 1, limits.reports, again=True)
            reports.append(_progress(parse_object(line, limits.depth)))
        except NotReadable as error:
            damaged.append(DamagedFile(path, str(error), number))
        except DamagedFile as error:
            damaged.append(error)
            break
    return reports, damaged


def _progress(document: dict[str, Json]) -> Progress:
    durations = document.get("durationMs")
    durations = durations if isinstance(durations, dict) else {}
    durations = {name: ms for name, ms in durations.items() if _number(ms) is not None}
    sink = document.get("sink")
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


def _instant(value: Json) -> int | None:
    """Return the epoch milliseconds of an ISO time; None for any other value."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)
