"""Properties evaluated on what snapshots recorded."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema

from snapshots import access
from snapshots.access import require_ready
from snapshots.answers import properties
from snapshots.domain.properties import BUILT_IN
from snapshots.files.recordings import open_recording
from snapshots.payloads import properties as property_payloads
from snapshots.web.json import reply

router = Router()


class PropertyQuestion(Schema):
    """Exactly one of the two. property: a built-in one's name. expression: CEL over ``processes``,
    ``channels`` and ``snapshot``, which is true or false."""

    property: Any = None
    expression: Any = None


@router.get("/properties", response=property_payloads.PropertyList)
def list_properties(request: HttpRequest) -> HttpResponse:
    """The built-in ones: when each is true, and what states must look like for it."""
    return reply({"items": [known.to_json() for known in BUILT_IN.values()]})


@router.post("/recordings/{int:id}/properties", response=property_payloads.PropertyStrip)
def evaluate(request: HttpRequest, id: int, body: PropertyQuestion) -> HttpResponse:
    """One property over all snapshots, the first 200, in the order in which they were begun.

    An expression that is wrong is refused with its column and an excerpt; one that takes too long
    or too much memory is stopped.
    """
    recording = access.recording(request.user, id)
    require_ready(recording)
    rows = list(recording.snapshots.all())
    return reply(properties.evaluate(open_recording(recording), rows, body.dict()))
