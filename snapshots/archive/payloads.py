"""What the API and the pages of the archive get; names as in ``domain/archive/model.py``.

Instants are epoch milliseconds, durations milliseconds, sizes bytes; null is not known.
"""

from datetime import UTC, datetime
from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.archive import filling
from snapshots.domain.archive import absence
from snapshots.domain.archive.comparison import Difference
from snapshots.domain.archive.model import VertexFacts, called
from snapshots.models import Collector, EngineCheckpoint, EngineJob
from snapshots.payloads.window import TypedArray


class CollectorItem(TypedDict):
    """job_key: of the only job followed, empty for all. last_polled_at: and answered."""

    id: int
    engine: str
    url: str
    job_key: str
    interval_seconds: int
    is_collecting: bool
    last_polled_at: str | None
    last_error: str
    created_at: str


class CollectorList(TypedDict):
    items: list[CollectorItem]
    total: int


class ArchivedJob(TypedDict):
    """run: 1, or more where the engine used the key again. version: grows with every change.

    heard_from, heard_at: the running engine that told of it last; empty where uploads alone did.
    counts: of checkpoints by status, and their ``total``, as the engine itself counts.
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


class ArchivedJobList(TypedDict):
    items: list[ArchivedJob]
    total: int


class ArchivedCheckpoint(TypedDict):
    """*_max: the largest of all subtasks. recording, contents: where an upload holds it."""

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


class ArchivedCheckpointList(TypedDict):
    items: list[ArchivedCheckpoint]
    total: int


class ArchivedSubtask(TypedDict):
    """name: of the subtask, as ``map[1]``. async: of the upload."""

    name: str
    vertex: str
    index: int
    acknowledged: bool | None
    unaligned: bool | None
    start_delay: int | None
    alignment: int | None
    sync: int | None
    async_: int | None
    duration: int | None
    bytes: int | None
    uploaded: int | None
    in_flight: int | None


class ArchivedCheckpointDetail(ArchivedCheckpoint):
    """missing: who did not acknowledge in time, who never did first; of one that goes on, not yet.

    absence: the same as a sentence, empty where nobody lacks.
    """

    tasks: list[ArchivedSubtask]
    missing: list[str]
    absence: str


class ShareItem(TypedDict):
    phase: str
    slow: int
    healthy: int
    more: int


class RiseItem(ShareItem):
    subtask: str


class ArchivedComparison(TypedDict):
    """shares: of the subtask that acknowledged last. rises: of all, the largest first."""

    sentence: str
    more: int | None
    last: str
    shares: list[ShareItem]
    rises: list[RiseItem]
    rises_total: int
    more_bytes: int | None
    absent: list[str]


class TrendOutliers(TypedDict):
    x: TypedArray
    y: TypedArray
    number: TypedArray
    pipeline: TypedArray
    total: int


class TrendItem(TypedDict):
    """low, mid, high: of all checkpoints at a point; number, pipeline: of the one with the most."""

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


class ArchiveSlowest(TypedDict):
    """counts: a row for each name, how often it was the slowest in each bin."""

    names: list[str]
    totals: list[int]
    others: int
    edges: TypedArray
    counts: list[list[int]]


class ArchiveOverview(TypedDict):
    """axis: ``time``, or ``number`` where no trigger is known. total: of the job; shown: those that
    pass the filter; unplaced: of them, those without a trigger, which no trend shows. lacking: the
    measures that no checkpoint of the job has; they have no trend."""

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
        {"name": called(vertex, one.index), "vertex": vertex.id}
        | {name: getattr(one, name) for name in one.__slots__}
        for one in vertex.subtasks
    ]


def comparison(found: Difference) -> dict[str, Any]:
    own = {name: getattr(found, name) for name in found.__slots__}
    return own | {
        "shares": [_share(share) for share in found.shares],
        "rises": [_share(rise) | {"subtask": rise.subtask} for rise in found.rises],
        "absent": list(found.absent),
    }


def _share(item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("phase", "slow", "healthy", "more")}


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
