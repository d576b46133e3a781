"""What only Spark's checkpoints hold, as facts for people to read, and the plan of a batch."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import orjson

from snapshots.domain.inventory.batches import PlannedBatch, PlannedSource, WrittenState, spans_text
from snapshots.domain.inventory.model import COUNT, EPOCH_MS, MILLISECONDS, PROCESSING, Fact
from snapshots.domain.inventory.spark_plan import UPLOAD_ITSELF
from snapshots.readers.engines import listing
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.pipelines import flow_of
from snapshots.readers.engines.spark_streaming.adapter.sizes import known_sum
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.incidents import InFlight
from snapshots.readers.engines.spark_streaming.logs import offsets
from snapshots.readers.engines.spark_streaming.logs.own_logs import NOT_READ, START
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange

LONGEST = 500  # characters of a value
MOST_NAMED = 20  # files, sources, columns
MOST_RANGES = 1_000  # sources of a batch
MOST_DETAILED = 100  # batches in flight whose partitions are listed; the newest
_COUNTED = "counted in the input files of the upload"
_REPORTED = "by a progress report of the query"
KINDS = {
    offsets.KAFKA: "Kafka, or Event Hubs, whose offsets have the same form",
    offsets.LONG: "rate, memory or socket, whose offsets have the same form",
    offsets.UNKNOWN: "a source whose offsets have a form of their own",
}
_ROWS = {
    "numRowsTotal": "rows of state",
    "numRowsUpdated": "rows updated",
    "numRowsRemoved": "rows removed",
    "numRowsDroppedByWatermark": "rows dropped as late",
}


def job_names(jobs: Sequence[SparkJob], reports: Mapping[str, Mapping[int, Progress]]) -> list[str]:
    """Return a name for each query: its own by its reports, with the folder where two share it.

    A query without a name is called like its folder.

    Args:
        reports: the progress reports by the checkpoint's folder, then by batch.
    """
    own = [_own_name(reports[job.folder]) for job in jobs]
    counts = Counter(own)
    return [
        _folder_name(job.folder)
        if name is None
        else (name if counts[name] == 1 else f"{name} ({job.folder})")
        for name, job in zip(own, jobs, strict=True)
    ]


def _folder_name(folder: str) -> str:
    """Name a query by its folder: a flow by its table, anything else by the path."""
    flow = flow_of(folder)
    if flow is None:
        return folder or "checkpoint"
    return f"{flow.label}, version {flow.version}" if flow.version else flow.label


def _own_name(reports: Mapping[int, Progress]) -> str | None:
    """Return the name in the newest report that has one."""
    names = (reports[batch].name for batch in sorted(reports, reverse=True))
    return next((short(name) for name in names if name), None)


def job_facts(job: SparkJob) -> Iterator[Fact]:
    """Yield the facts of a query."""
    checkpoint, topology = job.checkpoint, job.checkpoint.topology
    yield Fact("query", checkpoint.query)
    yield Fact("folder", job.folder or UPLOAD_ITSELF)
    yield Fact(PROCESSING, _processing(job))
    for source in topology.sources[:MOST_NAMED]:
        inferred = _REPORTED if source.description else "by the form of its offsets"
        kind = KINDS.get(source.kind, source.kind)
        yield Fact(f"source {source.id}", short(source.description or kind), inferred)
        yield from _own_log_facts(job, source.id)
    if len(topology.sources) > MOST_NAMED:
        yield Fact("further sources", len(topology.sources) - MOST_NAMED, unit=COUNT)
    yield Fact("sink", topology.sink and short(topology.sink))
    edges = ", ".join(f"{source} to {target}" for source, target in topology.edges[:MOST_NAMED])
    yield Fact("edges", edges or None, topology.note)
    if checkpoint.operators:
        provider = (checkpoint.provider or "").rsplit(".", 1)[-1]
        yield Fact("state store", short(provider) or None)
        yield Fact("state's compression", short(checkpoint.codec))
        yield Fact("format of the state's files", checkpoint.state_format)
    if left := len(checkpoint.left_overs):
        yield Fact("state files left over from failed attempts", left, unit=COUNT)


def _processing(job: SparkJob) -> str | None:
    """Name the way of processing; None where it may be real-time mode."""
    if job.is_continuous:
        return "continuous"
    return None if job.is_ahead or job.may_be_real_time else "micro-batches"


def _own_log_facts(job: SparkJob, source: str) -> Iterator[Fact]:
    """Yield what a source that reads no files keeps for itself."""
    log = job.checkpoint.own_logs.get(source)
    if log is None:
        return
    name = f"source {source}: {log.what or 'its own log'}"
    if log.what == START:
        yield Fact(name, log.value, unit=EPOCH_MS)
    else:
        yield Fact(name, NOT_READ if log.what is None else _as_text(log.value))


def batch_facts(job: SparkJob, batch: Batch) -> Iterator[Fact]:
    """Yield the facts of a batch."""
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
    for name, milliseconds in _durations(batch):
        yield Fact(short(name), milliseconds, _REPORTED, MILLISECONDS)


def _durations(batch: Batch) -> list[tuple[str, int]]:
    return list((batch.durations_ms or {}).items())[:MOST_NAMED]


def phases_of(batch: Batch) -> dict[str, int]:
    """Return how many milliseconds each part of the batch took, by its progress report."""
    return {short(name): took for name, took in _durations(batch) if took >= 0}


def settings_of(job: SparkJob, batch: Batch) -> dict[str, str]:
    """Return the settings of Spark that the plan of the batch holds."""
    plan = job.checkpoint.logs.planned.get(batch.batch)
    settings = plan.settings if isinstance(plan, offsets.PlannedBatch) else {}
    return {short(key): short(value) for key, value in list(settings.items())[: 5 * MOST_NAMED]}


def _range_facts(source: SourceRange) -> Iterator[Fact]:
    start = _offset(source.start, "the beginning") if source.start_known else "not known"
    name = f"source {short(source.source)}"
    yield Fact(f"{name}: offsets", f"{start} to {_offset(source.end, 'no offset yet')}")
    if source.files is not None:
        files = short(", ".join(source.files[:MOST_NAMED]) or "none")
        more = len(source.files) - MOST_NAMED
        yield Fact(f"{name}: files", files + (f" and {more:,} more" if more > 0 else ""))
    elif offsets.kind_of(source.end) == offsets.FILE:
        yield Fact(f"{name}: files", None)
    if source.rows is not None:
        yield Fact(f"{name}: rows", source.rows, _COUNTED, COUNT)
    elif source.offset_span is not None:
        yield Fact(f"{name}: offsets between", source.offset_span, unit=COUNT)


def operator_facts(report: Progress | None, id: int, operators: int) -> Iterator[Fact]:
    """Yield what a progress report says of an operator, if it has as many as the checkpoint."""
    if report is None or len(report.operators) != operators or not id < operators:
        return
    counts = report.operators[id]
    for field, name in _ROWS.items():
        if type(counts.get(field)) is int and abs(counts[field]) < 2**63:
            yield Fact(name, counts[field], _REPORTED, COUNT)


def report_of(reports: Mapping[int, Progress], batch: Batch) -> Progress | None:
    """Return the report of a batch, if the checkpoint took it for this batch's."""
    return reports.get(batch.batch) if batch.durations_ms is not None else None


def _offset(offset: Json, otherwise: str) -> str:
    return otherwise if offset is None else _as_text(offset)


def _as_text(offset: Json) -> str:
    return short(orjson.dumps(offset).decode())


def short(text: str) -> str:
    """Return a text, or its beginning."""
    return listing.clipped(text, LONGEST)


def planned_of(job: SparkJob, batch: Batch) -> PlannedBatch | None:
    """Return what a batch in flight was to read; None for all others, or if it is not known."""
    in_flight = job.in_flight.get(batch.batch)
    if in_flight is None or batch.sources is None:
        return None
    counts = [None if one.files is None else len(one.files) for one in batch.sources]
    newest = sorted(job.in_flight)[-MOST_DETAILED:]
    return PlannedBatch(
        kind=in_flight.kind,
        how_far=in_flight.how_far,
        restart=in_flight.restart,
        rows=batch.rows,
        files=known_sum(counts) if counts else None,
        sources=tuple(_planned_source(job, source) for source in batch.sources),
        written=tuple(_written(job, in_flight)) if batch.batch in newest else (),
    )


def ranges_of(job: SparkJob, batch: Batch) -> tuple[PlannedSource, ...]:
    """Return what each source gives to a batch; nothing if that is not known, or too much."""
    if batch.sources is None or len(batch.sources) > MOST_RANGES:
        return ()
    return tuple(_planned_source(job, source) for source in batch.sources)


def _planned_source(job: SparkJob, source: SourceRange) -> PlannedSource:
    descriptions = {
        one.id: short(one.description or one.kind) for one in job.checkpoint.topology.sources
    }
    return PlannedSource(
        source=short(source.source),
        description=descriptions.get(source.source),
        start=None if source.start is None else _as_text(source.start),
        end=None if source.end is None else _as_text(source.end),
        start_known=source.start_known,
        files=tuple(map(short, (source.files or ())[:MOST_NAMED])),
        files_total=None if source.files is None else len(source.files),
        rows=source.rows,
        offsets=source.offset_span,
    )


def _written(job: SparkJob, in_flight: InFlight) -> Iterator[WrittenState]:
    for operator in job.checkpoint.operators:
        stores = job.checkpoint.versions.get(operator.id, {})
        for store, partitions in stores.items():
            wrote = in_flight.wrote[operator.id][store]
            needed = {*range(operator.used_partitions or 0), *partitions}
            lacking = sorted(needed - set(wrote))
            yield WrittenState(
                operator=operator.name or f"operator {operator.id}",
                store=store if len(stores) > 1 else None,
                wrote=len(wrote),
                lacking=len(lacking),
                wrote_text=spans_text(wrote),
                lacking_text=spans_text(lacking),
            )
