from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.accounts.models import ApiToken
from webapp.accounts.services import TokenRefused, valid_token


class SignedInRequest(HttpRequest):
    """The type of the request in views that only people who are signed in reach."""

    user: User


def bearer_token(request: HttpRequest) -> ApiToken:
    """Return the token that the request carries in ``Authorization: Bearer``.

    Raises: TokenRefused, also if the header is of another kind.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return valid_token(token.strip() if scheme.lower() == "bearer" else "")


def bearer_user(request: HttpRequest) -> User | None:
    """Return the user whose token the request carries, or None if it has no valid token."""
    try:
        return bearer_token(request).user
    except TokenRefused:
        return None
