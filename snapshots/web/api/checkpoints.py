"""The calls about checkpoints of a dataflow, and about what failures repeated and lost."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from snapshots import access
from snapshots.answers.untimed import untimed
from snapshots.files.recordings import open_recording
from snapshots.payloads import checkpoints
from snapshots.problems import NotFound
from snapshots.web.api.parameters import Limit, Offset, RecordingId
from snapshots.web.api.reading import stored_recording
from snapshots.web.json import reply

router = Router()


@router.get("/recordings/{int:id}/checkpoints", response=checkpoints.CheckpointList)
def list_checkpoints(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """List the checkpoints of a dataflow in the order in which they began, without their tasks.

    The list is empty for a recording that is no dataflow. `untimed` has the checkpoints of an
    engine's upload about which nothing says when anything happened.
    """
    recording = access.ready_recording(request.user, id)
    stored = open_recording(recording)
    return reply(checkpoints.checkpoint_list(stored, untimed(recording, stored)))


@router.get(
    "/recordings/{int:id}/checkpoints/{text:checkpoint}",
    response=checkpoints.CheckpointDetail,
)
def get_checkpoint(
    request: HttpRequest,
    id: RecordingId,
    checkpoint: Annotated[str, Path(description="The id of the checkpoint, percent-encoded.")],
) -> HttpResponse:
    """Return what every task did for a checkpoint, and the critical path that set its duration."""
    detail = checkpoints.checkpoint_detail(stored_recording(request, id), checkpoint)
    if detail is None:
        raise NotFound(f"There is no checkpoint “{checkpoint[:80]}” in this recording.")
    return reply(detail)


@router.get("/recordings/{int:id}/checkpoint-files", response=checkpoints.CheckpointFiles)
def list_files(request: HttpRequest, id: RecordingId, limit: Limit, offset: Offset) -> HttpResponse:
    """List the files of incremental checkpoints by name, with the checkpoints that need each."""
    files = stored_recording(request, id).checkpoint_files()["files"]
    return reply({"items": files[offset : offset + limit], "total": len(files)})


@router.get("/recordings/{int:id}/checkpoint-requests", response=checkpoints.CheckpointRequests)
def list_requests(
    request: HttpRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List what the coordinator decided about each request for a checkpoint, with the reason."""
    decisions = stored_recording(request, id).checkpoint_files()["decisions"]
    return reply({"items": decisions[offset : offset + limit], "total": len(decisions)})


@router.get("/recordings/{int:id}/failovers", response=checkpoints.FailoverList)
def list_failovers(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """List each failure with what it repeated and lost, and the totals at each sink."""
    return reply(stored_recording(request, id).failovers())
