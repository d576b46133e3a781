"""Find out who sends a request from its header alone."""

import io

from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse

from webapp.accounts.auth import bearer_user


def person_of(scope) -> int | None:
    """Return the key of the person whose token or session the request carries.

    As in the API, a token takes precedence over a session, even if it is not valid.
    """
    try:
        request = ASGIRequest(scope, io.BytesIO())
    except UnicodeDecodeError:  # from the query; Django will refuse it
        return None
    if "Authorization" in request.headers:
        owner = bearer_user(request)
        return None if owner is None else owner.pk
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)
    user = get_user(request)
    return user.pk if user.is_authenticated else None
