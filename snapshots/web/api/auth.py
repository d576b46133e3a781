"""Identifies the caller by a bearer token, or by a session with its CSRF token."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth

from snapshots import access
from snapshots.problems import Unauthorized
from snapshots.web.api import scopes
from webapp.accounts.auth import bearer_token, bearer_user
from webapp.accounts.services import TokenRefused


class Bearer(HttpBearer):
    """Accepts a bearer token. If a token is sent, it alone decides, even beside a session."""

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | None:
        if "Authorization" not in request.headers:
            return None
        try:
            token = bearer_token(request)
        except TokenRefused as refusal:
            raise Unauthorized(str(refusal)) from None
        scopes.require(token, request)
        request.user = token.user
        return token.user

    def authenticate(self, request: HttpRequest, token: str) -> AbstractBaseUser | None:
        return bearer_user(request)


class SessionWithCsrf(SessionAuth):
    """Accepts the session of a signed-in person, whose absence is reported before a CSRF error.

    Also accepts the visitor of a public link, whom webapp/links/visiting.py admits only to the
    calls that the link allows.
    """

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | AnonymousUser | None:
        return super().__call__(request) if _is_known(request) else None

    def authenticate(
        self, request: HttpRequest, key: str | None
    ) -> AbstractBaseUser | AnonymousUser | None:
        return request.user if _is_known(request) else None


def _is_known(request: HttpRequest) -> bool:
    return request.user.is_authenticated or isinstance(request.user, access.Visitor)
