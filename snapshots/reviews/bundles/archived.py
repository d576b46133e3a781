"""An archived job of an engine with its notes as one JSON document, and back.

The same job gives the same bytes. Which engine reported it, when it was heard, and which uploads
hold its checkpoints are of the Cutline that wrote the document, and are not in it.
"""

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from django.db import transaction
from pydantic import Field, StringConstraints

from snapshots.archive import filling
from snapshots.domain.archive.model import (
    STATUSES,
    CheckpointFacts,
    JobFacts,
    SubtaskFacts,
    VertexFacts,
)
from snapshots.files import uploads
from snapshots.models import EngineJob
from snapshots.problems import Conflict, Refused
from snapshots.quantities import counted
from snapshots.reviews.bundles import documents
from snapshots.reviews.bundles.documents import Document
from snapshots.reviews.bundles.exporting import notes_on
from snapshots.reviews.bundles.merging import Merged, merge
from webapp.accounts import audit

FORMAT: Literal["cutline-archived-job-with-notes"] = "cutline-archived-job-with-notes"
MOST_BYTES = 2**26  # of a document
MOST_CHECKPOINTS = 50_000

Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Id = Annotated[str, StringConstraints(max_length=4_000)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Status = Literal["unknown", "in progress", "failed", "completed"]
assert set(STATUSES) == {"unknown", "in progress", "failed", "completed"}


class Subtask(Document):
    """What one subtask did for a checkpoint, with the fields of ``SubtaskFacts``."""

    index: Count
    acknowledged: bool | None
    unaligned: bool | None
    start_delay: Number | None
    alignment: Number | None
    sync: Number | None
    async_: Number | None
    duration: Number | None
    bytes: Number | None
    uploaded: Number | None
    in_flight: Number | None


class Vertex(Document):
    """What the subtasks of one vertex did, with the fields of ``VertexFacts``."""

    id: Id
    name: Id
    parallelism: Count | None
    subtasks: tuple[Subtask, ...]
    acknowledged: Count | None = None  # earlier versions did not tell it


class Checkpoint(Document):
    """One checkpoint, with the fields of ``CheckpointFacts``."""

    number: Number
    pipeline: Count
    kind: Id
    status: Status
    triggered_at: Number | None
    ended_at: Number | None
    duration: Number | None
    bytes: Number | None
    is_bytes_told: bool
    uploaded: Number | None
    in_flight: Number | None
    subtasks: Count | None
    acknowledged: Count | None
    failure: Id
    phase: Id
    path: Id
    vertices: tuple[Vertex, ...]


class Job(Document):
    """An archived job with its notes.

    Attributes:
        format: says what the document is.
        version: the version of the format.
        engine: the engine of the job.
        key: the engine's id of the job.
        name: the name of the job; empty if the engine did not say.
        state: the state in the engine's words; empty if it did not say.
        counts: how many checkpoints the engine counts, by status.
        checkpoints: the checkpoints, by pipeline and number.
        notes: the notes.
    """

    format: Literal["cutline-archived-job-with-notes"]
    version: Literal[1]
    engine: Literal["flink", "seatunnel", "spark"]
    key: Key
    name: Id
    state: Id
    counts: dict[Literal["total", "in_progress", "completed", "failed"], Number]
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(max_length=MOST_CHECKPOINTS)]
    notes: documents.Notes


def file_name(job: EngineJob) -> str:
    """Return the name under which a browser saves the document."""
    return f"{job}.cutline-job.json"


def written(job: EngineJob, by: User) -> bytes:
    """Return an archived job with its notes as a document.

    Args:
        job: a job that the person may see.
        by: the person, for the audit log.

    Raises: Conflict if it is too large for one document.
    """
    count = job.checkpoints.count()
    if count > MOST_CHECKPOINTS:
        raise Conflict(
            f"“{job}” has {counted(count, 'checkpoint')}, and a file with its notes holds at most "
            f"{MOST_CHECKPOINTS:,}."
        )
    content = documents.written(_document(job))
    if len(content) > MOST_BYTES:
        raise Conflict(
            f"“{job}” takes {counted(len(content), 'byte')} with its notes, and a file holds at "
            f"most {MOST_BYTES:,}."
        )
    audit.note(audit.DOWNLOADED, by, f"{job} with its notes")
    return content


def _document(job: EngineJob) -> Job:
    rows = job.checkpoints.order_by("pipeline", "number").select_related("detail")
    return Job(
        format=FORMAT,
        version=1,
        engine=job.engine,  # type: ignore[arg-type]  # the model checks it
        key=job.key,
        name=job.name,
        state=job.state,
        counts=dict(sorted(job.counts.items())),
        checkpoints=tuple(_checkpoint(filling.facts_of(row)) for row in rows.iterator(500)),
        notes=documents.Notes(entries=notes_on(job)),
    )


def _checkpoint(facts: CheckpointFacts) -> Checkpoint:
    """Return a checkpoint as it is written: its vertices and subtasks in one order."""
    vertices = tuple(
        replace(vertex, subtasks=tuple(sorted(vertex.subtasks, key=lambda each: each.index)))
        for vertex in sorted(facts.vertices, key=lambda each: each.id)
    )
    return Checkpoint.model_validate(asdict(replace(facts, vertices=vertices)))


@transaction.atomic
def taken(owner: User, file: uploads.DraftUpload, *, by: User) -> tuple[EngineJob, Merged]:
    """Take a document into the archive: what it knows is merged with what is here.

    Raises: Refused with the field; Conflict if the job would have too many entries.
    """
    document = _read(file)
    # Two imports at once would make two jobs.
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    before = set(EngineJob.objects.filter(owner=owner).values_list("pk", flat=True))
    job = filling.take(owner, _facts(document))
    merged = merge(job, document.notes.entries, is_new=job.pk not in before)
    if merged.added or merged.updated or merged.left or merged.kept:
        audit.note(
            audit.NOTES_IMPORTED,
            by,
            str(job),
            person=owner,
            added=merged.added,
            updated=merged.updated,
            left=len(merged.left) + len(merged.kept),
        )
    return job, merged


def _read(file: uploads.DraftUpload) -> Job:
    if file.size > MOST_BYTES:
        raise Refused(
            f"The file has {counted(file.size, 'byte')}; an archived job with its notes has at "
            f"most {MOST_BYTES:,}.",
            code="too-large",
        )
    document = documents.read(Job, uploads.flushed_path(file).read_bytes(), "The file")
    documents.require_distinct(document.notes, "The file")
    keys = [(each.pipeline, each.number) for each in document.checkpoints]
    if len(set(keys)) < len(keys):
        raise Refused("The file names a checkpoint twice.", field="checkpoints")
    return document


def _facts(document: Job) -> JobFacts:
    return JobFacts(
        engine=document.engine,
        key=document.key,
        name=document.name,
        state=document.state,
        counts={str(name): count for name, count in document.counts.items()},
        checkpoints=tuple(map(_checkpoint_facts, document.checkpoints)),
    )


def _checkpoint_facts(checkpoint: Checkpoint) -> CheckpointFacts:
    fields: dict[str, Any] = checkpoint.model_dump(exclude={"vertices"})
    return CheckpointFacts(**fields, vertices=tuple(map(_vertex_facts, checkpoint.vertices)))


def _vertex_facts(vertex: Vertex) -> VertexFacts:
    subtasks = tuple(SubtaskFacts(**subtask.model_dump()) for subtask in vertex.subtasks)
    return VertexFacts(vertex.id, vertex.name, vertex.parallelism, subtasks, vertex.acknowledged)
