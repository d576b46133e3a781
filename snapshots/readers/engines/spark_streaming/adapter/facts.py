"""What only Spark's checkpoints tell, as facts for people to read."""

from collections.abc import Iterator, Mapping

import orjson

from snapshots.domain.inventory.model import COUNT, EPOCH_MS, MILLISECONDS, Fact
from snapshots.readers.engines import listing
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.logs.offsets import PlannedBatch
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange

LONGEST = 500  # characters of a value
MOST_NAMED = 20  # files, sources, columns
_COUNTED = "counted in the input files of the upload"
_REPORTED = "by a progress report of the query"
_ROWS = {
    "numRowsTotal": "rows of state",
    "numRowsUpdated": "rows updated",
    "numRowsRemoved": "rows removed",
    "numRowsDroppedByWatermark": "rows dropped as late",
}


def job_facts(job: SparkJob) -> tuple[Fact, ...]:
    return tuple(_job_facts(job))


def _job_facts(job: SparkJob) -> Iterator[Fact]:
    checkpoint, topology = job.checkpoint, job.checkpoint.topology
    yield Fact("query", checkpoint.query)
    yield Fact("folder", job.folder or "the upload itself")
    yield Fact("processing", "continuous" if job.is_continuous else "micro-batches")
    for source in topology.sources[:MOST_NAMED]:
        told = _REPORTED if source.description else "by the form of its offsets"
        yield Fact(f"source {source.id}", short(source.description or source.kind), told)
    if len(topology.sources) > MOST_NAMED:
        yield Fact("further sources", len(topology.sources) - MOST_NAMED, unit=COUNT)
    yield Fact("sink", topology.sink and short(topology.sink))
    edges = ", ".join(f"{one} to {other}" for one, other in topology.edges[:MOST_NAMED])
    yield Fact("edges", edges or None, topology.note)
    if checkpoint.operators:
        provider = (checkpoint.provider or "").rsplit(".", 1)[-1]
        yield Fact("state store", short(provider) or None)
        yield Fact("state's compression", short(checkpoint.codec))
        yield Fact("format of the state's files", checkpoint.state_format)
    if checkpoint.left_overs:
        left = len(checkpoint.left_overs)
        yield Fact("state files left over from failed attempts", left, unit=COUNT)


def batch_facts(job: SparkJob, batch: Batch) -> tuple[Fact, ...]:
    return tuple(_batch_facts(job, batch))


def _batch_facts(job: SparkJob, batch: Batch) -> Iterator[Fact]:
    for source in (batch.sources or ())[:MOST_NAMED]:
        yield from _range_facts(source)
    if batch.reported_rows is not None:
        yield Fact("rows read", batch.reported_rows, _REPORTED, COUNT)
    elif batch.rows is not None:
        yield Fact("rows planned", batch.rows, _COUNTED, COUNT)
    yield Fact("watermark: older state is evicted", batch.watermark_ms, unit=EPOCH_MS)
    yield Fact("watermark before: older rows are dropped", batch.late_before_ms, unit=EPOCH_MS)
    yield Fact("watermark after", batch.next_watermark_ms, unit=EPOCH_MS)
    yield Fact("state version after it", batch.state_version if job.checkpoint.operators else None)
    for name, took in list((batch.durations_ms or {}).items())[:MOST_NAMED]:
        yield Fact(short(name), took, _REPORTED, MILLISECONDS)


def settings_of(job: SparkJob, batch: Batch) -> dict[str, str]:
    """Those of Spark that the plan of the batch holds."""
    plan = job.checkpoint.logs.planned.get(batch.batch)
    settings = plan.settings if isinstance(plan, PlannedBatch) else {}
    told = list(settings.items())[: 5 * MOST_NAMED]
    return {short(name): short(value) for name, value in told}


def phases_of(batch: Batch) -> dict[str, int]:
    """How long each part of the batch took, ms, by its progress report."""
    told = list((batch.durations_ms or {}).items())[:MOST_NAMED]
    return {short(name): took for name, took in told if took >= 0}


def _range_facts(source: SourceRange) -> Iterator[Fact]:
    start = _offset(source.start, "the beginning") if source.start_known else "not known"
    name = f"source {short(source.source)}"
    yield Fact(f"{name}: offsets", f"{start} to {_offset(source.end, 'no offset yet')}")
    if source.files is not None:
        named = short(", ".join(source.files[:MOST_NAMED]) or "none")
        more = len(source.files) - MOST_NAMED
        yield Fact(f"{name}: files", named + (f" and {more:,} more" if more > 0 else ""))
    if source.rows is not None:
        yield Fact(f"{name}: rows", source.rows, _COUNTED, COUNT)
    elif source.offset_span is not None:
        yield Fact(f"{name}: offsets between", source.offset_span, unit=COUNT)


def operator_facts(report: Progress | None, id: int, count: int) -> tuple[Fact, ...]:
    """What a progress report says of an operator, where it has as many as the checkpoint."""
    if report is None or len(report.operators) != count or not id < count:
        return ()
    told = report.operators[id]
    return tuple(
        Fact(name, told[field], _REPORTED, COUNT)
        for field, name in _ROWS.items()
        if type(told.get(field)) is int and abs(told[field]) < 2**63
    )


def report_of(job: SparkJob, reports: Mapping[int, Progress], batch: Batch) -> Progress | None:
    """The report of a batch, if it was taken for this batch's when it was read."""
    return reports.get(batch.batch) if batch.durations_ms is not None else None


def _offset(offset: Json, otherwise: str) -> str:
    return otherwise if offset is None else as_text(offset)


def as_text(offset: Json) -> str:
    return short(orjson.dumps(offset).decode())


def short(text: str) -> str:
    return listing.clipped(text, LONGEST)
