"""The API's call for operators: how the server is."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.web.json import reply
from webapp.operating.report import OperatorHealth, report

router = Router()


@router.get("/operator/health", response=OperatorHealth)
def operator_health(request: HttpRequest) -> HttpResponse:
    """How the server, its workers, its queue and its disks are. Only operators may ask."""
    access.require_operator(request.user)
    return reply(report())
