"""The calls about snapshots of a recording: verdicts, contents, restore, reordering."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from snapshots import access
from snapshots.answers import replay, snapshot_list
from snapshots.answers.excerpts import excerpt_of, not_in_snapshot
from snapshots.answers.outcomes import outcome_of
from snapshots.answers.unended import unended
from snapshots.domain.model.as_json import as_json
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.payloads import cuts
from snapshots.payloads.jobs import AcceptedJob
from snapshots.payloads.recordings import BriefSnapshotList, SnapshotList
from snapshots.services.jobs import request_reordering, request_restore
from snapshots.store.excerpts import ChannelNotInSnapshot
from snapshots.web.api.parameters import MOST_LISTED, Limit, RecordingId, SnapshotId
from snapshots.web.api.parts import PartQuestion
from snapshots.web.api.reading import snapshot_row
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


After = Annotated[
    str | None,
    Query(None, description="The id of the snapshot after which the page begins: `next`."),
]
AllOrLimit = Annotated[
    int | None,
    Query(
        None,
        ge=1,
        le=MOST_LISTED,
        description="How many items the answer has at most; without it, it has all of them.",
    ),
]


@router.get("/recordings/{int:id}/snapshots", response=SnapshotList)
def list_snapshots(
    request: HttpRequest, id: RecordingId, limit: AllOrLimit, after: After
) -> HttpResponse:
    """List the snapshots with their verdicts, in the order in which they began.

    Each has its findings, positions and totals, but not its states and channels. `verdict_counts`
    counts all findings; `verdicts` holds the first 100 of each verdict, worst first. A snapshot of
    1,000 processes takes about 30 kB here, and 0.2 kB in `snapshots-in-brief`.

    A finding has `verdict` and `sentence`, and of these fields those that apply: `channel`,
    `message`, `process`, `value`, `rule`, `recorded`, `recomputed`, `path`; the events `sent`,
    `received` and `event` as `{"process", "index", "at"}`; and `other`, a second message or marker
    with its own events.
    """
    recording = access.shown_recording(request.user, id)
    return reply(snapshot_list.whole(recording, _page(recording, limit, after)))


@router.get("/recordings/{int:id}/snapshots-in-brief", response=BriefSnapshotList)
def list_snapshots_in_brief(
    request: HttpRequest, id: RecordingId, limit: Limit, after: After
) -> HttpResponse:
    """List the snapshots in pages, each with what a long list needs of it.

    They are in the order in which they began. What else is known of a snapshot is in its own
    answer.
    """
    recording = access.shown_recording(request.user, id)
    return reply(snapshot_list.in_brief(recording, _page(recording, limit, after)))


def _page(recording: Recording, limit: int | None, after: str | None) -> snapshot_list.Page:
    """Return the part of a list that a request names. Raises: NotFound."""
    follows = None if after is None else access.snapshot(recording, after).code
    return snapshot_list.Page(limit, follows)


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
    request: HttpRequest, id: RecordingId, snapshot: SnapshotId, wanted: Query[PartQuestion]
) -> HttpResponse:
    """Return the snapshot whose id ends in `/restore`, like this address."""
    return get_snapshot(request, id, f"{snapshot}/restore", wanted)


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
    request: HttpRequest, id: RecordingId, snapshot: SnapshotId, wanted: Query[PartQuestion]
) -> HttpResponse:
    """Return the snapshot whose id ends in `/reordering`, like this address."""
    return get_snapshot(request, id, f"{snapshot}/reordering", wanted)


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


@router.get("/recordings/{int:id}/channel-counts", response=cuts.ChannelCountsPayload)
def get_channel_counts(
    request: HttpRequest,
    id: RecordingId,
    snapshot: Annotated[str, Query(description="The id of the snapshot.")],
) -> HttpResponse:
    """Return n, n', m and m' of every channel of a snapshot (Chandy and Lamport, section 3.1).

    A consistent snapshot has n = n' and m = m', and therefore n >= m. A count that the log does not
    hold is null, and `sentence` says why. All four are null in a derived recording.
    """
    row = snapshot_row(request, id, snapshot)
    items = replay.channel_counts(open_recording(row.recording), row.snapshot)
    return reply({"snapshot": row.snapshot, "items": list(map(as_json, items))})


@router.get("/recordings/{int:id}/snapshots/{text:snapshot}", response=cuts.SnapshotDetail)
def get_snapshot(
    request: HttpRequest, id: RecordingId, snapshot: SnapshotId, wanted: Query[PartQuestion]
) -> HttpResponse:
    """Return the states and channel contents of a snapshot, recorded beside recomputed.

    `processes` and `channels` are what the log recomputes. In `recorded` and `recomputed` a value
    that is not known is absent. In a derived recording `why_empty` and `why_unknown` explain
    channels without messages.

    `unended` says why a snapshot does not end: the condition of Chandy and Lamport's paper that is
    violated (L1, L2), or its marker-sending rule, the first in the log first, and what follows.

    With `limit`, one answer has a part: so many processes, and so many of the channels that hold
    messages, with at most four times as many messages in all. `part` says how much there is.
    """
    row = snapshot_row(request, id, snapshot)
    stored = open_recording(row.recording)
    excerpt = excerpt_of(stored, wanted.dict())
    try:
        detail = cuts.snapshot_detail(row, stored, outcome_of(row), excerpt)
    except ChannelNotInSnapshot as error:
        raise not_in_snapshot(str(error)) from None
    found = unended(stored, row)
    return reply({**detail, "unended": None if found is None else as_json(found)})
