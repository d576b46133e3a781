"""What was in flight: a batch that was planned and not committed, for people to read."""

from collections.abc import Iterator

from snapshots.domain.inventory.batches import PlannedBatch, PlannedSource, WrittenState, spans_text
from snapshots.readers.engines.spark_streaming.adapter.facts import MOST_NAMED, as_text, short
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.incidents import InFlight
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange

MOST_DETAILED = 100  # batches in flight whose partitions are told; the newest


def planned_of(job: SparkJob, batch: Batch) -> PlannedBatch | None:
    """None where the batch is not in flight, or what was planned cannot be read."""
    flying = job.in_flight.get(batch.batch)
    if flying is None or batch.sources is None:
        return None
    counts = [None if one.files is None else len(one.files) for one in batch.sources]
    newest = sorted(job.in_flight)[-MOST_DETAILED:]
    return PlannedBatch(
        kind=flying.kind,
        how_far=flying.how_far,
        restart=flying.restart,
        rows=batch.rows,
        files=None if not counts or None in counts else sum(counts),
        sources=tuple(_source(job, one) for one in batch.sources),
        written=tuple(_written(job, flying)) if batch.batch in newest else (),
    )


def _source(job: SparkJob, told: SourceRange) -> PlannedSource:
    known = {one.id: one.description or one.kind for one in job.checkpoint.topology.sources}
    description = known.get(told.source)
    return PlannedSource(
        source=short(told.source),
        description=description and short(description),
        start=None if told.start is None else as_text(told.start),
        end=None if told.end is None else as_text(told.end),
        start_known=told.start_known,
        files=tuple(short(name) for name in (told.files or ())[:MOST_NAMED]),
        files_total=None if told.files is None else len(told.files),
        rows=told.rows,
        offsets=told.offset_span,
    )


def _written(job: SparkJob, flying: InFlight) -> Iterator[WrittenState]:
    for operator in job.checkpoint.operators:
        stores = job.checkpoint.versions.get(operator.id, {})
        for store, found in stores.items():
            wrote = flying.wrote[operator.id][store]
            needed = {*range(operator.used_partitions or 0), *found}
            lacking = sorted(needed - set(wrote))
            yield WrittenState(
                operator=operator.name or f"operator {operator.id}",
                store=store if len(stores) > 1 else None,
                wrote=len(wrote),
                lacking=len(lacking),
                wrote_text=spans_text(wrote),
                lacking_text=spans_text(lacking),
            )
