"""Begin, continue and end uploads that come in pieces. Access is checked before.

Raises: problems.Problem for a wrong request.
"""

import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from snapshots import access, allowances
from snapshots.access.finding import number
from snapshots.files import far_pieces, resumable
from snapshots.files.uploads import DraftUpload
from snapshots.models import ResumableUpload
from snapshots.problems import (
    Conflict,
    NoRoom,
    NotFound,
    Problem,
    Refused,
    TooLarge,
    TooMany,
    WrongChecksum,
)
from snapshots.quantities import counted
from snapshots.services import recordings

ALGORITHMS = ("sha1", "sha256")
PASSING = (409, 423, 429, 503, 507)
"""Statuses of refusals that are not for ever: the bytes stay, and the last piece is sent again."""

AnyPieces = resumable.Pieces | far_pieces.FarPieces
Keep = Callable[[Mapping[str, object]], None]
Accept = Callable[[ResumableUpload, DraftUpload, Keep], None]
"""Accept a complete file, and call the last argument with the answer before the commit."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a piece must hash to; ``algorithm`` is one of ALGORITHMS."""

    algorithm: str
    digest: bytes

    def checked(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Pass the blocks on. Raises: WrongChecksum after the last one."""
        hasher = hashlib.new(self.algorithm, usedforsecurity=False)
        for block in blocks:
            hasher.update(block)
            yield block
        if hasher.digest() != self.digest:
            raise WrongChecksum(
                f"The {self.algorithm} of the piece is another than Upload-Checksum says. Nothing "
                "of the piece was kept: send it again from the same offset."
            )


def begin(by, length: int, metadata: Mapping[str, str]) -> ResumableUpload:
    """Begin an upload of ``length`` bytes.

    Args:
        metadata: ``filename``, and ``format``, ``name`` and ``team`` as the form of uploads has
            them; ``fingerprint`` and any others are the sender's own and are given back.

    Raises: TooLarge, Refused, Invalid, NotFound, NeedsRole, TooMany, NoRoom.
    """
    if length > settings.MAX_RESUMABLE_BYTES:
        raise _too_large()
    if length == 0:
        raise Refused("The file is empty: it holds no header and no event.", code="empty")
    recordings.checked_title(metadata.get("name", ""), ())
    recordings.check_format(by, metadata.get("format", ""))
    owner = access.holder(by, metadata.get("team"))
    _require_disk(length)
    with transaction.atomic():
        allowances.require_room_for(owner, _announced(by, metadata.get("team")) + length)
        if (count := _unfinished().filter(by=by).count()) >= settings.MAX_UNFINISHED_UPLOADS:
            raise _too_many(count)
        return ResumableUpload.objects.create(
            by=by,
            upload=uuid.uuid4().hex,
            metadata=dict(metadata),
            length=length,
            expires_at=resumable.expiry(),
        )


def _unfinished() -> QuerySet[ResumableUpload]:
    return ResumableUpload.objects.filter(status=None, expires_at__gt=timezone.now())


def _announced(by, team: str | None) -> int:
    """Return the bytes of the unfinished uploads to a team, anybody's, or else to the person."""
    rows = _unfinished() if team else _unfinished().filter(by=by)
    told = rows.values_list("metadata", "length")
    wanted = _team_of({"team": team or ""})
    return sum(length for metadata, length in told if _team_of(metadata) == wanted)


def _team_of(metadata: Mapping[str, str]) -> int | None:
    team = metadata.get("team")
    return number(team) if team else None


def receive(
    upload: ResumableUpload, offset: int, blocks: Iterator[bytes], accept: Accept
) -> ResumableUpload:
    """Add a piece that begins at ``offset``; accept the file if it is complete.

    Raises: Conflict for another offset, Locked, TooLarge, what ``blocks`` raises, and what
    ``accept`` raises.
    """
    if upload.has_ended:
        _require_nothing_more(upload, offset)
        return upload
    with far_pieces.pieces_of(upload) as pieces:
        _require_offset(upload, offset)
        pieces.append(blocks)
        if pieces.size == upload.length:
            _finish(upload, pieces, accept)
        else:
            _change(upload, offset=pieces.size, **pieces.row_fields())
            pieces.acknowledged()
    return upload


def end(upload: ResumableUpload) -> None:
    """Forget an upload with its bytes; a recording that was made of it stays. Raises: Locked."""
    if upload.has_ended:
        upload.delete()
        return
    try:
        with far_pieces.pieces_of(upload) as pieces:
            upload.delete()  # first, so that a crash before the next line leaves a file to sweep
            pieces.drop()
    except NotFound:  # its bytes are gone already
        upload.delete()


def _require_nothing_more(upload: ResumableUpload, offset: int) -> None:
    """Answer a piece of an upload that has ended, such as one whose answer was lost.

    Raises: Conflict, or the Problem with which it ended.
    """
    if upload.status != 202:
        raise ended_by(upload)
    _require_offset(upload, offset)


def ended_by(upload: ResumableUpload) -> Problem:
    """Return the problem for which the complete file was refused."""
    known = ("type", "title", "status", "detail")
    members = {name: value for name, value in upload.answer.items() if name not in known}
    problem = Problem(upload.answer["detail"], **members)
    problem.code = upload.answer["type"].removeprefix("/problems/")
    problem.title, problem.status = upload.answer["title"], upload.answer["status"]
    return problem


def _require_offset(upload: ResumableUpload, offset: int) -> None:
    if offset != upload.offset:
        raise Conflict(
            f"The piece begins at byte {offset:,}, and the upload has {upload.offset:,} bytes. "
            "Go on from there.",
            offset=upload.offset,
        )


def _finish(upload: ResumableUpload, pieces: AnyPieces, accept: Accept) -> None:
    """Accept the complete file, or note in the row why it was refused and remove it."""

    def keep(answer: Mapping[str, object]) -> None:
        _change(upload, offset=upload.length, status=202, answer=answer)

    with pieces.joined() as draft:
        draft.file.seek(0)
        _ = draft.sha256  # it may take minutes, which no transaction should last
        try:
            accept(upload, DraftUpload(draft, upload.source_name, ""), keep)
        except Problem as problem:
            if problem.status not in PASSING:
                answer = problem.as_json()
                _change(upload, offset=upload.length, status=problem.status, answer=answer)
                pieces.drop()
            raise
        pieces.ended()


def _change(upload: ResumableUpload, **fields: Any) -> None:
    """Note what became of a piece.

    Raises: NotFound if the upload was ended meanwhile, Locked if another machine took a piece.
    """
    fields["expires_at"] = resumable.expiry()
    rows = ResumableUpload.objects.filter(pk=upload.pk, status=None)
    if not rows.filter(offset=upload.offset).update(**fields):
        raise resumable.locked() if rows.exists() else resumable.gone(upload)
    for name, value in fields.items():
        setattr(upload, name, value)


def _require_disk(length: int) -> None:
    if length > shutil.disk_usage(settings.DATA_DIR).free - settings.MIN_FREE_BYTES:
        raise NoRoom("The server's disk has no space for this upload. Its operator must free some.")


def _too_large() -> TooLarge:
    limit = settings.MAX_RESUMABLE_BYTES
    return TooLarge(
        f"The file is larger than {limit:,} bytes, the most that this server accepts. Compress it "
        "(.gz or .zst), or ask the operator to raise MAX_RESUMABLE_BYTES or to ingest it with "
        "“python manage.py ingest”.",
        limit=limit,
    )


def _too_many(count: int) -> TooMany:
    return TooMany(
        f"You have {counted(count, 'unfinished upload')}, the most at once. Finish one, or discard "
        "one on the page of recordings.",
        limit=settings.MAX_UNFINISHED_UPLOADS,
        used=count,
    )
