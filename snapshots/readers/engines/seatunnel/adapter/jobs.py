"""The pipelines of an upload with their checkpoints, by files, by REST answers, or by both."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, UNKNOWN
from snapshots.domain.model.recording import SnapshotId
from snapshots.readers.engines.seatunnel.history import PipelineHistory, StoredCheckpoint
from snapshots.readers.engines.seatunnel.model import Checkpoint, SubtaskState
from snapshots.readers.engines.seatunnel.rest import Answer, Job, ListedCheckpoint
from snapshots.readers.engines.seatunnel.upload import SeaTunnelUpload

MOST_LISTED = 10_000  # checkpoints of an upload that REST answers alone tell of
_STATUSES = {
    "IN_PROGRESS": IN_PROGRESS,
    "COMPLETED": COMPLETED,
    "FAILED": FAILED,
    "CANCELED": FAILED,
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A checkpoint in a REST answer. asked_at: epoch milliseconds of the answer."""

    entry: ListedCheckpoint
    status: str
    asked_at: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """One checkpoint. number: among all of the upload. stored, listed: at least one of them."""

    number: int
    id: int
    stored: StoredCheckpoint | None
    listed: Listed | None

    @property
    def status(self) -> str:
        """A file proves that all acknowledged; the engine can have failed with it after that."""
        if self.listed is None:
            return COMPLETED
        if self.stored is not None and self.listed.status != FAILED:
            return COMPLETED
        return self.listed.status

    @property
    def kind(self) -> str:
        """In the engine's word: ``checkpoint``, ``savepoint``, ``completed point`` …"""
        written = self.stored.checkpoint.type if self.stored else self.listed.entry.type
        if isinstance(written, int):
            return f"type {written}"
        plain = (written or "").lower().replace("_", " ").replace("-", " ").removesuffix(" type")
        return plain.strip() or "type not known"

    @property
    def triggered_at(self) -> int | None:
        stored, listed = self._both("triggered_at")
        return listed if stored is None else stored

    @property
    def completed_at(self) -> int | None:
        """When it was complete; None for one that was not."""
        stored, listed = self._both("completed_at")
        if self.status != COMPLETED:
            return None
        return listed if stored is None else stored

    @property
    def ended_at(self) -> int | None:
        """When it was complete or given up, as far as that is known."""
        if self.status == IN_PROGRESS:
            return None
        if self.status == COMPLETED and self.completed_at is not None:
            return self.completed_at
        entry = self.listed and self.listed.entry
        if entry is None:
            return None
        if entry.completed_at is None and None not in (entry.triggered_at, entry.duration_ms):
            return entry.triggered_at + entry.duration_ms
        return entry.completed_at

    def _both(self, name: str) -> tuple[int | None, int | None]:
        return (
            getattr(self.stored.checkpoint, name) if self.stored else None,
            getattr(self.listed.entry, name) if self.listed else None,
        )


@dataclass(frozen=True)
class Pipeline:
    """place: 1, 2 … among all of the upload. label: how its processes and snapshots are told from
    those of other pipelines, None where it is the only one. graph: its job, as REST has it.
    """

    place: int
    job: int | None
    number: int | None
    label: str | None
    history: PipelineHistory | None
    graph: Job | None
    checkpoints: tuple[Known, ...]

    @property
    def key(self) -> str:
        """Of its job."""
        return job_key(self.job)

    @cached_property
    def snapshots(self) -> dict[int, SnapshotId]:
        """What the recording calls each checkpoint, by number; a copy of a file as the file."""
        names: dict[int, SnapshotId] = {}
        seen: dict[int, dict[tuple | None, SnapshotId]] = {}
        for known in self.checkpoints:
            same = seen.setdefault(known.id, {})
            said = None if known.stored is None else _said(known.stored.checkpoint)
            if said not in same:
                told = [self.label] if self.label else []
                told += [f"file {len(same) + 1}"] if same else []
                name = f"{known.id} ({', '.join(told)})" if told else str(known.id)
                same[said] = SnapshotId(name)
            names[known.number] = same[said]
        return names


@dataclass(frozen=True)
class Found:
    """pipelines: by job, then number. hidden: checkpoints of REST answers that are left out."""

    pipelines: tuple[Pipeline, ...]
    jobs: dict[str, Job | None]
    hidden: int


def job_key(job: int | None) -> str:
    return "" if job is None else str(job)


def found_in(upload: SeaTunnelUpload) -> Found:
    answers = [answer for _, answer in upload.answers]
    graphs = {job.id: job for answer in answers for job in answer.jobs}
    named = {history.job for history in upload.pipelines} | set(graphs)
    named |= {answer.job for answer in answers}
    named.discard(None)
    sole = next(iter(named)) if len(named) == 1 else None
    stored = {(item.job, item.pipeline): item for item in upload.pipelines}
    listed = _listed(answers, sole)
    drawn = [(job.id, number) for job in graphs.values() for number in job.edges]
    keys = sorted({*stored, *listed, *drawn}, key=lambda key: (*map(_by_number, key),))
    labels = _labels(keys)
    pipelines: list[Pipeline] = []
    number, hidden, left = 0, 0, MOST_LISTED
    for place, key in enumerate(keys, 1):
        checkpoints: list[Known] = []
        for id, file, entry in _merged(stored.get(key), listed.get(key, {})):
            if file is None and not left:
                hidden += 1
                continue
            left -= file is None
            checkpoints.append(Known(number, id, file, entry))
            number += 1
        graph = graphs.get(key[0])
        pipelines.append(
            Pipeline(place, *key, labels[key], stored.get(key), graph, tuple(checkpoints))
        )
    jobs = sorted({*(job for job, _ in keys), *graphs}, key=_by_number)
    return Found(tuple(pipelines), {job_key(job): graphs.get(job) for job in jobs}, hidden)


def _by_number(number: int | None) -> tuple[bool, int]:
    """What is not known comes first."""
    return number is not None, number or 0


def _labels(keys: list[tuple]) -> dict[tuple, str | None]:
    if len(keys) < 2:
        return dict.fromkeys(keys)
    several = len({job for job, _ in keys}) > 1
    return {
        (job, number): f"job {job}, pipeline {number}" if several else f"pipeline {number}"
        for job, number in keys
    }


def _merged(
    history: PipelineHistory | None, listed: dict[int, Listed]
) -> Iterator[tuple[int, StoredCheckpoint | None, Listed | None]]:
    """By id; every file of it, then what is listed without one."""
    files: dict[int, list[StoredCheckpoint]] = {}
    for file in history.checkpoints if history else ():
        files.setdefault(file.checkpoint.id, []).append(file)
    for id in sorted({*files, *listed}):
        for file in files.get(id, [None]):
            yield id, file, listed.get(id)


def _listed(answers: list[Answer], sole: int | None) -> dict[tuple, dict[int, Listed]]:
    """By job and pipeline, then id: the newest word, and a last one before a passing one."""
    found: dict[tuple, dict[int, Listed]] = {}
    for answer in sorted(answers, key=lambda answer: answer.updated_at or 0):
        for pipeline, item in _entries(answer):
            job = sole if answer.job is None else answer.job
            own = found.setdefault((job, pipeline), {})
            if item is None or item.entry.id is None:
                continue
            former = own.get(item.entry.id)
            if former is None or _weight(item) >= _weight(former):
                own[item.entry.id] = item
    return found


def _entries(answer: Answer) -> Iterator[tuple[int | None, Listed | None]]:
    """With None for a pipeline of which the answer lists nothing."""
    for entry in answer.history:
        yield entry.pipeline, _status(entry, answer)
    for pipeline in answer.pipelines:
        yield pipeline.pipeline, None
        for entry in (*pipeline.latest.values(), *pipeline.history):
            yield pipeline.pipeline, _status(entry, answer)
        for entry in pipeline.in_progress:
            yield pipeline.pipeline, Listed(entry, IN_PROGRESS, answer.updated_at)


def _status(entry: ListedCheckpoint, answer: Answer) -> Listed:
    return Listed(entry, _STATUSES.get(entry.status, UNKNOWN), answer.updated_at)


def _weight(item: Listed) -> int:
    return {UNKNOWN: 0, IN_PROGRESS: 1}.get(item.status, 2)


def _said(checkpoint: Checkpoint) -> tuple:
    """What a checkpoint says, wherever in a file it says so."""
    actions = [
        (action.key, action.parallelism, *map(_elements, (*action.subtasks, action.coordinator)))
        for action in checkpoint.actions
    ]
    times = (checkpoint.triggered_at, checkpoint.completed_at)
    return checkpoint.id, checkpoint.type, *times, tuple(actions), checkpoint.statistics


def _elements(state: SubtaskState | None) -> tuple | None:
    return state and (state.index, *(item and item.sha256 for item in state.elements))
