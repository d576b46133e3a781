"""Send requests to an object store that speaks S3, and say in a sentence why one failed.

Address and credentials come from the environment: ``AWS_ENDPOINT_URL``, ``AWS_REGION``,
``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, or what the machine's own role gives. No message
repeats them.
"""

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
from obstore.exceptions import (
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from snapshots.store.errors import StoreUnreachable

if TYPE_CHECKING:
    from obstore import ReadableFile
    from obstore.store import ClientConfig, RetryConfig

AT_ONCE = 24  # requests
_SILENT = timedelta(seconds=8)  # after which a store that says nothing does not answer
_RETRIES: "RetryConfig" = {"max_retries": 4, "retry_timeout": _SILENT}
_DELETED_AT_ONCE = 1000
_NO_BUCKET = "NoSuchBucket"
_BUFFER = 2**20  # bytes of a file that is read from its beginning to its end


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
    """Return the client of a bucket. While a long object is sent, a store says nothing."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    options: ClientConfig = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=5),
        "timeout": timedelta(seconds=60),
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
    """Turn the library's errors into FileNotFoundError and StoreUnreachable."""
    where = f"s3://{bucket}/{key}"
    try:
        yield
    except (NotFoundError, FileNotFoundError) as error:
        if _NO_BUCKET in str(error):
            raise StoreUnreachable(where, _cause(error)) from None
        raise FileNotFoundError(f"{where} does not exist") from None
    except (PermissionDeniedError, UnauthenticatedError):
        raise StoreUnreachable(
            where, "It refuses the credentials. Do AWS_ACCESS_KEY_ID and its secret fit?"
        ) from None
    except (BaseError, OSError) as error:
        raise StoreUnreachable(where, _cause(error)) from None


def _cause(error: Exception) -> str:
    """Return the likely cause in words; the library's own text may hold an address with a key."""
    text = str(error)
    if "InvalidAccessKeyId" in text or "SignatureDoesNotMatch" in text or "credential" in text:
        return "It refuses the credentials. Do AWS_ACCESS_KEY_ID and its secret fit?"
    if _NO_BUCKET in text:
        return "There is no such bucket. Was it created?"
    if "connect" in text.lower() or "timed out" in text.lower() or "timeout" in text.lower():
        return "It does not answer. Does it run, and does AWS_ENDPOINT_URL name it?"
    return f"A request failed ({type(error).__name__}). Does it run, and does it have room?"


def read(bucket: str, key: str) -> bytes:
    """Return a whole object. Raises: FileNotFoundError, StoreUnreachable."""
    with _explained(bucket, key):
        content = obstore.get(_client(bucket), key).bytes().to_bytes()
    traffic.note(len(content))
    return content


def read_range(bucket: str, key: str, start: int, end: int) -> bytes:
    """Return the bytes from ``start`` to before ``end``. Raises as ``read`` does."""
    with _explained(bucket, key):
        content = obstore.get_range(_client(bucket), key, start=start, end=end).to_bytes()
    traffic.note(len(content))
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
    """Put a whole object, which appears at once or not at all. Raises: StoreUnreachable."""
    with _explained(bucket, key):
        obstore.put(_client(bucket, is_writing=True), key, content)
    traffic.note()


def size_and_time(bucket: str, key: str) -> tuple[int, float]:
    """Return the size of an object and when it was written. Raises as ``read`` does."""
    with _explained(bucket, key):
        meta = obstore.head(_client(bucket), key)
    traffic.note()
    return meta["size"], meta["last_modified"].timestamp()


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
    """Yield the key and the size of each object below a folder, whose name ends without a slash."""
    with _explained(bucket, folder):
        for chunk in obstore.list(_client(bucket), folder or None, chunk_size=1000):
            traffic.note()
            yield from ((entry["path"], entry["size"]) for entry in chunk)


def require_answer(bucket: str, folder: str) -> None:
    """Ask for a list that is empty, whatever the bucket holds. Raises: StoreUnreachable."""
    with _explained(bucket, folder):
        for _ in obstore.list(_client(bucket), f"{folder}/.nothing".lstrip("/")):
            break
    traffic.note()


def children(bucket: str, folder: str) -> tuple[list[str], list[str]]:
    """Return the keys of the folders and of the objects directly in a folder."""
    with _explained(bucket, folder):
        found = obstore.list_with_delimiter(_client(bucket), folder or None)
    traffic.note()
    return list(found["common_prefixes"]), [entry["path"] for entry in found["objects"]]
