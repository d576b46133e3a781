"""Checkpoints as Flink's REST API tells them: times, sizes, and what each subtask took.

Times are epoch milliseconds, durations milliseconds, sizes bytes; None where not known.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from snapshots.readers.engines.flink.rest.answers import CHECKPOINT, CHECKPOINTS, SUBTASKS, Answer
from snapshots.readers.engines.flink.rest.fields import flag, items, mapping, number, text

COMPLETED, FAILED, IN_PROGRESS = "COMPLETED", "FAILED", "IN_PROGRESS"


@dataclass(frozen=True, slots=True)
class SubtaskTimes:
    """One subtask's part in a checkpoint.

    status: "completed" or "pending_or_failed". duration: from the trigger to the acknowledgement.
    start_delay: from the trigger to the first barrier; then alignment, sync, async_ follow.
    processed, persisted: bytes during the alignment; persisted ones are in-flight data.
    """

    index: int
    status: str
    ack_at: int | None = None
    duration: int | None = None
    state_size: int | None = None
    uploaded_size: int | None = None
    sync: int | None = None
    async_: int | None = None
    alignment: int | None = None
    processed: int | None = None
    persisted: int | None = None
    start_delay: int | None = None
    unaligned: bool | None = None
    aborted: bool | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What the REST API says of a checkpoint and of each vertex in it."""

    status: str
    ack_at: int | None
    duration: int | None
    state_size: int | None
    uploaded_size: int | None
    processed: int | None
    persisted: int | None
    subtasks: int | None
    acknowledged: int | None


@dataclass(frozen=True, slots=True)
class VertexTimes:
    """A vertex in a checkpoint. subtasks: empty where the upload does not have them."""

    vertex: str
    totals: Totals
    subtasks: tuple[SubtaskTimes, ...] = ()


@dataclass(frozen=True, slots=True)
class RestCheckpoint:
    """A checkpoint or savepoint.

    kind: Flink's, as "UNALIGNED_CHECKPOINT". status, in totals: COMPLETED, FAILED or IN_PROGRESS.
    path: where the cluster stored it. vertices: empty where the upload has no details.
    """

    id: int
    kind: str | None
    is_savepoint: bool
    savepoint_format: str | None
    triggered_at: int | None
    totals: Totals
    failed_at: int | None
    failure: str | None
    path: str | None
    discarded: bool | None
    vertices: tuple[VertexTimes, ...] = ()

    @property
    def status(self) -> str:
        return self.totals.status


def checkpoints_of(answers: Iterable[Answer]) -> tuple[RestCheckpoint, ...]:
    """All checkpoints that the answers tell of, by their id."""
    found: dict[int, RestCheckpoint] = {}
    vertices: dict[int, dict[str, VertexTimes]] = defaultdict(dict)
    for answer in answers:
        for one in _told(answer):
            found[one.id] = _fuller(found[one.id], one) if one.id in found else one
        if answer.kind == SUBTASKS and answer.checkpoint is not None and answer.vertex:
            of_checkpoint = vertices[answer.checkpoint]
            times = _vertex(answer.vertex, mapping(answer.value))
            of_checkpoint[answer.vertex] = _fuller_vertex(of_checkpoint.get(times.vertex), times)
    return tuple(_with_vertices(found[number], vertices[number]) for number in sorted(found))


def _told(answer: Answer) -> list[RestCheckpoint]:
    value = mapping(answer.value)
    told = []
    if answer.kind == CHECKPOINT:
        told = [value]
    elif answer.kind == CHECKPOINTS:
        latest = mapping(value, "latest")
        told = items(value, "history")
        told += [mapping(latest, name) for name in ("completed", "failed", "savepoint")]
    return [_checkpoint(one) for one in told if number(one, "id") is not None]


def _checkpoint(value: dict) -> RestCheckpoint:
    tasks = mapping(value, "tasks")
    return RestCheckpoint(
        number(value, "id"),
        text(value, "checkpoint_type"),
        flag(value, "is_savepoint") or False,
        text(value, "savepointFormat"),
        number(value, "trigger_timestamp"),
        _totals(value),
        number(value, "failure_timestamp"),
        text(value, "failure_message"),
        text(value, "external_path"),
        flag(value, "discarded"),
        tuple(_vertex(vertex, mapping(tasks, vertex)) for vertex in tasks),
    )


def _totals(value: dict) -> Totals:
    return Totals(
        text(value, "status") or "",
        number(value, "latest_ack_timestamp"),
        number(value, "end_to_end_duration"),
        number(value, "state_size"),
        number(value, "checkpointed_size"),
        number(value, "processed_data"),
        number(value, "persisted_data"),
        number(value, "num_subtasks"),
        number(value, "num_acknowledged_subtasks"),
    )


def _vertex(vertex: str, value: dict) -> VertexTimes:
    told = items(value, "subtasks")
    subtasks = {number(one, "index"): _subtask(one) for one in told}
    return VertexTimes(
        vertex,
        _totals(value),
        tuple(subtasks[index] for index in sorted(subtasks.keys() - {None})),
    )


def _subtask(value: dict) -> SubtaskTimes:
    parts, alignment = mapping(value, "checkpoint"), mapping(value, "alignment")
    return SubtaskTimes(
        number(value, "index"),
        text(value, "status") or "",
        number(value, "ack_timestamp"),
        number(value, "end_to_end_duration"),
        number(value, "state_size"),
        number(value, "checkpointed_size"),
        number(parts, "sync"),
        number(parts, "async"),
        number(alignment, "duration"),
        number(alignment, "processed"),
        number(alignment, "persisted"),
        number(value, "start_delay"),
        flag(value, "unaligned_checkpoint"),
        flag(value, "aborted"),
    )


def _fuller(one: RestCheckpoint, other: RestCheckpoint) -> RestCheckpoint:
    """Two answers about the same checkpoint: the later one, with the vertices of either."""
    later, earlier = (one, other) if _progress(one) >= _progress(other) else (other, one)
    return replace(later, vertices=later.vertices or earlier.vertices)


def _progress(one: RestCheckpoint) -> tuple[bool, int]:
    return one.status in (COMPLETED, FAILED), one.totals.acknowledged or 0


def _fuller_vertex(one: VertexTimes | None, other: VertexTimes) -> VertexTimes:
    if one is None or (one.totals.acknowledged or 0) <= (other.totals.acknowledged or 0):
        return other
    return one


def _with_vertices(checkpoint: RestCheckpoint, known: dict[str, VertexTimes]) -> RestCheckpoint:
    listed = {one.vertex: one for one in checkpoint.vertices}
    return replace(checkpoint, vertices=tuple((listed | known).values()))
