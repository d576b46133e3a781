"""Send requests to an object store that speaks S3, and say in a sentence why one failed.

Address and credentials come from the environment: ``AWS_ENDPOINT_URL``, ``AWS_REGION``,
``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, or what the machine's own role gives. No message
repeats them.
"""

import hashlib
import io
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects import causes

if TYPE_CHECKING:
    from obstore import GetResult, ReadableFile
    from obstore.store import ClientConfig, RetryConfig

AT_ONCE = 24  # requests
_SILENT = timedelta(seconds=8)  # after which a store that says nothing does not answer
_RETRIES: "RetryConfig" = {"max_retries": 4, "retry_timeout": _SILENT}
_WRITE_SECONDS = int(os.environ.get("STORE_WRITE_SECONDS") or 20)  # for each request that writes
_WRITTEN_AT_ONCE = 16 * 2**20  # bytes of a request; more than that is sent in parts
_PARTS_AT_ONCE = 4
_DELETED_AT_ONCE = 1000
_LISTED_AT_ONCE = 1000
_BUFFER = 2**20  # bytes of a file that is read from its beginning to its end


class CutShort(FileNotFoundError):
    """An object is there, and what was asked for lies beyond its end."""


class Traffic:
    """Counts what this process asked of object stores. Safe for threads."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes_read = 0
        self._lock = threading.Lock()

    def note(self, size: int = 0) -> None:
        """Note one request, and the bytes of its answer."""
        with self._lock:
            self.requests += 1
            self.bytes_read += size

    def seen(self) -> tuple[int, int]:
        """Return the requests so far, and the bytes of their answers."""
        with self._lock:
            return self.requests, self.bytes_read


traffic = Traffic()
_first_user = 0  # the process that sent the first request, or 0


@lru_cache(maxsize=16)
def _store(bucket: str, is_writing: bool) -> S3Store:
    """Return the client of a bucket.

    While an object is sent, a store says nothing. So a request that writes has a time for all of
    it, and any other has one for each time that the store is silent.
    """
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    options: ClientConfig = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=5),
        "timeout": timedelta(seconds=_WRITE_SECONDS if is_writing else 60),
    }
    if not is_writing:
        options["read_timeout"] = _SILENT
    return S3Store(bucket, client_options=options, retry_config=_RETRIES)


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="object-store")


def in_parallel() -> ThreadPoolExecutor:
    """Return the threads in which this process sends requests at the same time."""
    return _threads(os.getpid())


def _client(bucket: str, *, is_writing: bool = False) -> S3Store:
    """Return the client of a bucket.

    Raises: RuntimeError in a process that was forked after a request: there it would wait forever.
    """
    global _first_user
    _first_user = _first_user or os.getpid()
    if _first_user != os.getpid():
        raise RuntimeError(
            "This process was forked from one that had sent requests to an object store, so its "
            "own requests would never be answered. Send the first request after the fork."
        )
    return _store(bucket, is_writing)


@contextmanager
def _explained(bucket: str, key: str) -> Iterator[None]:
    """Turn the library's errors into FileNotFoundError, CutShort and StoreUnreachable."""
    where = f"s3://{bucket}/{key}"
    try:
        yield
    except (BaseError, OSError) as error:
        text = str(error)
        if causes.is_beyond_end(text):
            raise CutShort(f"{where} is shorter than it was") from None
        is_gone = isinstance(error, NotFoundError | FileNotFoundError)
        if is_gone and causes.code_of(text) != causes.NO_BUCKET and not causes.is_page(text):
            raise FileNotFoundError(f"{where} does not exist") from None
        raise StoreUnreachable(where, causes.cause_of(text)) from None


def _require_no_page(bucket: str, key: str, answer: "GetResult") -> None:
    """Check that an object was found and no web page. Raises: StoreUnreachable."""
    if causes.is_type_of_page(str(answer.attributes.get("Content-Type", ""))):
        raise StoreUnreachable(f"s3://{bucket}/{key}", causes.NO_STORE)


def _require_store(bucket: str, folder: str) -> None:
    """Check that S3 has answered, because any web page reads like an empty list.

    For an object that does not exist, S3 has a code that nothing else answers with.
    Raises: StoreUnreachable.
    """
    where, key = f"s3://{bucket}/{folder}", f"{folder}/.nothing".lstrip("/")
    try:
        obstore.get(_client(bucket), key)
    except (BaseError, OSError) as error:
        if causes.code_of(str(error)) != causes.NO_KEY:
            is_gone = isinstance(error, NotFoundError | FileNotFoundError)
            cause = causes.NO_STORE if is_gone else causes.cause_of(str(error))
            raise StoreUnreachable(where, cause) from None
    else:
        raise StoreUnreachable(where, causes.NO_STORE)
    traffic.note()


def read(bucket: str, key: str) -> bytes:
    """Return a whole object. Raises: FileNotFoundError, StoreUnreachable."""
    with _explained(bucket, key):
        answer = obstore.get(_client(bucket), key)
        _require_no_page(bucket, key, answer)
        content = answer.bytes().to_bytes()
    traffic.note(len(content))
    return content


def read_range(bucket: str, key: str, start: int, end: int) -> bytes:
    """Return the bytes from ``start`` to before ``end``.

    Raises: CutShort if the object ends before; else as ``read`` does.
    """
    with _explained(bucket, key):
        content = obstore.get_range(_client(bucket), key, start=start, end=end).to_bytes()
    traffic.note(len(content))
    if len(content) != end - start:
        raise CutShort(f"s3://{bucket}/{key} is shorter than it was")
    return content


def read_ranges(bucket: str, key: str, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of some ranges, which are asked for at the same time."""
    if len(ranges) == 1:
        return iter([read_range(bucket, key, *ranges[0])])
    return in_parallel().map(lambda part: read_range(bucket, key, *part), ranges)


def reading(bucket: str, key: str) -> IO[bytes]:
    """Open an object as a file that is read by ranges. Raises as ``read`` does."""
    with _explained(bucket, key):
        file = obstore.open_reader(_client(bucket), key)
    traffic.note()
    return io.BufferedReader(_Reading(file, bucket, key), _BUFFER)


class _Reading(io.RawIOBase):
    """A file of the library, whose errors are explained."""

    def __init__(self, file: "ReadableFile", bucket: str, key: str) -> None:
        self._file, self._place = file, (bucket, key)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _explained(*self._place):
            content = self._file.read(len(buffer))
        traffic.note(len(content))
        buffer[: len(content)] = memoryview(content)
        return len(content)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def write(bucket: str, key: str, content: bytes | IO[bytes]) -> None:
    """Put a whole object, which appears at once or not at all. Raises: StoreUnreachable.

    A store that takes none of it is given up after ``STORE_WRITE_SECONDS``.
    """
    try:
        with _explained(bucket, key):
            answer = obstore.put(
                _client(bucket, is_writing=True),
                key,
                content,
                chunk_size=_WRITTEN_AT_ONCE,
                max_concurrency=_PARTS_AT_ONCE,
            )
    except FileNotFoundError:  # of a bucket, since a new object needs nothing else
        raise StoreUnreachable(f"s3://{bucket}/{key}", causes.NO_SUCH_BUCKET) from None
    traffic.note()
    _require_kept(bucket, key, str(answer["e_tag"]), content)


def _require_kept(bucket: str, key: str, tag: str, content: bytes | IO[bytes]) -> None:
    """Check that S3 took an object, because any web page answers a PUT like S3.

    S3 answers with the MD5 of the bytes, except for parts and some encryption: then it is asked for
    the size. Raises: StoreUnreachable.
    """
    if isinstance(content, bytes):
        if tag.strip('"') == hashlib.md5(content, usedforsecurity=False).hexdigest():
            return
        size = len(content)
    else:
        size = content.seek(0, io.SEEK_END)
    try:
        found, _ = size_and_time(bucket, key)
    except FileNotFoundError:
        found = None
    if found != size:
        raise StoreUnreachable(f"s3://{bucket}/{key}", causes.NO_STORE)


def size_and_time(bucket: str, key: str) -> tuple[int, float]:
    """Return the size of an object and when it was written. Raises as ``read`` does."""
    with _explained(bucket, key):
        answer = obstore.get(_client(bucket), key, options={"head": True})
    _require_no_page(bucket, key, answer)
    traffic.note()
    return answer.meta["size"], answer.meta["last_modified"].timestamp()


def rename(bucket: str, key: str, target: str) -> None:
    """Copy an object and remove the first. Raises as ``read`` does."""
    with _explained(bucket, key):
        obstore.rename(_client(bucket), key, target)
    traffic.note()


def delete(bucket: str, keys: Sequence[str]) -> None:
    """Remove objects; one that does not exist is no error. Raises: StoreUnreachable."""
    for first in range(0, len(keys), _DELETED_AT_ONCE):
        some = keys[first : first + _DELETED_AT_ONCE]
        with _explained(bucket, some[0]):
            obstore.delete(_client(bucket), list(some))
        traffic.note()


def listed(bucket: str, folder: str) -> Iterator[tuple[str, int]]:
    """Yield the key and the size of each object below a folder, whose name ends without a slash.

    Raises: StoreUnreachable.
    """
    count = 0
    with _explained(bucket, folder):
        for chunk in obstore.list(_client(bucket), folder or None, chunk_size=_LISTED_AT_ONCE):
            traffic.note()
            count += len(chunk)
            yield from ((entry["path"], entry["size"]) for entry in chunk)
    if not 0 < count < _LISTED_AT_ONCE:  # the first page was empty, or the last one may be
        _require_store(bucket, folder)


def require_answer(bucket: str, folder: str) -> None:
    """Ask for a list that is empty, whatever the bucket holds. Raises: StoreUnreachable."""
    with _explained(bucket, folder):
        for _ in obstore.list(_client(bucket), f"{folder}/.nothing".lstrip("/")):
            break
    traffic.note()
    _require_store(bucket, folder)


def children(bucket: str, folder: str) -> tuple[list[str], list[str]]:
    """Return the keys of the folders and of the objects directly in a folder.

    Raises: StoreUnreachable.
    """
    with _explained(bucket, folder):
        found = obstore.list_with_delimiter(_client(bucket), folder or None)
    traffic.note()
    folders = list(found["common_prefixes"])
    objects = [entry["path"] for entry in found["objects"]]
    if not 0 < len(folders) + len(objects) < _LISTED_AT_ONCE:
        _require_store(bucket, folder)
    return folders, objects
