"""The archive: jobs of engines, their checkpoints over months, and who collects them."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from snapshots import access
from snapshots.archive import payloads, queries, services
from snapshots.domain.archive.columns import Filter
from snapshots.models import EngineJob
from snapshots.problems import Invalid
from snapshots.web.api.parameters import MOST_INT, Limit, Offset
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

Pipeline = Annotated[int, Query(ge=0, le=2**31 - 1, description="0 where the engine has none")]
Number = Annotated[int, Query(ge=0, le=MOST_INT)]


class CollectorDocument(Schema):
    """url: of the REST API. job_key: of the only job to follow; empty for all of the cluster.
    interval_seconds: between two questions, 10 unless given, at least MIN_COLLECT_SECONDS."""

    url: Any = None
    job_key: Any = None
    interval_seconds: Any = None


class CollectorChange(Schema):
    is_collecting: Any = None


@router.get("/archive", response=payloads.ArchivedJobList)
def list_archived_jobs(request: HttpRequest, limit: Limit, offset: Offset) -> HttpResponse:
    """Your jobs of engines, the last changed first."""
    rows = access.engine_jobs(request.user)
    items = [_job(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count()})


@router.get("/archive/{int:id}", response=payloads.ArchivedJob)
def get_archived_job(request: HttpRequest, id: int) -> HttpResponse:
    return reply(_job(access.engine_job(request.user, id)))


@router.delete("/archive/{int:id}", response={204: None})
def delete_archived_job(request: HttpRequest, id: int) -> HttpResponse:
    """With all that is kept of its checkpoints; uploads stay."""
    services.delete_job(access.engine_job(request.user, id), request.user)
    return HttpResponse(status=204)


@router.get("/archive/{int:id}/overview", response=payloads.ArchiveOverview)
def get_archive_overview(
    request: HttpRequest,
    id: int,
    width: Annotated[int, Query(ge=1, le=4_000)] = queries.WIDTH,
    status: str = "",
    kind: str = "",
    pipeline: str = "",
    since: str = "",
    until: str = "",
    longer: str = "",
    failing: str = "",
    cause: str = "",
    phase: str = "",
    slowest: str = "",
) -> HttpResponse:
    """Trends with their outlier bands, failures and the slowest, of what passes the filter, in at
    most ``width`` points. since, until: epoch ms. longer: ms. failing: a part of the words."""
    return reply(queries.overview(access.engine_job(request.user, id), _filter(request), width))


@router.get("/archive/{int:id}/checkpoints", response=payloads.ArchivedCheckpointList)
def list_archived_checkpoints(
    request: HttpRequest,
    id: int,
    limit: Limit,
    offset: Offset,
    sort: str = "-number",
    status: str = "",
    kind: str = "",
    pipeline: str = "",
    since: str = "",
    until: str = "",
    longer: str = "",
    failing: str = "",
    cause: str = "",
    phase: str = "",
    slowest: str = "",
) -> HttpResponse:
    """What passes the filter; sort: a number of the checkpoints, ``-`` for the largest first."""
    job, asked = access.engine_job(request.user, id), _filter(request)
    rows, total = queries.listed(job, asked, services.sort_of(request.GET), offset, limit)
    return reply({"items": [payloads.checkpoint_item(row) for row in rows], "total": total})


@router.get(
    "/archive/{int:id}/checkpoints/{int:pipeline}/{int:number}",
    response=payloads.ArchivedCheckpointDetail,
)
def get_archived_checkpoint(
    request: HttpRequest, id: int, pipeline: int, number: int
) -> HttpResponse:
    """With what every subtask took. pipeline: 0 where the engine has none."""
    row = queries.checkpoint(access.engine_job(request.user, id), pipeline, number)
    return reply(payloads.checkpoint_detail(row))


@router.get("/archive/{int:id}/compare", response=payloads.ArchivedComparison)
def compare_archived_checkpoints(
    request: HttpRequest, id: int, slow: Number, healthy: Number, pipeline: Pipeline = 0
) -> HttpResponse:
    """Where the difference of two checkpoints comes from, ranked and in a sentence."""
    job = access.engine_job(request.user, id)
    one, other = (queries.checkpoint(job, pipeline, number) for number in (slow, healthy))
    return reply(payloads.comparison(queries.compare(one, other)))


@router.get("/collectors", response=payloads.CollectorList)
def list_collectors(request: HttpRequest, limit: Limit, offset: Offset) -> HttpResponse:
    rows = access.collectors(request.user)
    items = [payloads.collector_item(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count()})


@router.post("/collectors", response={201: payloads.CollectorItem}, openapi_extra=DOCUMENTED)
@idempotent
def create_collector(request: HttpRequest, body: CollectorDocument) -> HttpResponse:
    """Follow a running Flink. The setting COLLECTOR_HOSTS lists the hosts that may be asked."""
    row = services.add_collector(request.user, body.dict(exclude_unset=True))
    return reply(payloads.collector_item(row), 201)


@router.get("/collectors/{int:id}", response=payloads.CollectorItem)
def get_collector(request: HttpRequest, id: int) -> HttpResponse:
    return reply(payloads.collector_item(access.collector(request.user, id)))


@router.patch("/collectors/{int:id}", response=payloads.CollectorItem)
def change_collector(request: HttpRequest, id: int, body: CollectorChange) -> HttpResponse:
    """Stop it, or let it go on."""
    row = access.collector(request.user, id)
    if not isinstance(body.is_collecting, bool):
        raise Invalid("It is true or false.", field="is_collecting")
    return reply(payloads.collector_item(services.set_collecting(row, body.is_collecting)))


@router.delete("/collectors/{int:id}", response={204: None})
def delete_collector(request: HttpRequest, id: int) -> HttpResponse:
    """What it has collected stays."""
    services.delete_collector(access.collector(request.user, id))
    return HttpResponse(status=204)


def _filter(request: HttpRequest) -> Filter:
    return services.filter_of(request.GET)


def _job(row: EngineJob) -> dict[str, Any]:
    return payloads.job_item(row, row.checkpoints.count())
