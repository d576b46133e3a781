"""Send a review, or the notes of a recording or archived job, as a document to keep."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.problems import Invalid
from snapshots.web.pages.rendering import page
from snapshots.web.post_mortem.document import Document, of_notes, of_review
from snapshots.web.post_mortem.html import write_html
from snapshots.web.post_mortem.markdown import write_markdown
from snapshots.web.post_mortem.turns import turn
from webapp.accounts.auth import SignedInRequest

HTML, MARKDOWN = "html", "markdown"
_WRITERS: dict[str, tuple[Callable[[Document], bytes], str, str]] = {
    HTML: (write_html, "text/html; charset=utf-8", "html"),
    MARKDOWN: (write_markdown, "application/zip", "zip"),
}


def answer(user, make: Callable[[], Document], format: str, name: str) -> HttpResponse:
    """Return a document as a file to save.

    Raises: Invalid; TooMany while another document of the person is being made.
    """
    if format not in _WRITERS:
        raise Invalid("The format must be html or markdown.", field="format")
    write, content_type, ending = _WRITERS[format]
    with turn(user):
        response = HttpResponse(write(make()), content_type=content_type)
    disposition = content_disposition_header(as_attachment=True, filename=f"{name}.{ending}")
    response["Content-Disposition"] = str(disposition)
    return response


@page
@require_safe
def of_incident(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send the post-mortem of a review in the format of ``?format=``."""
    review = access.review(request.user, pk)
    make = partial(of_review, request.user, review)
    return answer(request.user, make, _format(request), f"post-mortem-{pk}")


@page
@require_safe
def of_recording(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send the notes of a recording in the format of ``?format=``."""
    subject = access.recording(request.user, pk)
    make = partial(of_notes, request.user, subject)
    return answer(request.user, make, _format(request), f"notes-{pk}")


@page
@require_safe
def of_archived_job(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send the notes of an archived job in the format of ``?format=``."""
    subject = access.engine_job(request.user, pk)
    make = partial(of_notes, request.user, subject)
    return answer(request.user, make, _format(request), f"archived-notes-{pk}")


def _format(request: Any) -> str:
    return request.GET.get("format", HTML)
