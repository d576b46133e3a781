"""Receive uploads in pieces without a shared folder: each piece becomes an object of its own.

So any web process on any machine goes on where another one stopped. A piece is received into a
file of this machine and put below ``UPLOADS_URL`` when it is complete. It counts once its row lists
it, and the row changes only if its offset is still the one at which the piece begins. A small
piece is joined with the next one, so that an upload has few objects however it is cut.

The process that receives the last piece joins all of them on its disk, hashes and checks the file,
and puts it where complete uploads are kept.
"""

import fcntl
import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from snapshots.files import kept, resumable
from snapshots.files.resumable import BLOCK, Pieces, hidden
from snapshots.files.uploads import Draft, is_at
from snapshots.models import ResumableUpload
from snapshots.problems import Locked, NotFound
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import is_here, put_file, remove_tree

logger = logging.getLogger(__name__)

SMALLEST = 8 * 2**20  # bytes of an object to which no further piece is joined


def pieces_of(upload: ResumableUpload) -> "Pieces | FarPieces":
    """Take an upload in hand, to add a piece or to end it. Raises: Locked, NotFound."""
    return Pieces(upload) if is_here(kept.root()) else FarPieces(upload)


class FarPieces:
    """A piece of a resumable upload in a file of this machine, and the pieces before it as objects.

    The file is locked, so that a machine receives one piece of an upload at a time.
    Raises: Locked if another request of this machine has it in hand or has ended the upload,
    NotFound if the upload is gone.
    """

    def __init__(self, upload: ResumableUpload) -> None:
        self._upload = upload
        self._folder = kept.pieces_folder(upload.upload)
        self._path = hidden(upload)
        self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "rb+")
        try:
            self._take_in_hand()
        except BaseException:
            self._file.close()
            raise
        self.size = upload.offset
        self._listed: list[list[Any]] = list(upload.pieces)  # name and size of each
        self._put: str | None = None  # the piece that this object has put and no row lists
        self._replaced: str | None = None  # a piece that is in the new one, too

    def _take_in_hand(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise resumable.locked() from None
        if not is_at(self._file, self._path):
            raise resumable.locked()
        try:
            resumable.renew(self._upload)
        except (Locked, NotFound):
            self._path.unlink(missing_ok=True)
            raise

    def append(self, blocks: Iterator[bytes]) -> None:
        """Receive a piece behind the bytes that are acknowledged, and put it as an object.

        The last piece is not put, because all are joined next. Raises: TooLarge if it reaches
        beyond the end that was announced, NotFound, Locked, StoreUnreachable. Whatever is raised,
        nothing of the piece is kept.
        """
        begin = self.size
        self._file.truncate(0)
        self._file.seek(0)
        if self._listed and self._listed[-1][1] < SMALLEST:
            self._file.write(self._read(*self._listed[-1]))
            self._replaced, _ = self._listed.pop()
        for block in blocks:
            self.size += len(block)
            resumable.require_within(self._upload, self.size)
            self._file.write(block)
        self._file.flush()
        if begin < self.size < self._upload.length:
            self._put_piece()

    def _put_piece(self) -> None:
        self._put = uuid.uuid4().hex
        put_file(self._path, self._folder / self._put)
        self._listed.append([self._put, self._path.stat().st_size])

    def _read(self, name: str, size: int) -> bytes:
        """Return the bytes of a piece. Raises: NotFound, Locked, StoreUnreachable."""
        try:
            content = (self._folder / name).read_bytes()
        except FileNotFoundError:
            content = b""
        if len(content) != size:
            resumable.renew(self._upload)  # it may have ended on another machine
            raise NotFound(
                f"A piece of upload {self._upload.pk} is missing on the object store or is cut "
                "short, so it cannot be completed. Discard it, and send the file anew."
            )
        return content

    def row_fields(self) -> dict[str, Any]:
        """Return what the row has to keep of the piece beside its offset."""
        return {"pieces": self._listed} if self._put else {}

    def acknowledged(self) -> None:
        """Remove the piece that the new one replaces. Call it when the row is written."""
        if self._put and self._replaced:
            self._remove(self._replaced)
        self._put = None

    @contextmanager
    def joined(self) -> Iterator[Draft]:
        """Give the complete file as a draft.

        Raises: NotFound, Locked, StoreUnreachable, OSError.
        """
        with _Whole() as draft:
            for name, size in self._listed:
                draft.write(self._read(name, size))
            self._file.seek(0)
            while block := self._file.read(BLOCK):
                draft.write(block)
            yield draft

    def ended(self) -> None:
        """Remove all pieces, because the upload was accepted or refused."""
        self.drop()

    def drop(self) -> None:
        """Remove all pieces; what the object store does not remove now is left to a sweep."""
        try:
            remove_tree(self._folder)
        except StoreUnreachable as error:
            logger.warning("Pieces of an upload are left to a sweep: %s", error)

    def _remove(self, name: str) -> None:
        try:
            (self._folder / name).unlink()
        except StoreUnreachable as error:
            logger.warning("A piece of an upload is left to a sweep: %s", error)

    def close(self) -> None:
        """Remove the file, and the piece that no row lists."""
        if self._file.closed:
            return
        with self._file:
            self._path.unlink(missing_ok=True)
        if self._put is not None:
            self._remove(self._put)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Whole(Draft):
    """The draft of a file whose length was checked when its upload began.

    It has a name of its own. So of two that complete the same upload, one gets its row, and the
    other removes only what it has put itself.
    """

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)
        self.file.write(chunk)
