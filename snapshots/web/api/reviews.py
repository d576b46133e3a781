"""The calls about places, entries and trails of recordings and archived jobs."""

from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpResponse
from ninja import Field, Path, Query, Router, Schema

from snapshots import access
from snapshots.problems import Invalid
from snapshots.reviews import entries, leftovers, payloads, trail
from snapshots.reviews.history import MOST_VERSIONS, versions
from snapshots.reviews.models import Entry
from snapshots.reviews.subjects import Subject
from snapshots.web.api.parameters import ArchivedJobId, Limit, Offset, RecordingId
from snapshots.web.entries import Reader
from snapshots.web.json import reply, reply_page
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

OPEN, RESOLVED = "open", "resolved"

EntryId = Annotated[int, Path(description="The number of the entry, as its `id` says.")]
TrailId = Annotated[int, Path(description="The number of the item of your trail.")]
Kind = Annotated[
    str,
    Query(
        description="Only `note`, `finding`, `question`, `decision` or `follow-up`; empty for all."
    ),
]
State = Annotated[str, Query(description="Only `open` or `resolved` entries; empty for all.")]
AtPlace = Annotated[
    str, Query(description="Only entries at this place, such as `snapshot:s1`; empty for all.")
]
Versions = Annotated[
    int,
    Query(
        MOST_VERSIONS,
        ge=1,
        le=MOST_VERSIONS,
        description="How many versions the answer has at most.",
    ),
]
PLACE = "The place as a text, such as `event:B:2`; docs/reviews.md lists the kinds."
SEEN = (
    "The moment or cut at which the screen stood, such as `moment:time:5200`: the sentence about a "
    "process or a channel says what it held there."
)
KIND = "`note`, `finding`, `question`, `decision` or `follow-up`; by default `note`."
TEXT = "The text in Markdown, at most 20,000 characters. `@ada@example.org` mentions a person."
DUE = "The day on which a follow-up is due, such as `2026-11-30`."


class NewEntry(Schema):
    """An entry to write."""

    text: Any = Field(None, description=TEXT, examples=["B->A lost **1000**."])
    kind: Any = Field(None, description=KIND, examples=["finding"])
    place: Any = Field(
        None, description=f"{PLACE} Empty for the whole.", examples=["message:B-%3EA:m2"]
    )
    seen: Any = Field(None, description=SEEN, examples=["moment:time:5200"])
    at: Any = Field(
        None,
        description="The time in the system of which the entry speaks, in the recording's "
        "`time_unit` or in epoch ms for an archived job; by default that of the place.",
    )
    due_on: Any = Field(None, description=f"{DUE} Null for none.", examples=["2026-11-30"])


class EntryChange(Schema):
    """What to change of an entry; what is absent stays."""

    text: Any = Field(None, description=TEXT)
    kind: Any = Field(None, description=KIND)
    due_on: Any = Field(None, description=f"{DUE} An empty text takes it away.")
    resolved: Any = Field(None, description="True to resolve the entry, false to reopen it.")
    version: Any = Field(
        None,
        description="The `version` of the entry that you read: a change of text, kind or day is "
        "refused with 409 if other words were saved since. The answer then has these as `newer`, "
        "and their `version`. Without it, the change replaces what is there.",
    )


class NewAnswer(Schema):
    """An answer to an entry."""

    text: Any = Field(None, description=TEXT, examples=["Agreed."])


class Stop(Schema):
    """A place at which you stopped."""

    place: Any = Field(None, description=PLACE, examples=["snapshot:s1"])
    seen: Any = Field(None, description=SEEN, examples=["moment:time:5200"])


class Kept(Schema):
    """How to keep an item of the trail."""

    text: Any = Field(
        None, description="Words of your own in Markdown; empty to keep its sentence alone."
    )
    kind: Any = Field(None, description=KIND)


@router.get(
    "/recordings/{int:id}/place", response=payloads.DescribedPlace, summary="Look up a place"
)
def get_place(
    request: SignedInRequest,
    id: RecordingId,
    place: Annotated[str, Query(description=PLACE)],
    seen: Annotated[str, Query(description=SEEN)] = "",
) -> HttpResponse:
    """Return what became of a place, where it is shown, and what is there in a sentence."""
    return _place(request, access.recording(request.user, id), place, seen)


@router.get(
    "/archive/{int:id}/place", response=payloads.DescribedPlace, summary="Look up a place there"
)
def get_archived_place(
    request: SignedInRequest,
    id: ArchivedJobId,
    place: Annotated[str, Query(description=PLACE)],
) -> HttpResponse:
    """Return what became of a place of an archived job, which is a checkpoint or a subtask."""
    return _place(request, access.engine_job(request.user, id), place, "")


def _place(request: SignedInRequest, subject: Subject, text: str, seen: str) -> HttpResponse:
    resolved = entries.looked_up(subject, text)
    item = Reader(request.user, subject).found(text, resolved)
    sentence = entries.located(subject, text, seen)["sentence"] if resolved.is_there else ""
    return reply({**item, "sentence": sentence})


@router.get("/recordings/{int:id}/entries", response=payloads.ReviewEntryList)
def list_entries_of_recording(
    request: SignedInRequest,
    id: RecordingId,
    limit: Limit,
    offset: Offset,
    kind: Kind = "",
    state: State = "",
    place: AtPlace = "",
) -> HttpResponse:
    """List the entries of a recording by number, each with its last ten answers."""
    subject = access.recording(request.user, id)
    return _entries(request, subject, offset, limit, kind, state, place)


@router.get("/archive/{int:id}/entries", response=payloads.ReviewEntryList)
def list_entries_of_archived_job(
    request: SignedInRequest,
    id: ArchivedJobId,
    limit: Limit,
    offset: Offset,
    kind: Kind = "",
    state: State = "",
    place: AtPlace = "",
) -> HttpResponse:
    """List the entries of an archived job by number, each with its last ten answers."""
    subject = access.engine_job(request.user, id)
    return _entries(request, subject, offset, limit, kind, state, place)


def _entries(
    request: SignedInRequest,
    subject: Subject,
    offset: int,
    limit: int,
    kind: str,
    state: str,
    place: str,
) -> HttpResponse:
    rows = filtered(entries.listed(request.user, subject), kind, state)
    rows = rows.filter(place=place) if place else rows
    reader = Reader(request.user, subject, is_list=True)
    items = [reader.entry(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count(), "may_write": reader.may_comment})


def filtered(rows: QuerySet[Entry], kind: str, state: str) -> QuerySet[Entry]:
    """Return the entries of one kind, and those that are open or resolved. Raises: Invalid."""
    if kind:
        rows = rows.filter(kind=entries.checked_kind(kind))
    if state not in ("", OPEN, RESOLVED):
        raise Invalid("The state must be open or resolved.", field="state")
    return rows.filter(resolved_at__isnull=state == OPEN) if state else rows


@router.post(
    "/recordings/{int:id}/entries",
    response={201: payloads.ReviewEntry},
    openapi_extra=DOCUMENTED,
    summary="Write an entry on a recording",
)
@idempotent
def write_on_recording(request: SignedInRequest, id: RecordingId, body: NewEntry) -> HttpResponse:
    """Write an entry at a place of a recording. It takes a commenter.

    Everybody who has the recording open sees it at once.
    """
    return _write(request, access.recording(request.user, id), body)


@router.post(
    "/archive/{int:id}/entries",
    response={201: payloads.ReviewEntry},
    openapi_extra=DOCUMENTED,
    summary="Write an entry on an archived job",
)
@idempotent
def write_on_archived_job(
    request: SignedInRequest, id: ArchivedJobId, body: NewEntry
) -> HttpResponse:
    """Write an entry at a checkpoint or a subtask of an archived job. It takes a commenter."""
    return _write(request, access.engine_job(request.user, id), body)


def _write(request: SignedInRequest, subject: Subject, body: NewEntry) -> HttpResponse:
    row = entries.write(request.user, subject, body.dict())
    return reply(Reader(request.user, subject).entry(row), 201)


@router.get("/entries/{int:id}", response=payloads.ReviewEntry)
def get_entry(request: SignedInRequest, id: EntryId) -> HttpResponse:
    """Return an entry with its place, which is looked up again, and its answers."""
    return _entry(request, id)


def _entry(request: SignedInRequest, id: int) -> HttpResponse:
    row = entries.entry(request.user, id)
    return reply(Reader(request.user, row.subject).entry(row))


@router.patch("/entries/{int:id}", response=payloads.ReviewEntry)
def change_entry(request: SignedInRequest, id: EntryId, body: EntryChange) -> HttpResponse:
    """Change text, kind or day of your own entry, or resolve and reopen one.

    To resolve what others wrote takes an editor. Send the `version` that you read, so that nothing
    is replaced that was saved since, such as by yourself in another window.
    """
    entries.change(request.user, entries.entry(request.user, id), body.dict())
    return _entry(request, id)


@router.get(
    "/entries/{int:id}/leftovers",
    response=payloads.EntryLeftovers,
    summary="Say what would stay of an entry",
)
def get_leftovers(request: SignedInRequest, id: EntryId) -> HttpResponse:
    """Say what would go with an entry that is deleted, and where its words would stay."""
    left = leftovers.of(request.user, entries.entry(request.user, id))
    answer: payloads.EntryLeftovers = {
        "sentence": left.sentence,
        "answers": left.answers,
        "reviews": [review.pk for review in left.reviews],
        "unseen_reviews": left.unseen,
        "public_reviews": left.public,
    }
    return reply(answer)


@router.delete("/entries/{int:id}", response={204: None})
def delete_entry(request: SignedInRequest, id: EntryId) -> HttpResponse:
    """Delete an entry with its answers and its history: your own, or any as an editor.

    Timelines of reviews keep its words; `/entries/{id}/leftovers` says which.
    """
    entries.delete(request.user, entries.entry(request.user, id))
    return HttpResponse(status=204)


@router.post(
    "/entries/{int:id}/answers",
    response={201: payloads.ReviewEntry},
    openapi_extra=DOCUMENTED,
    summary="Answer an entry",
)
@idempotent
def answer_entry(request: SignedInRequest, id: EntryId, body: NewAnswer) -> HttpResponse:
    """Answer an entry; the reply is the entry with all its answers. It takes a commenter."""
    row = entries.entry(request.user, id)
    entries.answer(request.user, row, body.text)
    row = entries.entry(request.user, id)
    return reply(Reader(request.user, row.subject).entry(row), 201)


@router.get("/entries/{int:id}/history", response=payloads.EntryHistory)
def get_history(
    request: SignedInRequest, id: EntryId, limit: Versions, offset: Offset
) -> HttpResponse:
    """Return the versions of an entry, the newest first, each beside the one before."""
    row = entries.entry(request.user, id)
    return reply({"items": versions(row, offset, limit), "total": row.history.count()})


@router.get("/recordings/{int:id}/trail", response=payloads.TrailList)
def list_trail_of_recording(
    request: SignedInRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List where you stopped in a recording, the newest first; nobody else sees it.

    The last 200 places are kept for 7 days.
    """
    return _trail(request, access.recording(request.user, id), offset, limit)


@router.get("/archive/{int:id}/trail", response=payloads.TrailList)
def list_trail_of_archived_job(
    request: SignedInRequest, id: ArchivedJobId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List where you stopped in an archived job, the newest first; nobody else sees it."""
    return _trail(request, access.engine_job(request.user, id), offset, limit)


def _trail(request: SignedInRequest, subject: Subject, offset: int, limit: int) -> HttpResponse:
    rows = trail.items(request.user, subject)
    reader = Reader(request.user, subject, is_list=True)
    return reply_page(rows, offset, limit, reader.trail_item)


@router.post(
    "/recordings/{int:id}/trail",
    response={201: payloads.TrailEntry},
    openapi_extra=DOCUMENTED,
    summary="Stop at a place of a recording",
)
@idempotent
def stop_in_recording(request: SignedInRequest, id: RecordingId, body: Stop) -> HttpResponse:
    """Add a place of a recording to your trail; its sentence says what is there."""
    return _stop(request, access.recording(request.user, id), body)


@router.post(
    "/archive/{int:id}/trail",
    response={201: payloads.TrailEntry},
    openapi_extra=DOCUMENTED,
    summary="Stop at a place of an archived job",
)
@idempotent
def stop_in_archived_job(request: SignedInRequest, id: ArchivedJobId, body: Stop) -> HttpResponse:
    """Add a checkpoint or a subtask of an archived job to your trail."""
    return _stop(request, access.engine_job(request.user, id), body)


def _stop(request: SignedInRequest, subject: Subject, body: Stop) -> HttpResponse:
    row = trail.record(request.user, subject, body.place, body.seen)
    return reply(Reader(request.user, subject).trail_item(row), 201)


@router.delete(
    "/recordings/{int:id}/trail", response={204: None}, summary="Clear a trail in a recording"
)
def clear_trail_of_recording(request: SignedInRequest, id: RecordingId) -> HttpResponse:
    """Remove your whole trail in a recording. What you kept stays."""
    trail.clear(request.user, access.recording(request.user, id))
    return HttpResponse(status=204)


@router.delete(
    "/archive/{int:id}/trail", response={204: None}, summary="Clear a trail in an archived job"
)
def clear_trail_of_archived_job(request: SignedInRequest, id: ArchivedJobId) -> HttpResponse:
    """Remove your whole trail in an archived job. What you kept stays."""
    trail.clear(request.user, access.engine_job(request.user, id))
    return HttpResponse(status=204)


@router.delete("/trail/{int:id}", response={204: None}, summary="Remove an item of a trail")
def delete_trail_item(request: SignedInRequest, id: TrailId) -> HttpResponse:
    """Remove one item of your trail."""
    trail.item(request.user, id).delete()
    return HttpResponse(status=204)


@router.post(
    "/trail/{int:id}/keep",
    response={201: payloads.ReviewEntry},
    openapi_extra=DOCUMENTED,
    summary="Keep an item of a trail",
)
@idempotent
def keep_trail_item(request: SignedInRequest, id: TrailId, body: Kept) -> HttpResponse:
    """Keep an item of your trail as an entry that everybody sees. It takes a commenter.

    The entry has the sentence of the item, and words of your own if you add any.
    """
    item = trail.item(request.user, id)
    subject = item.subject
    row = trail.keep(request.user, item, body.kind, body.text)
    return reply(Reader(request.user, subject).entry(row), 201)
