"""The calls that list, upload, rename and delete recordings."""

from collections.abc import Sequence
from typing import Annotated, Literal

from django.contrib.auth.models import User
from django.db.models import Max
from django.http import FileResponse, HttpRequest, HttpResponse
from ninja import Field, File, Form, Query, Router, Schema, UploadedFile

from snapshots import access
from snapshots.answers.outcomes import outcomes_of
from snapshots.fields import storable
from snapshots.files.recordings import open_recording
from snapshots.files.uploads import drafts
from snapshots.models import Job
from snapshots.payloads.dates import optional_date
from snapshots.payloads.opened import OpenedRecording
from snapshots.payloads.recordings import (
    Accepted,
    AcceptedUpload,
    DefectList,
    RecordingDetail,
    RecordingList,
    accepted_recording,
    recording_detail,
    recording_summary,
)
from snapshots.payloads.topologies import TopologyOfRecording, topology_of_recording
from snapshots.reviews.bundles.accepting import Taken, accept_files, taken_by
from snapshots.reviews.bundles.exporting import bundle_of, file_name
from snapshots.services.recordings import accept_together, ingest_again
from snapshots.services.recordings import delete_recording as delete
from snapshots.services.recordings import rename_recording as rename
from snapshots.services.retention import removal_dates
from snapshots.web.api import opened
from snapshots.web.api.parameters import Limit, Offset, RecordingId
from snapshots.web.api.reading import stored_recording
from snapshots.web.json import reply
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()
NO_PATHS: list[str] = []
NO_FILES: list[UploadedFile] = []


class Rename(Schema):
    name: str = Field(max_length=200, description="The new name.", examples=["two banks"])


@router.get("/recordings", response=RecordingList)
def list_recordings(
    request: HttpRequest,
    limit: Limit,
    offset: Offset,
    q: Annotated[str, Query(description="Part of the name; empty for all.")] = "",
    status: Annotated[
        Literal["", "open", "queued", "running", "ready", "refused", "failed"],
        Query(description="The status; empty for all."),
    ] = "",
    team: Annotated[
        str, Query(description="`mine`, or the number of a team whose it is; empty for all.")
    ] = "",
) -> HttpResponse:
    """List your recordings, those of your teams and the samples, newest first."""
    rows = access.owned_by(request.user, access.recordings(request.user), team)
    if status:
        rows = rows.filter(status=status)
    if q:
        rows = rows.filter(name__icontains=storable(q))
    rows_of_page = list(rows[offset : offset + limit])
    latest = Job.objects.filter(recording__in=rows_of_page).order_by()
    jobs = dict(latest.values_list("recording").annotate(Max("pk")))
    removed_at = removal_dates(rows_of_page)
    outcomes = outcomes_of(rows_of_page)
    items = [
        {
            **recording_summary(row, jobs.get(row.pk)),
            "outcomes": outcomes[row.pk].counts,
            "answers": outcomes[row.pk].answers,
            "goes_at": optional_date(removed_at.get(row.pk)),
        }
        for row in rows_of_page
    ]
    return reply({"items": items, "total": rows.count()})


@router.post(
    "/recordings",
    response={201: OpenedRecording, 202: AcceptedUpload},
    openapi_extra=DOCUMENTED,
)
@idempotent(keeps_itself=True)
def upload_recording(
    request: SignedInRequest,
    file: Annotated[
        list[UploadedFile], File(description="The log, or several, or the files of an engine.")
    ] = NO_FILES,
    format: Annotated[
        str,
        Form(
            description="The format, as `mapping:ID` or `shiviz:EXECUTION`; empty to recognise it."
        ),
    ] = "",
    name: Annotated[str, Form(description="The recording's name; empty for the file's.")] = "",
    together: Annotated[  # noqa: FBT002, a field of a form
        bool, Form(description="Make one recording of all files.")
    ] = False,
    paths: Annotated[
        list[str],
        Form(description="With `together`: where each file lies, in the order of the files."),
    ] = NO_PATHS,
    team: Annotated[
        int | None, Form(description="The number of the team that gets it; empty for yourself.")
    ] = None,
) -> HttpResponse:
    """Upload a log, or several at once, of which all are accepted or none.

    The format is recognised from the content. Send an engine's files as one package (zip, tar,
    tar.gz, tar.zst), or with `together` as one recording of all files.

    The beginning of a file (all of it, if it is small) is checked at once and refused with line and
    field. The job shows how the rest goes.

    A recording with its notes, as `GET /api/recordings/{id}/with-notes` sends it, is recognised as
    well. If you have its recording already, only its new notes are added there.

    With a JSON body instead, `{"open": true, "header": {…}}` and perhaps `team`, it opens a
    recording with this header of the native format (201), to which processes then send events.
    """
    if request.content_type == opened.KIND:
        return opened.open_one(request)

    by = request.user

    def keep(taken: list[Taken]) -> None:
        request.attempt.keep(_accepted(by, taken))  # type: ignore[attr-defined]  # of ``idempotent``

    owner, files = access.holder(by, team), drafts(file)
    if together:
        job = accept_together(
            owner,
            files,
            paths,
            by=by,
            format=format,
            name=name,
            before_commit=lambda jobs: keep(taken_by(jobs)),
        )
        return _accepted(by, taken_by([job]))
    taken = accept_files(owner, files, by=by, format=format, name=name, before_commit=keep)
    return _accepted(by, taken)


def accepted(by: User, taken: Sequence[Taken]) -> AcceptedUpload:
    """Return the answer to an upload, which names only recordings that the person may see."""
    all_of_them = [
        accepted_recording(
            each.recording, each.job, access.same_files(by, each.recording), each.notes
        )
        for each in taken
    ]
    return {**all_of_them[0], "recordings": all_of_them}


def _accepted(by: User, taken: Sequence[Taken]) -> HttpResponse:
    return reply(accepted(by, taken), 202)


@router.get("/recordings/{int:id}", response=RecordingDetail)
def get_recording(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Return a recording: its status, counts, extent, first 100 defects, and ids of snapshots."""
    return reply(recording_detail(access.recording(request.user, id)))


@router.patch("/recordings/{int:id}", response=RecordingDetail)
def rename_recording(request: HttpRequest, id: RecordingId, body: Rename) -> HttpResponse:
    """Give a recording another name."""
    recording = access.own_recording(request.user, id)
    return reply(recording_detail(rename(recording, body.name)))


@router.delete("/recordings/{int:id}", response={204: None})
def delete_recording(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Delete a recording with its snapshots, jobs, upload and stored files."""
    delete(access.own_recording(request.user, id), request.user)
    return HttpResponse(status=204)


@router.post("/recordings/{int:id}/ingest", response={202: Accepted}, openapi_extra=DOCUMENTED)
@idempotent
def ingest_recording_again(
    request: HttpRequest,
    id: RecordingId,
    whole_state: Annotated[  # noqa: FBT002, a field of the query
        bool, Query(description="Whether the state of all batches of Spark is read.")
    ] = False,
) -> HttpResponse:
    """Ingest a recording once more from the kept upload, after a failure or for a newer store.

    Of a Spark checkpoint with many batches the newest are read first, for half a minute. With
    `whole_state` the state of all batches is read, however long it takes.
    """
    row = access.own_recording(request.user, id)
    job = ingest_again(row, request.user, whole_state=whole_state)
    return reply({"id": id, "job": job.pk}, 202)


@router.get("/recordings/{int:id}/with-notes", response=bytes)
def get_recording_with_notes(request: SignedInRequest, id: RecordingId) -> FileResponse:
    """Return the upload with its notes as one file, which any Cutline takes as an upload.

    It holds the notes with answers and histories, and the names of their authors. The same
    recording with the same notes always gives the same bytes.
    """
    row = access.recording(request.user, id)
    return FileResponse(bundle_of(row, request.user), as_attachment=True, filename=file_name(row))


@router.get("/recordings/{int:id}/topology", response=TopologyOfRecording)
def get_topology_of_recording(request: HttpRequest, id: RecordingId) -> HttpResponse:
    """Return the processes, with their states at the start, and the channels of a recording."""
    return reply(topology_of_recording(stored_recording(request, id)))


@router.get("/recordings/{int:id}/defects", response=DefectList)
def list_defects(
    request: HttpRequest, id: RecordingId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List what was wrong with the input. `total` also counts defects that were not kept."""
    recording = access.recording(request.user, id)
    items = recording.defects
    if recording.is_ready:
        items = open_recording(recording).defects()["defects"]
    return reply({"items": items[offset : offset + limit], "total": recording.defects_total})
