"""Flink's checkpoints as the archive keeps them, from the answers of its REST API."""

from collections.abc import Iterable, Mapping

from snapshots.domain.archive import model
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from snapshots.readers.engines.flink.rest import checkpoints as told
from snapshots.readers.engines.flink.rest.checkpoints import (
    RestCheckpoint,
    SubtaskTimes,
    VertexTimes,
)
from snapshots.readers.engines.flink.rest.job import RestJob
from snapshots.readers.engines.flink.upload import FlinkUpload

ENGINE = "flink"
LONGEST_FAILURE = 4_000  # characters that are kept of Flink's words
_STATUSES = {
    told.COMPLETED: model.COMPLETED,
    told.FAILED: model.FAILED,
    told.IN_PROGRESS: model.IN_PROGRESS,
}
_LONGEST_NAME = 200


def facts_of_upload(upload: FlinkUpload) -> tuple[JobFacts, ...]:
    """The jobs of which the upload holds answers."""
    return tuple(facts_of_job(job.rest) for job in upload.jobs if job.rest is not None)


def facts_of_job(rest: RestJob) -> JobFacts:
    graph = rest.graph
    names = {} if graph is None else {one.id: one.name for one in graph.vertices}
    checkpoints = facts_of(rest.checkpoints, names)
    name = (rest.name or "")[:_LONGEST_NAME]
    state = (rest.state or "").lower()
    return JobFacts(ENGINE, rest.id, name, state, checkpoints, counts=rest.counts)


def facts_of(
    checkpoints: Iterable[RestCheckpoint], names: Mapping[str, str]
) -> tuple[CheckpointFacts, ...]:
    """names: of the vertices, by id, as far as they are known."""
    return tuple(_checkpoint(one, names) for one in checkpoints)


def _checkpoint(one: RestCheckpoint, names: Mapping[str, str]) -> CheckpointFacts:
    totals, status = one.totals, _STATUSES.get(one.status, model.UNKNOWN)
    return CheckpointFacts(
        one.id,
        kind=_kind(one),
        status=status,
        triggered_at=one.triggered_at,
        ended_at=_ended_at(one, status),
        duration=totals.duration,
        bytes=totals.state_size,
        is_bytes_told=totals.state_size is not None,
        uploaded=totals.uploaded_size,
        in_flight=totals.persisted,
        subtasks=totals.subtasks,
        acknowledged=totals.acknowledged,
        failure=(one.failure or "")[:LONGEST_FAILURE],
        path=one.path or "",
        vertices=tuple(
            sorted((_vertex(each, names) for each in one.vertices), key=lambda each: each.id)
        ),
    )


def _kind(one: RestCheckpoint) -> str:
    """Flink before 1.15 says no more than whether it is a savepoint."""
    if one.kind:
        return one.kind[:40].lower().replace("_", " ")
    return "savepoint" if one.is_savepoint else "checkpoint"


def _ended_at(one: RestCheckpoint, status: str) -> int | None:
    if status == model.FAILED:
        return one.failed_at
    return one.totals.ack_at if status == model.COMPLETED else None


def _vertex(one: VertexTimes, names: Mapping[str, str]) -> VertexFacts:
    name = names.get(one.vertex, "")[:_LONGEST_NAME]
    return VertexFacts(one.vertex, name, one.totals.subtasks, tuple(map(_subtask, one.subtasks)))


def _subtask(one: SubtaskTimes) -> SubtaskFacts:
    return SubtaskFacts(
        one.index,
        acknowledged={"completed": True, "pending_or_failed": False}.get(one.status),
        unaligned=one.unaligned,
        start_delay=one.start_delay,
        alignment=one.alignment,
        sync=one.sync,
        async_=one.async_,
        duration=one.duration,
        bytes=one.state_size,
        uploaded=one.uploaded_size,
        in_flight=one.persisted,
    )
