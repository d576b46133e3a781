"""Find out from its header alone who sends a request, and whether they may."""

import io

from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from snapshots import access
from snapshots.web.api import scopes
from webapp.accounts.auth import bearer_token
from webapp.accounts.services import TokenRefused

REQUIRED = {
    "api/recordings/<int:id>/events": access.own_recording,
    "api/uploads/<int:id>": access.resumable_upload,
}
"""What a person must have to send a long body to these routes; the views ask once more."""


def person_of(scope) -> int | None:
    """Return the key of the person whose token or session the request carries.

    As in the API, a token takes precedence over a session, even if it is not valid.

    Raises: NeedsWriting for a token that only reads, NotFound, NeedsRole.
    """
    try:
        request = ASGIRequest(scope, io.BytesIO())
    except UnicodeDecodeError:  # from the query; Django will refuse it
        return None
    _resolve(request)
    user = _user_of(request)
    if user is None or not user.is_authenticated:
        return None
    match = request.resolver_match
    if match is not None and match.route in REQUIRED:
        REQUIRED[match.route](user, match.kwargs["id"])
    return user.pk


def _user_of(request):
    """Return who sends a request; None for a token that is not valid. Raises: NeedsWriting."""
    if "Authorization" not in request.headers:
        SessionMiddleware(lambda _: HttpResponse()).process_request(request)
        return get_user(request)
    try:
        token = bearer_token(request)
    except TokenRefused:
        return None
    scopes.require(token, request)
    return token.user


def _resolve(request: HttpRequest) -> None:
    try:
        request.resolver_match = resolve(request.path_info)
    except Resolver404:
        request.resolver_match = None
