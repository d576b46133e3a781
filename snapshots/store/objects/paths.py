"""A path on an object store, so that what writes and reads recordings need not know where they lie.

Folders do not exist there: making one does nothing, and one exists if an object is below it. An
object is written at once, when its file is closed. Whatever is not defined here needs a file of
this machine, and ``__fspath__`` refuses it.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath
from types import TracebackType
from typing import IO, Any

from snapshots.store.errors import StoreDamaged, StoreUnreachable, name_in_recording
from snapshots.store.objects import catalogues, causes, client, files

SCHEME = "s3"
_FIRST = f"{SCHEME}:"
_COPIED_AT_ONCE = 2**20  # bytes
_REMOVED = 3  # times, until no list has it any more


class ObjectPath(PosixPath):
    """A path ``s3://BUCKET/KEY``."""

    __slots__ = ()

    @property
    def bucket(self) -> str:
        """Return the name of the bucket."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """Return the key in the bucket."""
        return "/".join(self.parts[2:])

    def __str__(self) -> str:
        return f"{SCHEME}://{'/'.join(self.parts[1:])}"

    def __fspath__(self) -> str:
        raise TypeError(f"{self} is on an object store and no file of this machine")

    # --- reading -----------------------------------------------------------------------------

    def exists(self, **_: Any) -> bool:
        """Tell whether there is an object, or one below this folder. Raises: StoreUnreachable."""
        if catalogues.lacks(self.bucket, self.key):
            return False
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Tell whether there is an object. Raises: StoreUnreachable."""
        try:
            self.size()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Tell whether there is an object below this folder. Raises: StoreUnreachable."""
        return any(client.children(self.bucket, self.key))

    def size(self) -> int:
        """Return the size of the object. Raises: FileNotFoundError, StoreUnreachable."""
        known = catalogues.entry(self.bucket, self.key)
        return known.size if known else client.look(self.bucket, self.key).size

    def stat(self, **_: Any) -> os.stat_result:
        """Return size and time: of the object, or for a published folder of its catalogue.

        An object in a catalogue never changes, and has no time.
        """
        known = catalogues.entry(self.bucket, self.key)
        size, time = (known.size, 0.0) if known else self._size_and_time()
        return os.stat_result((0o100600, 0, 0, 1, 0, 0, size, time, time, time))

    def lstat(self) -> os.stat_result:
        """Return the same as ``stat``, since there are no links."""
        return self.stat()

    def _size_and_time(self) -> tuple[int, float]:
        try:
            found = client.look(self.bucket, self.key)
        except FileNotFoundError:
            found = client.look(self.bucket, f"{self.key}/{catalogues.CATALOGUE}")
        return found.size, found.time

    def read_bytes(self) -> bytes:
        """Return the whole object. Raises: FileNotFoundError, StoreDamaged, StoreUnreachable."""
        known = catalogues.entry(self.bucket, self.key)
        if known and known.is_whole:
            return known.head
        try:
            return client.read(self.bucket, self.key, known.known if known else None)
        except client.CutShort as error:
            raise StoreDamaged(name_in_recording(self), error.what, error.cause) from None

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """Return the whole object as text. Raises: FileNotFoundError, StoreUnreachable."""
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def iterdir(self) -> Generator["ObjectPath", None, None]:
        """Yield the folders and the objects directly in the folder."""
        for names in client.children(self.bucket, self.key):
            yield from (self / name.rpartition("/")[2] for name in names)

    def glob(self, pattern: str) -> Generator["ObjectPath", None, None]:
        """Yield what is directly in the folder and has a name like the pattern."""
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def rglob(self, pattern: str) -> Generator["ObjectPath", None, None]:
        """Yield all objects below the folder that have a name like the pattern."""
        skipped = len(self.key) + 1 if self.key else 0
        for key, _ in client.listed(self.bucket, self.key):
            path = self / key[skipped:]
            if fnmatchcase(path.name, pattern):
                yield path

    # --- writing -----------------------------------------------------------------------------

    def open(self, mode: str = "r", *_: Any, **__: Any) -> Any:
        """Open the object to be read by ranges (``rb``), or a new one for writing (``wb``)."""
        if mode == "rb":
            known = catalogues.entry(self.bucket, self.key)
            if known and known.is_whole:
                return io.BytesIO(known.head)
            return files.reading(self.bucket, self.key, known.known if known else None)
        if mode == "wb":
            return _Unput(self)
        raise ValueError(f"{self} is opened only as rb or wb, not as {mode}")

    def write_bytes(self, data: Any) -> int:
        """Put the object. Raises: StoreUnreachable."""
        client.write(self.bucket, self.key, bytes(data))
        return len(data)

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Do nothing, since folders need not be made."""

    def touch(self, *_: Any, **__: Any) -> None:
        """Put an empty object."""
        self.write_bytes(b"")

    def unlink(self, *_: Any, **__: Any) -> None:
        """Remove the object; a store does not say whether there was one."""
        client.delete(self.bucket, [self.key])

    def absolute(self) -> "ObjectPath":
        """Return the path itself, which has no other form."""
        return self

    def resolve(self, *_: Any, **__: Any) -> "ObjectPath":
        """Return the path itself, which has no links."""
        return self


class _Unput:
    """A local file that becomes an object when it is closed, unless an error left its block."""

    def __init__(self, path: ObjectPath) -> None:
        self._path = path
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - __exit__ closes it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Unput":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0)
                client.write(self._path.bucket, self._path.key, self._file)


def path_of(text: str | Path) -> Path:
    """Return a path that was written as a text: ``s3://…``, or a path of this machine."""
    if isinstance(text, Path):
        return text
    return ObjectPath(_FIRST, text[len(_FIRST) + 2 :]) if text.startswith(_FIRST) else Path(text)


def object_root(url: str) -> ObjectPath:
    """Return the path that ``s3://BUCKET/PREFIX`` names, whose characters stand for themselves.

    Raises: ValueError, with a sentence.
    """
    bucket, _, prefix = url.removeprefix(f"{SCHEME}://").partition("/")
    if "@" in bucket or "?" in url:
        raise ValueError(
            "It holds credentials or a query. They belong in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY."
        )
    if not bucket or ":" in bucket:
        raise ValueError("The name of a bucket must follow s3://, as in s3://bucket/prefix.")
    names = [name for name in prefix.split("/") if name]
    if any(name in (".", "..") for name in names):
        raise ValueError("Its prefix has a part that is “.” or “..”.")
    return ObjectPath(_FIRST, bucket, *names)


def know_catalogue(folder: Path) -> None:
    """Read the catalogue of a published recording once, if its folder is on an object store.

    What is known of its files is then answered without requests. Raises: StoreUnreachable.
    """
    if isinstance(folder, ObjectPath):
        catalogues.load(folder.bucket, folder.key)


def fault_of_objects(folder: Path) -> str | None:
    """Return in which file a published recording differs from its catalogue, if it is far.

    Raises: StoreDamaged, StoreUnreachable.
    """
    return catalogues.fault(folder.bucket, folder.key) if isinstance(folder, ObjectPath) else None


def require_answer(path: Path) -> None:
    """Check with one small request that a path's object store answers. Raises: StoreUnreachable."""
    if isinstance(path, ObjectPath):
        client.require_answer(path.bucket, path.key)


def is_here(path: Path) -> bool:
    """Tell whether a path is one of this machine's files."""
    return not isinstance(path, ObjectPath)


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it, wherever it is; none is no error.

    Raises: StoreUnreachable, also if the object store still has it afterwards.
    """
    if not isinstance(path, ObjectPath):
        shutil.rmtree(path, ignore_errors=True)
        return
    left = _keys_below(path)
    for _ in range(_REMOVED):
        client.delete(path.bucket, sorted(left))
        left = left and left & _keys_below(path)
    if left:
        raise StoreUnreachable(str(path), causes.NOT_REMOVED)
    catalogues.forget(path.bucket, path.key)


def _keys_below(folder: ObjectPath) -> set[str]:
    return {key for key, _ in client.listed(folder.bucket, folder.key)}


def tree_bytes(path: Path) -> int:
    """Return the size of a file or of all files below a folder, or 0 if it is gone."""
    if isinstance(path, ObjectPath):
        below = sum(size for _, size in client.listed(path.bucket, path.key))
        return below or (path.size() if path.is_file() else 0)
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def copy_here(source: Path, target: Path) -> None:
    """Copy an object, or a folder of objects, to this machine. Raises: FileNotFoundError."""
    assert isinstance(source, ObjectPath)
    below = list(source.rglob("*"))
    for file in below or [source]:
        own = target.joinpath(*file.relative_to(source).parts)
        own.parent.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as far, own.open("wb") as sink:
            shutil.copyfileobj(far, sink, _COPIED_AT_ONCE)


def put_tree(source: Path, target: Path) -> None:
    """Copy a file or a folder of this machine to an object store; the catalogue is put last."""
    own = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
    for file in sorted(own, key=lambda path: (path.name == catalogues.CATALOGUE, path)):
        put_file(file, target / file.relative_to(source))


def put_file(source: Path, target: Path) -> None:
    """Copy a file of this machine to an object. Raises: OSError, StoreUnreachable."""
    assert isinstance(target, ObjectPath)
    with source.open("rb") as file:
        client.write(target.bucket, target.key, file)


@contextmanager
def scratch_beside(work: Path) -> Iterator[Path]:
    """Give a folder for files that must be mapped: the working folder, unless it is far.

    Instead of a far one it is a temporary folder of this machine, which is removed at the end.
    """
    if is_here(work):
        yield work
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def is_complete(folder: Path) -> bool:
    """Tell whether a stored recording of this name was published. Raises: StoreUnreachable.

    On a disk a folder gets such a name only when it is complete.
    """
    return is_here(folder) or (folder / catalogues.CATALOGUE).is_file()
