"""Receive uploads into ``UPLOADS_DIR``, each file under a name of our own.

Whoever writes a file holds a lock on it until its row is committed. The kernel releases the lock
when the writer dies. So an unlocked file without a row is certainly a leftover, whatever its age.
A file's name begins with a dot while it is written. ``sweep`` removes such leftovers, because they
were never accepted, and sets others aside.
"""

import contextlib
import fcntl
import hashlib
import io
import logging
import os
import shutil
import uuid
import zipfile
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import BinaryIO, Self

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

from snapshots.files import aside, kept
from snapshots.problems import TooLarge, TooManyFiles
from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects.paths import is_here
from snapshots.store.parts import sync_folder

logger = logging.getLogger(__name__)

UNFINISHED = "."  # begins the name of a file that is being written
MOST_FILES = 500  # in one request; each is an open file while it is read


class Draft:
    """A new file in ``UPLOADS_DIR``, locked while this object is open.

    A row keeps its ``name``. Closing removes the file unless ``keep`` was called before. A file
    that ``grows`` after that stays on this machine, whatever uploads are kept on.
    """

    def __init__(self, *, grows: bool = False) -> None:
        self._grows = grows
        self.size = 0
        self._hash = hashlib.sha256()
        self._kept = False
        self.file: BinaryIO
        self.path, self.file = self._opened()
        self.name = self.path.name.removeprefix(UNFINISHED)

    def _opened(self) -> tuple[Path, BinaryIO]:
        return _locked_file()

    def write(self, chunk: bytes) -> None:
        """Append a chunk. Raises: TooLarge above MAX_UPLOAD_BYTES; then closing removes all."""
        self.size += len(chunk)
        if self.size > settings.MAX_UPLOAD_BYTES:
            raise too_large()
        self._hash.update(chunk)
        self.file.write(chunk)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of what was written, in hex."""
        return self._hash.hexdigest()

    def flush(self) -> None:
        """Write what is still in memory."""
        self.file.flush()

    def keep(self) -> None:
        """Make the file outlive this object, on disk. Call it before its row is committed.

        Raises: StoreUnreachable if uploads are kept on an object store.
        """
        self.file.flush()
        os.fsync(self.file.fileno())
        if not self._grows:
            kept.put(self.path, self.name)
        self.path = self.path.rename(path_of(self.name))
        sync_folder(self.path.parent)
        self._kept = True

    def discard(self) -> None:
        """Undo ``keep``, because the row was not committed.

        If the object store does not answer, a sweep looks after what was put there.
        """
        if self._kept:
            self._kept = False
            if not self._grows:
                drop_far(self.name)

    def close(self) -> None:
        if self.file.closed:
            return
        if not self._kept:
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the disk may be full; a kept file was flushed before
            self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _locked_file() -> tuple[Path, BinaryIO]:
    """Return a new file that is locked; try again if a sweep removes it before the lock."""
    while True:
        path = path_of(f"{UNFINISHED}{uuid.uuid4().hex}")
        file = path.open("xb+")
        fcntl.flock(file, fcntl.LOCK_EX)
        if is_at(file, path):
            return path, file
        file.close()


def is_at(file: BinaryIO, path: Path) -> bool:
    """Tell whether ``path`` still names the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def pack(draft: Draft, files: Iterable[tuple[str, Path]]) -> None:
    """Write files into a draft as one package. Raises: TooLarge.

    ``files`` gives each file's name in the package and its path.
    """
    with zipfile.ZipFile(_Counted(draft), "w", zipfile.ZIP_STORED) as package:
        for name, path in files:
            entry = zipfile.ZipInfo(name)
            with path.open("rb") as source, package.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 2**20)


class _Counted(io.RawIOBase):
    """A draft as a file that can only be written, from its beginning to its end."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self._draft.write(data)
        return len(data)


class DraftUpload(UploadedFile):
    """A file of a request that is already in its draft."""

    name: str
    size: int

    def __init__(self, draft: Draft, name: str | None, content_type: str | None) -> None:
        super().__init__(draft.file, name, content_type, draft.size)
        self.draft = draft

    def close(self) -> None:
        self.draft.close()


def flushed_path(file: UploadedFile) -> Path:
    """Return where the bytes of an uploaded file lie, after writing what is still in memory.

    ``UploadHandler`` makes every file of a request a ``DraftUpload``.
    """
    draft: Draft = file.draft  # type: ignore[attr-defined]
    draft.file.flush()
    return draft.path


class UploadHandler(FileUploadHandler):
    """Writes the files of a request straight to drafts, and stops reading if one is too large."""

    draft: Draft | None = None
    _files = 0

    def new_file(self, *args, **kwargs) -> None:
        """Begin a file. Raises: TooManyFiles, because Django's own limit cannot say what to do."""
        self._files += 1
        if self._files > MOST_FILES:
            raise too_many_files()
        super().new_file(*args, **kwargs)
        self.draft = Draft()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self.draft is not None  # Django has called ``new_file``
        try:
            self.draft.write(raw_data)
        except (TooLarge, OSError):
            self.upload_interrupted()
            raise

    def file_complete(self, file_size: int) -> DraftUpload:
        draft, self.draft = self.draft, None
        assert draft is not None  # Django has called ``new_file``
        draft.file.seek(0)
        return DraftUpload(draft, self.file_name, self.content_type)

    def upload_interrupted(self) -> None:
        if self.draft is not None:
            self.draft.close()
            self.draft = None


def drafts(files: Collection[UploadedFile]) -> list[DraftUpload]:
    """Return the files of a request, all of which ``UploadHandler`` has made."""
    made = [file for file in files if isinstance(file, DraftUpload)]
    assert len(made) == len(files)
    return made


def path_of(name: str) -> Path:
    """Return where an upload lies on this machine, if it does."""
    return Path(settings.UPLOADS_DIR) / name


def at_hand(name: str) -> Path:
    """Return the file of an upload on this machine; fetch it if it is kept on an object store.

    There is no file if the upload is lost. Raises: StoreUnreachable.
    """
    path = path_of(name)
    if is_here(kept.root()):
        return path
    if not kept.touch(path):
        kept.fetch(name, _locked_file, path)
    return path


def remove(name: str) -> None:
    """Remove an upload; what an object store does not remove now is left to a sweep."""
    if name:
        drop_far(name)
        path_of(name).unlink(missing_ok=True)


def drop_far(name: str) -> None:
    """Remove an upload from the object store, or log why a sweep must do it later."""
    try:
        kept.drop(name)
    except StoreUnreachable as error:
        logger.warning("The upload %s is left to a sweep: %s", name, error)


def too_large() -> TooLarge:
    limit = settings.MAX_UPLOAD_BYTES
    return TooLarge(
        f"The file is larger than {limit:,} bytes, the most that this server accepts in one "
        "request. Compress it (.gz or .zst), send it in pieces, as the page of recordings does, or "
        "ask the operator to raise MAX_UPLOAD_BYTES.",
        limit=limit,
    )


def too_many_files() -> TooManyFiles:
    return TooManyFiles(
        f"A request may hold at most {MOST_FILES:,} files. Send a folder as one package (zip, tar, "
        "tar.gz or tar.zst), or drop it on the page of recordings, which packs it for you; on "
        "the server, “python manage.py ingest FOLDER” reads it from its place.",
        limit=MOST_FILES,
    )


def aside_folder() -> Path:
    return Path(settings.DATA_DIR) / aside.FOLDER


def sweep(
    is_known: Callable[[str], bool],
    may_touch: Callable[[Path], bool] = lambda path: True,
    named: Collection[str] = (),
) -> list[str]:
    """Remove unfinished files that nobody writes, and set aside complete ones, unless a row keeps
    them.

    Args:
        is_known: tells whether a row keeps the name, which is given without the dot of an
            unfinished file. It is called while a complete file is locked, so that a writer who
            commits its row in between is not missed. The row of an unfinished file is there
            before the file, so that such a file need not be locked, which would hold up its writer.
        may_touch: tells whether a complete file that no row keeps may be moved.
        named: names that rows keep, which spares the look at most of many files.

    Returns the names of what was removed or set aside.
    """
    with os.scandir(settings.UPLOADS_DIR) as entries:
        others = [Path(each.path) for each in entries if each.name not in named and each.is_file()]
    return [path.name for path in others if _swept(path, is_known, may_touch)]


def is_being_written(path: Path) -> bool:
    """Tell whether a living process holds the lock on a file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # it has gone, or is not a file
        return False
    return False


def _swept(path: Path, is_known: Callable[[str], bool], may_touch: Callable[[Path], bool]) -> bool:
    is_unfinished = path.name.startswith(UNFINISHED)
    if is_unfinished and is_known(path.name.removeprefix(UNFINISHED)):
        return False
    passing = contextlib.suppress(FileNotFoundError, BlockingIOError)
    with aside.logged_faults(path.name), passing, path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_unfinished:
            path.unlink()
            return True
        if is_at(file, path) and not is_known(path.name) and may_touch(path):
            _let_go(path)
            return True
    return False


def _let_go(path: Path) -> None:
    """Set a complete file aside; remove it if it is only a copy of what an object store keeps."""
    if is_here(kept.root()):
        aside.put(path, aside_folder(), aside.UPLOAD, "No recording in the database names it.")
    else:
        path.unlink()
