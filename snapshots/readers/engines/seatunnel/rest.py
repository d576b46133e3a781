"""Read answers of SeaTunnel's REST interface: jobs with their graphs, lists of checkpoints.

Ids can be numbers or texts of digits. A field that is missing or has another type is None, which
stands for unknown. Source: docs/formats/seatunnel-files.md, "5. REST".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from snapshots.readers.formats.cursor import Malformed

JOB, CHECKPOINTS, HISTORY = "job", "checkpoints", "checkpoint history"
_LONGEST_MESSAGE = 500  # characters
_COUNTS = ("triggered", "completed", "failed", "inProgress", "restored")
_LATEST = ("latestCompleted", "latestFailed", "latestSavepoint")


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex of a job's graph.

    Attributes:
        kind: the engine's word, such as ``source``, ``transform`` or ``sink``.
    """

    id: int | None
    kind: str | None
    name: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restores:
    """How often a pipeline was restored, in answers with ``diagnostics``.

    Attributes:
        most: after how many restores the job gives up.
    """

    pipeline: int | None
    count: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Job:
    """A job with its graph.

    Attributes:
        edges: the pairs (source vertex, target vertex) of each pipeline.
        error: the engine's message about why the job failed.
        interval_ms: the job's own interval of checkpoints, in milliseconds.
        running_since: when the job began to run, in epoch milliseconds.
    """

    id: int | None
    name: str | None
    status: str | None
    created: str | None
    from_savepoint: bool | None
    vertices: tuple[Vertex, ...]
    edges: Mapping[int, tuple[tuple[int, int], ...]]
    metrics: Mapping[str, object] = field(default_factory=dict)
    error: str | None = None
    interval_ms: int | None = None
    running_since: int | None = None
    restores: tuple[Restores, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedCheckpoint:
    """A checkpoint in an answer, which can also be a failed or pending one.

    Times are epoch milliseconds.

    Attributes:
        bytes: what the engine calls the size of its state. It is a number of elements.
        acknowledged: how many tasks have acknowledged one in progress.
        total: how many tasks take part in one in progress.
    """

    pipeline: int | None
    id: int | None
    type: str | None
    status: str | None
    triggered_at: int | None
    completed_at: int | None = None
    duration_ms: int | None = None
    bytes: int | None = None
    failure: str | None = None
    acknowledged: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class PipelineCheckpoints:
    """The checkpoints of one pipeline.

    Attributes:
        counts: the numbers of triggered, completed, failed, inProgress and restored ones, by these
            words.
        latest: the checkpoints latestCompleted, latestFailed and latestSavepoint, as far as they
            exist.
    """

    pipeline: int | None
    counts: Mapping[str, int]
    latest: Mapping[str, ListedCheckpoint]
    in_progress: tuple[ListedCheckpoint, ...]
    history: tuple[ListedCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Fields that belong to other kinds are empty.

    Attributes:
        kind: JOB, CHECKPOINTS or HISTORY.
    """

    kind: str
    jobs: tuple[Job, ...] = ()
    job: int | None = None
    updated_at: int | None = None
    pipelines: tuple[PipelineCheckpoints, ...] = ()
    history: tuple[ListedCheckpoint, ...] = ()


def read_answer(data: bytes) -> Answer | None:
    """Return the answer in a file; None for other JSON. Raises: Malformed if it is not JSON."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"This is not JSON: {error.msg}", error.pos) from None
    return answer_of(value)


def refusal(data: bytes) -> str | None:
    """Return what an answer with an error says, as a sentence; None for other content.

    Of a job that it does not know SeaTunnel answers with the id alone.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    if value.get("status") == "fail" and (message := _text(value.get("message"))):
        return f"It is an error that SeaTunnel answered: “{message[:_LONGEST_MESSAGE]}”."
    if not value:
        return (
            "SeaTunnel answered with an empty object: it does not know this job. Older versions "
            "answer so for every job that does not run; ask /finished-jobs for those."
        )
    if value.keys() == {"jobId"} and (job := _whole(value["jobId"])) is not None:
        return (
            f"SeaTunnel answered with the id of job {job} and nothing else: it does not know this "
            "job, or keeps nothing of it any more."
        )
    return None


def answer_of(value: Any) -> Answer | None:
    """Return the answer that a JSON value is; None for other JSON."""
    if isinstance(value, dict) and isinstance(value.get("pipelines"), list):
        return Answer(
            CHECKPOINTS,
            job=_whole(value.get("jobId")),
            updated_at=_whole(value.get("updatedAt")),
            pipelines=tuple(map(_pipeline, _objects(value["pipelines"]))),
        )
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    if all("jobDag" in item for item in items):
        return Answer(JOB, jobs=tuple(map(_job, items)))
    if isinstance(value, list) and all(isinstance(item.get("checkpoint"), dict) for item in items):
        return Answer(HISTORY, history=tuple(_history(items)))
    return None


def _job(item: dict[str, Any]) -> Job:
    graph = item["jobDag"] if isinstance(item["jobDag"], dict) else {}
    vertices, edges = graph.get("vertexInfoMap"), graph.get("pipelineEdges")
    listed = list(vertices.values()) if isinstance(vertices, dict) else vertices
    diagnostics = _object(item.get("diagnostics"))
    return Job(
        id=_whole(item.get("jobId")),
        name=_text(item.get("jobName")),
        status=_text(item.get("jobStatus")),
        created=_text(item.get("createTime")),
        from_savepoint=_flag(item.get("isStartWithSavePoint")),
        vertices=tuple(map(_vertex, _objects(listed))),
        edges=dict(_edges(edges)) if isinstance(edges, dict) else {},
        metrics=_object(item.get("metrics")),
        error=_text(item.get("errorMsg")),
        interval_ms=_whole(_object(item.get("envOptions")).get("checkpoint.interval")),
        running_since=_whole(_object(diagnostics.get("jobStateTimestamps")).get("RUNNING")),
        restores=tuple(
            Restores(_whole(one.get("pipelineId")), count, _whole(one.get("maxRestoreCount")))
            for one in _objects(diagnostics.get("pipelines"))
            if (count := _whole(one.get("restoreCount"))) is not None
        ),
    )


def _vertex(item: dict[str, Any]) -> Vertex:
    tables = item.get("tablePaths")
    texts = tables if isinstance(tables, list) else ()
    return Vertex(
        _whole(item.get("vertexId")),
        _text(item.get("type")),
        _text(item.get("vertexName")),
        tuple(text for text in texts if isinstance(text, str)),
    )


def _edges(pipelines: dict[str, Any]) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    for pipeline, edges in pipelines.items():
        if (number := _whole(pipeline)) is not None:
            yield (
                number,
                tuple(
                    (source, target)
                    for edge in _objects(edges)
                    if (source := _whole(edge.get("inputVertexId"))) is not None
                    and (target := _whole(edge.get("targetVertexId"))) is not None
                ),
            )


def _pipeline(item: dict[str, Any]) -> PipelineCheckpoints:
    number, counts = _whole(item.get("pipelineId")), item.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    return PipelineCheckpoints(
        number,
        counts={name: count for name in _COUNTS if (count := _whole(counts.get(name))) is not None},
        latest={
            name: _listed(item[name], number)
            for name in _LATEST
            if item.get(name) and isinstance(item[name], dict)
        },
        in_progress=tuple(_listed(entry, number) for entry in _objects(item.get("inProgress"))),
        history=tuple(_history(item.get("history"))),
    )


def _history(items: object) -> Iterator[ListedCheckpoint]:
    for item in _objects(items):
        if isinstance(item.get("checkpoint"), dict):
            yield _listed(item["checkpoint"], _whole(item.get("pipelineId")))


def _listed(item: dict[str, Any], pipeline: int | None) -> ListedCheckpoint:
    return ListedCheckpoint(
        pipeline=pipeline,
        id=_whole(item.get("checkpointId")),
        type=_text(item.get("checkpointType")),
        status=_text(item.get("status")),
        triggered_at=_whole(item.get("triggerTimestamp")),
        completed_at=_whole(item.get("completedTimestamp")),
        duration_ms=_whole(item.get("durationMillis")),
        bytes=_whole(item.get("stateSize")),
        failure=_text(item.get("failureReason")),
        acknowledged=_whole(item.get("acknowledged")),
        total=_whole(item.get("total")),
    )


def _objects(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value if type(value) is int else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
