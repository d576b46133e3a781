"""The pipelines of an upload and their checkpoints, as files and REST answers tell them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, UNKNOWN
from snapshots.domain.model.recording import SnapshotId
from snapshots.readers.engines.seatunnel.history import PipelineHistory, StoredCheckpoint
from snapshots.readers.engines.seatunnel.model import Checkpoint, SubtaskState
from snapshots.readers.engines.seatunnel.rest import Answer, Job, ListedCheckpoint
from snapshots.readers.engines.seatunnel.upload import SeaTunnelUpload

MOST_LISTED = 10_000  # checkpoints of an upload that only REST answers list
_STATUSES = {
    "IN_PROGRESS": IN_PROGRESS,
    "COMPLETED": COMPLETED,
    "FAILED": FAILED,
    "CANCELED": FAILED,
}
_FINALITY = {UNKNOWN: 0, IN_PROGRESS: 1}  # 2 for every other status


def status_of(entry: ListedCheckpoint) -> str:
    """Return the inventory's word for the status of a checkpoint in a REST answer."""
    return _STATUSES.get(entry.status or "", UNKNOWN)


Key = tuple[int | None, int | None]  # job and number of a pipeline


@dataclass(frozen=True, slots=True)
class Listed:
    """A checkpoint in a REST answer.

    Attributes:
        status: the inventory's word for it.
        asked_at: when the answer was given, in epoch milliseconds.
    """

    entry: ListedCheckpoint
    status: str
    asked_at: int | None


@dataclass(frozen=True, slots=True)
class SeaTunnelCheckpoint:
    """A checkpoint that has a file, or stands in a REST answer, or both.

    Attributes:
        number: its place among all checkpoints of the upload.
    """

    number: int
    id: int
    stored: StoredCheckpoint | None
    listed: Listed | None

    @property
    def content(self) -> Checkpoint | None:
        """What its file holds."""
        return self.stored.checkpoint if self.stored is not None else None

    @property
    def entry(self) -> ListedCheckpoint | None:
        """What the REST answer says of it."""
        return self.listed.entry if self.listed is not None else None

    @property
    def status(self) -> str:
        """The checkpoint's status, by its file or the REST answer.

        A file proves that all tasks acknowledged; only a failure that REST tells of counts more.
        """
        if self.listed is None or (self.stored is not None and self.listed.status != FAILED):
            return COMPLETED
        return self.listed.status

    @property
    def kind(self) -> str:
        """The engine's word for it: ``checkpoint``, ``savepoint``, ``completed point`` …"""
        source = self.content or self.entry
        written = source.type if source is not None else None
        if isinstance(written, int):
            return f"type {written}"
        plain = (written or "").lower().replace("_", " ").replace("-", " ").removesuffix(" type")
        return plain.strip() or "type not known"

    @property
    def triggered_at(self) -> int | None:
        """When it was triggered, in epoch milliseconds; None if that is not known."""
        return self._first("triggered_at")

    @property
    def completed_at(self) -> int | None:
        """When it completed, in epoch milliseconds; None if it did not, or if that is not known."""
        return self._first("completed_at") if self.status == COMPLETED else None

    @property
    def ended_at(self) -> int | None:
        """When it completed or was given up, in epoch milliseconds."""
        if self.status == IN_PROGRESS:
            return None
        if self.completed_at is not None or self.entry is None:
            return self.completed_at
        triggered_at, duration = self.entry.triggered_at, self.entry.duration_ms
        if self.entry.completed_at is None and triggered_at is not None and duration is not None:
            return triggered_at + duration
        return self.entry.completed_at

    def _first(self, name: str) -> int | None:
        """Return a field as the file has it, or else as the REST answer has it."""
        values = (getattr(source, name, None) for source in (self.content, self.entry))
        return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Pipeline:
    """A pipeline of a job.

    Attributes:
        place: its place in the upload, from 1.
        label: what distinguishes its processes and snapshots from those of other pipelines; None
            if it is the only one.
        graph: its job as a REST answer describes it.
    """

    place: int
    job: int | None
    number: int | None
    label: str | None
    history: PipelineHistory | None
    graph: Job | None
    checkpoints: tuple[SeaTunnelCheckpoint, ...]

    @cached_property
    def snapshots(self) -> dict[int, SnapshotId]:
        """The snapshot's name by number of the checkpoint; copies of a file share one."""
        snapshots: dict[int, SnapshotId] = {}
        names: dict[int, dict[tuple | None, SnapshotId]] = {}
        for checkpoint in self.checkpoints:
            of_id = names.setdefault(checkpoint.id, {})
            content = _comparable(checkpoint.content)
            if content not in of_id:
                details = [self.label] if self.label else []
                details += [f"file {len(of_id) + 1}"] if of_id else []
                suffix = f" ({', '.join(details)})" if details else ""
                of_id[content] = SnapshotId(f"{checkpoint.id}{suffix}")
            snapshots[checkpoint.number] = of_id[content]
        return snapshots


@dataclass(frozen=True)
class Pipelines:
    """The pipelines of an upload, by job and number.

    Attributes:
        jobs: what REST answers say of each job, by the job's key in the inventory.
        hidden: how many checkpoints of REST answers are left out because they are too many.
    """

    pipelines: tuple[Pipeline, ...]
    jobs: dict[str, Job | None]
    hidden: int

    def checkpoints(self) -> Iterator[tuple[Pipeline, SeaTunnelCheckpoint]]:
        """Yield all checkpoints in the order of their numbers."""
        for pipeline in self.pipelines:
            for checkpoint in pipeline.checkpoints:
                yield pipeline, checkpoint


def job_key(job: int | None) -> str:
    """Return the key of a job in the inventory."""
    return "" if job is None else str(job)


def pipelines_of(upload: SeaTunnelUpload) -> Pipelines:
    """Join the files and the REST answers of an upload."""
    answers = [answer for _, answer in upload.answers]
    graphs = {job.id: job for answer in answers for job in answer.jobs}
    named = {history.job for history in upload.pipelines} | graphs.keys()
    named |= {answer.job for answer in answers}
    named.discard(None)
    only_job = next(iter(named)) if len(named) == 1 else None
    stored: dict[Key, PipelineHistory] = {(one.job, one.pipeline): one for one in upload.pipelines}
    listed = _listed(answers, only_job)
    drawn = [(job.id, number) for job in graphs.values() for number in job.edges]
    keys = sorted({*stored, *listed, *drawn}, key=lambda key: tuple(map(_none_first, key)))
    labels = _labels(keys)
    pipelines: list[Pipeline] = []
    number, hidden, left = 0, 0, MOST_LISTED
    for place, key in enumerate(keys, 1):
        checkpoints: list[SeaTunnelCheckpoint] = []
        for id, file, entry in _merged(stored.get(key), listed.get(key, {})):
            if file is None and not left:
                hidden += 1
                continue
            left -= file is None
            checkpoints.append(SeaTunnelCheckpoint(number, id, file, entry))
            number += 1
        history, graph = stored.get(key), graphs.get(key[0])
        pipelines.append(Pipeline(place, *key, labels[key], history, graph, tuple(checkpoints)))
    jobs = sorted({*(job for job, _ in keys), *graphs}, key=_none_first)
    return Pipelines(tuple(pipelines), {job_key(job): graphs.get(job) for job in jobs}, hidden)


def _none_first(number: int | None) -> tuple[bool, int]:
    """Return a key that sorts None before every number."""
    return number is not None, number or 0


def _labels(keys: list[Key]) -> dict[Key, str | None]:
    if len(keys) < 2:
        return dict.fromkeys(keys)
    several_jobs = len({job for job, _ in keys}) > 1
    return {
        (job, number): f"job {job}, pipeline {number}" if several_jobs else f"pipeline {number}"
        for job, number in keys
    }


def _merged(
    history: PipelineHistory | None, listed: dict[int, Listed]
) -> Iterator[tuple[int, StoredCheckpoint | None, Listed | None]]:
    """Yield every file and every entry without a file, by the checkpoint's id."""
    files: dict[int, list[StoredCheckpoint | None]] = {}
    for file in history.checkpoints if history else ():
        assert file.checkpoint.id is not None  # a file without an id is not read
        files.setdefault(file.checkpoint.id, []).append(file)
    for id in sorted({*files, *listed}):
        for stored in files.get(id, [None]):
            yield id, stored, listed.get(id)


def _listed(answers: list[Answer], only_job: int | None) -> dict[Key, dict[int, Listed]]:
    """Index what answers list by pipeline and id; of several entries the newest final one counts.

    An answer without a job is about the only job of the upload.
    """
    listed: dict[Key, dict[int, Listed]] = {}
    for answer in sorted(answers, key=lambda answer: answer.updated_at or 0):
        for pipeline, item in _entries(answer):
            job = only_job if answer.job is None else answer.job
            by_id = listed.setdefault((job, pipeline), {})
            if item is None or item.entry.id is None:
                continue
            former = by_id.get(item.entry.id)
            if former is None or _finality(item) >= _finality(former):
                by_id[item.entry.id] = item
    return listed


def _entries(answer: Answer) -> Iterator[tuple[int | None, Listed | None]]:
    """Yield every entry of an answer with its pipeline, and None for every pipeline itself."""
    for entry in answer.history:
        yield entry.pipeline, _with_status(entry, answer)
    for pipeline in answer.pipelines:
        yield pipeline.pipeline, None
        for entry in (*pipeline.latest.values(), *pipeline.history):
            yield pipeline.pipeline, _with_status(entry, answer)
        for entry in pipeline.in_progress:
            yield pipeline.pipeline, Listed(entry, IN_PROGRESS, answer.updated_at)


def _with_status(entry: ListedCheckpoint, answer: Answer) -> Listed:
    return Listed(entry, _STATUSES.get(entry.status or "", UNKNOWN), answer.updated_at)


def _finality(item: Listed) -> int:
    return _FINALITY.get(item.status, 2)


def _comparable(content: Checkpoint | None) -> tuple | None:
    """Return what a checkpoint holds, wherever in its file that lies."""
    if content is None:
        return None
    actions = [
        (action.key, action.parallelism, *map(_elements, (*action.subtasks, action.coordinator)))
        for action in content.actions
    ]
    times = (content.triggered_at, content.completed_at)
    return content.id, content.type, *times, tuple(actions), content.statistics


def _elements(state: SubtaskState | None) -> tuple | None:
    if state is None:
        return None
    return state.index, *(element and element.sha256 for element in state.elements)
