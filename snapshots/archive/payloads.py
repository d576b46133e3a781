"""Payloads of the archive.

Instants are epoch milliseconds, durations milliseconds, sizes bytes; null is what is not known.
"""

from datetime import UTC, datetime
from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.archive import filling
from snapshots.domain.archive import absence
from snapshots.domain.archive.comparison import Difference, Rise, Share
from snapshots.domain.archive.model import SubtaskFacts, VertexFacts, called
from snapshots.domain.model.as_json import as_json
from snapshots.models import Collector, EngineCheckpoint, EngineJob
from snapshots.payloads.declaring import described, documented, list_of, payload_of
from snapshots.payloads.window import TypedArray


@described
class CollectorItem(TypedDict):
    """A collector, which asks a running engine for its checkpoints again and again.

    Attributes:
        url: the address of the engine's REST API.
        job_key: the key of the only job that it follows; empty where it follows all of the cluster.
        interval_seconds: the time from one question to the next.
        last_polled_at: when the engine was last asked and answered.
        last_error: why the engine did not answer the last question; empty where it did.
    """

    id: int
    engine: str
    url: str
    job_key: str
    interval_seconds: int
    is_collecting: bool
    last_polled_at: str | None
    last_error: str
    created_at: str


CollectorList = list_of(CollectorItem, "CollectorList")


@described
class ArchivedJob(TypedDict):
    """A job of an engine, of which the archive keeps checkpoints.

    Attributes:
        key: the engine's id of it.
        run: 1, or more where the engine used the key again.
        collector: the id of the collector that follows it.
        heard_from: the running engine that reported it last; empty where only uploads did.
        heard_at: when that engine reported it last.
        counts: how many checkpoints have each status, and their ``total``, as the engine counts.
        version: a number that grows with every change.
        checkpoints: how many checkpoints the archive keeps.
    """

    id: int
    engine: str
    key: str
    run: int
    name: str
    state: str
    collector: int | None
    heard_from: str
    heard_at: str | None
    counts: dict[str, int]
    version: int
    checkpoints: int
    created_at: str
    changed_at: str


ArchivedJobList = list_of(ArchivedJob, "ArchivedJobList")


@described
class ArchivedCheckpoint(TypedDict):
    """One checkpoint of an archived job.

    Attributes:
        pipeline: its pipeline, where the engine numbers checkpoints by pipeline, else 0.
        kind: its kind in words, as ``unaligned checkpoint``.
        ended_at: when it completed or was given up.
        uploaded: the new bytes of an incremental checkpoint.
        in_flight: the bytes of stored data in flight.
        subtasks: how many subtasks take part.
        acknowledged: how many subtasks acknowledged.
        start_delay_max, alignment_max, sync_max, async_max: the longest time of all subtasks.
        slowest: the subtask that acknowledged last.
        failure: why it failed, in the engine's words.
        cause: why it failed, in a few words that many failures share.
        phase: the phase in which it failed.
        path: where the engine stored it.
        recording: the id of an upload that holds it.
        contents: its number in that upload.
    """

    pipeline: int
    number: int
    kind: str
    status: str
    triggered_at: int | None
    ended_at: int | None
    duration: int | None
    bytes: int | None
    uploaded: int | None
    in_flight: int | None
    subtasks: int | None
    acknowledged: int | None
    start_delay_max: int | None
    alignment_max: int | None
    sync_max: int | None
    async_max: int | None
    slowest: str
    failure: str
    cause: str
    phase: str
    path: str
    recording: int | None
    contents: int | None


ArchivedCheckpointList = list_of(ArchivedCheckpoint, "ArchivedCheckpointList")


ArchivedSubtask = payload_of(
    SubtaskFacts,
    "ArchivedSubtask",
    more={"name": documented(str, "its name, as ``map[1]``"), "vertex": str},
)


@described
class ArchivedCheckpointDetail(ArchivedCheckpoint):
    """One checkpoint of an archived job, with what every subtask took.

    Attributes:
        missing: the subtasks that did not acknowledge in time, those that never did first; of a
            checkpoint in progress those that have not acknowledged yet.
        absence: the same as a sentence; empty where all subtasks acknowledged.
    """

    tasks: list[ArchivedSubtask]
    missing: list[str]
    absence: str


payload_of(Share, "ShareItem")
payload_of(Rise, "RiseItem")
ArchivedComparison = payload_of(Difference, "ArchivedComparison")


class TrendOutliers(TypedDict):
    x: TypedArray
    y: TypedArray
    number: TypedArray
    pipeline: TypedArray
    total: int


@described
class TrendItem(TypedDict):
    """One measure over time, in points that may stand for several checkpoints each.

    Attributes:
        low: the least value at each point.
        mid: the median at each point.
        high: the greatest value at each point.
        number, pipeline: the checkpoint with the greatest value at each point.
        exact: whether each point stands for one checkpoint.
        band_x, lower, upper: the band outside which a checkpoint is an outlier.
    """

    x: TypedArray
    low: TypedArray
    mid: TypedArray
    high: TypedArray
    number: TypedArray
    pipeline: TypedArray
    exact: bool
    band_x: TypedArray
    lower: TypedArray
    upper: TypedArray
    outliers: TrendOutliers


class CauseItem(TypedDict):
    cause: str
    phase: str
    count: int
    last_number: int
    last_pipeline: int
    last_at: int | None


class ArchiveFailures(TypedDict):
    edges: TypedArray
    failed: TypedArray
    completed: TypedArray
    causes: list[CauseItem]


@described
class ArchiveSlowest(TypedDict):
    """How often which subtask was the slowest of a checkpoint.

    Attributes:
        totals: how often each of the ``names`` was the slowest.
        others: how often subtasks that are not listed were the slowest.
        counts: a row for each name: how often it was the slowest in each bin.
    """

    names: list[str]
    totals: list[int]
    others: int
    edges: TypedArray
    counts: list[list[int]]


@described
class ArchiveOverview(TypedDict):
    """What passes a filter: trends, failures, and which subtasks were the slowest.

    Attributes:
        axis: ``time``, or ``number`` where no trigger is known.
        total: how many checkpoints the job has.
        shown: how many of them pass the filter.
        unplaced: how many of these have no trigger, so that no trend shows them.
        trends: the trend of each measure.
        lacking: the measures that no checkpoint of the job has, and so no trend.
    """

    axis: str
    total: int
    shown: int
    unplaced: int
    version: int
    trends: dict[str, TrendItem]
    lacking: list[str]
    failures: ArchiveFailures
    slowest: ArchiveSlowest


_CHECKPOINT = tuple(ArchivedCheckpoint.__annotations__)[:-2]


def collector_item(row: Collector) -> dict[str, Any]:
    return {
        "id": row.pk,
        "engine": row.engine,
        "url": row.url,
        "job_key": row.job_key,
        "interval_seconds": row.interval_seconds,
        "is_collecting": row.is_collecting,
        "last_polled_at": row.last_polled_at and iso(row.last_polled_at),
        "last_error": row.last_error,
        "created_at": iso(row.created_at),
    }


def job_item(row: EngineJob, checkpoints: int) -> dict[str, Any]:
    return {
        "id": row.pk,
        "engine": row.engine,
        "key": row.key,
        "run": row.run,
        "name": row.name,
        "state": row.state,
        "collector": row.collector_id,
        "heard_from": row.heard_from,
        "heard_at": row.heard_at and iso(row.heard_at),
        "counts": row.counts,
        "version": row.version,
        "checkpoints": checkpoints,
        "created_at": iso(row.created_at),
        "changed_at": iso(row.changed_at),
    }


def checkpoint_item(row: EngineCheckpoint) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in _CHECKPOINT}
    held = row.recording_id is not None
    return own | {"recording": row.recording_id, "contents": row.contents if held else None}


def checkpoint_detail(row: EngineCheckpoint) -> dict[str, Any]:
    facts = filling.facts_of(row)
    return checkpoint_item(row) | {
        "tasks": [task for vertex in facts.vertices for task in _tasks(vertex)],
        "missing": list(absence.missing(facts)),
        "absence": absence.sentence(facts),
    }


def _tasks(vertex: VertexFacts) -> list[dict[str, Any]]:
    return [
        {"name": called(vertex, one.index), "vertex": vertex.id} | as_json(one)
        for one in vertex.subtasks
    ]


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
