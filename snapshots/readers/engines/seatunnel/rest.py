"""Reads the answers of SeaTunnel's REST interface: jobs with their graph, lists of checkpoints.

Ids may be numbers or texts of digits. A field that is missing or has another type is None, which
means not known. Source: docs/formats/seatunnel-files.md, "5. REST".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from snapshots.readers.formats.cursor import Malformed

JOB, CHECKPOINTS, HISTORY = "job", "checkpoints", "checkpoint history"
_COUNTS = ("triggered", "completed", "failed", "inProgress", "restored")
_LATEST = ("latestCompleted", "latestFailed", "latestSavepoint")


@dataclass(frozen=True, slots=True)
class Vertex:
    """kind: ``source``, ``transform`` or ``sink``, as the engine writes it."""

    id: int | None
    kind: str | None
    name: str | None
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """edges: per pipeline (from vertex, to vertex); what is no pair of ids is left out."""

    id: int | None
    name: str | None
    status: str | None
    created: str | None
    from_savepoint: bool | None
    vertices: tuple[Vertex, ...]
    edges: Mapping[int, tuple[tuple[int, int], ...]]
    metrics: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListedCheckpoint:
    """A checkpoint that the engine lists; failed and pending ones stand nowhere else.

    Times are epoch milliseconds. acknowledged, total: tasks, of one in progress. bytes: what the
    engine calls its state's size, and is a count of elements.
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
    """counts: triggered, completed, failed, inProgress, restored since the job began.

    latest: latestCompleted, latestFailed, latestSavepoint, where there is one.
    """

    pipeline: int | None
    counts: Mapping[str, int]
    latest: Mapping[str, ListedCheckpoint]
    in_progress: tuple[ListedCheckpoint, ...]
    history: tuple[ListedCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """kind: JOB, CHECKPOINTS or HISTORY; what belongs to the others is empty."""

    kind: str
    jobs: tuple[Job, ...] = ()
    job: int | None = None
    updated_at: int | None = None
    pipelines: tuple[PipelineCheckpoints, ...] = ()
    history: tuple[ListedCheckpoint, ...] = ()


def read_answer(data: bytes) -> Answer | None:
    """None for JSON that is none of these answers. Raises: Malformed for what is no JSON."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"This is no JSON: {error.msg}", error.pos) from None
    if isinstance(value, dict) and isinstance(value.get("pipelines"), list):
        pipelines = tuple(_pipeline(item) for item in _objects(value["pipelines"]))
        return Answer(
            CHECKPOINTS,
            job=_whole(value.get("jobId")),
            updated_at=_whole(value.get("updatedAt")),
            pipelines=pipelines,
        )
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(item, dict) and "jobDag" in item for item in items):
        return Answer(JOB, jobs=tuple(_job(item) for item in items))
    if (
        isinstance(value, list)
        and items
        and all(
            isinstance(item, dict) and isinstance(item.get("checkpoint"), dict) for item in items
        )
    ):
        return Answer(HISTORY, history=tuple(_history(items)))
    return None


def _job(item: dict) -> Job:
    dag = item["jobDag"] if isinstance(item["jobDag"], dict) else {}
    vertices = dag.get("vertexInfoMap")
    listed = vertices.values() if isinstance(vertices, dict) else vertices
    edges = dag.get("pipelineEdges")
    return Job(
        id=_whole(item.get("jobId")),
        name=_text(item.get("jobName")),
        status=_text(item.get("jobStatus")),
        created=_text(item.get("createTime")),
        from_savepoint=_flag(item.get("isStartWithSavePoint")),
        vertices=tuple(_vertex(vertex) for vertex in _objects(listed)),
        edges=dict(_edges(edges)) if isinstance(edges, dict) else {},
        metrics=item["metrics"] if isinstance(item.get("metrics"), dict) else {},
    )


def _vertex(item: dict) -> Vertex:
    tables = item.get("tablePaths")
    texts = tables if isinstance(tables, list) else ()
    return Vertex(
        _whole(item.get("vertexId")),
        _text(item.get("type")),
        _text(item.get("vertexName")),
        tuple(text for text in texts if isinstance(text, str)),
    )


def _edges(pipelines: dict) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    for pipeline, edges in pipelines.items():
        pairs = (
            (_whole(edge.get("inputVertexId")), _whole(edge.get("targetVertexId")))
            for edge in _objects(edges)
        )
        if (number := _whole(pipeline)) is not None:
            yield number, tuple(pair for pair in pairs if None not in pair)


def _pipeline(item: dict) -> PipelineCheckpoints:
    number = _whole(item.get("pipelineId"))
    counts = item.get("counts") if isinstance(item.get("counts"), dict) else {}
    known = {name: _whole(counts.get(name)) for name in _COUNTS}
    return PipelineCheckpoints(
        number,
        counts={name: count for name, count in known.items() if count is not None},
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


def _listed(item: dict, pipeline: int | None) -> ListedCheckpoint:
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


def _objects(items: object) -> Iterator[dict]:
    if hasattr(items, "__iter__") and not isinstance(items, dict | str):
        yield from (item for item in items if isinstance(item, dict))


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value if type(value) is int else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
