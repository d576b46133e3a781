"""Who sends a request, found out from its header alone."""

import io

from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest

from webapp.accounts.auth import bearer_user


def person_of(scope) -> int | None:
    """Return the key of the person whose token or session the request carries.

    As in the API, a token that is sent decides alone.
    """
    try:
        request = ASGIRequest(scope, io.BytesIO())
    except UnicodeDecodeError:  # of the query; Django will refuse it
        return None
    if "Authorization" in request.headers:
        user = bearer_user(request)
    else:
        SessionMiddleware(lambda _: None).process_request(request)
        user = get_user(request)
    return user.pk if user is not None and user.is_authenticated else None
