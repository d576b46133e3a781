"""The calls that evaluate properties on what snapshots recorded."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from snapshots import access
from snapshots.answers import properties
from snapshots.domain.model.as_json import as_json
from snapshots.domain.properties import BUILT_IN
from snapshots.files.recordings import open_recording
from snapshots.payloads import properties as property_payloads
from snapshots.web.api.parameters import RecordingId
from snapshots.web.json import reply

router = Router()


class PropertyQuestion(Schema):
    """A property, named or written: exactly one of the two."""

    property: Any = Field(
        None, description="The name of a built-in property.", examples=["termination"]
    )
    phase: Any = Field(
        None,
        description="The number of the phase, from 1, for the property `phase`; 1 if it is absent.",
        examples=[2],
    )
    expression: Any = Field(
        None,
        description="An expression in CEL over `processes`, `channels` and `snapshot`, which is "
        "true or false.",
    )


@router.get("/properties", response=property_payloads.PropertyList)
def list_properties(request: HttpRequest) -> HttpResponse:
    """List the built-in properties: when each is true, and the form of states that it needs."""
    return reply({"items": list(map(as_json, BUILT_IN.values()))})


@router.post(
    "/recordings/{int:id}/properties",
    response=property_payloads.PropertyStrip,
    summary="Evaluate a property",
)
def evaluate(request: HttpRequest, id: RecordingId, body: PropertyQuestion) -> HttpResponse:
    """Evaluate one property on every snapshot (the first 200), in the order in which they began.

    A wrong expression is refused (422) with `column` and `excerpt`. An expression that takes too
    long or too much memory is stopped.
    """
    recording = access.ready_recording(request.user, id)
    rows = list(recording.snapshots.all())
    return reply(properties.evaluate(open_recording(recording), rows, body.dict()))
