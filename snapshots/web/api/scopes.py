"""Decides what a token may do: a token of scope ``read`` changes nothing."""

from django.http import HttpRequest

from snapshots.problems import NeedsWriting
from webapp.accounts.models import ApiToken

READING_METHODS = ("GET", "HEAD", "OPTIONS")
READING_POSTS = (  # a question in a body, whose answer is kept nowhere
    "api/archive/<int:id>/bisect",
    "api/mappings/preview",
    "api/recordings/<int:id>/bisect",
    "api/recordings/<int:id>/cuts",
    "api/recordings/<int:id>/properties",
)


def require(token: ApiToken, request: HttpRequest) -> None:
    """Refuse a request that may change something with a token that only reads.

    Raises: NeedsWriting.
    """
    if token.only_reads and not changes_nothing(request):
        raise NeedsWriting(
            f"The token “{token.name}” has the scope read, and {request.method} "
            f"{request.path_info} needs the scope write. Make such a token on the account page."
        )


def changes_nothing(request: HttpRequest) -> bool:
    """Return whether a request only asks something."""
    if request.method == "POST":
        match = request.resolver_match
        return match is not None and match.route in READING_POSTS
    return request.method in READING_METHODS
