"""The calls about the inventory of an engine's upload: operators, states, data in flight, files."""

from typing import Annotated, Literal

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Body, Path, Query, Router

from snapshots import access
from snapshots.answers import (
    inventory,
    inventory_bytes,
    inventory_difference,
    queries,
    restore,
    restore_check,
)
from snapshots.answers.upgrade import own_job, upgrade
from snapshots.domain.model.as_json import as_json
from snapshots.payloads import inventory as inventory_payloads
from snapshots.payloads import restore_check as restore_check_payloads
from snapshots.payloads import restore_plan
from snapshots.payloads import upgrade as upgrade_payloads
from snapshots.store.inventory.differences import Wanted
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.api.parameters import CheckpointNumber, Limit, Offset, RecordingId
from snapshots.web.csv import csv_file
from snapshots.web.json import reply

router = Router()

Operator = Annotated[str, Query(description="The id of the operator.")]
State = Annotated[str, Query(description="The name of the state.")]


@router.get("/recordings/{int:id}/contents", response=inventory_payloads.ContentsSummary)
def get_contents(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """List the jobs and checkpoints of an engine's upload.

    A checkpoint's place in the list is its number in the calls below.
    """
    upload = _opened(request, id).upload
    return reply({**upload, "files": len(upload["files"])})


@router.get("/recordings/{int:id}/contents/files", response=inventory_payloads.FileList)
def list_files_of_upload(
    request: HttpRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List every file of the upload with who needs it, or why nothing of it is shown."""
    files = _opened(request, id).upload["files"]
    return reply({"items": files[offset : offset + limit], "total": len(files)})


@router.get(
    "/recordings/{int:id}/contents/{int:number}",
    response=inventory_payloads.EngineCheckpointDetail,
)
def get_checkpoint_contents(
    request: HttpRequest, id: RecordingId, number: CheckpointNumber
) -> HttpResponse:
    """Return one checkpoint: operators, subtasks, states with sizes, channels, facts.

    A fact that only one engine has is `{"name", "value", "unit", "inferred"}`. `inferred` says from
    what it follows, if no file says it. `why_empty` and `why_unknown` explain channels that are not
    listed.
    """
    checkpoint = inventory.checkpoint(_opened(request, id), number)
    return reply({name: value for name, value in checkpoint.items() if name != "index"})


@router.get(
    "/recordings/{int:id}/contents/{int:number}/entries", response=inventory_payloads.EntryList
)
def list_entries(
    request: HttpRequest,
    id: RecordingId,
    number: CheckpointNumber,
    operator: Operator,
    state: State,
    limit: Limit,
    offset: Offset,
    q: Annotated[str, Query(description="Part of key, namespace or value; empty for all.")] = "",
) -> HttpResponse:
    """List the entries of one state."""
    entries = inventory.entries(
        _opened(request, id), number, operator, state, containing=q, offset=offset, limit=limit
    )
    return reply(entries)


@router.get(
    "/recordings/{int:id}/contents/{int:number}/channels/{int:channel}",
    response=inventory_payloads.ChannelElements,
)
def get_channel_contents(
    request: HttpRequest,
    id: RecordingId,
    number: CheckpointNumber,
    channel: Annotated[int, Path(description="The number of the channel in the checkpoint.")],
    limit: Limit,
    offset: Offset,
    type: Annotated[
        str,
        Query(
            description="The type of the records, as `tuple<string,long>` or as one of `suggested`."
        ),
    ] = "",
) -> HttpResponse:
    """List the records that were in flight in one channel.

    No file says of which type they are. `suggested` lists types that fit every record, and
    `described` those of them that the checkpoint's states have. A type that does not fit every
    record is refused.
    """
    elements = inventory.channel(
        _opened(request, id), number, channel, type_name=type, offset=offset, limit=limit
    )
    return reply(elements)


@router.get(
    "/recordings/{int:id}/contents/{int:number}/queries",
    response=inventory_payloads.QueriesDetail,
)
def get_queries(request: HttpRequest, id: RecordingId, number: CheckpointNumber) -> HttpResponse:
    """Tell in SQL's words what each operator of a query holds, and which state only grows.

    It follows from the names of operators and states and from the types of keys and values. What
    these do not tell is left out or null.
    """
    return reply(queries.queries(_opened(request, id), number))


@router.get(
    "/recordings/{int:id}/contents/{int:number}/bytes",
    response=inventory_payloads.CheckpointBytesDetail,
)
def get_bytes(request: HttpRequest, id: RecordingId, number: CheckpointNumber) -> HttpResponse:
    """Tell whose the bytes of a checkpoint are: by operator, state, key group, subtask and key.

    Stored sizes are those of files. Sizes of entries are those of keys and values, and do not add
    up to them. Each size is beside that in the checkpoint before.
    """
    return reply(as_json(inventory_bytes.bytes_of(_opened(request, id), number)))


@router.get("/recordings/{int:id}/contents/{int:number}/bytes.csv", response=str)
def get_bytes_as_csv(
    request: HttpRequest, id: RecordingId, number: CheckpointNumber
) -> HttpResponse:
    """Return the same bytes as a table in CSV: parts of operators, then places of states.

    An empty field is not known, or means nothing in that row.
    """
    shares = inventory_bytes.bytes_of(_opened(request, id), number)
    table = inventory_bytes.table(shares)
    return csv_file(f"bytes-{shares.id}.csv", inventory_bytes.HEAD, table)


@router.get(
    "/recordings/{int:id}/contents/{int:before}/compare/{int:after}",
    response=inventory_payloads.StateComparison,
)
def compare_states(
    request: HttpRequest,
    id: RecordingId,
    before: CheckpointNumber,
    after: CheckpointNumber,
    operator: Operator,
    state: State,
    examples: Annotated[
        int, Query(ge=0, le=500, description="How many examples of each kind at most.")
    ] = 50,
) -> HttpResponse:
    """Compare one state in two checkpoints: which keys were added, removed or changed.

    The older checkpoint is always `before`, whatever the order in the address.
    """
    wanted = Wanted(limit=examples)
    opened = _opened(request, id)
    return reply(inventory_difference.compare(opened, before, after, operator, state, wanted))


@router.get(
    "/recordings/{int:id}/contents/{int:before}/compare/{int:after}/keys",
    response=inventory_payloads.DifferenceList,
)
def list_differing_keys(
    request: HttpRequest,
    id: RecordingId,
    before: CheckpointNumber,
    after: CheckpointNumber,
    operator: Operator,
    state: State,
    limit: Limit,
    offset: Offset,
    kind: Annotated[
        Literal["added", "removed", "changed", "unknown", "same"],
        Query(description="The keys that are wanted."),
    ] = "changed",
    q: Annotated[str, Query(description="Part of key, namespace or value; empty for all.")] = "",
) -> HttpResponse:
    """List the keys of one state that differ between two checkpoints, with both values.

    The older checkpoint is always `before`, whatever the order in the address.
    """
    wanted = Wanted(kind, offset, limit, q)
    opened = _opened(request, id)
    return reply(inventory_difference.keys(opened, before, after, operator, state, wanted))


@router.get(
    "/recordings/{int:id}/contents/{int:before}/difference/{int:after}",
    response=inventory_payloads.CheckpointChangeDetail,
)
def get_difference(
    request: HttpRequest, id: RecordingId, before: CheckpointNumber, after: CheckpointNumber
) -> HttpResponse:
    """Compare two checkpoints: operators, key groups, states, channels, bytes, and files.

    The older checkpoint is always `before`, whatever the order in the address.
    """
    return reply(inventory_difference.difference(_opened(request, id), before, after))


@router.get(
    "/recordings/{int:id}/contents/{int:number}/restore-plan",
    response=restore_plan.RestorePlanDetail,
)
def get_restore_plan(
    request: HttpRequest,
    id: RecordingId,
    number: CheckpointNumber,
    parallelism: Annotated[int, Query(description="The parallelism to plan for.")],
    keep: Annotated[list[str], Query(description="Ids of operators that keep theirs.")] = [],  # noqa: B006
    without: Annotated[
        list[str],
        Query(description="Ids, uids or names of operators that the restored job does not have."),
    ] = [],  # noqa: B006
) -> HttpResponse:
    """Tell whether a checkpoint can be restored, and what every subtask would start with.

    `answer` is `yes`, `no` or `not-known`, and `headline` says why. For Spark the parallelism is
    the number of partitions. Nothing is changed.
    """
    recording = access.recording(request.user, id)
    opened = inventory.opened(recording)
    return reply(restore.restore_plan(recording, opened, number, parallelism, keep, without))


@router.get(
    "/recordings/{int:id}/contents/check", response=restore_check_payloads.UploadCheckDetail
)
def check_upload(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Tell of every checkpoint of the upload whether everything is there that a restore reads.

    Also lists the first 10,000 files that are needed and absent, and that no checkpoint needs.
    Nothing is ever deleted.
    """
    return reply(restore_check.upload_check(_opened(request, id)))


@router.get(
    "/recordings/{int:id}/contents/{int:number}/check",
    response=restore_check_payloads.RestoreCheckDetail,
)
def check_checkpoint(
    request: HttpRequest, id: RecordingId, number: CheckpointNumber
) -> HttpResponse:
    """Tell whether everything is there that a restore of this checkpoint reads.

    The first 1,000 files are listed, those with a problem first.
    """
    return reply(restore_check.restore_check(_opened(request, id), number))


@router.get("/recordings/{int:id}/contents/{int:number}/upgrade", response=upgrade_payloads.OwnJob)
def get_own_job(request: HttpRequest, id: RecordingId, number: CheckpointNumber) -> HttpResponse:
    """Describe the job that wrote this checkpoint of Flink, as a list of uids.

    A new version of the job is described by editing it.
    """
    return reply({"job": own_job(_opened(request, id), number)})


@router.post(
    "/recordings/{int:id}/contents/{int:number}/upgrade", response=upgrade_payloads.UpgradeDetail
)
def check_upgrade(
    request: HttpRequest,
    id: RecordingId,
    number: CheckpointNumber,
    question: Annotated[upgrade_payloads.UpgradeQuestion, Body()],
) -> HttpResponse:
    """Tell whether a new version of a Flink job takes this checkpoint.

    Nothing is stored and nothing is changed. The answer follows Flink's own rules: which operators
    find their state, what is left over, lost or refused, and why.
    """
    opened = _opened(request, id)
    description = orjson.dumps(question.get("job"))
    without_uids = bool(question.get("no_uids"))
    return reply(
        upgrade(opened, number, description, question.get("backend"), without_uids=without_uids)
    )


def _opened(request: HttpRequest, id: int) -> StoredInventory:
    return inventory.opened(access.recording(request.user, id))
