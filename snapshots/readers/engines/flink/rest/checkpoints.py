"""Read checkpoints from answers of Flink's REST API: times, sizes, and each subtask's part.

Times are epoch milliseconds, durations milliseconds, sizes bytes. None stands for unknown.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from snapshots.readers.engines.flink.rest.answers import CHECKPOINT, CHECKPOINTS, SUBTASKS, Answer
from snapshots.readers.engines.flink.rest.fields import flag, items, mapping, number, text

COMPLETED, FAILED, IN_PROGRESS = "COMPLETED", "FAILED", "IN_PROGRESS"


@dataclass(frozen=True, slots=True)
class SubtaskTimes:
    """One subtask's part in a checkpoint.

    Attributes:
        status: "completed" or "pending_or_failed".
        duration: from the trigger to the acknowledgement.
        sync: the synchronous phase, after the alignment.
        async_: the asynchronous phase, after the synchronous one.
        alignment: from the first barrier to the last.
        processed: bytes processed during the alignment.
        persisted: bytes stored during the alignment, which are in-flight data.
        start_delay: from the trigger to the first barrier.
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
    """Sums over the subtasks of a checkpoint, or of one vertex in it."""

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
    """One vertex's part in a checkpoint.

    Attributes:
        vertex: the id of the vertex.
        subtasks: empty if the upload does not have them.
    """

    vertex: str
    totals: Totals
    subtasks: tuple[SubtaskTimes, ...] = ()


@dataclass(frozen=True, slots=True)
class RestCheckpoint:
    """A checkpoint or savepoint.

    Attributes:
        kind: Flink's name, such as "UNALIGNED_CHECKPOINT".
        path: where the cluster stored it.
        vertices: empty if the upload has no details.
        places: the lines of logs that tell of it, such as ``jobmanager.log:12``.
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
    places: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """Return COMPLETED, FAILED or IN_PROGRESS, or any other text that the answer has."""
        return self.totals.status


def checkpoints_of(answers: Iterable[Answer]) -> tuple[RestCheckpoint, ...]:
    """Return all checkpoints in answers, ordered by id."""
    checkpoints: dict[int, RestCheckpoint] = {}
    vertices: dict[int, dict[str, VertexTimes]] = defaultdict(dict)
    for answer in answers:
        for checkpoint in _checkpoints_in(answer):
            earlier = checkpoints.get(checkpoint.id)
            checkpoints[checkpoint.id] = _fuller(earlier, checkpoint) if earlier else checkpoint
        if answer.kind == SUBTASKS and answer.checkpoint is not None and answer.vertex:
            times = _vertex(answer.vertex, mapping(answer.value))
            known = vertices[answer.checkpoint]
            known[answer.vertex] = _fuller_vertex(known.get(answer.vertex), times)
    return tuple(_with_vertices(checkpoints[id], vertices[id]) for id in sorted(checkpoints))


def _checkpoints_in(answer: Answer) -> list[RestCheckpoint]:
    value = mapping(answer.value)
    values = []
    if answer.kind == CHECKPOINT:
        values = [value]
    elif answer.kind == CHECKPOINTS:
        latest = mapping(value, "latest")
        values = items(value, "history")
        values += [mapping(latest, name) for name in ("completed", "failed", "savepoint")]
    return [_checkpoint(id, value) for value in values if (id := number(value, "id")) is not None]


def _checkpoint(id: int, value: dict[str, Any]) -> RestCheckpoint:
    tasks = mapping(value, "tasks")
    return RestCheckpoint(
        id,
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
        tuple(place for place in _list(value, "places") if isinstance(place, str)),
    )


def _list(value: dict[str, Any], key: str) -> list[Any]:
    listed = value.get(key)
    return listed if isinstance(listed, list) else []


def _totals(value: dict[str, Any]) -> Totals:
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


def _vertex(vertex: str, value: dict[str, Any]) -> VertexTimes:
    subtasks = {
        index: _subtask(index, subtask)
        for subtask in items(value, "subtasks")
        if (index := number(subtask, "index")) is not None
    }
    return VertexTimes(vertex, _totals(value), tuple(subtasks[index] for index in sorted(subtasks)))


def _subtask(index: int, value: dict[str, Any]) -> SubtaskTimes:
    parts, alignment = mapping(value, "checkpoint"), mapping(value, "alignment")
    return SubtaskTimes(
        index,
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


def _fuller(first: RestCheckpoint, second: RestCheckpoint) -> RestCheckpoint:
    """Return the more advanced of two answers about a checkpoint, with the vertices of either."""
    if _progress(first) < _progress(second):
        first, second = second, first
    places = tuple(dict.fromkeys((*first.places, *second.places)))
    return replace(
        first,
        vertices=first.vertices or second.vertices,
        path=first.path or second.path,
        failure=first.failure or second.failure,
        places=places,
    )


def _progress(checkpoint: RestCheckpoint) -> tuple[bool, int]:
    return checkpoint.status in (COMPLETED, FAILED), checkpoint.totals.acknowledged or 0


def _fuller_vertex(first: VertexTimes | None, second: VertexTimes) -> VertexTimes:
    if first is None or (first.totals.acknowledged or 0) <= (second.totals.acknowledged or 0):
        return second
    return first


def _with_vertices(checkpoint: RestCheckpoint, known: dict[str, VertexTimes]) -> RestCheckpoint:
    listed = {times.vertex: times for times in checkpoint.vertices}
    return replace(checkpoint, vertices=tuple((listed | known).values()))
