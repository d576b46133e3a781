"""Convert answers of Flink's REST API into the facts that the archive keeps."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from snapshots.domain.archive import model
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from snapshots.readers.engines.flink.rest.checkpoints import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    RestCheckpoint,
    SubtaskTimes,
    VertexTimes,
)
from snapshots.readers.engines.flink.rest.job import RestJob
from snapshots.readers.engines.flink.upload import FlinkUpload

ENGINE = "flink"
LONGEST_FAILURE = 4_000  # characters of Flink's message that are kept
_STATUSES = {
    COMPLETED: model.COMPLETED,
    FAILED: model.FAILED,
    IN_PROGRESS: model.IN_PROGRESS,
}
_LONGEST_NAME = 200


def facts_of_upload(upload: FlinkUpload) -> tuple[JobFacts, ...]:
    """Return the facts of all jobs that the upload has answers about."""
    return tuple(facts_of_job(job.rest) for job in upload.jobs if job.rest is not None)


def facts_of_job(rest: RestJob) -> JobFacts:
    vertices = rest.graph.vertices if rest.graph else ()
    names = rest.logged_vertices | {vertex.id: vertex.name for vertex in vertices}
    checkpoints = facts_of(rest.checkpoints, names)
    name = (rest.name or "")[:_LONGEST_NAME]
    state = (rest.state or "").lower()
    return JobFacts(ENGINE, rest.id, name, state, checkpoints, counts=rest.counts)


def facts_of(
    checkpoints: Iterable[RestCheckpoint], names: Mapping[str, str]
) -> tuple[CheckpointFacts, ...]:
    """Return the facts of checkpoints; ``names`` has known names of vertices by id."""
    return tuple(_checkpoint(checkpoint, names) for checkpoint in checkpoints)


def _checkpoint(checkpoint: RestCheckpoint, names: Mapping[str, str]) -> CheckpointFacts:
    totals, status = checkpoint.totals, _STATUSES.get(checkpoint.status, model.UNKNOWN)
    if status == model.IN_PROGRESS:  # until it has ended, Flink counts up to the last subtask
        totals = replace(totals, duration=None, state_size=None, uploaded_size=None)
    vertices = (_vertex(vertex, names) for vertex in checkpoint.vertices)
    return CheckpointFacts(
        checkpoint.id,
        kind=_kind(checkpoint),
        status=status,
        triggered_at=checkpoint.triggered_at,
        ended_at=_ended_at(checkpoint, status),
        duration=totals.duration,
        bytes=totals.state_size,
        is_bytes_told=totals.state_size is not None,
        uploaded=totals.uploaded_size,
        in_flight=totals.persisted if status == model.COMPLETED else totals.persisted or None,
        subtasks=totals.subtasks,
        acknowledged=totals.acknowledged,
        failure=(checkpoint.failure or "")[:LONGEST_FAILURE],
        path=checkpoint.path or "",
        vertices=tuple(sorted(vertices, key=lambda vertex: vertex.id)),
    )


def _kind(checkpoint: RestCheckpoint) -> str:
    if checkpoint.kind:
        return checkpoint.kind[:40].lower().replace("_", " ")
    return "savepoint" if checkpoint.is_savepoint else "checkpoint"  # Flink before 1.15


def _ended_at(checkpoint: RestCheckpoint, status: str) -> int | None:
    if status == model.FAILED:
        return checkpoint.failed_at
    return checkpoint.totals.ack_at if status == model.COMPLETED else None


def _vertex(times: VertexTimes, names: Mapping[str, str]) -> VertexFacts:
    name = names.get(times.vertex, "")[:_LONGEST_NAME]
    subtasks = tuple(map(_subtask, times.subtasks))
    totals = times.totals
    return VertexFacts(times.vertex, name, totals.subtasks, subtasks, totals.acknowledged)


def _subtask(times: SubtaskTimes) -> SubtaskFacts:
    return SubtaskFacts(
        times.index,
        acknowledged={"completed": True, "pending_or_failed": False}.get(times.status),
        unaligned=times.unaligned,
        start_delay=times.start_delay,
        alignment=times.alignment,
        sync=times.sync,
        async_=times.async_,
        duration=times.duration,
        bytes=times.state_size,
        uploaded=times.uploaded_size,
        in_flight=times.persisted,
    )
