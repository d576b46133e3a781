"""Predicates over all consistent cuts: possibly and definitely."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema

from snapshots import access
from snapshots.payloads.jobs import AcceptedJob
from snapshots.services.jobs import request_search
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


class Predicate(Schema):
    """expression: CEL conditions, each on the state of one process, joined by ``&&``."""

    expression: Any = None


@router.post(
    "/recordings/{int:id}/predicates",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
)
@idempotent
def search(request: HttpRequest, id: int, body: Predicate) -> HttpResponse:
    """Do the conditions hold at once in some consistent cut (possibly), and in every run that
    agrees with the messages (definitely)? The job's result has the first and the last cut.

    What was asked for before is not computed again. Anything but a conjunction of conditions on
    one process each is refused with the reason and its column; it can be asked of the recorded
    snapshots, see properties.
    """
    recording = access.recording(request.user, id)
    return reply({"job": request_search(request.user, recording, body.expression).pk}, 202)
