"""The calls about the smallest part of a recording that shows one finding about a snapshot."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from snapshots.answers.shrinking import file_name, native_file, smallest_part, summary
from snapshots.payloads.recordings import Accepted
from snapshots.payloads.shrinking import SmallestPart
from snapshots.services.parts import open_part
from snapshots.web.api.parameters import RecordingId
from snapshots.web.api.reading import snapshot_row
from snapshots.web.json import reply
from snapshots.web.native_files import native_attachment
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()
MOST_FINDINGS = 10_000

Snapshot = Annotated[str, Query(description="The id of the snapshot.")]
Finding = Annotated[
    int,
    Query(
        ge=0,
        le=MOST_FINDINGS,
        description="The place of the finding in the snapshot's `verdicts`, from 0.",
    ),
]


class Choice(Schema):
    snapshot: str = Field(description="The id of the snapshot.", examples=["s1"])
    finding: int = Field(
        0,
        ge=0,
        le=MOST_FINDINGS,
        description="The place of the finding in the snapshot's `verdicts`, from 0.",
    )


@router.get("/recordings/{int:id}/smallest-part", response=SmallestPart)
def get_smallest_part(
    request: HttpRequest, id: RecordingId, snapshot: Snapshot, finding: Finding = 0
) -> HttpResponse:
    """Return the smallest part of the recording in which a finding about a snapshot is still made.

    No message, marker or other event of it can be left out: the finding would be gone, or the part
    would say something about the snapshot that the whole recording does not. A message or marker is
    kept with both ends. What else holds in the part proves nothing about the recording.
    """
    row = snapshot_row(request, id, snapshot)
    return reply(summary(row, finding, smallest_part(row, finding)))


@router.get("/recordings/{int:id}/smallest-part/file", response=str)
def get_smallest_part_file(
    request: HttpRequest, id: RecordingId, snapshot: Snapshot, finding: Finding = 0
) -> HttpResponse:
    """Return the same part as a file of the native format, JSON Lines.

    The field `original` of each event has its index in the whole recording, and the field `part_of`
    of the header says what was left out. `manage.py check_snapshots --expect VERDICT` checks it.
    """
    part = smallest_part(snapshot_row(request, id, snapshot), finding)
    return native_attachment(native_file(part), file_name(part))


@router.post(
    "/recordings/{int:id}/smallest-part", response={202: Accepted}, openapi_extra=DOCUMENTED
)
@idempotent
def open_smallest_part(request: HttpRequest, id: RecordingId, body: Choice) -> HttpResponse:
    """Upload the same part as a recording of yours; the job ingests it."""
    part = smallest_part(snapshot_row(request, id, body.snapshot), body.finding)
    job = open_part(request.user, native_file(part), file_name(part))
    return reply({"id": job.recording_id, "job": job.pk}, 202)
