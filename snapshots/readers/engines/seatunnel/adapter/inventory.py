"""SeaTunnel's checkpoints in the words of ``domain.inventory.model``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snapshots.domain.inventory.model import (
    COORDINATOR,
    COUNT,
    EPOCH_MS,
    FAILED,
    IN_PROGRESS,
    MILLISECONDS,
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
from snapshots.readers.engines.seatunnel.adapter.entries import operator_ids, states_of
from snapshots.readers.engines.seatunnel.adapter.jobs import Found, Known, Pipeline, job_key
from snapshots.readers.engines.seatunnel.history import Inference
from snapshots.readers.engines.seatunnel.model import (
    ActionState,
    Checkpoint,
    SubtaskState,
    VertexStatistics,
)
from snapshots.readers.engines.seatunnel.names import action_name
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
_ROLES = {
    CHECKPOINT: "checkpoint",
    UNFINISHED: "interrupted write",
    ANSWER: "REST answer",
}
CLOSED_BY = (
    "A checkpoint is complete when every subtask that was asked has acknowledged it. One without a "
    "state was not asked: it had been closed, as those of an idle reader are."
)
NO_FILE = "No file of it is in the upload: only a REST answer tells of it."
SILENT = (
    "No REST answer is in the upload: the files tell neither of failed checkpoints nor of one that "
    "was under way."
)


def upload_inventory(upload: SeaTunnelUpload, found: Found) -> UploadInventory:
    telling = _Telling()
    checkpoints = [
        telling.checkpoint(pipeline, known)
        for pipeline in found.pipelines
        for known in pipeline.checkpoints
    ]
    return UploadInventory(
        "seatunnel",
        tuple(_job(key, job) for key, job in found.jobs.items()),
        tuple(checkpoints),
        tuple(_files(upload.files, found)),
        tuple(_notes(upload, found)),
    )


class _Telling:
    """Tells checkpoint after checkpoint; lists so many subtasks and no more."""

    def __init__(self) -> None:
        self._left = MOST_SUBTASKS

    def checkpoint(self, pipeline: Pipeline, known: Known) -> CheckpointInventory:
        stored = known.stored
        told = {
            "job": job_key(pipeline.job),
            "id": known.id,
            "kind": known.kind,
            "status": known.status,
            "triggered_at": known.triggered_at,
            "completed_at": known.completed_at,
            "snapshot": pipeline.snapshots[known.number],
            "why_unknown": WHY_UNKNOWN[NOT_TOLD],
        }
        about, inferred = list(_listed_facts(known)), _by_checkpoint(pipeline).get(known.id, [])
        if stored is None:
            return CheckpointInventory(
                **told,
                facts=(Fact("pipeline", pipeline.number), *about),
                notes=tuple(_listed_notes(known)),
                problem=NO_FILE,
            )
        checkpoint = stored.checkpoint
        facts = [Fact("pipeline", pipeline.number), *_facts(checkpoint, stored.name)]
        facts += [*about, *_inferred_facts(inferred), *_acknowledgements(checkpoint)]
        return CheckpointInventory(
            **told,
            path=stored.path,
            bytes=checkpoint.size,
            operators=tuple(self._operators(checkpoint, inferred)),
            facts=tuple(facts),
            notes=(*_listed_notes(known), *_unknown_fields(checkpoint)),
        )

    def _operators(
        self, checkpoint: Checkpoint, inferred: list[Inference]
    ) -> Iterator[OperatorInventory]:
        for id, action in zip(operator_ids(checkpoint), checkpoint.actions, strict=True):
            name = action_name(action.key)
            role = Fact("role", name.role, "The name begins with it.") if name.role else None
            closed = [place for place, state in enumerate(action.subtasks) if state is None]
            facts = [role] if role else []
            if closed:
                listed = ", ".join(map(str, closed[:20])) + (" …" if len(closed) > 20 else "")
                facts.append(Fact("closed subtasks", listed, CLOSED_BY))
            facts += [
                Fact("parallelism changed", item.checkpoint, item.by)
                for item in inferred
                if item.kind == "parallelism" and item.action == name.name
            ]
            listed, left_out = self._subtasks(action)
            yield OperatorInventory(
                id,
                name.name,
                action.parallelism,
                bytes=action.size,
                finished=bool(action.subtasks) and len(closed) == len(action.subtasks),
                subtasks=listed,
                states=tuple(_states(action)),
                facts=tuple(facts),
                notes=(*left_out, *_misplaced(action)),
            )

    def _subtasks(self, action: ActionState) -> tuple[tuple[SubtaskInventory, ...], list[str]]:
        states = list(enumerate(action.subtasks))
        if action.coordinator is not None:
            states.append((COORDINATOR, action.coordinator))
        kept = states[: self._left]
        self._left -= len(kept)
        left_out = len(states) - len(kept)
        notes = [f"{left_out:,} subtasks are not listed: there are too many."] if left_out else []
        return tuple(_subtask(place, state) for place, state in kept), notes


def _subtask(index: int, state: SubtaskState | None) -> SubtaskInventory:
    if state is None:
        return SubtaskInventory(index, finished=True)
    return SubtaskInventory(index, state.size)


def _states(action: ActionState) -> Iterator[StateInventory]:
    for name, kind, states in states_of(action):
        elements = [item for _, state in states for item in state.elements]
        yield StateInventory(name, kind, _type(elements))


def _type(elements: list) -> str | None:
    """The classes of Java's objects, without their packages, where all elements are such."""
    known = [item for item in elements if item is not None]
    classes = {
        item.content["class"].rpartition(".")[2]
        if isinstance(item.content, dict) and isinstance(item.content.get("class"), str)
        else None
        for item in known
    }
    if not classes or None in classes or len(classes) > 3:
        return "JSON" if known and all(item.encoding == "json" for item in known) else None
    return ", ".join(sorted(name[:200] for name in classes))


def _misplaced(action: ActionState) -> Iterator[str]:
    places = [
        (place, state.index)
        for place, state in enumerate(action.subtasks)
        if state is not None and state.index != place
    ]
    if places:
        yield f"The state at place {places[0][0]} says that it is of subtask {places[0][1]}."
    if action.parallelism != len(action.subtasks):
        yield f"It says {action.parallelism} subtasks and lists {len(action.subtasks):,}."


def _facts(checkpoint: Checkpoint, name) -> Iterator[Fact]:
    yield Fact("layout", checkpoint.layout)
    if checkpoint.restored is not None:
        yield Fact("restored", "yes" if checkpoint.restored else "no")
    written = name and name.written_at
    if None not in (written, checkpoint.completed_at):
        late = written - checkpoint.completed_at
        yield Fact("file named after completion", late, unit=MILLISECONDS)


def _acknowledgements(checkpoint: Checkpoint) -> Iterator[Fact]:
    """Of each task vertex; the file does not say which actions it runs."""
    for vertex in checkpoint.statistics[:MOST_NAMED]:
        yield Fact(f"task vertex {vertex.vertex}", _acknowledged(checkpoint, vertex))


def _acknowledged(checkpoint: Checkpoint, vertex: VertexStatistics) -> str:
    told = f"{vertex.acknowledged or 0} of {len(vertex.subtasks):,} acknowledged"
    times = [item.acknowledged_at for item in vertex.subtasks if item is not None]
    known = [at for at in times if at is not None]
    if not known or checkpoint.triggered_at is None:
        return told
    first, last = (at - checkpoint.triggered_at for at in (min(known), max(known)))
    if first < 0:
        return f"{told}, as noted before the trigger"
    when = f"{first:,} ms" if first == last else f"{first:,} to {last:,} ms"
    return f"{told}, {when} after the trigger"


def _by_checkpoint(pipeline: Pipeline) -> Mapping[int, list[Inference]]:
    found: dict[int, list[Inference]] = {}
    for item in pipeline.history.inferences if pipeline.history else ():
        found.setdefault(item.checkpoint, []).append(item)
    return found


def _inferred_facts(inferred: list[Inference]) -> Iterator[Fact]:
    for item in inferred:
        if item.kind == "committed":
            yield Fact("committed", "yes", item.by)
        elif item.kind == "not-proven":
            yield Fact("committed", None, item.by)
        elif item.kind == "restored-next":
            yield Fact("next restore", "from this one", item.by)


def _listed_facts(known: Known) -> Iterator[Fact]:
    if known.listed is None:
        return
    entry = known.listed.entry
    if entry.bytes is not None:
        yield Fact("state elements", entry.bytes, unit=COUNT)
    if entry.acknowledged is not None and entry.total is not None:
        yield Fact("tasks acknowledged", f"{entry.acknowledged} of {entry.total}")
    if known.status == IN_PROGRESS and known.listed.asked_at is not None:
        yield Fact("asked at", known.listed.asked_at, unit=EPOCH_MS)


def _listed_notes(known: Known) -> Iterator[str]:
    if known.listed is None:
        return
    entry = known.listed.entry
    if entry.failure is not None:
        yield f"Why it failed, in the engine's words: {entry.failure[:1000]}"
    if known.stored is not None and known.status == FAILED:
        yield (
            f"Its file is there, so every task had acknowledged it; the engine lists it as "
            f"{entry.status}."
        )


def _unknown_fields(checkpoint: Checkpoint) -> Iterator[str]:
    fields = [
        f"{where}: {size:,} bytes that mean nothing here." for where, size in checkpoint.unknown
    ]
    return listing.first(fields, MOST_NAMED, "fields mean nothing here.")


def _job(key: str, job: Job | None) -> JobInventory:
    if job is None:
        return JobInventory(key)
    facts = [Fact("status", job.status), Fact("created", job.created)]
    if job.from_savepoint is not None:
        facts.append(Fact("started from a savepoint", "yes" if job.from_savepoint else "no"))
    facts.append(Fact("vertices", len(job.vertices), unit=COUNT))
    facts.append(Fact("pipelines", len(job.edges), unit=COUNT))
    return JobInventory(key, job.name, tuple(facts))


def _files(files: tuple[FileAccount, ...], found: Found) -> Iterator[FileUse]:
    numbers = {
        known.stored.path: known.number
        for pipeline in found.pipelines
        for known in pipeline.checkpoints
        if known.stored is not None
    }
    for file in files:
        own = (numbers[file.path],) if file.path in numbers else ()
        reason = None if file.content is None else file.content.reason
        yield FileUse(file.path, file.bytes, _ROLES.get(file.kind, "unknown"), own, reason)


def _notes(upload: SeaTunnelUpload, found: Found) -> Iterator[str]:
    yield from listing.first(upload.notes, MOST_NAMED, "things do not fit together.")
    for pipeline in found.pipelines:
        yield from _gaps(pipeline)
    if found.hidden:
        yield f"{found.hidden:,} more checkpoints of REST answers are not listed."
    if not any(known.listed for one in found.pipelines for known in one.checkpoints):
        yield SILENT


@dataclass(frozen=True)
class _Span:
    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


def _gaps(pipeline: Pipeline) -> Iterator[str]:
    """Ids of which there is neither a file nor an entry of a REST answer."""
    if pipeline.history is None:
        return
    listed = sorted(known.id for known in pipeline.checkpoints if known.stored is None)
    spans = []
    for gap in pipeline.history.gaps:
        first = gap.first
        for id in (id for id in listed if gap.first <= id <= gap.last):
            if id > first:
                spans.append(_Span(first, id - 1))
            first = id + 1
        if first <= gap.last:
            spans.append(_Span(first, gap.last))
    for span in spans[:MOST_NAMED]:
        yield (
            f"Pipeline {pipeline.number}: there is no file of checkpoint {span}. Failed, or "
            "deleted since: the files do not tell which."
        )
    if len(spans) > MOST_NAMED:
        yield f"Pipeline {pipeline.number}: {len(spans) - MOST_NAMED:,} more gaps in the ids."
