"""Payloads of the archive.

Instants of checkpoints are epoch milliseconds, durations milliseconds, sizes bytes. Null means that
a value is not known.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.archive import filling, watching
from snapshots.domain.archive import absence
from snapshots.domain.archive.comparison import Difference, Rise, Share
from snapshots.domain.archive.model import SubtaskFacts, VertexFacts, called
from snapshots.domain.archive.stalls import Stall
from snapshots.domain.model.as_json import as_json
from snapshots.models import Collector, EngineCheckpoint, EngineJob
from snapshots.payloads.arrays import TypedArray
from snapshots.payloads.declaring import Payload, described, documented, list_of, payload_of
from snapshots.payloads.teams import OwningTeam, team_of


@described
class CollectorItem(TypedDict):
    """A collector, which polls a running engine for its checkpoints.

    Attributes:
        id: the number of the collector.
        team: the team that owns it; null for your own.
        engine: the engine: ``flink``, ``seatunnel`` or ``spark``.
        url: the address of the engine's REST API; of a Spark query its checkpoint folder.
        job_key: the engine's id of the only job that it follows; empty if it follows all jobs.
        interval_seconds: the seconds from one poll to the next.
        is_collecting: whether it polls; false if it is stopped.
        last_polled_at: when the engine last answered, as ISO 8601 in UTC; null if it never did.
        last_error: why the last poll failed; empty if it did not.
        created_at: when the collector was added, as ISO 8601 in UTC.
    """

    id: int
    team: OwningTeam | None
    engine: str
    url: str
    job_key: str
    interval_seconds: int
    is_collecting: bool
    last_polled_at: str | None
    last_error: str
    created_at: str


CollectorList = list_of(CollectorItem, "CollectorList")


JobStall = payload_of(Stall, "JobStall")


@described
class ArchivedJob(TypedDict):
    """A job of an engine whose checkpoints the archive keeps.

    Attributes:
        id: the number of the job in the archive.
        team: the team that owns it; null for your own.
        engine: ``flink``, ``spark`` or ``seatunnel``.
        key: the engine's id of the job.
        run: 1, or more if the engine used the key again.
        name: the name that the engine gives the job; empty if it is not known.
        state: the job's last known state, such as ``running``; empty if it is not known.
        collector: the number of the collector that follows the job; null if none does.
        heard_from: the address of the engine that reported it last; empty if only uploads did.
        heard_at: when that engine reported it last, as ISO 8601 in UTC; null if none ever did.
        stall: whether the running job has stopped completing checkpoints.
        counts: how many checkpoints have each status, and their ``total``, as the engine counts.
        version: a number that grows with every change.
        checkpoints: how many checkpoints the archive keeps.
        created_at: when the archive first saw the job, as ISO 8601 in UTC.
        changed_at: when the job last changed in the archive, as ISO 8601 in UTC.
    """

    id: int
    team: OwningTeam | None
    engine: str
    key: str
    run: int
    name: str
    state: str
    collector: int | None
    heard_from: str
    heard_at: str | None
    stall: Annotated[dict[str, Any], Payload(JobStall)]
    counts: dict[str, int]
    version: int
    checkpoints: int
    created_at: str
    changed_at: str


ArchivedJobList = list_of(ArchivedJob, "ArchivedJobList")


@described
class TakenJob(ArchivedJob):
    """An archived job after a file with its notes was taken.

    Attributes:
        notes: what became of the notes, in sentences.
    """

    notes: str


@described
class ArchivedCheckpoint(TypedDict):
    """One checkpoint of an archived job.

    Attributes:
        pipeline: the number of its pipeline; 0 unless the engine numbers checkpoints by pipeline.
        number: the engine's number of the checkpoint.
        kind: the kind in words, such as ``unaligned checkpoint``; empty if it is not known.
        status: ``completed``, ``failed``, ``in progress`` or ``unknown``.
        triggered_at: when it was triggered, in epoch milliseconds; null if it is not known.
        ended_at: when it completed or was given up, in epoch milliseconds; null if it is not known.
        duration: the milliseconds from its trigger to its end; null if they are not known.
        bytes: the size of its whole state in bytes; null if it is not known.
        uploaded: the new bytes of an incremental checkpoint; null if they are not known.
        in_flight: the bytes of stored data in flight; null if they are not known.
        subtasks: how many subtasks take part; null if it is not known.
        acknowledged: how many subtasks acknowledged; null if it is not known.
        start_delay_max: the longest delay in milliseconds until a subtask began; null if no delay
            is known.
        alignment_max: the longest alignment of a subtask in milliseconds; null if none is known.
        sync_max: the longest synchronous part of a subtask in milliseconds; null if none is known.
        async_max: the longest asynchronous part of a subtask in milliseconds; null if none is
            known.
        slowest: for whom it waited, in words: the subtask that did not acknowledge or was the
            last; several if they tie; empty if it is not known.
        failure: why it failed, in the engine's words; empty if it did not or it is not known.
        cause: why it failed, in a few words that many failures share; empty if it did not fail.
        phase: the phase in which it failed; empty if it did not or it is not known.
        path: where the engine stored it; empty if it is not known.
        recording: the number of an upload that holds it; null if none does that you may see.
        contents: its number in the inventory of that upload, from 0; null if no upload holds it.
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


_ArchivedSubtask = payload_of(
    SubtaskFacts,
    "ArchivedSubtask",
    more={
        "name": documented(str, "The name of the subtask, such as ``map[1]``."),
        "vertex": documented(str, "The engine's id of the vertex to which it belongs."),
    },
)
ArchivedSubtask = Annotated[dict[str, Any], Payload(_ArchivedSubtask)]


@described
class ArchivedCheckpointDetail(ArchivedCheckpoint):
    """One checkpoint of an archived job, with the times and sizes of every subtask.

    Attributes:
        tasks: the subtasks by vertex; none if no report about them is kept.
        missing: the subtasks that did not acknowledge in time, those that never did first. While
            the checkpoint is in progress, the subtasks that have not acknowledged yet.
        absence: the missing subtasks in a sentence; empty if all subtasks acknowledged.
        waited_for: the subtasks for which it waited: those that did not acknowledge in time, else
            the last ones; several if they tie, none if that is not known.
    """

    tasks: list[ArchivedSubtask]
    missing: list[str]
    absence: str
    waited_for: list[str]


payload_of(Share, "ShareItem")
payload_of(Rise, "RiseItem")
ArchivedComparison = payload_of(Difference, "ArchivedComparison")


@described
class TrendOutliers(TypedDict):
    """The checkpoints that are outliers of one measure.

    Attributes:
        x: the place of each outlier on the axis.
        y: the value of each outlier.
        number: the number of each outlier.
        pipeline: the pipeline of each outlier.
        total: how many outliers there are; only the first are listed.
    """

    x: TypedArray
    y: TypedArray
    number: TypedArray
    pipeline: TypedArray
    total: int


@described
class TrendItem(TypedDict):
    """One measure over time, in points each of which may stand for several checkpoints.

    Attributes:
        x: the place of each point on the axis.
        low: the least value at each point.
        mid: the median at each point.
        high: the greatest value at each point.
        number: the number of the checkpoint with the greatest value at each point.
        pipeline: the pipeline of the checkpoint with the greatest value at each point.
        exact: whether each point stands for one checkpoint.
        band_x: the places on the axis at which ``lower`` and ``upper`` are given.
        lower: the lower edge of the band outside which a checkpoint is an outlier.
        upper: the upper edge of the band outside which a checkpoint is an outlier.
        outliers: the checkpoints outside the band.
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


@described
class CauseItem(TypedDict):
    """A cause that failures share.

    Attributes:
        cause: the cause in a few words.
        phase: the phase in which these checkpoints failed; empty if it is not known.
        count: how many checkpoints failed so.
        last_number: the number of the last of them.
        last_pipeline: the pipeline of the last of them.
        last_at: when the last of them was triggered, in epoch milliseconds; null if not known.
    """

    cause: str
    phase: str
    count: int
    last_number: int
    last_pipeline: int
    last_at: int | None


@described
class ArchiveFailures(TypedDict):
    """How many checkpoints failed when, and why.

    Attributes:
        edges: where the bins begin and end on the axis: one more than there are bins.
        failed: how many checkpoints of each bin failed.
        completed: how many checkpoints of each bin completed.
        causes: the causes that failures share.
    """

    edges: TypedArray
    failed: TypedArray
    completed: TypedArray
    causes: list[CauseItem]


@described
class ArchiveSlowest(TypedDict):
    """How often each subtask was the slowest of a checkpoint.

    Attributes:
        names: the subtasks that were the slowest most often; those that tied stand together.
        totals: how often each of the ``names`` was the slowest.
        others: how often subtasks that are not listed were the slowest.
        edges: where the bins begin and end on the axis: one more than there are bins.
        counts: a row for each name: how often it was the slowest in each bin.
    """

    names: list[str]
    totals: list[int]
    others: int
    edges: TypedArray
    counts: list[list[int]]


@described
class ArchiveOverview(TypedDict):
    """The checkpoints that pass a filter: trends, failures, and the slowest subtasks.

    Attributes:
        axis: ``time`` in epoch milliseconds, or ``number`` if no trigger is known.
        total: how many checkpoints the job has.
        shown: how many of them pass the filter.
        unplaced: how many of these have no known trigger, so no trend shows them.
        version: a number that grows with every change of the job.
        trends: the trend of each measure by its name.
        lacking: the measures that no checkpoint of the job has; they have no trend.
        failures: how many checkpoints failed when, and why.
        slowest: how often each subtask was the slowest of a checkpoint.
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


_OWN_FIELDS = tuple(ArchivedCheckpoint.__annotations__)[:-2]


def collector_item(row: Collector) -> dict[str, Any]:
    return {
        "id": row.pk,
        "team": team_of(row),
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
        "team": team_of(row),
        "engine": row.engine,
        "key": row.key,
        "run": row.run,
        "name": row.name,
        "state": row.state,
        "collector": row.collector_id,
        "heard_from": row.heard_from,
        "heard_at": row.heard_at and iso(row.heard_at),
        "stall": as_json(watching.stall_of(row)),
        "counts": row.counts,
        "version": row.version,
        "checkpoints": checkpoints,
        "created_at": iso(row.created_at),
        "changed_at": iso(row.changed_at),
    }


def checkpoint_item(row: EngineCheckpoint) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in _OWN_FIELDS}
    contents = None if row.recording_id is None else row.contents
    return own | {"recording": row.recording_id, "contents": contents}


def checkpoint_detail(row: EngineCheckpoint) -> dict[str, Any]:
    facts = filling.facts_of(row)
    return checkpoint_item(row) | {
        "tasks": [task for vertex in facts.vertices for task in _tasks(vertex)],
        "missing": list(absence.missing(facts)),
        "absence": absence.sentence(facts),
        "waited_for": list(absence.blame(facts).names),
    }


def _tasks(vertex: VertexFacts) -> list[dict[str, Any]]:
    return [
        {"name": called(vertex, subtask.index), "vertex": vertex.id} | as_json(subtask)
        for subtask in vertex.subtasks
    ]


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
