"""What an engine's checkpoints hold: operators, states, data in flight, files."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from snapshots import access
from snapshots.answers import inventory, inventory_difference
from snapshots.payloads import inventory as inventory_payloads
from snapshots.payloads import restore_plan
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.json import reply

router = Router()

Operator = Annotated[str, Query(description="its id")]
State = Annotated[str, Query(description="its name")]


@router.get("/recordings/{int:id}/contents", response=inventory_payloads.ContentsSummary)
def get_contents(request: HttpRequest, id: int) -> HttpResponse:
    """Jobs and checkpoints of an upload; a checkpoint's number is its place in the list."""
    upload = _opened(request, id).upload
    return reply({**upload, "files": len(upload["files"])})


@router.get("/recordings/{int:id}/contents/files", response=inventory_payloads.FileList)
def list_files_of_upload(
    request: HttpRequest, id: int, limit: Limit, offset: Offset
) -> HttpResponse:
    """Every file of the upload, with who needs it, or why nothing of it is shown."""
    files = _opened(request, id).upload["files"]
    return reply({"items": files[offset : offset + limit], "total": len(files)})


@router.get(
    "/recordings/{int:id}/contents/{int:number}",
    response=inventory_payloads.EngineCheckpointDetail,
)
def get_checkpoint_contents(request: HttpRequest, id: int, number: int) -> HttpResponse:
    found = inventory.checkpoint(_opened(request, id), number)
    return reply({name: value for name, value in found.items() if name != "index"})


@router.get(
    "/recordings/{int:id}/contents/{int:number}/entries", response=inventory_payloads.EntryList
)
def list_entries(
    request: HttpRequest,
    id: int,
    number: int,
    operator: Operator,
    state: State,
    limit: Limit,
    offset: Offset,
    q: str = "",
) -> HttpResponse:
    """The entries of one state. q: part of key, namespace or value."""
    found = inventory.entries(
        _opened(request, id), number, operator, state, containing=q, offset=offset, limit=limit
    )
    return reply(found)


@router.get(
    "/recordings/{int:id}/contents/{int:number}/channels/{int:channel}",
    response=inventory_payloads.ChannelElements,
)
def get_channel_contents(
    request: HttpRequest,
    id: int,
    number: int,
    channel: int,
    limit: Limit,
    offset: Offset,
    type: str = "",
) -> HttpResponse:
    """The data in flight of one channel. type: of its records, spelt out as ``tuple<string,long>``
    or named as in ``suggested`` (``pojo demo.Order``); one that does not fit every record is
    refused."""
    found = inventory.channel(
        _opened(request, id), number, channel, type_name=type, offset=offset, limit=limit
    )
    return reply(found)


@router.get(
    "/recordings/{int:id}/contents/{int:before}/compare/{int:after}",
    response=inventory_payloads.StateComparison,
)
def compare_states(
    request: HttpRequest,
    id: int,
    before: int,
    after: int,
    operator: Operator,
    state: State,
    examples: Annotated[int, Query(ge=0, le=500)] = 50,
) -> HttpResponse:
    """One state in two checkpoints: which keys were added, removed, changed."""
    found = inventory.compare(_opened(request, id), before, after, operator, state, examples)
    return reply(found)


@router.get(
    "/recordings/{int:id}/contents/{int:before}/difference/{int:after}",
    response=inventory_payloads.CheckpointChangeDetail,
)
def get_difference(request: HttpRequest, id: int, before: int, after: int) -> HttpResponse:
    """Two checkpoints: operators, key groups, states, bytes, and which files each needs."""
    return reply(inventory_difference.difference(_opened(request, id), before, after))


@router.get(
    "/recordings/{int:id}/contents/{int:number}/restore-plan",
    response=restore_plan.RestorePlanDetail,
)
def get_restore_plan(
    request: HttpRequest,
    id: int,
    number: int,
    parallelism: Annotated[int, Query()],
    keep: Annotated[list[str], Query(description="ids of operators that keep their own")] = [],  # noqa: B006
) -> HttpResponse:
    """What every subtask would start with at another parallelism. Nothing is changed."""
    recording = access.recording(request.user, id)
    opened = inventory.opened(recording)
    return reply(inventory.restore_plan(recording, opened, number, parallelism, keep))


def _opened(request: HttpRequest, id: int) -> StoredInventory:
    return inventory.opened(access.recording(request.user, id))
