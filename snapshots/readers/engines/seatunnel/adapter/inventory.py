"""The inventory of SeaTunnel's checkpoints."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from snapshots.domain.inventory.model import (
    COORDINATOR,
    COUNT,
    EPOCH_MS,
    FAILED,
    IN_PROGRESS,
    MILLISECONDS,
    UNDIVIDED,
    CheckpointInventory,
    Fact,
    FileUse,
    JobInventory,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
    UploadInventory,
)
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN
from snapshots.readers.engines import listing
from snapshots.readers.engines.seatunnel.adapter.checkpoints import (
    Pipeline,
    Pipelines,
    SeaTunnelCheckpoint,
    job_key,
)
from snapshots.readers.engines.seatunnel.adapter.entries import operator_ids, states_of
from snapshots.readers.engines.seatunnel.history import Inference
from snapshots.readers.engines.seatunnel.model import (
    ActionState,
    Checkpoint,
    Payload,
    SubtaskState,
    VertexStatistics,
)
from snapshots.readers.engines.seatunnel.names import FileName, action_name
from snapshots.readers.engines.seatunnel.rest import Job
from snapshots.readers.engines.seatunnel.upload import (
    ANSWER,
    CHECKPOINT,
    UNFINISHED,
    FileAccount,
    SeaTunnelUpload,
)

MOST_SUBTASKS = 200_000  # of an upload that are listed one by one
MOST_NAMED = 100  # of what a note names one by one
_MOST_CLOSED = 20  # subtasks named in a fact
_LONGEST = 1000  # characters of a reason
_ROLES = {CHECKPOINT: "checkpoint", UNFINISHED: "interrupted write", ANSWER: "REST answer"}
_INFERENCES = {
    "committed": ("committed", "yes"),
    "not-proven": ("committed", None),
    "restored-next": ("next restore", "from this one"),
    "restore-fails": ("next restore", "fails"),
}
CLOSED_BY = (
    "A checkpoint is complete when every subtask that was asked has acknowledged it. A subtask "
    "without a state was not asked: it had been closed, as the subtasks of an idle reader are."
)
NO_FILE = "The upload has no file of this checkpoint: only a REST answer mentions the checkpoint."
SILENT = (
    "The upload has no REST answer, and files do not show checkpoints that failed or were in "
    "progress."
)


def upload_inventory(upload: SeaTunnelUpload, pipelines: Pipelines) -> UploadInventory:
    """Return what an upload holds."""
    inventory = _Inventory()
    return UploadInventory(
        "seatunnel",
        tuple(_counted_job(key, job, upload, pipelines) for key, job in pipelines.jobs.items()),
        tuple(inventory.checkpoint(*pair) for pair in pipelines.checkpoints()),
        tuple(_files(upload.files, pipelines)),
        tuple(_notes(upload, pipelines)),
    )


class _Inventory:
    """Describes checkpoint after checkpoint, and lists at most MOST_SUBTASKS subtasks."""

    def __init__(self) -> None:
        self._left = MOST_SUBTASKS

    def checkpoint(
        self, pipeline: Pipeline, checkpoint: SeaTunnelCheckpoint
    ) -> CheckpointInventory:
        stored, facts = checkpoint.stored, [Fact("pipeline", pipeline.number)]
        inferences = _by_checkpoint(pipeline)[checkpoint.id]
        operators: tuple[OperatorInventory, ...] = ()
        notes = list(_listed_notes(checkpoint))
        if stored is None:
            facts += _listed_facts(checkpoint)
        else:
            content = stored.checkpoint
            facts += [*_facts(content, stored.name), *_listed_facts(checkpoint)]
            facts += _inferred_facts(inferences)
            facts += [
                Fact(f"task vertex {vertex.vertex}", _acknowledged(content, vertex))
                for vertex in content.statistics[:MOST_NAMED]
            ]
            operators = tuple(self._operators(content, inferences))
            notes += _unknown_fields(content)
        return CheckpointInventory(
            job=job_key(pipeline.job),
            id=checkpoint.id,
            kind=checkpoint.kind,
            status=checkpoint.status,
            path=None if stored is None else stored.path,
            triggered_at=checkpoint.triggered_at,
            completed_at=checkpoint.completed_at,
            bytes=None if stored is None else stored.checkpoint.size,
            operators=operators,
            facts=tuple(facts),
            notes=tuple(notes),
            problem=NO_FILE if stored is None else None,
            snapshot=pipeline.snapshots[checkpoint.number],
            why_unknown=WHY_UNKNOWN[NOT_TOLD],
        )

    def _operators(
        self, checkpoint: Checkpoint, inferences: list[Inference]
    ) -> Iterator[OperatorInventory]:
        for id, action in zip(operator_ids(checkpoint), checkpoint.actions, strict=True):
            name = action_name(action.key)
            closed = [index for index, state in enumerate(action.subtasks) if state is None]
            facts = [Fact("role", name.role, "The name begins with the role.")] if name.role else []
            if closed:
                more = " …" if len(closed) > _MOST_CLOSED else ""
                closed_text = ", ".join(map(str, closed[:_MOST_CLOSED])) + more
                facts.append(Fact("closed subtasks", closed_text, CLOSED_BY))
            facts += [
                Fact("parallelism changed", inference.checkpoint, inference.by)
                for inference in inferences
                if inference.kind == "parallelism" and inference.action == name.name
            ]
            subtasks, left_out = self._subtasks(action)
            yield OperatorInventory(
                id,
                name.name,
                action.parallelism,
                bytes=action.size,
                finished=bool(action.subtasks) and len(closed) == len(action.subtasks),
                subtasks=subtasks,
                states=tuple(
                    StateInventory(state, kind, _type(parts))
                    for state, kind, parts in states_of(action)
                ),
                facts=tuple(facts),
                notes=(*left_out, *_misplaced(action)),
            )

    def _subtasks(self, action: ActionState) -> tuple[tuple[SubtaskInventory, ...], list[str]]:
        states = list(enumerate(action.subtasks))
        if action.coordinator is not None:
            states.append((COORDINATOR, action.coordinator))
        listed = states[: self._left]
        self._left -= len(listed)
        left_out = len(states) - len(listed)
        notes = [f"{left_out:,} subtasks are not listed: there are too many."] if left_out else []
        return tuple(
            SubtaskInventory(index, finished=True)
            if state is None
            else SubtaskInventory(index, state.size, new={UNDIVIDED: state.size})
            for index, state in listed
        ), notes


def _type(states: list[tuple[int, SubtaskState]]) -> str | None:
    """Name the classes of Java's objects without packages, or JSON, if all elements are such."""
    elements = [item for _, state in states for item in state.elements if item is not None]
    classes = set(map(_class_name, elements))
    if not classes or None in classes or len(classes) > 3:
        is_json = elements and all(element.encoding == "json" for element in elements)
        return "JSON" if is_json else None
    return ", ".join(sorted(name[:200] for name in classes if name is not None))


def _class_name(element: Payload) -> str | None:
    name = element.content.get("class") if isinstance(element.content, dict) else None
    return name.rpartition(".")[2] if isinstance(name, str) else None


def _misplaced(action: ActionState) -> Iterator[str]:
    misplaced = (
        f"The state at place {place} says that it is of subtask {state.index}."
        for place, state in enumerate(action.subtasks)
        if state is not None and state.index != place
    )
    if (first := next(misplaced, None)) is not None:
        yield first
    if action.parallelism != len(action.subtasks):
        yield (
            f"The parallelism of the action is {action.parallelism}, but it lists "
            f"{len(action.subtasks):,} subtasks."
        )


def _facts(checkpoint: Checkpoint, name: FileName | None) -> Iterator[Fact]:
    yield Fact("layout", checkpoint.layout)
    if checkpoint.restored is not None:
        yield Fact("restored", "yes" if checkpoint.restored else "no")
    written = None if name is None else name.written_at
    if written is not None and checkpoint.completed_at is not None:
        late = written - checkpoint.completed_at
        yield Fact("file named after completion", late, unit=MILLISECONDS)


def _acknowledged(checkpoint: Checkpoint, vertex: VertexStatistics) -> str:
    """Say when a task vertex acknowledged; the file does not say which actions it runs."""
    text = f"{vertex.acknowledged or 0} of {len(vertex.subtasks):,} acknowledged"
    acks = (ack.acknowledged_at for ack in vertex.subtasks if ack is not None)
    times = [at for at in acks if at is not None]
    if not times or checkpoint.triggered_at is None:
        return text
    first, last = (at - checkpoint.triggered_at for at in (min(times), max(times)))
    if first < 0:
        return f"{text}, as noted before the trigger"
    when = f"{first:,} ms" if first == last else f"{first:,} to {last:,} ms"
    return f"{text}, {when} after the trigger"


def _by_checkpoint(pipeline: Pipeline) -> defaultdict[int, list[Inference]]:
    inferences = defaultdict(list)
    for inference in pipeline.history.inferences if pipeline.history else ():
        inferences[inference.checkpoint].append(inference)
    return inferences


def _inferred_facts(inferences: list[Inference]) -> Iterator[Fact]:
    for inference in inferences:
        if inference.kind in _INFERENCES:
            name, value = _INFERENCES[inference.kind]
            yield Fact(name, value, inference.by)


def _listed_facts(checkpoint: SeaTunnelCheckpoint) -> Iterator[Fact]:
    listed = checkpoint.listed
    if listed is None:
        return
    entry = listed.entry
    if entry.bytes is not None:
        yield Fact("state elements", entry.bytes, unit=COUNT)
    if entry.acknowledged is not None and entry.total is not None:
        yield Fact("tasks acknowledged", f"{entry.acknowledged} of {entry.total}")
    if checkpoint.status == IN_PROGRESS and listed.asked_at is not None:
        yield Fact("asked at", listed.asked_at, unit=EPOCH_MS)


def _listed_notes(checkpoint: SeaTunnelCheckpoint) -> Iterator[str]:
    if (entry := checkpoint.entry) is None:
        return
    if entry.failure is not None:
        yield f"Why it failed, in the engine's words: {entry.failure[:_LONGEST]}"
    if checkpoint.stored is not None and checkpoint.status == FAILED:
        yield (
            "The upload has the file of this checkpoint, so every task had acknowledged the "
            f"checkpoint; the engine lists it as {entry.status}."
        )


def _unknown_fields(checkpoint: Checkpoint) -> Iterator[str]:
    fields = [
        f"{where}: {size:,} bytes that mean nothing here." for where, size in checkpoint.unknown
    ]
    return listing.first(fields, MOST_NAMED, "fields mean nothing here.")


def _counted_job(
    key: str, job: Job | None, upload: SeaTunnelUpload, pipelines: Pipelines
) -> JobInventory:
    """Describe a job with what an answer about its checkpoints counts."""
    number = int(key) if key else None
    inventory = _job(key, job)
    counts = _told_counts(number, upload, len(pipelines.jobs) == 1)
    return replace(inventory, facts=(*inventory.facts, *counts))


def _job(key: str, job: Job | None) -> JobInventory:
    if job is None:
        return JobInventory(key)
    facts = [Fact("status", job.status), Fact("created", job.created)]
    if job.from_savepoint is not None:
        facts.append(Fact("started from a savepoint", "yes" if job.from_savepoint else "no"))
    facts.append(Fact("vertices", len(job.vertices), unit=COUNT))
    facts.append(Fact("pipelines", len(job.edges), unit=COUNT))
    facts += [Fact("error message", job.error[:_LONGEST])] if job.error else []
    if job.interval_ms is not None:
        facts.append(Fact("checkpoint interval", job.interval_ms, unit=MILLISECONDS))
    if job.running_since is not None:
        facts.append(Fact("running since", job.running_since, unit=EPOCH_MS))
    for one in job.restores[:MOST_NAMED]:
        most = "" if one.most is None else f" of {one.most}"
        facts.append(Fact(f"restores of pipeline {one.pipeline}", f"{one.count}{most}"))
    return JobInventory(key, job.name, tuple(facts))


def _told_counts(job: int | None, upload: SeaTunnelUpload, only_job: bool) -> Iterator[Fact]:
    """Yield what the newest answer about checkpoints counts, by pipeline, and when it was given."""
    answers = [
        answer
        for _, answer in upload.answers
        if answer.pipelines and (answer.job == job or (only_job and answer.job is None))
    ]
    newest = max(answers, key=lambda answer: answer.updated_at or 0, default=None)
    if newest is None:
        return
    if newest.updated_at is not None:
        yield Fact("asked at", newest.updated_at, unit=EPOCH_MS)
    for pipeline in newest.pipelines[:MOST_NAMED]:
        for name, count in pipeline.counts.items():
            yield Fact(f"{name} in pipeline {pipeline.pipeline}", count, unit=COUNT)


def _files(files: tuple[FileAccount, ...], pipelines: Pipelines) -> Iterator[FileUse]:
    numbers = {
        checkpoint.stored.path: (checkpoint.number,)
        for _, checkpoint in pipelines.checkpoints()
        if checkpoint.stored is not None
    }
    for file in files:
        reason = None if file.content is None else file.content.reason
        role = _ROLES.get(file.kind, "unknown")
        yield FileUse(file.path, file.bytes, role, numbers.get(file.path, ()), reason)


def _notes(upload: SeaTunnelUpload, pipelines: Pipelines) -> Iterator[str]:
    yield from listing.first(upload.notes, MOST_NAMED, "things do not fit together.")
    for pipeline in pipelines.pipelines:
        gaps = list(_gaps(pipeline))
        for gap in gaps[:MOST_NAMED]:
            yield (
                f"Pipeline {pipeline.number}: there is no file of checkpoint {gap}. It "
                "failed, or it was deleted since: the files do not say which."
            )
        if len(gaps) > MOST_NAMED:
            yield f"Pipeline {pipeline.number}: {len(gaps) - MOST_NAMED:,} more gaps in the ids."
    if pipelines.hidden:
        yield f"{pipelines.hidden:,} more checkpoints of REST answers are not listed."
    if not any(checkpoint.listed for _, checkpoint in pipelines.checkpoints()):
        yield SILENT


def _gaps(pipeline: Pipeline) -> Iterator[str]:
    """Yield the spans of ids of which there is neither a file nor an entry of a REST answer."""
    listed = sorted(one.id for one in pipeline.checkpoints if one.stored is None)
    for gap in pipeline.history.gaps if pipeline.history is not None else ():
        inside = (id for id in listed if gap.first <= id <= gap.last)
        first = gap.first
        for id in (*inside, gap.last + 1):
            if first < id - 1:
                yield f"{first} to {id - 1}"
            elif first == id - 1:
                yield str(first)
            first = id + 1
