"""The calls about the archive: jobs of engines, their checkpoints over months, and collectors."""

from typing import Annotated, Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from ninja import Field, File, Form, Path, Query, Router, Schema, UploadedFile

from snapshots import access
from snapshots.archive import (
    front_payloads,
    payloads,
    polls,
    queries,
    rescale_payloads,
    rescales,
    services,
)
from snapshots.domain.archive.columns import SORTABLE
from snapshots.domain.archive.model import STATUSES
from snapshots.domain.model.as_json import as_json
from snapshots.files.uploads import drafts
from snapshots.models import EngineCheckpoint, EngineJob
from snapshots.problems import Invalid
from snapshots.reviews.bundles import archived
from snapshots.web.api.parameters import (
    MOST_INT,
    ArchivedJobId,
    CollectorId,
    Holder,
    Limit,
    Offset,
    OwnedBy,
)
from snapshots.web.json import reply, reply_page
from snapshots.web.native_files import json_attachment
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

PIPELINE = "The number of the pipeline; 0 if the engine has no pipelines."
Pipeline = Annotated[int, Query(ge=0, le=2**31 - 1, description=PIPELINE)]
Slow = Annotated[int, Query(ge=0, le=MOST_INT, description="The number of the slow checkpoint.")]
Healthy = Annotated[
    int, Query(ge=0, le=MOST_INT, description="The number of the checkpoint to compare it with.")
]
Number = Annotated[int, Path(description="The number of the checkpoint.")]
PipelineInPath = Annotated[int, Path(description=PIPELINE)]
Sort = Annotated[
    str,
    Query(description=f"One of {', '.join(SORTABLE)}; with `-` before it the largest comes first."),
]


class CheckpointFilter(Schema):
    """Which checkpoints of a job are listed or counted; an empty parameter leaves none out."""

    status: str = Field("", description=f"One of {', '.join(STATUSES)}; empty for all.")
    kind: str = Field("", description="The kind of checkpoint, in the engine's words.")
    pipeline: str = Field("", description="The number of the pipeline; empty for all.")
    since: str = Field(
        "", description="Only checkpoints triggered at this time or later, in epoch ms."
    )
    until: str = Field(
        "", description="Only checkpoints triggered at this time or earlier, in epoch ms."
    )
    longer: str = Field("", description="Only checkpoints that took at least this long, in ms.")
    failing: str = Field("", description="Part of the engine's words for the failure.")
    cause: str = Field(
        "", description="A cause of failures, as GET /api/archive/{id}/overview lists it."
    )
    phase: str = Field(
        "", description="The phase that failed, as GET /api/archive/{id}/overview lists it."
    )
    slowest: str = Field("", description="The subtask that acknowledged last.")


class CollectorDocument(Schema):
    """What to follow, and how often."""

    engine: Any = Field(
        None, description=f"One of {', '.join(services.ENGINES)}; flink if it is left out."
    )
    url: Any = Field(
        None,
        description="The address of the engine's REST API, whose host COLLECTOR_HOSTS must list; "
        "of a Spark query its checkpoint folder, below a folder of COLLECTOR_FOLDERS.",
        examples=["http://jobmanager:8081"],
    )
    job_key: Any = Field(
        None, description="The id of the only job to follow; empty for all jobs of the cluster."
    )
    interval_seconds: Any = Field(
        None,
        description="Seconds between two rounds: 10 by default, at least the setting "
        "MIN_COLLECT_SECONDS.",
    )


class CollectorChange(Schema):
    """Whether a collector goes on."""

    is_collecting: Any = Field(None, description="True to go on, false to stop.")


@router.get("/archive", response=payloads.ArchivedJobList)
def list_archived_jobs(
    request: HttpRequest, limit: Limit, offset: Offset, team: OwnedBy
) -> HttpResponse:
    """List your jobs of engines and those of your teams, the last changed first."""
    rows = access.owned_by(request.user, access.engine_jobs(request.user), team)
    counted = EngineCheckpoint.objects.filter(job=OuterRef("pk")).order_by().values("job")
    kept = Subquery(counted.annotate(kept=Count("pk")).values("kept"))
    rows = rows.select_related("collector").annotate(kept=Coalesce(kept, 0))
    return reply_page(rows, offset, limit, lambda row: payloads.job_item(row, row.kept))


@router.post("/archive", response={201: payloads.TakenJob}, openapi_extra=DOCUMENTED)
@idempotent
def take_archived_job(
    request: SignedInRequest,
    file: Annotated[UploadedFile, File(description="The file of an archived job with its notes.")],
    team: Annotated[
        int | None, Form(description="The number of the team that gets it; empty for yourself.")
    ] = None,
) -> HttpResponse:
    """Take an archived job with its notes, as `GET /api/archive/{id}/with-notes` sends it.

    What the file knows of checkpoints is merged with what is here, and new notes are added. Taking
    the same file again changes nothing.
    """
    (draft,) = drafts([file])
    job, merged = archived.taken(access.holder(request.user, team), draft, by=request.user)
    return reply(_job(job) | {"notes": merged.sentences()}, 201)


@router.get("/archive/{int:id}/with-notes", response=bytes)
def get_archived_job_with_notes(request: SignedInRequest, id: ArchivedJobId) -> HttpResponse:
    """Return an archived job with its checkpoints and notes as one JSON document.

    It holds the notes with answers and histories, and the names of their authors. The same job
    with the same notes always gives the same bytes. Any Cutline takes it at `POST /api/archive`.
    """
    row = access.engine_job(request.user, id)
    return json_attachment(archived.written(row, request.user), archived.file_name(row))


@router.get("/archive/{int:id}", response=payloads.ArchivedJob)
def get_archived_job(request: HttpRequest, id: ArchivedJobId) -> HttpResponse:
    """Return a job of an engine, with the number of its archived checkpoints."""
    return reply(_job(access.engine_job(request.user, id)))


@router.delete("/archive/{int:id}", response={204: None})
def delete_archived_job(request: HttpRequest, id: ArchivedJobId) -> HttpResponse:
    """Delete a job of an engine with all its archived checkpoints. Uploads stay."""
    services.delete_job(access.own_engine_job(request.user, id), request.user)
    return HttpResponse(status=204)


@router.get("/archive/{int:id}/overview", response=payloads.ArchiveOverview)
def get_archive_overview(
    request: HttpRequest,
    id: ArchivedJobId,
    wanted: Query[CheckpointFilter],
    width: Annotated[
        int, Query(ge=1, le=4_000, description="How many points a trend has at most.")
    ] = queries.WIDTH,
) -> HttpResponse:
    """Return trends with outlier bands, failures by cause and phase, and the slowest subtasks.

    Only checkpoints that pass the filter count. Trends are typed arrays in base64.
    """
    job, passing = access.engine_job(request.user, id), services.filter_of(wanted.dict())
    return reply(queries.overview(job, passing, width))


@router.get("/archive/{int:id}/checkpoints", response=payloads.ArchivedCheckpointList)
def list_archived_checkpoints(
    request: HttpRequest,
    id: ArchivedJobId,
    limit: Limit,
    offset: Offset,
    wanted: Query[CheckpointFilter],
    sort: Sort = "-number",
) -> HttpResponse:
    """List the checkpoints that pass the filter."""
    job, passing = access.engine_job(request.user, id), services.filter_of(wanted.dict())
    sort = services.sort_of({"sort": sort})
    rows, total = queries.listed(job, passing, sort, offset, limit)
    access.hide_uploads(request.user, rows)
    return reply({"items": [payloads.checkpoint_item(row) for row in rows], "total": total})


@router.get("/archive/{int:id}/rescales", response=rescale_payloads.ArchivedRescaleList)
def list_archived_rescales(request: HttpRequest, id: ArchivedJobId) -> HttpResponse:
    """List the newest rescales of a job that a collector found, at most 100.

    Flink tells of them from version 2.3 on, if its adaptive scheduler keeps a history.
    """
    return reply({"items": rescales.shown(access.engine_job(request.user, id))})


@router.get(
    "/archive/{int:id}/checkpoints/{int:pipeline}/{int:number}",
    response=payloads.ArchivedCheckpointDetail,
)
def get_archived_checkpoint(
    request: HttpRequest,
    id: ArchivedJobId,
    pipeline: PipelineInPath,
    number: Number,
) -> HttpResponse:
    """Return one archived checkpoint with the times of every subtask."""
    row = queries.checkpoint(access.engine_job(request.user, id), pipeline, number)
    access.hide_uploads(request.user, [row])
    return reply(payloads.checkpoint_detail(row))


@router.get(
    "/archive/{int:id}/checkpoints/{int:pipeline}/{int:number}/polls",
    response=front_payloads.CheckpointPolls,
)
def list_checkpoint_polls(
    request: HttpRequest,
    id: ArchivedJobId,
    pipeline: PipelineInPath,
    number: Number,
) -> HttpResponse:
    """Return when a checkpoint was polled while it was in progress."""
    job = access.engine_job(request.user, id)
    queries.checkpoint(job, pipeline, number)
    return reply(front_payloads.polls_of(polls.polled(job, pipeline, number)))


@router.get(
    "/archive/{int:id}/checkpoints/{int:pipeline}/{int:number}/polls/{int:at}",
    response=front_payloads.CheckpointPoll,
)
def get_checkpoint_poll(
    request: HttpRequest,
    id: ArchivedJobId,
    pipeline: PipelineInPath,
    number: Number,
    at: Annotated[int, Path(ge=0, le=MOST_INT, description="An instant, in epoch milliseconds.")],
) -> HttpResponse:
    """Return where the barriers of a checkpoint were at the last poll up to an instant.

    Before the first poll it is the first one.
    """
    job = access.engine_job(request.user, id)
    queries.checkpoint(job, pipeline, number)
    return reply(front_payloads.poll_of(polls.poll_at(job, pipeline, number, at)))


@router.get("/archive/{int:id}/compare", response=payloads.ArchivedComparison)
def compare_archived_checkpoints(
    request: HttpRequest, id: ArchivedJobId, slow: Slow, healthy: Healthy, pipeline: Pipeline = 0
) -> HttpResponse:
    """Explain why one checkpoint took longer than another: causes, ranked, and a sentence."""
    job = access.engine_job(request.user, id)
    checkpoints = (queries.checkpoint(job, pipeline, number) for number in (slow, healthy))
    return reply(as_json(queries.compare(*checkpoints)))


@router.get("/collectors", response=payloads.CollectorList)
def list_collectors(
    request: HttpRequest, limit: Limit, offset: Offset, team: OwnedBy
) -> HttpResponse:
    """List your collectors and those of your teams."""
    rows = access.owned_by(request.user, access.collectors(request.user), team)
    return reply_page(rows, offset, limit, payloads.collector_item)


@router.post("/collectors", response={201: payloads.CollectorItem}, openapi_extra=DOCUMENTED)
@idempotent
def create_collector(request: HttpRequest, body: CollectorDocument, team: Holder) -> HttpResponse:
    """Follow a running engine. Settings list the allowed hosts and folders."""
    owner = access.holder(request.user, team)
    row = services.add_collector(owner, body.dict(exclude_unset=True))
    return reply(payloads.collector_item(row), 201)


@router.get("/collectors/{int:id}", response=payloads.CollectorItem)
def get_collector(request: HttpRequest, id: CollectorId) -> HttpResponse:
    """Return a collector: what it follows, when its last round was, and what went wrong."""
    return reply(payloads.collector_item(access.collector(request.user, id)))


@router.patch("/collectors/{int:id}", response=payloads.CollectorItem)
def change_collector(request: HttpRequest, id: CollectorId, body: CollectorChange) -> HttpResponse:
    """Stop a collector, or let it go on."""
    row = access.own_collector(request.user, id)
    if not isinstance(body.is_collecting, bool):
        raise Invalid("is_collecting must be true or false.", field="is_collecting")
    return reply(payloads.collector_item(services.set_collecting(row, body.is_collecting)))


@router.delete("/collectors/{int:id}", response={204: None})
def delete_collector(request: HttpRequest, id: CollectorId) -> HttpResponse:
    """Delete a collector. What it has collected stays."""
    services.delete_collector(access.own_collector(request.user, id))
    return HttpResponse(status=204)


def _job(row: EngineJob) -> dict[str, Any]:
    return payloads.job_item(row, row.checkpoints.count())
