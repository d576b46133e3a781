"""Replay: cuts, windows and single events of a recording."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from snapshots import access
from snapshots.access import require_ready
from snapshots.answers import replay
from snapshots.files.recordings import open_recording
from snapshots.payloads import cuts
from snapshots.payloads.window import WindowPayload
from snapshots.store.reader import StoredRecording
from snapshots.web.json import reply

router = Router()


class CutQuestion(Schema):
    """Exactly one of the three. positions: by process id, absent ones are 0, or a list of all."""

    positions: Any = None
    at: Any = None
    step: Any = None


@router.post("/recordings/{int:id}/cuts", response=cuts.CutAnswer)
def cut(request: HttpRequest, id: int, body: CutQuestion) -> HttpResponse:
    """Is this cut consistent, and what are the states and the contents of the channels in it?

    ``{"at": t}``: all events up to that instant. ``{"step": k}``: the first k of all events.
    """
    return reply(replay.cut(_ready(request, id), body.dict()))


@router.get("/recordings/{int:id}/window", response=WindowPayload)
def window(
    request: HttpRequest,
    id: int,
    from_: Annotated[float | None, Query(None, alias="from")],
    to: float | None = None,
    width: float | None = None,
    axis: str = "time",
) -> HttpResponse:
    """What there is to draw between two instants (axis=time) or numbers of events (axis=order)."""
    question = {"from": from_, "to": to, "width": width, "axis": axis}
    return reply(replay.window(_ready(request, id), question))


@router.get("/recordings/{int:id}/events/{text:process}/{int:index}", response=cuts.EventDetail)
def get_event(request: HttpRequest, id: int, process: str, index: int) -> HttpResponse:
    """All fields of one event, and the message or marker that it sends or receives."""
    return reply(replay.event(_ready(request, id), process, index))


@router.get("/recordings/{int:id}/cones/{text:process}/{int:index}", response=cuts.ConesPayload)
def get_cones(request: HttpRequest, id: int, process: str, index: int) -> HttpResponse:
    """What happened before one event (its vector clock), and what it could have influenced."""
    return reply(replay.cones(_ready(request, id), process, index))


def _ready(request: HttpRequest, id: int) -> StoredRecording:
    recording = access.recording(request.user, id)
    require_ready(recording)
    return open_recording(recording)
