"""What the logs of a query show besides its last batch: causes that Spark does not report.

Source: Spark's KafkaMicroBatchStream, FileStreamSink.addBatch (a batch that the log of the sink
has already is thrown away), AsyncProgressTrackingMicroBatchExecution.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import AHEAD, TO_WATCH, WENT_WRONG, Fact
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.pipelines import flow_of, replaced
from snapshots.readers.engines.spark_streaming.adapter.sinks import FILE_SINK
from snapshots.readers.engines.spark_streaming.logs.offsets import KAFKA, kind_of
from snapshots.readers.engines.spark_streaming.timeline import Batch
from snapshots.readers.engines.spark_streaming.upload import SinkLog, SparkUpload

MOST_POSITIONS = 3  # that a sentence names
LEAST_IDLE = 5  # batches without data in a row
_KAFKA = (
    " A topic that was made anew looks like this. Spark's Kafka source stops at it, unless "
    "failOnDataLoss is false."
)
_AHEAD = (
    "Batch {0} is the last one in the logs, and there is state of a later one. In real-time mode "
    "Spark writes offsets at the end of a batch: then the later one was running. Else its offsets "
    "were removed. What the sink had of it may be there twice after a restart."
)
_GAP = (
    "Neither offsets nor commits are there for {0}, between others. Asynchronous progress tracking "
    "leaves such gaps: with that option a restart goes on, and without it Spark looks for the "
    "batch before and fails where it is not there."
)


def findings(upload: SparkUpload, jobs: Sequence[SparkJob], job: SparkJob) -> tuple[Fact, ...]:
    """Return what the files of one query show, as facts whose values are sentences."""
    wrong = [*_thrown_away(upload, jobs, job), *_holes(upload, jobs, job)]
    watch = [
        *_replaced(jobs, job),
        *islice(_back(job), 1),
        *_sources(job),
        *_gaps(job),
        *_reported(upload, job),
        *_idle(job),
    ]
    ahead = (Fact(AHEAD, _AHEAD.format(job.batches[-1].batch)),) if job.is_ahead else ()
    return (
        *(Fact(WENT_WRONG, sentence) for sentence in wrong),
        *(Fact(level, sentence) for level, sentence in _shared_sink(upload, jobs, job)),
        *ahead,
        *(Fact(TO_WATCH, sentence) for sentence in watch),
    )


def _replaced(jobs: Sequence[SparkJob], job: SparkJob) -> Iterator[str]:
    newer = replaced(other.folder for other in jobs).get(job.folder)
    if newer is not None:
        yield f"A refresh has replaced this checkpoint: version {newer} of the flow counts."


def _back(job: SparkJob) -> Iterator[str]:
    """Yield a sentence about each batch whose sources go back, the newest first."""
    if job.is_continuous:
        return  # epochs go back at each restart, and their notes say so
    for batch in reversed(job.batches):
        back = list(batch.back)
        if not back:
            continue
        places = [
            f"from {start:,} to {end:,} in {name or f'source {source.source}'}"
            for source, name, start, end in back
        ]
        verb = "went back" if batch.committed else "is to go back"
        cause = _KAFKA if any(kind_of(source.end) == KAFKA for source, *_ in back) else ""
        yield f"Batch {batch.batch} {verb} {listed(places, MOST_POSITIONS)}.{cause}"


def _sources(job: SparkJob) -> Iterator[str]:
    """Yield a sentence about the newest batch that has another number of sources."""
    planned = [batch for batch in job.batches if batch.sources]
    for before, batch in reversed(list(pairwise(planned))):
        old = {one.source for one in before.sources or ()}
        new = {one.source: one.end for one in batch.sources or ()}
        if gained := sorted(new.keys() - old):
            bare = " without an offset" if all(new[name] is None for name in gained) else ""
            yield f"Batch {batch.batch} gained source {listed(gained, MOST_POSITIONS)}{bare}."
            return
        if lost := sorted(old - new.keys()):
            yield f"Batch {batch.batch} no longer has source {listed(lost, MOST_POSITIONS)}."
            return


def _gaps(job: SparkJob) -> Iterator[str]:
    if gaps := job.gaps:
        noun = "batch" if len(gaps) == 1 else "batches"
        yield _GAP.format(f"{noun} {spans_text(gaps)}")


def _reported(upload: SparkUpload, job: SparkJob) -> Iterator[str]:
    """Tell which batches ran by their reports, although the logs have no file of them.

    Logs keep the newest batches, so that older ones are no surprise.
    """
    query, there = job.checkpoint.query, {batch.batch for batch in job.batches}
    if query is None or not there:
        return
    ran = {
        report.batch
        for report in upload.reports
        if report.query == query and not report.idle and report.batch > min(there)
    }
    newer = sorted(batch for batch in ran if batch > max(there))
    if between := sorted(ran - there - set(newer)):
        noun, them = ("batch", "it") if len(between) == 1 else ("batches", "them")
        yield (
            f"Progress reports say that {noun} {spans_text(between)} ended, and neither log has a "
            f"file of {them}."
        )
    if newer:
        noun, them = ("batch", "it") if len(newer) == 1 else ("batches", "them")
        yield (
            f"Progress reports say that {noun} {spans_text(newer)} ended, and neither log has a "
            f"file of {them}: the files are older than the reports. A restart from these files "
            f"runs {'a batch of this number' if len(newer) == 1 else 'batches of these numbers'} "
            "again."
        )


def _idle(job: SparkJob) -> Iterator[str]:
    """Tell where batches go on and no source does."""
    over = [batch for batch in job.batches if batch.committed]
    idle = list(takewhile(lambda batch: batch.has_no_data, reversed(over)))
    if len(idle) >= LEAST_IDLE:
        yield (
            "The offsets of its sources do not move while batches go on: the last "
            f"{times(len(idle), 'batch', 'batches')}, from {idle[-1].batch} on, read nothing."
        )


def _sink_of(upload: SparkUpload, jobs: Sequence[SparkJob], job: SparkJob) -> SinkLog | None:
    """Return the file sink of a query, where the upload tells which one that is."""
    sink, flow = job.checkpoint.topology.sink, flow_of(job.folder)
    if flow is not None:
        named = [one for one in upload.sinks if one.folder.split("/")[-1] == flow.dataset]
        return named[0] if len(named) == 1 else None
    if len(jobs) != 1 or len(upload.sinks) != 1 or not (sink or FILE_SINK).startswith(FILE_SINK):
        return None
    return upload.sinks[0]


def _thrown_away(upload: SparkUpload, jobs: Sequence[SparkJob], job: SparkJob) -> Iterator[str]:
    """Tell which batches a sink threw away, since its log had their numbers already."""
    sink = _sink_of(upload, jobs, job)
    if sink is None:
        return
    lost = [
        batch.batch for batch in job.batches if batch.committed and _older(sink, batch) is not None
    ]
    if not lost:
        return
    newest = max(_older(sink, batch) or 0 for batch in job.batches if batch.committed)
    noun, they, them = ("batch", "it", "it") if len(lost) == 1 else ("batches", "they", "them")
    yield (
        f"The log of the file sink in {sink.folder} already had {noun} {spans_text(lost)} when "
        f"this query planned {them}: its entries are older than the query's plan. The sink throws "
        f"away what {they} wrote, and output appears from batch {newest + 1} on."
    )


def _older(sink: SinkLog, batch: Batch) -> int | None:
    """Return the newest batch that the log had before this one was planned, if it had this one."""
    if batch.planned_at_ms is None:
        return None
    before = [n for n, at in sink.modified.items() if at < batch.planned_at_ms]
    newest = max(before, default=-1)
    return newest if newest >= batch.batch else None


def _holes(upload: SparkUpload, jobs: Sequence[SparkJob], job: SparkJob) -> Iterator[str]:
    """Tell which committed batches the log of the sink lacks."""
    sink = _sink_of(upload, jobs, job)
    if sink is None or not sink.written:
        return
    first, last = max(sink.compacted, default=min(sink.written)), max(sink.written)
    lacking = [
        batch.batch
        for batch in job.batches
        if batch.committed and first < batch.batch < last and batch.batch not in sink.written
    ]
    if lacking:
        noun = "batch" if len(lacking) == 1 else "batches"
        yield (
            f"The log of the file sink in {sink.folder} lacks {noun} {spans_text(lacking)}, "
            "and newer ones are there. Spark reads the sink by its log, so it does not see what "
            "they wrote."
        )


def _shared_sink(
    upload: SparkUpload, jobs: Sequence[SparkJob], job: SparkJob
) -> Iterator[tuple[str, str]]:
    """Tell that several flows write to one file sink, which counts batches without their flow."""
    sink, flow = _sink_of(upload, jobs, job), flow_of(job.folder)
    if sink is None or flow is None:
        return
    older, own = replaced(one.folder for one in jobs), set(job.checkpoint.committed_batches)
    for one in jobs:
        other = flow_of(one.folder)
        if one.folder in older or other is None or other.dataset != flow.dataset:
            continue
        if other.root == flow.root:
            continue
        shared = f"The file sink in {sink.folder} is shared with flow {other.name}"
        if common := sorted(own & set(one.checkpoint.committed_batches)):
            noun = "batch" if len(common) == 1 else "batches"
            yield (
                WENT_WRONG,
                f"{shared}, and both committed {noun} {spans_text(common)}. The log of the sink "
                "keeps one entry for each number, so what one of the two flows wrote is thrown "
                "away.",
            )
        else:
            yield (
                TO_WATCH,
                f"{shared}, and its log counts batches without their flow. A batch is thrown away "
                "where the other flow wrote one of the same number first.",
            )
