"""A job as Flink's REST API, or the archive of a History Server, tells it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from snapshots.readers.engines.flink.rest.answers import (
    CHECKPOINT_CONFIG,
    CHECKPOINTS,
    CLUSTER,
    EXCEPTIONS,
    JOB,
    PLAN,
    Answer,
    Answers,
)
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, checkpoints_of
from snapshots.readers.engines.flink.rest.fields import items, mapping, number, text
from snapshots.readers.engines.flink.rest.job_graph import Input, JobGraph, Vertex, members

_LONGEST_TRACE = 20_000  # characters of a stack trace that are kept


@dataclass(frozen=True, slots=True)
class RestException:
    """A failure of the job. at: epoch ms. text: the stack trace, cut at _LONGEST_TRACE."""

    at: int | None
    name: str | None
    task: str | None
    location: str | None
    text: str


@dataclass(frozen=True)
class RestJob:
    """A job; None where the upload has no such answer.

    started_at, ended_at, asked_at: epoch ms; the last is when the answer was given. config: of
    checkpointing, as Flink words it. counts: of checkpoints, by status.
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

    @cached_property
    def checkpoint_by_id(self) -> dict[int, RestCheckpoint]:
        return {one.id: one for one in self.checkpoints}


def jobs_of(answers: Answers) -> dict[str, RestJob]:
    """Every job that the answers tell of, by id."""
    return {
        job: _job(job, each, _version(answers.cluster, each)) for job, each in answers.jobs.items()
    }


def _values(answers: Iterable[Answer], kind: str) -> list[dict]:
    return [mapping(answer.value) for answer in answers if answer.kind == kind]


def _version(cluster: Iterable[Answer], answers: Iterable[Answer]) -> str | None:
    """What the answers in a folder of the job's say; of other folders only if all say the same."""
    folders = {answer.file.rpartition("/")[0] for answer in answers}
    beside = {
        text(mapping(answer.value), "flink-version")
        for answer in cluster
        if answer.kind == CLUSTER and answer.file.rpartition("/")[0] in folders
    }
    return next(iter(beside)) if len(beside) == 1 else None


def _job(job_id: str, answers: tuple[Answer, ...], version: str | None) -> RestJob:
    job = max(_values(answers, JOB), key=lambda one: number(one, "now") or 0, default={})
    plans = [mapping(one, "plan") for one in (*_values(answers, PLAN), job)]
    plan = next((one for one in plans if items(one, "nodes")), None)
    counts = [counts_of(one) for one in _values(answers, CHECKPOINTS)]
    return RestJob(
        job_id,
        text(job, "name") or (plan and text(plan, "name")),
        text(job, "state"),
        text(job, "job-type") or (plan and text(plan, "type")),
        number(job, "start-time"),
        number(job, "end-time"),
        number(job, "now"),
        version,
        None if plan is None else _graph(plan, job),
        checkpoints_of(answers),
        _exceptions(_values(answers, EXCEPTIONS)),
        next(iter(_values(answers, CHECKPOINT_CONFIG)), {}),
        max(counts, key=lambda one: one.get("total", 0), default={}),
    )


def counts_of(answer: object) -> dict[str, int]:
    """Checkpoints by status, from an answer about all of a job."""
    counts = mapping(answer, "counts")
    return {name: count for name in counts if (count := number(counts, name)) is not None}


def _graph(plan: dict, job: dict) -> JobGraph:
    of_job = {text(one, "id"): one for one in items(job, "vertices")}
    vertices = {}
    for node in items(plan, "nodes"):
        if (vertex_id := text(node, "id")) is not None:
            known = of_job.get(vertex_id, {})
            vertices.setdefault(vertex_id, _vertex(vertex_id, node, known))
    return JobGraph(tuple(vertices.values()))


def _vertex(vertex_id: str, node: dict, known: dict) -> Vertex:
    chain = members(text(node, "description") or "")
    inputs = {}
    for one in items(node, "inputs"):
        source, gate = text(one, "id"), number(one, "num")
        if source is not None and gate is not None:
            inputs.setdefault(gate, Input(source, gate, text(one, "ship_strategy") or ""))
    return Vertex(
        vertex_id,
        text(known, "name") or " -> ".join(chain),
        chain,
        number(node, "parallelism"),
        number(known, "maxParallelism"),
        tuple(inputs[gate] for gate in sorted(inputs)),
    )


def _exceptions(values: list[dict]) -> tuple[RestException, ...]:
    found = {}
    for value in values:
        told = items(mapping(value, "exceptionHistory"), "entries") or items(
            value, "all-exceptions"
        )
        for entry in told:
            one = RestException(
                number(entry, "timestamp"),
                text(entry, "exceptionName"),
                text(entry, "taskName", "task"),
                text(entry, "endpoint", "location"),
                (text(entry, "stacktrace", "exception") or "")[:_LONGEST_TRACE],
            )
            found[one] = None
    return tuple(sorted(found, key=lambda one: one.at or 0))
