"""The call that reports the state of the server to operators."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.web.json import reply
from webapp.operating.report import OperatorHealth, report

router = Router()


@router.get("/operator/health", response=OperatorHealth)
def operator_health(request: HttpRequest) -> HttpResponse:
    """Return the state of the server, its workers, its queue and its disks.

    Only operators may ask.
    """
    access.require_operator(request.user)
    return reply(report())
