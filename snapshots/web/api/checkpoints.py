"""Checkpoints of a dataflow, and what its failures repeated and lost."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.access import require_ready
from snapshots.files.recordings import open_recording
from snapshots.payloads import checkpoints
from snapshots.problems import NotFound
from snapshots.store.reader import StoredRecording
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.json import reply

router = Router()


@router.get("/recordings/{int:id}/checkpoints", response=checkpoints.CheckpointList)
def list_checkpoints(request: HttpRequest, id: int) -> HttpResponse:
    """In the order in which they were begun, without their tasks."""
    return reply(checkpoints.checkpoint_list(_opened(request, id)))


@router.get(
    "/recordings/{int:id}/checkpoints/{text:checkpoint}",
    response=checkpoints.CheckpointDetail,
)
def get_checkpoint(request: HttpRequest, id: int, checkpoint: str) -> HttpResponse:
    """What every task did for it, and what set its duration."""
    found = checkpoints.checkpoint_detail(_opened(request, id), checkpoint)
    if found is None:
        raise NotFound(f"There is no checkpoint “{checkpoint[:80]}” in this recording.")
    return reply(found)


@router.get("/recordings/{int:id}/checkpoint-files", response=checkpoints.CheckpointFiles)
def list_files(request: HttpRequest, id: int, limit: Limit, offset: Offset) -> HttpResponse:
    """By name, each with the checkpoints that still need it."""
    files = _opened(request, id).checkpoint_files()["files"]
    return reply({"items": files[offset : offset + limit], "total": len(files)})


@router.get("/recordings/{int:id}/checkpoint-requests", response=checkpoints.CheckpointRequests)
def list_requests(request: HttpRequest, id: int, limit: Limit, offset: Offset) -> HttpResponse:
    """What the coordinator decided about each request, in order; those dropped, with the reason."""
    decisions = _opened(request, id).checkpoint_files()["decisions"]
    return reply({"items": decisions[offset : offset + limit], "total": len(decisions)})


@router.get("/recordings/{int:id}/failovers", response=checkpoints.FailoverList)
def list_failovers(request: HttpRequest, id: int) -> HttpResponse:
    """Each failure with what it repeated and lost, and all of them together at each sink."""
    return reply(_opened(request, id).failovers())


def _opened(request: HttpRequest, id: int) -> StoredRecording:
    recording = access.recording(request.user, id)
    require_ready(recording)
    return open_recording(recording)
