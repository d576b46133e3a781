"""Who calls: a bearer token, or the session of a page, which must send its CSRF token along."""

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth

from snapshots.problems import Unauthorized
from snapshots.web.api import scopes
from webapp.accounts.auth import bearer_token, bearer_user
from webapp.accounts.services import TokenRefused


class Bearer(HttpBearer):
    """A token that is sent decides alone: a wrong one is not made good by a session."""

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
    """A person who is signed in; who is not learns that first, before any CSRF check."""

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | None:
        return super().__call__(request) if request.user.is_authenticated else None
