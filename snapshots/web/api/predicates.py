"""The call that searches all consistent cuts: possibly and definitely."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from snapshots import access
from snapshots.payloads.jobs import AcceptedJob
from snapshots.services.jobs import request_search
from snapshots.web.api.parameters import RecordingId
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


class Predicate(Schema):
    """What to search for."""

    expression: Any = Field(
        None,
        description="Conditions in CEL, each on the state of one process, joined by `&&`. The "
        "name of a process stands for its state.",
        examples=["A == 9000 && B <= 3000"],
    )


@router.post(
    "/recordings/{int:id}/predicates",
    response={202: AcceptedJob},
    openapi_extra=DOCUMENTED,
    summary="Search all consistent cuts",
)
@idempotent
def search(request: HttpRequest, id: RecordingId, body: Predicate) -> HttpResponse:
    """Search for a consistent cut in which all conditions hold, and for a run that avoids them all.

    If there is such a cut, the conditions hold *possibly*. If there is no such run, they hold
    *definitely*. The job's result has `possibly` and `definitely` (`true`, `false`, `unknown`), the
    first and the last cut as positions by process, and

    * `intervals`, if definitely is true: every run is in all of them at once;
    * `obstacle` and `avoiding`, if it is false: the first 100 parts of a run that avoids such cuts;
    * `missing`: what is not known.

    The same question about the same stored recording returns the same job. An expression that takes
    too long sets the job to `refused`, with the column.

    An expression that is no conjunction of conditions on one process each is refused (422
    `not-local`) with `column` and `excerpt`; `instead` is the page that evaluates it on the
    recorded snapshots.
    """
    recording = access.recording(request.user, id)
    return reply({"job": request_search(request.user, recording, body.expression).pk}, 202)
