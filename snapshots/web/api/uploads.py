"""The calls of tus 1.0.0: uploads in pieces, which go on after an interruption."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from snapshots import access
from snapshots.files.uploads import DraftUpload
from snapshots.models import ResumableUpload
from snapshots.payloads.uploads import (
    UnfinishedUploadList,
    UploadInPieces,
    upload_in_pieces,
)
from snapshots.problems import BadRequest
from snapshots.reviews.bundles.accepting import accept_files
from snapshots.services import resuming
from snapshots.web.api import tus
from snapshots.web.api.recordings import accepted
from snapshots.web.json import reply
from webapp.accounts.auth import SignedInRequest

router = Router()

UploadId = Annotated[int, Path(description="The number of the upload.")]
METADATA = (
    "Names, each with a text in Base64, separated by commas: `filename`, and as the form of "
    "`POST /api/recordings` has them `format`, `name` and `team`. Others are given back."
)
PIECE = {
    "Upload-Offset": "The byte at which the piece begins, which HEAD tells.",
    "Upload-Checksum": "An algorithm, `sha1` or `sha256`, and the digest of the piece in Base64.",
}
OVERRIDE = {"X-HTTP-Method-Override": "The method that is meant: `PATCH`, `DELETE` or `HEAD`."}


@router.api_operation(["OPTIONS"], "/uploads", response={204: None})
@tus.speaks_tus
def get_abilities(request: HttpRequest) -> HttpResponse:
    """Tell which parts of tus 1.0.0 this server has, and the largest file, in headers."""
    return HttpResponse(status=204, headers=tus.abilities())


@router.get("/uploads", response=UnfinishedUploadList)
def list_unfinished_uploads(request: HttpRequest) -> HttpResponse:
    """List your uploads in pieces that are not complete and have not expired, newest first."""
    rows = access.resumable_uploads(request.user).filter(status=None)
    items = [upload_in_pieces(row) for row in rows]
    return reply({"items": items, "total": len(items)})


@router.post(
    "/uploads",
    response={201: None},
    openapi_extra=tus.documented(
        {"Upload-Length": "The bytes of the whole file.", "Upload-Metadata": METADATA}
    ),
)
@tus.speaks_tus
def begin_upload(request: SignedInRequest) -> HttpResponse:
    """Begin an upload in pieces with tus 1.0.0; `Location` is the address for its pieces.

    Its bytes are kept until `Upload-Expires`, which each piece puts off.
    """
    length = tus.number(request, "Upload-Length")
    upload = resuming.begin(request.user, length, tus.metadata(request))
    headers = {"Location": f"/api/uploads/{upload.pk}", **tus.state(upload)}
    return HttpResponse(status=201, headers=headers)


@router.get("/uploads/{int:id}", response=UploadInPieces)
def get_upload(request: HttpRequest, id: UploadId) -> HttpResponse:
    """Return how far an upload in pieces is; once it is complete, its recording or its refusal."""
    return reply(upload_in_pieces(access.resumable_upload(request.user, id)))


@router.api_operation(
    ["HEAD"], "/uploads/{int:id}", response={200: None}, openapi_extra=tus.documented({})
)
@tus.speaks_tus
def get_offset(request: HttpRequest, id: UploadId) -> HttpResponse:
    """Tell in `Upload-Offset` how many bytes the server has, from where the upload goes on.

    A complete file that was refused is answered with its refusal.
    """
    upload = access.resumable_upload(request.user, id)
    if upload.status not in (None, 202):
        raise resuming.ended_by(upload)
    headers = {"Cache-Control": "no-store", **tus.state(upload), **tus.description(upload)}
    return HttpResponse(headers=headers)


@router.patch("/uploads/{int:id}", response={204: None}, openapi_extra=tus.documented(PIECE))
@tus.speaks_tus
def send_piece(request: HttpRequest, id: UploadId) -> HttpResponse:
    """Send a piece of at most 64 MiB. What is acknowledged is on disk, or on the object store.

    The last piece makes the recording, or is refused as `POST /api/recordings` refuses a file.
    `GET` of the same address returns which recording it is. 409 for another offset than the
    server's, 423 while another piece is written, 460 for a wrong checksum; nothing is kept then.
    """
    upload = access.resumable_upload(request.user, id)
    offset, blocks = tus.number(request, "Upload-Offset"), tus.blocks(request)
    return HttpResponse(
        status=204, headers=tus.state(resuming.receive(upload, offset, blocks, _accept))
    )


@router.delete("/uploads/{int:id}", response={204: None}, openapi_extra=tus.documented({}))
@tus.speaks_tus
def end_upload(request: HttpRequest, id: UploadId) -> HttpResponse:
    """Discard an upload in pieces with its bytes. A recording that was made of it stays."""
    resuming.end(access.resumable_upload(request.user, id))
    return HttpResponse(status=204)


@router.post(
    "/uploads/{int:id}",
    response={200: None, 204: None},
    openapi_extra=tus.documented(PIECE | OVERRIDE),
)
def send_piece_by_post(request: HttpRequest, id: UploadId) -> HttpResponse:
    """Do what `X-HTTP-Method-Override` says, for networks that let only POST pass."""
    calls = {"PATCH": send_piece, "DELETE": end_upload, "HEAD": get_offset}
    call = calls.get(tus.overridden(request), _no_method)
    return call(request, id)


@tus.speaks_tus
def _no_method(request: HttpRequest, id: int) -> HttpResponse:
    raise BadRequest(
        "POST to an upload takes the header X-HTTP-Method-Override: PATCH, DELETE or HEAD.",
        field="X-HTTP-Method-Override",
    )


def _accept(upload: ResumableUpload, file: DraftUpload, keep: resuming.Keep) -> None:
    """Accept a complete file as ``POST /api/recordings`` does."""
    metadata = upload.metadata
    accept_files(
        access.holder(upload.by, metadata.get("team")),
        [file],
        by=upload.by,
        format=metadata.get("format", ""),
        name=metadata.get("name", ""),
        before_commit=lambda taken: keep(accepted(upload.by, taken)),
    )
