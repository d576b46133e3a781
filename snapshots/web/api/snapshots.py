"""Snapshots of a recording: verdicts, contents, restore, reordering."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.access import require_ready
from snapshots.answers import replay
from snapshots.files.recordings import open_recording
from snapshots.payloads import cuts
from snapshots.payloads.jobs import AcceptedJob
from snapshots.payloads.recordings import SnapshotList, snapshot_summary
from snapshots.services.jobs import request_reordering, request_restore
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


@router.get("/recordings/{int:id}/snapshots", response=SnapshotList)
def list_snapshots(request: HttpRequest, id: int) -> HttpResponse:
    """In the order in which they were begun, without their contents."""
    recording = access.recording(request.user, id)
    require_ready(recording)
    return reply({"items": [snapshot_summary(row) for row in recording.snapshots.all()]})


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def restore_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Rebuild the system from the snapshot and replay the rest; the job's result is the report."""
    recording = access.recording(request.user, id)
    require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply({"job": request_restore(request.user, recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response=cuts.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_restore(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """A snapshot's id may end like this address."""
    return get_snapshot(request, id, f"{snapshot}/restore")


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def reorder_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Reorder the run so that it goes through the recorded state (Theorem 1); the job's result is
    the two orders and what was checked. What was asked for before is not computed again."""
    recording = access.recording(request.user, id)
    require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply({"job": request_reordering(request.user, recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response=cuts.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_reordering(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """A snapshot's id may end like this address, too."""
    return get_snapshot(request, id, f"{snapshot}/reordering")


@router.get("/recordings/{int:id}/knowledge", response=cuts.KnowledgePayload)
def get_knowledge(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Who knew which pieces of a snapshot when: of runs that collect them (simulate: collect)."""
    recording = access.recording(request.user, id)
    require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply(replay.knowledge(open_recording(recording), row.snapshot))


@router.get("/recordings/{int:id}/snapshots/{text:snapshot}", response=cuts.SnapshotDetail)
def get_snapshot(request: HttpRequest, id: int, snapshot: str) -> HttpResponse:
    """Its states and channel contents, as recorded and as the log recomputes them."""
    recording = access.recording(request.user, id)
    require_ready(recording)
    row = access.snapshot(recording, snapshot)
    return reply(cuts.snapshot_detail(row, open_recording(recording)))
