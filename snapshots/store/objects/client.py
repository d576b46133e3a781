"""Send requests to an object store that speaks S3, and say in a sentence why one failed.

Address and credentials come from the environment: ``AWS_ENDPOINT_URL``, ``AWS_REGION``,
``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, or what the machine's own role gives. No message
repeats them.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from typing import IO, TYPE_CHECKING, TypeVar

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

from snapshots.store.errors import StoreUnreachable
from snapshots.store.objects import causes, seals
from snapshots.store.objects.seals import Seal

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig, RetryConfig

T = TypeVar("T")
logger = logging.getLogger(__name__)

AT_ONCE = 24  # requests
_SILENT = timedelta(seconds=8)  # after which a store that says nothing does not answer
_RETRIES: "RetryConfig" = {"max_retries": 4, "retry_timeout": _SILENT}
_WRITE_SECONDS = int(os.environ.get("STORE_WRITE_SECONDS") or 20)  # for each request that writes
_PARTS_AT_ONCE = 4
_DELETED_AT_ONCE = 1000
_LISTED_AT_ONCE = 1000
_ASKED = 3  # times, if the answer cannot be true


class CutShort(FileNotFoundError):
    """An object is there, and what was asked for lies beyond its end."""

    what = "It is shorter than it was."
    cause = "Was it cut short or written over?"


class Altered(CutShort):
    """An object is there, and has other bytes than were written."""

    what = "It has other bytes than were written."
    cause = "Was it written over, or does a proxy change what the store answers?"


class Untrue(StoreUnreachable):
    """An answer came that cannot be one to the question."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an object before it is read.

    Attributes:
        size: in bytes.
        sums: the checksums of its seal; empty if it has none, as what others have written.
        tag: of the store; None if any will do.
        time: when it was written, in seconds.
    """

    size: int
    sums: bytes = b""
    tag: str | None = None
    time: float = 0.0


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
    except CutShort:
        raise
    except (BaseError, OSError) as error:
        text = str(error)
        if causes.is_beyond_end(text):
            raise CutShort(f"{where} is shorter than it was") from None
        is_gone = isinstance(error, NotFoundError | FileNotFoundError)
        if is_gone and causes.code_of(text) != causes.NO_BUCKET and not causes.is_page(text):
            raise FileNotFoundError(f"{where} does not exist") from None
        cause = causes.cause_of(text)
        raise (Untrue if cause in causes.PASSING else StoreUnreachable)(where, cause) from None


def _believed(bucket: str, key: str, ask: Callable[[], T]) -> T:
    """Return what a request gives, which is sent anew if its answer cannot be true.

    Raises: Untrue or CutShort if that is so each time; else as ``_explained`` does.
    """
    for left in reversed(range(_ASKED)):
        try:
            with _explained(bucket, key):
                return ask()
        except (Untrue, CutShort) as error:
            if not left:
                raise
            logger.warning("The object store is asked again. %s", error)
    raise AssertionError


def _require_own(bucket: str, key: str, answer: "GetResult") -> Seal | None:
    """Check that an answer is about this object, and return its seal. Raises: Untrue."""
    where = f"s3://{bucket}/{key}"
    if causes.is_type_of_page(str(answer.attributes.get("Content-Type", ""))):
        raise Untrue(where, causes.NO_STORE)
    text = answer.attributes.get(seals.METADATA)
    seal = Seal.read(str(text)) if text else None
    if seal and seal.owner != seals.owner_of(key):
        raise Untrue(where, causes.OTHER_OBJECT)
    if seal and seal.size != answer.meta["size"]:
        raise Untrue(where, causes.other_length(answer.meta["size"], seal.size))
    return seal


def _require_length(bucket: str, key: str, content: bytes, size: int) -> None:
    if len(content) != size:
        raise Untrue(f"s3://{bucket}/{key}", causes.other_length(len(content), size))


def _require_written(bucket: str, key: str, content: bytes, begin: int, known: Known) -> None:
    """Check the bytes of whole blocks. Raises: Altered."""
    if known.sums and not seals.fit(content, begin, known.size, known.sums):
        raise Altered(f"s3://{bucket}/{key} has other bytes than were written")


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
            kind = Untrue if cause == causes.NO_STORE else StoreUnreachable
            raise kind(where, cause) from None
    else:
        raise Untrue(where, causes.NO_STORE)
    traffic.note()


def read(bucket: str, key: str, known: Known | None = None) -> bytes:
    """Return a whole object, of which something may be known.

    Raises: FileNotFoundError, CutShort or Altered if it is not what is known, StoreUnreachable.
    """

    def ask() -> bytes:
        answer = obstore.get(_client(bucket), key)
        seal = _require_own(bucket, key, answer)
        content = answer.bytes().to_bytes()
        traffic.note(len(content))
        _require_length(bucket, key, content, answer.meta["size"])
        if seal and not seals.fit(content, 0, seal.size, seal.sums):
            raise Untrue(f"s3://{bucket}/{key}", causes.OTHER_BYTES)
        if known and len(content) < known.size:
            raise CutShort(f"s3://{bucket}/{key} is shorter than it was")
        if known:
            _require_written(bucket, key, content, 0, known)
        return content

    return _believed(bucket, key, ask)


def read_range(bucket: str, key: str, start: int, end: int, known: Known | None = None) -> bytes:
    """Return the bytes from ``start`` to before ``end``, checked by what is known of the object.

    To check them, whole blocks are read. Raises: CutShort if the object ends before, Altered; else
    as ``read`` does.
    """
    begin, stop = start, end
    if known and known.sums:
        begin, stop = seals.widened(start, end, known.size)

    def ask() -> bytes:
        answer = obstore.get(_client(bucket), key, options={"range": (begin, stop)})
        _require_own(bucket, key, answer)
        content = answer.bytes().to_bytes()
        traffic.note(len(content))
        if answer.meta["size"] < stop:
            raise CutShort(f"s3://{bucket}/{key} is shorter than it was")
        _require_length(bucket, key, content, stop - begin)
        if known and known.tag not in (None, answer.meta["e_tag"]):
            raise Altered(f"s3://{bucket}/{key} was written over while it was read")
        if known:
            _require_written(bucket, key, content, begin, known)
        return content

    content = _believed(bucket, key, ask)
    return content[start - begin : end - begin]


def read_ranges(
    bucket: str, key: str, ranges: Sequence[tuple[int, int]], known: Known | None = None
) -> Iterator[bytes]:
    """Yield the bytes of some ranges, which are asked for at the same time."""
    if len(ranges) == 1:
        return iter([read_range(bucket, key, *ranges[0], known)])
    return in_parallel().map(lambda part: read_range(bucket, key, part[0], part[1], known), ranges)


def write(bucket: str, key: str, content: bytes | IO[bytes]) -> None:
    """Put a whole object, which appears at once or not at all. Raises: StoreUnreachable.

    A store that takes none of it is given up after ``STORE_WRITE_SECONDS``.
    """
    seal, tag = seals.made(key, content)
    answered, cause = "", causes.NOT_KEPT
    try:
        with _explained(bucket, key):
            answer = obstore.put(
                _client(bucket, is_writing=True),
                key,
                content,
                attributes={seals.METADATA: seal.text},
                chunk_size=seals.PART,
                max_concurrency=_PARTS_AT_ONCE,
            )
        answered = str(answer["e_tag"]).strip('"')
    except FileNotFoundError:  # of a bucket, or of an upload in parts that was ended already
        cause = causes.NO_SUCH_BUCKET
    traffic.note()
    if answered != tag and not _is_kept(bucket, key, seal):
        raise StoreUnreachable(f"s3://{bucket}/{key}", cause)


def _is_kept(bucket: str, key: str, seal: Seal) -> bool:
    """Tell whether the store has an object that was written, by reading it.

    Any web page answers a PUT like S3, and a proxy may send one twice. A store that encrypts with
    keys of its own has other tags, too. Raises: StoreUnreachable.
    """
    try:
        known = look(bucket, key)
        if (known.size, known.sums) != (seal.size, seal.sums):
            return False
        step = max(seals.PART, seals.block_of(known.size))
        for begin in range(0, known.size, step):
            read_range(bucket, key, begin, min(begin + step, known.size), known)
    except FileNotFoundError:
        return False
    return True


def look(bucket: str, key: str) -> Known:
    """Return what the store says of an object without its bytes. Raises as ``read`` does."""

    def ask() -> Known:
        answer = obstore.get(_client(bucket), key, options={"head": True})
        traffic.note()
        seal, meta = _require_own(bucket, key, answer), answer.meta
        sums, time = seal.sums if seal else b"", meta["last_modified"].timestamp()
        return Known(meta["size"], sums, meta["e_tag"], time)

    return _believed(bucket, key, ask)


def delete(bucket: str, keys: Sequence[str]) -> None:
    """Remove objects; one that does not exist is no error. Raises: StoreUnreachable.

    If it is one, the store is asked whether it is gone; who removes more asks for a list.
    """
    for first in range(0, len(keys), _DELETED_AT_ONCE):
        some = list(keys[first : first + _DELETED_AT_ONCE])
        _believed(bucket, some[0], partial(obstore.delete, _client(bucket), some))
        traffic.note()
    if len(keys) == 1 and _is_there(bucket, keys[0]):
        raise StoreUnreachable(f"s3://{bucket}/{keys[0]}", causes.NOT_REMOVED)


def _is_there(bucket: str, key: str) -> bool:
    try:
        look(bucket, key)
    except FileNotFoundError:
        return False
    return True


def listed(bucket: str, folder: str) -> list[tuple[str, int]]:
    """Return the key and the size of each object below a folder, whose name ends without a slash.

    A list does not show what it lacks, so there are two, and what one of them has counts.
    Raises: StoreUnreachable.
    """

    def ask() -> dict[str, int]:
        found: dict[str, int] = {}
        for chunk in obstore.list(_client(bucket), folder or None, chunk_size=_LISTED_AT_ONCE):
            traffic.note()
            _require_below(bucket, folder, [entry["path"] for entry in chunk], found)
            found |= {entry["path"]: entry["size"] for entry in chunk}
        if not 0 < len(found) < _LISTED_AT_ONCE:  # the first page was empty, or the last may be
            _require_store(bucket, folder)
        return found

    first, second = (_believed(bucket, folder, ask) for _ in range(2))
    return sorted((first | second).items())


def _require_below(bucket: str, folder: str, keys: Sequence[str], seen: Collection[str]) -> None:
    """Check that a page of a list has only what is below a folder, and nothing of other pages."""
    if any(key in seen or (folder and not key.startswith(f"{folder}/")) for key in keys):
        raise Untrue(f"s3://{bucket}/{folder}", causes.OTHER_LIST)


def require_answer(bucket: str, folder: str) -> None:
    """Ask for a list that is empty, whatever the bucket holds. Raises: StoreUnreachable."""
    with _explained(bucket, folder):
        for _ in obstore.list(_client(bucket), f"{folder}/.nothing".lstrip("/")):
            break
    traffic.note()
    _require_store(bucket, folder)


def children(bucket: str, folder: str) -> tuple[list[str], list[str]]:
    """Return the keys of the folders and of the objects directly in a folder, by two lists.

    Raises: StoreUnreachable.
    """

    def ask() -> tuple[set[str], set[str]]:
        found = obstore.list_with_delimiter(_client(bucket), folder or None)
        traffic.note()
        folders = set(found["common_prefixes"])
        objects = {entry["path"] for entry in found["objects"]}
        _require_below(bucket, folder, [*folders, *objects], ())
        if not 0 < len(folders) + len(objects) < _LISTED_AT_ONCE:
            _require_store(bucket, folder)
        return folders, objects

    first, second = (_believed(bucket, folder, ask) for _ in range(2))
    return sorted(first[0] | second[0]), sorted(first[1] | second[1])
