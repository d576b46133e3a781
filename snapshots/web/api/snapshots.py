"""The calls about snapshots of a recording: verdicts, contents, restore, reordering."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from snapshots import access
from snapshots.answers import replay
from snapshots.answers.outcomes import outcome_of
from snapshots.files.recordings import open_recording
from snapshots.payloads import cuts
from snapshots.payloads.jobs import AcceptedJob
from snapshots.payloads.recordings import SnapshotList, snapshot_summary
from snapshots.services.jobs import request_reordering, request_restore
from snapshots.web.api.parameters import RecordingId, SnapshotId
from snapshots.web.api.reading import snapshot_row
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


@router.get("/recordings/{int:id}/snapshots", response=SnapshotList)
def list_snapshots(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """List the snapshots with their verdicts, in the order in which they began.

    Each has its findings, positions and totals, but not its states and channels. `verdict_counts`
    counts all findings; `verdicts` holds the first 100 of each verdict, worst first.

    A finding has `verdict` and `sentence`, and of these fields those that apply: `channel`,
    `message`, `process`, `value`, `rule`, `recorded`, `recomputed`, `path`; the events `sent`,
    `received` and `event` as `{"process", "index", "at"}`; and `other`, a second message or marker
    with its own events.
    """
    rows = access.ready_recording(request.user, id).snapshots.all()
    return reply({"items": [snapshot_summary(row, outcome_of(row)) for row in rows]})


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def restore_snapshot(request: HttpRequest, id: RecordingId, snapshot: SnapshotId) -> HttpResponse:
    """Rebuild the system from a snapshot and replay the rest; the job's result is the report."""
    row = snapshot_row(request, id, snapshot)
    return reply({"job": request_restore(request.user, row.recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/restore",
    response=cuts.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_restore(
    request: HttpRequest, id: RecordingId, snapshot: SnapshotId
) -> HttpResponse:
    """Return the snapshot whose id ends in `/restore`, like this address."""
    return get_snapshot(request, id, f"{snapshot}/restore")


@router.post(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def reorder_snapshot(request: HttpRequest, id: RecordingId, snapshot: SnapshotId) -> HttpResponse:
    """Reorder the run so that it passes through the recorded state (Theorem 1).

    The same question about the same stored recording returns the same job. A snapshot that is not
    complete is answered with 409. The job's result has

    * `began` and `ended` as steps, and the first 5,000 `events` between them;
    * `permuted`: the new order of these events, the prerecording ones first, with `swaps`;
    * `start`, `recorded` and `end`: states, and messages by channel;
    * `checks`: `name`, `sentence`, `reason` and `holds`, which is null if it cannot be told;
    * `occurred` and `occurred_after`: whether the run passed through the recorded state.
    """
    row = snapshot_row(request, id, snapshot)
    return reply({"job": request_reordering(request.user, row.recording, row).pk}, 202)


@router.get(
    "/recordings/{int:id}/snapshots/{text:snapshot}/reordering",
    response=cuts.SnapshotDetail,
    include_in_schema=False,
)
def get_snapshot_named_reordering(
    request: HttpRequest, id: RecordingId, snapshot: SnapshotId
) -> HttpResponse:
    """Return the snapshot whose id ends in `/reordering`, like this address."""
    return get_snapshot(request, id, f"{snapshot}/reordering")


@router.get("/recordings/{int:id}/knowledge", response=cuts.KnowledgePayload)
def get_knowledge(
    request: HttpRequest,
    id: RecordingId,
    snapshot: Annotated[str, Query(description="The id of the snapshot.")],
) -> HttpResponse:
    """Return who knew which pieces of a snapshot when.

    Only runs that were simulated with `collect` hold such pieces.
    """
    row = snapshot_row(request, id, snapshot)
    return reply(replay.knowledge(open_recording(row.recording), row.snapshot))


@router.get("/recordings/{int:id}/snapshots/{text:snapshot}", response=cuts.SnapshotDetail)
def get_snapshot(request: HttpRequest, id: RecordingId, snapshot: SnapshotId) -> HttpResponse:
    """Return the states and channel contents of a snapshot, recorded beside recomputed.

    `processes` and `channels` are what the log recomputes. In `recorded` and `recomputed` a value
    that is not known is absent. In a derived recording `why_empty` and `why_unknown` explain
    channels without messages.
    """
    row = snapshot_row(request, id, snapshot)
    return reply(cuts.snapshot_detail(row, open_recording(row.recording), outcome_of(row)))
