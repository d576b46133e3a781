"""Payloads of uploads that come in pieces."""

from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import ResumableUpload
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.recordings import AcceptedUpload


@described
class UploadInPieces(TypedDict):
    """An upload that comes in pieces.

    Attributes:
        id: the number of the upload.
        state: ``receiving`` until it is complete, then ``accepted`` or ``refused``.
        name: what the file is called; `upload` if the sender did not tell it.
        length: the bytes of the whole file.
        offset: the bytes that the server has; the next piece begins there.
        metadata: what the sender told of the file, texts by name.
        created_at: when the upload began.
        expires_at: when it is removed unless a piece comes before.
        accepted: the answer of ``POST /api/recordings``; null unless it was accepted.
        problem: why the complete file was refused; null unless it was.
    """

    id: int
    state: Literal["receiving", "accepted", "refused"]
    name: str
    length: int
    offset: int
    metadata: dict[str, str]
    created_at: str
    expires_at: str
    accepted: AcceptedUpload | None
    problem: dict[str, Any] | None


UnfinishedUploadList = list_of(UploadInPieces, "UnfinishedUploadList")


def upload_in_pieces(row: ResumableUpload) -> UploadInPieces:
    state: Literal["receiving", "accepted", "refused"] = "receiving"
    if row.has_ended:
        state = "accepted" if row.status == 202 else "refused"
    return {
        "id": row.pk,
        "state": state,
        "name": row.source_name,
        "length": row.length,
        "offset": row.offset,
        "metadata": row.metadata,
        "created_at": date(row.created_at),
        "expires_at": date(row.expires_at),
        "accepted": row.answer if state == "accepted" else None,
        "problem": row.answer if state == "refused" else None,
    }
