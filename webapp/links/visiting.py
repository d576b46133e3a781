"""Recognise visitors, who have opened a public link and are not signed in.

A cookie that only this server can write names the link. There is one for each recording or
review that is shown, so that two links work side by side. It is worth nothing once the link does
not work.
"""

from collections.abc import Mapping

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone

from snapshots import access
from snapshots.problems import NotFound, TooMany
from snapshots.web.pages.rendering import problem_page
from webapp.accounts import audit
from webapp.edge.failures import refusal
from webapp.links import limits
from webapp.links.models import PublicLink

_signer = TimestampSigner(salt="webapp.links.visiting")


def middleware(get_response):
    """Let visitors reach what their link shows; everything else asks them to sign in."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        try:
            visitor = _visitor(request)
        except NotFound as gone:
            return keep_private(_end_visit(request, problem_page(request, gone.as_json())))
        if visitor is None:
            return get_response(request)
        request.user = visitor
        try:
            limits.count_visit(visitor.link, audit.client_address(request))
        except TooMany as refused:
            return keep_private(refusal(request, refused))
        return keep_private(get_response(request))

    return answer


def _visitor(request: HttpRequest) -> access.Visitor | None:
    """Return the visitor whose link allows the request, or None.

    Raises: NotFound for a page whose link does not work any more.
    """
    if not any(name.startswith(_PREFIX) for name in request.COOKIES):
        return None
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return None
    kind, number = _asked_for(match)
    if not isinstance(number, int) or request.user.is_authenticated:
        return None
    try:
        visitor = visitor_of(request.COOKIES, kind, number)
    except NotFound:
        if match.route.startswith("api/"):
            return None
        raise
    may = visitor and access.may_visit(visitor, request.method or "", match.route)
    return visitor if may else None


def _asked_for(match: ResolverMatch) -> tuple[str, object]:
    """Return the kind and the number that an address names; what is no number is none of ours."""
    number = match.kwargs.get("pk") or match.kwargs.get("id")
    return match.route.removeprefix("api/").partition("/")[0], number


def _end_visit(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Take away the cookie of a link that does not work, so that the page asks to sign in next."""
    kind, number = _asked_for(resolve(request.path_info))
    response.delete_cookie(f"{_PREFIX}{kind}_{number}", samesite="Lax")
    return response


_PREFIX = "visit_"


def visitor_of(cookies: Mapping[str, str], kind: str, number: int) -> access.Visitor | None:
    """Return the visitor who has opened something with a public link, or None.

    Args:
        cookies: the cookies of the browser by their names.
        kind: ``recordings`` or ``reviews``; nothing else is shown.
        number: the number of the recording or review.

    Raises: NotFound if the link does not work any more.
    """
    signed = cookies.get(f"{_PREFIX}{kind}_{number}", "")
    try:
        link = int(_signer.unsign(signed, max_age=settings.SESSION_COOKIE_AGE))
    except BadSignature:
        return None
    visitor = access.visitor_of_link(link)
    return visitor if shown_by(visitor.link) == (kind, number) else None


def shown_by(link: PublicLink) -> tuple[str, int]:
    """Return the kind, ``recordings`` or ``reviews``, and the number of what a link shows."""
    if link.recording_id is not None:
        return "recordings", link.recording_id
    assert link.review_id is not None  # a link shows one of the two
    return "reviews", link.review_id


def begin_visit(response: HttpResponse, visitor: access.Visitor) -> None:
    """Give the browser the cookie that opens what the visitor's link shows."""
    link = visitor.link
    age = settings.SESSION_COOKIE_AGE
    if link.expires_at is not None:
        age = min(age, int((link.expires_at - timezone.now()).total_seconds()) + 1)
    kind, number = shown_by(link)
    response.set_cookie(
        f"{_PREFIX}{kind}_{number}",
        _signer.sign(str(link.pk)),
        max_age=age,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def keep_private(response: HttpResponseBase) -> HttpResponseBase:
    """Keep search engines away, and the address from other sites."""
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Referrer-Policy"] = "no-referrer"
    return response
