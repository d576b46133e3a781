"""Convert answers of SeaTunnel's REST interface into the facts that the archive keeps."""

from collections.abc import Iterator

from snapshots.domain.archive import model
from snapshots.domain.archive.model import CheckpointFacts, JobFacts
from snapshots.readers.engines.seatunnel.adapter.checkpoints import (
    Listed,
    SeaTunnelCheckpoint,
    status_of,
)
from snapshots.readers.engines.seatunnel.rest import Answer, Job, ListedCheckpoint

ENGINE = "seatunnel"
_LONGEST_FAILURE = 4_000  # characters of the engine's words that are kept
_COUNTS = {"triggered": "total", "inProgress": "in_progress"}  # by the archive's words


def job_facts_of(key: str, job: Job | None, answer: Answer) -> JobFacts:
    """Return the facts of a job and of the checkpoints that an answer lists.

    Args:
        key: the engine's id of the job.
        job: what the engine says of the job. None if it says nothing.
        answer: the answer about the checkpoints of all its pipelines.
    """
    name = (job.name if job else None) or ""
    return JobFacts(
        ENGINE, key, name[:200], state_of(job), tuple(_checkpoints(answer)), counts=_counts(answer)
    )


def state_of(job: Job | None) -> str:
    """Return the state of a job in lower case; empty if it is not known."""
    return ((job.status if job else None) or "").lower().replace("_", " ")


def _checkpoints(answer: Answer) -> Iterator[CheckpointFacts]:
    for pipeline in answer.pipelines:
        going = [(entry, model.IN_PROGRESS) for entry in pipeline.in_progress]
        ended = [(entry, status_of(entry)) for entry in pipeline.history]
        latest = [(entry, status_of(entry)) for entry in pipeline.latest.values()]
        for entry, status in (*going, *ended, *latest):
            if pipeline.pipeline is not None and entry.id is not None:
                yield _checkpoint(pipeline.pipeline, entry, status)


def _checkpoint(pipeline: int, entry: ListedCheckpoint, status: str) -> CheckpointFacts:
    number = entry.id or 0
    checkpoint = SeaTunnelCheckpoint(0, number, None, Listed(entry, status, None))
    ended_at = checkpoint.ended_at
    duration = entry.duration_ms
    if duration is None and ended_at is not None and entry.triggered_at is not None:
        duration = max(0, ended_at - entry.triggered_at)
    return CheckpointFacts(
        number,
        pipeline,
        kind=checkpoint.kind[:40],
        status=status,
        triggered_at=entry.triggered_at,
        ended_at=ended_at,
        duration=duration,
        subtasks=entry.total,
        acknowledged=entry.acknowledged,
        failure=(entry.failure or "")[:_LONGEST_FAILURE] if status == model.FAILED else "",
    )


def _counts(answer: Answer) -> dict[str, int]:
    """Return the counts of all pipelines together, by the words that the archive has for them."""
    counts: dict[str, int] = {}
    for pipeline in answer.pipelines:
        for name, count in pipeline.counts.items():
            known = _COUNTS.get(name, name)
            counts[known] = counts.get(known, 0) + count
    return counts
