"""Hand out the recorder's wheel to people, and to their pip with an API token."""

import base64

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp import recorder_wheel
from webapp.accounts.auth import bearer_user
from webapp.accounts.services import user_of_token


@require_safe
def recorder(request: HttpRequest, name: str) -> HttpResponse:
    """Send the wheel to who is signed in, or sends a token as a bearer or as pip does.

    pip takes the token from an address ``https://any-name:TOKEN@…`` and sends it as a password,
    so that it stands in no path and thereby in no log of requests.
    """
    if not _is_known(request):
        return HttpResponse(
            "Sign in, or use an API token as the password: https://cutline:TOKEN@HOST/… Tokens are "
            "made on the account page.\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": 'Basic realm="Cutline", charset="UTF-8"'},
        )
    if name != recorder_wheel.NAME:
        raise Http404(f"The recorder of this server is {recorder_wheel.NAME}.")
    return HttpResponse(recorder_wheel.wheel(), content_type="application/zip")


def _is_known(request: HttpRequest) -> bool:
    if "Authorization" not in request.headers:
        return request.user.is_authenticated
    return (user_of_token(_password(request)) or bearer_user(request)) is not None


def _password(request: HttpRequest) -> str:
    """Return the password of ``Authorization: Basic``; empty if there is none."""
    scheme, _, encoded = request.headers["Authorization"].partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded).decode().partition(":")[2]
    except ValueError:  # no base64, or no text in it
        return ""
