"""Who calls: a bearer token, or the session of a page, which must send its CSRF token along."""

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth

from snapshots.problems import Unauthorized
from webapp.accounts.auth import bearer_user


class Bearer(HttpBearer):
    """A token that is sent decides alone: a wrong one is not made good by a session."""

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | None:
        if "Authorization" not in request.headers:
            return None
        user = bearer_user(request)
        if user is None:
            raise Unauthorized(
                "The token is not known. Was it revoked, or is it not all there? The header is "
                "“Authorization: Bearer TOKEN”; tokens are made on the account page."
            )
        request.user = user
        return user

    def authenticate(self, request: HttpRequest, token: str) -> AbstractBaseUser | None:
        return bearer_user(request)


class SessionWithCsrf(SessionAuth):
    """A person who is signed in; who is not learns that first, before any CSRF check."""

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | None:
        return super().__call__(request) if request.user.is_authenticated else None
