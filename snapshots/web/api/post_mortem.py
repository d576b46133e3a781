"""The calls that return a review or notes as a document to keep."""

from functools import partial
from typing import Annotated

from django.http import HttpResponse
from ninja import Path, Query, Router

from snapshots import access
from snapshots.web.api.parameters import ArchivedJobId, RecordingId
from snapshots.web.pages.post_mortem import HTML, answer
from snapshots.web.post_mortem.document import of_notes, of_review
from webapp.accounts.auth import SignedInRequest

router = Router()

ReviewNumber = Annotated[int, Path(description="The number of the review, as its `id` says.")]
Format = Annotated[
    str,
    Query(
        description="`html` for one file that checks itself, `markdown` for a zip of Markdown and "
        "SVG."
    ),
]


@router.get("/reviews/{int:id}/post-mortem", response=str, summary="Get a post-mortem")
def get_post_mortem(
    request: SignedInRequest, id: ReviewNumber, format: Format = HTML
) -> HttpResponse:
    """Return a review as a document that needs no server.

    The HTML file has the data on which its claims rest, and a checker that derives each claim from
    them again in the reader's browser. One document of a person is made at a time; meanwhile,
    others are refused with 429.
    """
    make = partial(of_review, request.user, access.review(request.user, id))
    return answer(request.user, make, format, f"post-mortem-{id}")


@router.get("/recordings/{int:id}/entries/document", response=str, summary="Get notes to keep")
def get_notes_of_recording(
    request: SignedInRequest, id: RecordingId, format: Format = HTML
) -> HttpResponse:
    """Return the entries of a recording as a document that needs no server.

    One document of a person is made at a time; meanwhile, others are refused with 429.
    """
    make = partial(of_notes, request.user, access.recording(request.user, id))
    return answer(request.user, make, format, f"notes-{id}")


@router.get("/archive/{int:id}/entries/document", response=str, summary="Get notes there to keep")
def get_notes_of_archived_job(
    request: SignedInRequest, id: ArchivedJobId, format: Format = HTML
) -> HttpResponse:
    """Return the entries of an archived job as a document that needs no server.

    One document of a person is made at a time; meanwhile, others are refused with 429.
    """
    make = partial(of_notes, request.user, access.engine_job(request.user, id))
    return answer(request.user, make, format, f"archived-notes-{id}")
