"""Read a job from answers of Flink's REST API or from the archive of a History Server."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from snapshots.readers.engines.flink.rest import error_answers
from snapshots.readers.engines.flink.rest.answers import (
    CHECKPOINT_CONFIG,
    CHECKPOINTS,
    CLUSTER,
    ERROR,
    EXCEPTIONS,
    JOB,
    LOG,
    OFF,
    PLAN,
    Answer,
    Answers,
)
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, checkpoints_of
from snapshots.readers.engines.flink.rest.fields import flag, items, mapping, number, text
from snapshots.readers.engines.flink.rest.job_graph import Input, JobGraph, Vertex, members
from snapshots.readers.engines.flink.rest.load import VertexLoad, loads_of

NO_INTERVAL = 2**63 - 1  # ms; Flink's mark for a job that triggers no checkpoints by itself
_LONGEST_TRACE = 20_000  # characters of a stack trace that are kept


@dataclass(frozen=True, slots=True)
class RestException:
    """A failure of the job.

    Attributes:
        at: epoch ms.
        text: the stack trace, cut at _LONGEST_TRACE.
        place: the line of a log that tells of it; None if an answer of the REST API does.
    """

    at: int | None
    name: str | None
    task: str | None
    location: str | None
    text: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class RestRestore:
    """The checkpoint from which the job was last restored.

    Attributes:
        at: epoch ms.
        path: where the cluster found it.
        place: the line of a log that tells of it; None if an answer of the REST API does.
    """

    id: int
    at: int | None
    is_savepoint: bool
    path: str | None
    place: str | None = None


@dataclass(frozen=True)
class RestJob:
    """A job. A field is None if the upload has no answer about it.

    Attributes:
        started_at: epoch ms.
        ended_at: epoch ms.
        asked_at: when Flink gave the answer, in epoch ms.
        config: the configuration of checkpointing, as Flink gives it.
        counts: the number of checkpoints by status.
        kinds: the kinds of answers that there are about the job.
        loads: how busy its subtasks were.
        restore: what it was last restored from.
        has_more_exceptions: whether Flink says that it forgot earlier exceptions.
        is_off: whether Flink says that checkpointing is not enabled.
        is_not_periodic: whether Flink says that the job triggers no checkpoints by itself.
        errors: the messages of Flink's error answers about the job, each once.
        logged_vertices: the names of vertices by id, as logs have them.
        is_of_log: whether logs alone tell of the job's state, checkpoints and failures.
    """

    id: str
    name: str | None
    state: str | None
    kind: str | None
    started_at: int | None
    ended_at: int | None
    asked_at: int | None
    flink_version: str | None
    graph: JobGraph | None
    checkpoints: tuple[RestCheckpoint, ...]
    exceptions: tuple[RestException, ...]
    config: dict[str, object]
    counts: dict[str, int]
    kinds: frozenset[str]
    loads: tuple[VertexLoad, ...]
    restore: RestRestore | None
    has_more_exceptions: bool
    is_off: bool = False
    is_not_periodic: bool = False
    errors: tuple[str, ...] = ()
    logged_vertices: dict[str, str] = field(default_factory=dict)
    is_of_log: bool = False

    @cached_property
    def checkpoint_by_id(self) -> dict[int, RestCheckpoint]:
        return {checkpoint.id: checkpoint for checkpoint in self.checkpoints}


def jobs_of(answers: Answers) -> dict[str, RestJob]:
    """Return every job that answers are about, by id."""
    return {
        job: _job(job, each, _version(answers.cluster, each)) for job, each in answers.jobs.items()
    }


def _values(answers: Iterable[Answer], kind: str) -> list[dict[str, Any]]:
    return [mapping(answer.value) for answer in answers if answer.kind == kind]


def _version(cluster: Iterable[Answer], answers: Iterable[Answer]) -> str | None:
    """Return the version that answers in the job's folders give, None if they differ."""
    folders = {answer.file.rpartition("/")[0] for answer in answers}
    versions = {
        text(mapping(answer.value), "flink-version")
        for answer in cluster
        if answer.kind == CLUSTER and answer.file.rpartition("/")[0] in folders
    }
    return next(iter(versions)) if len(versions) == 1 else None


def _job(job_id: str, answers: tuple[Answer, ...], version: str | None) -> RestJob:
    job = max(_values(answers, JOB), key=lambda value: number(value, "now") or 0, default={})
    plans = [mapping(value, "plan") for value in (*_values(answers, PLAN), job)]
    plan = next((plan for plan in plans if items(plan, "nodes")), {})
    counts = [counts_of(value) for value in _values(answers, CHECKPOINTS)]
    return RestJob(
        job_id,
        text(job, "name") or text(plan, "name"),
        text(job, "state"),
        text(job, "job-type", "jobType") or text(plan, "type"),
        number(job, "start-time"),
        number(job, "end-time"),
        number(job, "now"),
        version,
        graph_of(plan, job) if plan else None,
        checkpoints_of(answers),
        _exceptions(_values(answers, EXCEPTIONS)),
        next(iter(_values(answers, CHECKPOINT_CONFIG)), {}),
        max(counts, key=lambda count: count.get("total", 0), default={}),
        frozenset(answer.kind for answer in answers),
        loads_of(answers),
        _restore(_values(answers, CHECKPOINTS)),
        any(map(_is_truncated, _values(answers, EXCEPTIONS))),
        any(answer.kind == OFF for answer in answers),
        any(
            number(config, "interval") == NO_INTERVAL
            for config in _values(answers, CHECKPOINT_CONFIG)
        ),
        _errors(answers),
        {
            id: name
            for value in _values(answers, LOG)
            for id, name in mapping(value, "vertices").items()
        },
        _is_of_log(answers),
    )


def _is_of_log(answers: Iterable[Answer]) -> bool:
    logs = {answer.file for answer in answers if answer.kind == LOG}
    told = (JOB, CHECKPOINTS, EXCEPTIONS)
    return bool(logs) and all(each.file in logs for each in answers if each.kind in told)


def _errors(answers: Iterable[Answer]) -> tuple[str, ...]:
    found = (error_answers.messages_of(each.value) for each in answers if each.kind == ERROR)
    return tuple(dict.fromkeys(message for messages in found for message in messages))


def _restore(values: list[dict[str, Any]]) -> RestRestore | None:
    restored = [mapping(value, "latest", "restored") for value in values]
    last = max(restored, key=lambda value: number(value, "restore_timestamp") or 0, default={})
    if (id := number(last, "id")) is None:
        return None
    return RestRestore(
        id,
        number(last, "restore_timestamp"),
        flag(last, "is_savepoint") or False,
        text(last, "external_path"),
        text(last, "place"),
    )


def _is_truncated(answer: dict[str, Any]) -> bool:
    history = mapping(answer, "exceptionHistory")
    if any("jobId" in entry for entry in items(history, "entries")):
        return True  # an application lists only what ended its jobs
    return bool(flag(history, "truncated") if history else flag(answer, "truncated"))


def counts_of(answer: object) -> dict[str, int]:
    """Return the number of checkpoints by status, from an answer about all of a job."""
    counts = mapping(answer, "counts")
    return {name: count for name in counts if (count := number(counts, name)) is not None}


def graph_of(plan: dict[str, Any], job: dict[str, Any]) -> JobGraph:
    """Return the graph in Flink's answers about the plan of a job and about the job."""
    job_vertices = {text(vertex, "id"): vertex for vertex in items(job, "vertices")}
    vertices: dict[str, Vertex] = {}
    for node in items(plan, "nodes"):
        if (vertex_id := text(node, "id")) is not None:
            job_vertex = job_vertices.get(vertex_id, {})
            vertices.setdefault(vertex_id, _vertex(vertex_id, node, job_vertex))
    return JobGraph(tuple(vertices.values()))


def _vertex(vertex_id: str, node: dict[str, Any], job_vertex: dict[str, Any]) -> Vertex:
    chain = members(text(node, "description") or "")
    inputs: dict[int, Input] = {}
    for edge in items(node, "inputs"):
        source, gate = text(edge, "id"), number(edge, "num")
        if source is not None and gate is not None:
            inputs.setdefault(gate, Input(source, gate, text(edge, "ship_strategy") or ""))
    return Vertex(
        vertex_id,
        text(job_vertex, "name") or " -> ".join(chain),
        chain,
        number(node, "parallelism"),
        number(job_vertex, "maxParallelism"),
        tuple(inputs[gate] for gate in sorted(inputs)),
    )


def _exceptions(values: list[dict[str, Any]]) -> tuple[RestException, ...]:
    distinct: dict[RestException, None] = {}
    for value in values:
        history = items(mapping(value, "exceptionHistory"), "entries")
        for entry in history or items(value, "all-exceptions"):
            exception = RestException(
                number(entry, "timestamp"),
                text(entry, "exceptionName"),
                text(entry, "taskName", "task"),
                text(entry, "endpoint", "location"),
                (text(entry, "stacktrace", "exception") or "")[:_LONGEST_TRACE],
                text(entry, "place"),
            )
            distinct[exception] = None
    return tuple(sorted(distinct, key=lambda exception: exception.at or 0))
