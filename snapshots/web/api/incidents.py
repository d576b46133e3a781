"""The calls about reviews of incidents, their timelines and follow-ups."""

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Field, Path, Query, Router, Schema

from snapshots import access
from snapshots.problems import Invalid
from snapshots.reviews import due, incident_payloads, incidents, log, timeline
from snapshots.reviews.models import Review
from snapshots.reviews.subjects import Subject
from snapshots.web import incidents as shown
from snapshots.web.api.parameters import Limit, Offset, OwnedBy
from snapshots.web.json import reply, reply_page
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

ReviewId = Annotated[int, Path(description="The number of the review.")]
RowId = Annotated[int, Path(description="The number of the row of the timeline.")]
PersonRow = Annotated[int, Path(description="The number of the person in this review.")]
ExhibitId = Annotated[int, Path(description="The number of the exhibit in this review.")]
StatusFilter = Annotated[
    str, Query(description="Only `open`, `in-review` or `closed` reviews; empty for all.")
]
StateFilter = Annotated[
    str, Query(description="`open` or `resolved` follow-ups; empty for both. By default `open`.")
]
SEEN = (
    "The `revision` of the review that you have read. If somebody has changed the same since, the "
    "answer is 409 and nothing is changed. That answer says who saved it and when, has what your "
    "change would replace as `newer`, and the `revision` with which you may send it again."
)
TIME = "As ISO 8601, in UTC without an offset; null if it is not known."
BEFORE = "The row before which it goes, also into its group; null for the end of `group`."
GROUP = "The group into which it goes; null for outside groups."


class ReviewHead(Schema):
    """What a review says of the incident."""

    title: Any = Field(
        None, description="What happened, on one line.", examples=["Orders were lost"]
    )
    summary: Any = Field(None, description="The summary in Markdown, at most 50,000 characters.")
    severity: Any = Field(
        None, description="`unknown`, `minor`, `major` or `critical`.", examples=["major"]
    )
    status: Any = Field(None, description="`open`, `in-review` or `closed`.")
    began_at: Any = Field(None, description=f"When the incident began. {TIME}")
    detected_at: Any = Field(None, description=f"When somebody noticed it. {TIME}")
    mitigated_at: Any = Field(None, description=f"When it did no more harm. {TIME}")
    ended_at: Any = Field(None, description=f"When it was over. {TIME}")


class NewReview(ReviewHead):
    """A review to open."""

    team: int | None = Field(
        None, description="The number of the team that gets it; without it, it is yours alone."
    )


class ReviewChange(ReviewHead):
    """What to change of a review; what is absent stays."""

    revision: Any = Field(None, description=SEEN, examples=[0])


class PersonInReview(Schema):
    """A person who took part."""

    address: Any = Field(
        None,
        description="The e-mail address of a person who can see the review.",
        examples=["ada@example.org"],
    )
    part: Any = Field("", description="What they did.", examples=["on call"])


class NewExhibit(Schema):
    """What belongs to a review: a recording or an archived job, or a part of one."""

    recording: int | None = Field(None, description="The number of the recording.", examples=[7])
    archived_job: int | None = Field(
        None, description="The number of the archived job, instead of a recording."
    )
    place: Any = Field(
        "", description="A checkpoint or snapshot in it, such as `snapshot:s1`; empty for all."
    )


class NewRow(Schema):
    """A row to add: an entry, own words, or a group."""

    entry: Any = Field(None, description="The number of an entry in the log.", examples=[7])
    text: Any = Field(None, description="Own words in Markdown, or the name of a group.")
    kind: Any = Field(
        None,
        description="`note`, `finding`, `question`, `decision` or `follow-up`; null for no kind.",
    )
    clock: Any = Field(None, description=f"A time of day. {TIME}")
    is_group: Any = Field(False, description="True for a group of rows.")
    group: Any = Field(None, description=GROUP)
    before: Any = Field(None, description=BEFORE)


class RowChange(Schema):
    """What to change of a row; what is absent stays."""

    text: Any = Field(
        None, description="The text in Markdown; null to show again what the entry says."
    )
    kind: Any = Field(None, description="The kind; null to show again that of the entry.")
    at: Any = Field(
        None, description="The time in the system, in the row's `unit`; null for that of the entry."
    )
    clock: Any = Field(None, description=f"A time of day. {TIME}")
    is_hidden: Any = Field(None, description="True to hide the row, false to show it.")
    group: Any = Field(None, description=GROUP)
    before: Any = Field(None, description=BEFORE)
    revision: Any = Field(
        None,
        description=f"{SEEN} It is needed for text, kind and times; places merge.",
        examples=[0],
    )


@router.get("/reviews", response=incident_payloads.ReviewList)
def list_reviews(
    request: SignedInRequest,
    limit: Limit,
    offset: Offset,
    team: OwnedBy,
    status: StatusFilter = "",
) -> HttpResponse:
    """List your reviews and those of your teams, the last changed first."""
    rows = access.owned_by(request.user, access.reviews(request.user), team)
    if status and status not in Review.Status.values:
        raise Invalid("The status must be open, in-review or closed.", field="status")
    rows = rows.filter(status=status) if status else rows
    return reply_page(rows.select_related("opened_by"), offset, limit, shown.item)


@router.post("/reviews", response={201: incident_payloads.ReviewDetail}, openapi_extra=DOCUMENTED)
@idempotent
def open_review(request: SignedInRequest, body: NewReview) -> HttpResponse:
    """Open a review of an incident. You are its first participant."""
    owner = access.holder(request.user, body.team)
    fields = body.dict(exclude_unset=True, exclude={"team"})
    row = incidents.open_review(request.user, owner, fields)
    return reply(shown.detail(request.user, row), 201)


@router.get("/reviews/{int:id}", response=incident_payloads.ReviewDetail)
def get_review(request: SignedInRequest, id: ReviewId) -> HttpResponse:
    """Return a review with its people and exhibits."""
    return _detail(request, id)


def _detail(request: SignedInRequest, id: int, status: int = 200) -> HttpResponse:
    return reply(shown.detail(request.user, access.review(request.user, id)), status)


@router.patch("/reviews/{int:id}", response=incident_payloads.ReviewDetail)
def change_review(request: SignedInRequest, id: ReviewId, body: ReviewChange) -> HttpResponse:
    """Change the title, summary, severity, status or times of a review. It takes an editor."""
    row = access.review(request.user, id)
    fields = body.dict(exclude_unset=True, exclude={"revision"})
    incidents.change(request.user, row, fields, body.revision)
    return _detail(request, id)


@router.delete("/reviews/{int:id}", response={204: None})
def delete_review(request: SignedInRequest, id: ReviewId) -> HttpResponse:
    """Delete a review with its timeline. It takes an owner; recordings and entries stay."""
    incidents.delete(request.user, access.led_review(request.user, id))
    return HttpResponse(status=204)


@router.post(
    "/reviews/{int:id}/people",
    response={201: incident_payloads.ReviewDetail},
    openapi_extra=DOCUMENTED,
)
@idempotent
def set_person(request: SignedInRequest, id: ReviewId, body: PersonInReview) -> HttpResponse:
    """Add a person who can see the review, or change the part that they had."""
    row = access.review(request.user, id)
    incidents.set_person(request.user, row, body.address, body.part)
    return _detail(request, id, 201)


@router.delete("/reviews/{int:id}/people/{int:person_id}", response={204: None})
def remove_person(request: SignedInRequest, id: ReviewId, person_id: PersonRow) -> HttpResponse:
    """Take a person from the list of a review. Who may see it does not change."""
    incidents.remove_person(request.user, access.review(request.user, id), person_id)
    return HttpResponse(status=204)


@router.post(
    "/reviews/{int:id}/exhibits",
    response={201: incident_payloads.ReviewDetail},
    openapi_extra=DOCUMENTED,
)
@idempotent
def add_exhibit(request: SignedInRequest, id: ReviewId, body: NewExhibit) -> HttpResponse:
    """Add a recording or an archived job that you see, or a checkpoint or snapshot in it."""
    row = access.review(request.user, id)
    subject = subject_of(request, body.recording, body.archived_job)
    incidents.add_exhibit(request.user, row, subject, body.place)
    return _detail(request, id, 201)


def subject_of(request: SignedInRequest, recording: int | None, job: int | None) -> Subject:
    """Return the recording or the archived job of these numbers. Raises: Invalid, NotFound."""
    if (recording is None) == (job is None):
        raise Invalid("Name a recording or an archived job, one of the two.", field="recording")
    if recording is not None:
        return access.recording(request.user, recording)
    return access.engine_job(request.user, job or 0)


@router.delete("/reviews/{int:id}/exhibits/{int:exhibit_id}", response={204: None})
def remove_exhibit(request: SignedInRequest, id: ReviewId, exhibit_id: ExhibitId) -> HttpResponse:
    """Take an exhibit from a review. What the timeline has of it stays."""
    incidents.remove_exhibit(request.user, access.review(request.user, id), exhibit_id)
    return HttpResponse(status=204)


@router.get("/reviews/{int:id}/timeline", response=incident_payloads.ReviewTimeline)
def list_timeline(
    request: SignedInRequest, id: ReviewId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List the rows of a timeline in their order.

    Rows outside groups and rows of groups are one list: `group` says in which group a row lies, and
    each group is in order by itself.
    """
    row = access.review(request.user, id)
    rows = timeline.rows(row)
    return reply(
        {
            "items": shown.rows_of(request.user, list(rows[offset : offset + limit])),
            "total": rows.count(),
            "hidden": timeline.hidden(row),
            "revision": row.revision,
        }
    )


@router.post(
    "/reviews/{int:id}/timeline",
    response={201: incident_payloads.ReviewRow},
    openapi_extra=DOCUMENTED,
)
@idempotent
def add_row(request: SignedInRequest, id: ReviewId, body: NewRow) -> HttpResponse:
    """Add an entry of the log, own words or a group to a timeline.

    It takes an editor; a commenter adds their own entries. An entry that is there already is
    answered as it is.
    """
    review = access.review(request.user, id)
    if body.entry is None:
        made = timeline.add_words(request.user, review, body.dict(exclude_unset=True))
    else:
        made = timeline.add_entry(request.user, review, body.entry, body.before)
    return _row(request, review, made.pk, 201)


@router.post(
    "/reviews/{int:id}/timeline/all",
    response={201: incident_payloads.AddedEntries},
    openapi_extra=DOCUMENTED,
)
@idempotent
def add_all_entries(request: SignedInRequest, id: ReviewId) -> HttpResponse:
    """Add all entries of the log that are not in the timeline, in the order of time.

    The clocks of two recordings are not compared: the entries of one lie after those of the other.
    An editor adds those of everybody, a commenter their own.
    """
    review = access.review(request.user, id)
    return reply({"added": timeline.add_all(request.user, review)}, 201)


def _row(request: SignedInRequest, review: Review, pk: int, status: int = 200) -> HttpResponse:
    [item] = shown.rows_of(request.user, [timeline.row(review, pk)])
    return reply(item, status)


@router.get("/reviews/{int:id}/timeline/{int:row_id}", response=incident_payloads.ReviewRow)
def get_row(request: SignedInRequest, id: ReviewId, row_id: RowId) -> HttpResponse:
    """Return a row of a timeline."""
    return _row(request, access.review(request.user, id), row_id)


@router.patch("/reviews/{int:id}/timeline/{int:row_id}", response=incident_payloads.ReviewRow)
def change_row(
    request: SignedInRequest, id: ReviewId, row_id: RowId, body: RowChange
) -> HttpResponse:
    """Change, move, group or hide a row of a timeline. It takes an editor.

    Text, kind and times of the entry stay as they are: the row shows both.
    """
    review = access.review(request.user, id)
    fields = body.dict(exclude_unset=True, exclude={"revision"})
    timeline.change(request.user, review, row_id, fields, body.revision)
    return _row(request, review, row_id)


@router.delete("/reviews/{int:id}/timeline/{int:row_id}", response={204: None})
def remove_row(request: SignedInRequest, id: ReviewId, row_id: RowId) -> HttpResponse:
    """Take a row out of a timeline. Its entry stays; the rows of a group take its place."""
    timeline.remove(request.user, access.review(request.user, id), row_id)
    return HttpResponse(status=204)


@router.get("/reviews/{int:id}/log", response=incident_payloads.ReviewLog)
def list_log(request: SignedInRequest, id: ReviewId, limit: Limit, offset: Offset) -> HttpResponse:
    """List the entries of all exhibits that you can open, in the order of their writing."""
    review = access.review(request.user, id)
    rows = log.log(request.user, review)
    return reply(
        {
            "items": shown.log_of(request.user, review, list(rows[offset : offset + limit])),
            "total": rows.count(),
            "unseen": log.unseen(request.user, review),
        }
    )


@router.get("/follow-ups", response=incident_payloads.FollowUpList)
def list_follow_ups(
    request: SignedInRequest, limit: Limit, offset: Offset, state: StateFilter = due.OPEN
) -> HttpResponse:
    """List the follow-ups of all recordings and archived jobs that you see, overdue ones first."""
    rows = due.follow_ups(request.user, state)
    return reply(
        {
            "items": shown.follow_ups_of(request.user, list(rows[offset : offset + limit])),
            "total": rows.count(),
            "overdue": due.follow_ups(request.user).filter(due_on__lt=due.today()).count(),
        }
    )
