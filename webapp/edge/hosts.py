"""Refuse requests under a host name that is not ours."""

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from snapshots.problems import Problem
from webapp.edge.failures import refusal


class WrongHost(Problem):
    code, title, status = "wrong-host", "The host name is not known here", 400


def middleware(get_response):
    """Refuse a wrong Host with a sentence; Django would log a traceback each time."""

    def answer(request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost:
            return refusal(request, WrongHost(_sentence(request)))
        return get_response(request)

    return answer


def _sentence(request: HttpRequest) -> str:
    host = request.META.get("HTTP_HOST", "")[:100]
    return (
        f"This server does not answer under the host name “{host}”. Its operator can add the name "
        "to ALLOWED_HOSTS, or set PUBLIC_URL to the address that people type."
    )
