"""Receive uploads in pieces, so that one that was interrupted goes on where it stopped.

The bytes lie in ``UPLOADS_DIR`` like those of every unfinished upload, in a file that its row keeps
until it expires. The row's ``offset`` grows only after the bytes before it are on the disk. What
lies behind the offset was never acknowledged and is overwritten.

Whoever writes a piece holds a lock on the file, so that the bytes of two requests never mix.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
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

    Its row is read again as soon as the file is locked.
    Raises: Locked if another request writes to it or has ended it, NotFound if it is gone.
    """

    def __init__(self, upload: ResumableUpload) -> None:
        self._upload = upload
        super().__init__()
        try:
            upload.refresh_from_db()
            if upload.has_ended:
                raise _locked()
        except (ResumableUpload.DoesNotExist, Locked) as reason:
            hidden(upload).unlink(missing_ok=True)  # this object may have created it
            self.file.close()
            raise (reason if isinstance(reason, Locked) else gone(upload)) from None
        self.size = upload.offset
        self._known_hash = _known_hash(upload)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the file; read it again if another process received a part."""
        if self._known_hash is not None:
            return self._known_hash.hexdigest()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def is_kept(self) -> bool:
        """Tell whether a row keeps the file."""
        return self._kept

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
            raise _locked() from None
        if not is_at(file, path):
            file.close()
            raise _locked()
        return path, file

    def append(self, blocks: Iterator[bytes]) -> None:
        """Write a piece behind the bytes that are acknowledged, and wait until it is on the disk.

        Raises: TooLarge if it reaches beyond the end that was announced. Whatever is raised,
        nothing of the piece is kept.
        """
        begin, before = self.size, self._known_hash
        self._known_hash = before and before.copy()
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
        _keep_hash(self._upload, self.size, self._known_hash)

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._upload.length:
            raise TooLarge(
                f"The piece reaches beyond {self._upload.length:,} bytes, which Upload-Length "
                "announced.",
                limit=self._upload.length,
            )
        if self._known_hash is not None:
            self._known_hash.update(chunk)
        self.file.write(chunk)

    def drop(self) -> None:
        """Remove the bytes."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; hide it again if it was made ready for a row that did not come."""
        is_ready = self.path.name == self._upload.upload
        if not self.file.closed and not self._kept and is_ready and self.path.exists():
            self.path.rename(hidden(self._upload))
        self.file.close()


def _known_hash(upload: ResumableUpload) -> "hashlib._Hash | None":
    """Return the hash of the bytes before the offset; None if this process did not receive them."""
    offset, known = _hashes.pop(upload.upload, (None, None))
    if upload.offset == 0:
        return hashlib.sha256()
    return known if offset == upload.offset else None


def _keep_hash(upload: ResumableUpload, offset: int, known: "hashlib._Hash | None") -> None:
    """Keep the hash for the next piece, and forget the oldest of too many."""
    if known is None:
        return
    _hashes[upload.upload] = offset, known
    while len(_hashes) > MOST_HASHES:
        _hashes.pop(next(iter(_hashes)), None)


def hidden(upload: ResumableUpload) -> Path:
    """Return where the bytes lie until the upload is complete."""
    return path_of(f"{UNFINISHED}{upload.upload}")


def _path_of(upload: ResumableUpload) -> Path:
    """Return where the bytes lie: they are not hidden if a process died while it finished them."""
    ready = path_of(upload.upload)
    return ready if ready.exists() else hidden(upload)


def gone(upload: ResumableUpload) -> NotFound:
    return NotFound(f"There is no upload {upload.pk}, or it belongs to someone else.")


def _locked() -> Locked:
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
    return (
        Recording.objects.filter(upload=name).exists()
        or ResumableUpload.objects.filter(upload=name, status=None).exists()
    )


def remove_expired() -> int:
    """Delete the rows of uploads that have expired; return their number.

    The sweep of files then removes the bytes. An upload that just gets a piece has another expiry
    at its end and stays.
    """
    return ResumableUpload.objects.filter(expires_at__lt=timezone.now()).delete()[0]
