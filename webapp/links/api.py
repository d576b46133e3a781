"""The calls about short links of pages and public links of recordings."""

from typing import Annotated, Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from ninja import Field, Path, Router, Schema

from snapshots import access
from snapshots.models import Recording
from snapshots.reviews.models import Review
from snapshots.web.api.parameters import ArchivedJobId, Limit, Offset, RecordingId, TeamId
from snapshots.web.json import reply, reply_page
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent
from webapp.links import payloads, public, short
from webapp.links.models import PublicLink, ShortLink
from webapp.links.views import View
from webapp.teams.models import Team

router = Router()

Key = Annotated[str, Path(description="The random part of the short address.")]
ReviewId = Annotated[int, Path(description="The number of the review.")]
PublicLinkId = Annotated[int, Path(description="The number of the public link.")]
NAME = "What the link is called, at most 100 characters; may be empty."


class NewShortLink(Schema):
    """A page to be kept under a short address."""

    address: Any = Field(
        None,
        description="The path and query of a page about one recording or archived job.",
        examples=["/recordings/7/proof?snapshot=s1"],
    )
    view: View | None = Field(
        None, description="The complete view, if the page is the workbench of a recording."
    )
    name: Any = Field("", description=NAME)


class NewPublicLinkOfReview(Schema):
    """A public link to a review."""

    name: Any = Field("", description=NAME)
    days: Any = Field(None, description="After how many days it expires; null if it does not.")


class NewPublicLink(NewPublicLinkOfReview):
    """A public link to the workbench of a recording."""

    view: View | None = Field(None, description="What the workbench shows first; null for its own.")
    with_notes: bool = Field(
        default=False, description="Whether it shows the notes and the names of their authors."
    )
    with_downloads: bool = Field(
        default=False, description="Whether the uploaded log can be downloaded."
    )


class Decision(Schema):
    """Whether a team has public links."""

    allowed: bool = Field(..., description="Whether people may make them, and they work.")


@router.post("/links", response={201: payloads.ShortLinkItem}, openapi_extra=DOCUMENTED)
@idempotent
def make_short_link(request: SignedInRequest, body: NewShortLink) -> HttpResponse:
    """Return your short link of a page that you see; it is made if there is none yet.

    It opens for whoever may see the recording or archived job. The same page and view give the same
    link again.
    """
    view = body.view.as_json() if body.view is not None else None
    row = short.make(request.user, body.address, view, body.name)
    return reply(payloads.short_link_item(row, request.user), 201)


@router.get("/links/{slug:key}", response=payloads.ShortLinkItem)
def get_short_link(request: SignedInRequest, key: Key) -> HttpResponse:
    """Return a short link with the page and the view to which it leads."""
    return reply(payloads.short_link_item(access.short_link(request.user, key), request.user))


@router.delete("/links/{slug:key}", response={204: None})
def delete_short_link(request: SignedInRequest, key: Key) -> HttpResponse:
    """Delete a short link: your own, or any as an editor."""
    access.own_short_link(request.user, key).delete()
    return HttpResponse(status=204)


@router.get("/recordings/{int:id}/links", response=payloads.ShortLinkList)
def list_short_links_of_recording(
    request: SignedInRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List the short links to pages about a recording, newest first; of a sample only your own."""
    rows = access.short_links(request.user, access.recording(request.user, id))
    return _short_links(request, rows, offset, limit)


@router.get("/archive/{int:id}/links", response=payloads.ShortLinkList)
def list_short_links_of_archived_job(
    request: SignedInRequest, id: ArchivedJobId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List the short links to pages about an archived job, newest first."""
    rows = access.short_links(request.user, access.engine_job(request.user, id))
    return _short_links(request, rows, offset, limit)


def _short_links(
    request: SignedInRequest, rows: QuerySet[ShortLink], offset: int, limit: int
) -> HttpResponse:
    return reply_page(rows, offset, limit, lambda row: payloads.short_link_item(row, request.user))


@router.get("/recordings/{int:id}/public-links", response=payloads.PublicLinkList)
def list_public_links(
    request: SignedInRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List the public links to a recording, newest first, with their use. It takes an editor."""
    return _public_links(request, access.recording(request.user, id), offset, limit)


@router.post(
    "/recordings/{int:id}/public-links",
    response={201: payloads.MadePublicLink},
    openapi_extra=DOCUMENTED,
)
@idempotent(left_out=("link",))
def make_public_link(
    request: SignedInRequest, id: RecordingId, body: NewPublicLink
) -> HttpResponse:
    """Make a link that shows the workbench of a recording, read-only, to whoever has the link.

    It takes an editor, and a server and a team that allow public links. A repetition with the same
    `Idempotency-Key` gets an empty link.
    """
    made = public.make(
        access.own_recording(request.user, id),
        request.user,
        view=body.view.as_json() if body.view is not None else None,
        name=body.name,
        days=body.days,
        with_notes=body.with_notes,
        with_downloads=body.with_downloads,
    )
    return _made(*made)


@router.get("/reviews/{int:id}/public-links", response=payloads.PublicLinkList)
def list_public_links_of_review(
    request: SignedInRequest, id: ReviewId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List the public links to a review, newest first, with their use. It takes an editor."""
    return _public_links(request, access.review(request.user, id), offset, limit)


def _public_links(
    request: SignedInRequest, subject: Recording | Review, offset: int, limit: int
) -> HttpResponse:
    rows = access.public_links(request.user, subject)
    return reply_page(rows, offset, limit, payloads.public_link_item)


@router.post(
    "/reviews/{int:id}/public-links",
    response={201: payloads.MadePublicLink},
    openapi_extra=DOCUMENTED,
)
@idempotent(left_out=("link",))
def make_public_link_of_review(
    request: SignedInRequest, id: ReviewId, body: NewPublicLinkOfReview
) -> HttpResponse:
    """Make a link that shows a review, without names of people, to whoever has the link.

    It takes an editor, and a server and a team that allow public links. A repetition with the same
    `Idempotency-Key` gets an empty link.
    """
    review = access.own_review(request.user, id)
    return _made(*public.make(review, request.user, name=body.name, days=body.days))


def _made(row: PublicLink, link: str) -> HttpResponse:
    return reply({"public_link": payloads.public_link_item(row), "link": link}, 201)


@router.delete("/public-links/{int:id}", response={204: None})
def withdraw_public_link(request: SignedInRequest, id: PublicLinkId) -> HttpResponse:
    """Withdraw a public link, so that it stops working at once. It takes an editor."""
    public.withdraw(access.public_link(request.user, id), request.user)
    return HttpResponse(status=204)


@router.get("/teams/{int:id}/public-links", response=payloads.PublicLinksOfTeam)
def get_public_links_of_team(request: SignedInRequest, id: TeamId) -> HttpResponse:
    """Return whether a team allows public links, and whether the server does."""
    return _of_team(access.team(request.user, id))


@router.put("/teams/{int:id}/public-links", response=payloads.PublicLinksOfTeam)
def decide_public_links_of_team(
    request: SignedInRequest, id: TeamId, body: Decision
) -> HttpResponse:
    """Allow or forbid the public links of a team, also those made before. It takes an owner."""
    team = access.led_team(request.user, id)
    public.decide_for_team(team, request.user, allowed=body.allowed)
    return _of_team(team)


def _of_team(team: Team) -> HttpResponse:
    allowed = not access.forbids_public_links(team.pk)
    return reply({"allowed": allowed, "allowed_by_server": settings.PUBLIC_LINKS})
