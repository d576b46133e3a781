"""Snapshots of a recording: verdicts, contents, restore, reordering."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access, content_payloads, payloads, replays, services
from snapshots.api.json import reply
from snapshots.stores import open_recording
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


@router.get("/recordings/{int:id}/snapshots", response=payloads.SnapshotList)
def list_snapshots(request: HttpRequest, id: int) -> HttpResponse:
    """In the order in which they were begun, without their contents."""
    recording = access.recording(request.user, id)
    services.require_ready(recording)
    return reply({"items": [payloads.snapshot_summary(row) for row in recording.snapshots.all()]})


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response={202: payloads.AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def restore_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Rebuild the system from the snapshot and replay the rest; the job's result is the report."""
    recording = access.recording(request.user, id)
    services.require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply({"job": services.request_restore(request.user, recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response=content_payloads.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_restore(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """A snapshot's id may end like this address."""
    return get_snapshot(request, id, f"{snapshot}/restore")


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response={202: payloads.AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def reorder_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Reorder the run so that it goes through the recorded state (Theorem 1); the job's result is
    the two orders and what was checked. What was asked for before is not computed again."""
    recording = access.recording(request.user, id)
    services.require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply({"job": services.request_reordering(request.user, recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response=content_payloads.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_reordering(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """A snapshot's id may end like this address, too."""
    return get_snapshot(request, id, f"{snapshot}/reordering")


@router.get("/recordings/{int:id}/knowledge", response=content_payloads.KnowledgePayload)
def get_knowledge(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Who knew which pieces of a snapshot when: of runs that collect them (simulate: collect)."""
    recording = access.recording(request.user, id)
    services.require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply(replays.knowledge(open_recording(recording), row.snapshot))


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}", response=content_payloads.SnapshotDetail
)
def get_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Its states and channel contents, as recorded and as the log recomputes them."""
    recording = access.recording(request.user, id)
    services.require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply(content_payloads.snapshot_detail(row, open_recording(recording)))
