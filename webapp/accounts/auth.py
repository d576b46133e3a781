from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.accounts.services import user_of_token


def bearer_user(request: HttpRequest) -> User | None:
    """The user whose token the request carries in ``Authorization: Bearer``."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    return user_of_token(token.strip())
