"""The call for the first answer to a recording."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.answers.first_answer import first_answer
from snapshots.payloads.first_answer import FirstAnswerDetail, first_answer_detail
from snapshots.web.api.parameters import RecordingId
from snapshots.web.evidence import with_addresses
from snapshots.web.json import reply

router = Router()


@router.get("/recordings/{int:id}/answer", response=FirstAnswerDetail)
def get_first_answer(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Say in three to seven sentences what an upload tells, each with where it can be checked.

    A job of an engine: is it well, who is slow, why did it restart, what was in flight, what is the
    newest point to restore from. A log: the worst verdict with its witness. What the upload does
    not hold is `not-known`, and `upload` says how to get it.
    """
    recording = access.ready_recording(request.user, id)
    return reply(with_addresses(id, first_answer_detail(first_answer(recording))))
