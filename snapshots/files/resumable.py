"""Receive uploads in pieces, so that one that was interrupted goes on where it stopped.

This is for uploads that are kept on this machine's disk; see ``far_pieces`` for an object store.
The bytes lie in ``UPLOADS_DIR`` like those of every unfinished upload, in a file that its row keeps
until it expires. The row's ``offset`` grows only after the bytes before it are on the disk. What
lies behind the offset was never acknowledged and is overwritten.

Whoever writes a piece holds a lock on the file, so that the bytes of two requests never mix.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from snapshots.files.uploads import UNFINISHED, Draft, is_at, path_of
from snapshots.models import Recording, ResumableUpload
from snapshots.problems import Locked, NotFound, TooLarge
from snapshots.store.parts import sync_folder

BLOCK = 2**20  # bytes that are copied at a time
MOST_HASHES = 100  # of uploads that this process receives; else a hash is computed at the end

_hashes: "dict[str, tuple[int, hashlib._Hash]]" = {}
"""How many bytes of an upload this process has received, and their hash, by the file's name."""


class Pieces(Draft):
    """The draft of a resumable upload, which outlives this object unless ``drop`` is called.

    As soon as the file is locked, its row's expiry is put off and the row is read again.
    Raises: Locked if another request writes to it or has ended it, NotFound if it is gone.
    """

    def __init__(self, upload: ResumableUpload) -> None:
        self._upload = upload
        super().__init__()
        try:
            renew(upload)
        except (NotFound, Locked):
            hidden(upload).unlink(missing_ok=True)  # this object may have created it
            self.file.close()
            raise
        self.size = upload.offset
        self._known_hash = _known_hash(upload)
        self._digest: str | None = None  # of a file that was read again

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the file; read it once more if another process received a part."""
        if self._known_hash is not None:
            return self._known_hash.hexdigest()
        if self._digest is None:
            with self.path.open("rb") as file:
                self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digest

    def _opened(self) -> tuple[Path, BinaryIO]:
        path = _path_of(self._upload)
        flags = os.O_RDWR | (0 if self._upload.offset else os.O_CREAT)
        try:
            file = os.fdopen(os.open(path, flags, 0o600), "rb+")
        except FileNotFoundError:
            raise gone(self._upload) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise locked() from None
        if not is_at(file, path):
            file.close()
            raise locked()
        if path == hidden(self._upload) and path_of(self._upload.upload).exists():
            path.unlink(missing_ok=True)  # it was created while the file is being finished
            file.close()
            raise locked()
        return path, file

    def append(self, blocks: Iterator[bytes]) -> None:
        """Write a piece behind the bytes that are acknowledged, and wait until it is on the disk.

        Raises: TooLarge if it reaches beyond the end that was announced. Whatever is raised,
        nothing of the piece is kept.
        """
        begin, before = self.size, self._known_hash
        self._digest, self._known_hash = None, before and before.copy()
        self.file.truncate(begin)
        self.file.seek(begin)
        try:
            for block in blocks:
                self.write(block)
            self.file.flush()
            os.fsync(self.file.fileno())
        except BaseException:
            self.file.truncate(begin)
            self.size, self._known_hash = begin, before
            raise
        if begin == 0:
            sync_folder(self.path.parent)

    def row_fields(self) -> dict[str, Any]:
        """Return what the row has to keep of the piece beside its offset."""
        return {}

    def acknowledged(self) -> None:
        """Keep the hash for the next piece. Call it when the row is written."""
        _keep_hash(self._upload, self.size, self._known_hash)

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        require_within(self._upload, self.size)
        if self._known_hash is not None:
            self._known_hash.update(chunk)
        self.file.write(chunk)

    @contextmanager
    def joined(self) -> Iterator[Draft]:
        """Give the complete file as a draft, which is this object."""
        yield self

    def ended(self) -> None:
        """Remove the bytes if no row keeps them, because the upload was accepted or refused."""
        if not self._kept:
            self.drop()

    def drop(self) -> None:
        """Remove the bytes."""
        self.path.unlink(missing_ok=True)
        _hashes.pop(self._upload.upload, None)

    def close(self) -> None:
        """Close the file; hide it again if it was made ready for a row that did not come."""
        if self.file.closed:
            return
        with self.file:
            if self._kept:
                _hashes.pop(self._upload.upload, None)
            elif self._is_left_ready():
                self.path.rename(hidden(self._upload))

    def _is_left_ready(self) -> bool:
        is_ready = self.path.name == self._upload.upload and self.path.exists()
        return is_ready and _unfinished(self._upload).exists()


def _known_hash(upload: ResumableUpload) -> "hashlib._Hash | None":
    """Return the hash of the bytes before the offset; None if this process did not receive them."""
    offset, known = _hashes.get(upload.upload, (None, None))
    if upload.offset == 0:
        return hashlib.sha256()
    return known if offset == upload.offset else None


def _keep_hash(upload: ResumableUpload, offset: int, known: "hashlib._Hash | None") -> None:
    """Keep the hash for the next piece, and forget the oldest of too many."""
    _hashes.pop(upload.upload, None)
    if known is None:
        return
    _hashes[upload.upload] = offset, known
    while len(_hashes) > MOST_HASHES:
        _hashes.pop(next(iter(_hashes)), None)


def _unfinished(upload: ResumableUpload) -> QuerySet[ResumableUpload]:
    """Return the row alone, or nothing if the upload has ended."""
    return ResumableUpload.objects.filter(pk=upload.pk, status=None)


def renew(upload: ResumableUpload) -> None:
    """Put an upload's expiry off and read its row again. Raises: NotFound, Locked if it ended."""
    _unfinished(upload).update(expires_at=expiry())
    try:
        upload.refresh_from_db()
    except ResumableUpload.DoesNotExist:
        raise gone(upload) from None
    if upload.has_ended:
        raise locked()


def require_within(upload: ResumableUpload, size: int) -> None:
    """Check that an upload of ``size`` bytes is no longer than announced. Raises: TooLarge."""
    if size > upload.length:
        raise TooLarge(
            f"The piece reaches beyond {upload.length:,} bytes, which Upload-Length announced.",
            limit=upload.length,
        )


def hidden(upload: ResumableUpload) -> Path:
    """Return where the bytes lie until the upload is complete."""
    return path_of(f"{UNFINISHED}{upload.upload}")


def _path_of(upload: ResumableUpload) -> Path:
    """Return where the bytes lie: they are not hidden if a process died while it finished them."""
    ready = path_of(upload.upload)
    return ready if ready.exists() else hidden(upload)


def gone(upload: ResumableUpload) -> NotFound:
    return NotFound(f"There is no upload {upload.pk}, or it belongs to someone else.")


def locked() -> Locked:
    return Locked(
        "Another request is writing to this upload. Ask for its offset with HEAD in a moment, and "
        "go on from there.",
        retry_after=1,
    )


def expiry() -> datetime:
    """Return when an upload expires that got a piece just now."""
    return timezone.now() + timedelta(hours=settings.UNFINISHED_UPLOAD_HOURS)


def is_known(name: str) -> bool:
    """Tell whether a row keeps the file of this name: a recording, or a resumable upload."""
    named = Recording.objects.filter(Q(upload=name) | Q(journal=name))
    return named.exists() or is_unfinished(name)


def is_unfinished(name: str) -> bool:
    """Tell whether the row of an upload that has not ended keeps the file, or pieces, so named."""
    return ResumableUpload.objects.filter(upload=name, status=None).exists()


def remove_expired() -> int:
    """Delete the rows of uploads that have expired; return their number.

    The sweep of files then removes the bytes. A piece puts the expiry off before its first byte is
    written, so that its upload stays.
    """
    return ResumableUpload.objects.filter(expires_at__lt=timezone.now()).delete()[0]
