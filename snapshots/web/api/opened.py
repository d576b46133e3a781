"""The calls of open recordings: their events, what has come, and their end."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from ninja import Router

from snapshots import access
from snapshots.domain.model.defects import meant, quoted
from snapshots.models import Recording
from snapshots.payloads.opened import (
    ReceivedEvents,
    TakenEvents,
    received_events,
    taken_events,
)
from snapshots.payloads.recordings import Accepted
from snapshots.problems import Invalid, TooLarge, WrongMediaType
from snapshots.services import opened
from snapshots.web.api.parameters import RecordingId
from snapshots.web.json import read, reply
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

KIND = "application/json"
FIELDS = frozenset({"open", "header", "team"})
EVENT = {
    "type": "object",
    "required": ["kind", "process", "index"],
    "properties": {
        "kind": {"type": "string", "description": "The kind, which says what other fields mean."},
        "process": {"type": "string", "description": "The process, as the header names it."},
        "index": {"type": "integer", "minimum": 0, "description": "Its place in the process."},
    },
}
BODY = {
    "requestBody": {
        "required": True,
        "description": "Events in the native format, one a line, each with its `index`.",
        "content": {"application/x-ndjson": {"schema": EVENT}},
    }
}


@router.post("/recordings/{int:id}/events", response=TakenEvents, openapi_extra=BODY)
def send_events(request: SignedInRequest, id: RecordingId) -> HttpResponse:
    """Send events to an open recording: JSON Lines of the native format, of any processes.

    Each event has its `process` and `index`, by which it is known: one that is there already
    changes nothing. What is acknowledged is on the server's disk. 409 if another event is there at
    the same place, with both, if the recording is not open, or if it is full; 413 if the body has
    more than 16 MiB. Nothing of the body is kept then.
    """
    row = access.own_recording(request.user, id)
    return reply(taken_events(*opened.take_events(row, _body(request))))


@router.get("/recordings/{int:id}/received", response=ReceivedEvents)
def get_received(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Return what has come to an open recording, and which events are missing before others.

    After closing, this is answered until the log is written.
    """
    row = access.recording(request.user, id)
    return reply(received_events(opened.received(row)))


@router.post("/recordings/{int:id}/close", response={202: Accepted}, openapi_extra=DOCUMENTED)
@idempotent
def close_recording(request: SignedInRequest, id: RecordingId) -> HttpResponse:
    """Close an open recording: it takes no more events, and a job reads it as a whole.

    Its log is then kept as its upload, in the order of instant, process and index.
    """
    job = opened.close(access.own_recording(request.user, id), request.user)
    return reply({"id": id, "job": job.pk}, 202)


def _body(request: HttpRequest) -> bytes:
    """Return the body of a request. Raises: TooLarge, WrongMediaType."""
    if request.content_type == "multipart/form-data":  # a session's CSRF token is read from it
        raise WrongMediaType("Send the events as they are: application/x-ndjson, one a line.")
    try:
        return request.body
    except RequestDataTooBig:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        sentence = f"The body has more than {limit:,} bytes, the most at once. Send fewer events."
        raise TooLarge(sentence, limit=limit) from None


def open_one(request: SignedInRequest) -> HttpResponse:
    """Open a recording, as ``POST /api/recordings`` with a JSON body asks for it.

    Raises: NotJson, Invalid, Refused, TooMany, NotFound.
    """
    fields = _fields(_body(request))
    owner = access.holder(request.user, fields["team"])

    def keep(row: Recording) -> None:
        request.attempt.keep(_opened(row))  # type: ignore[attr-defined]  # of ``idempotent``

    return _opened(opened.open_recording(owner, request.user, fields["header"], keep))


def _fields(body: bytes) -> dict[str, Any]:
    fields = read(body)
    if not isinstance(fields, dict) or fields.get("open") is not True:
        raise Invalid(
            "The body is an object with “open”: true and the header. To upload a log, send it as "
            "the multipart field “file”.",
            field="open",
        )
    for name in fields.keys() - FIELDS:
        hint = meant(name, FIELDS)
        raise Invalid(f"The field {quoted(name)} has no meaning here.{hint}", field=name)
    if not isinstance(fields.get("header"), dict):
        raise Invalid("“header” is the header of the native format, an object.", field="header")
    team = fields.get("team")
    if team is not None and type(team) is not int:
        raise Invalid("“team” is the number of a team.", field="team")
    return {"header": fields["header"], "team": team}


def _opened(row: Recording) -> HttpResponse:
    address = f"/api/recordings/{row.pk}/events"
    return reply({"id": row.pk, "status": row.status, "events": address}, 201)
