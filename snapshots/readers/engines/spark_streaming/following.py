"""Look at the checkpoint folder of a running Spark query, which grows while it is read.

Spark writes ``offsets/N`` before it runs batch N and ``commits/N`` when the batch is complete. It
removes old ones: by default the last 100 batches stay. Files that are cut short, as an object store
may show them for a moment, are read again at the next look.
"""

import os
import stat
from collections.abc import Callable, Container
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from snapshots.domain.archive import model
from snapshots.domain.archive.model import CheckpointFacts
from snapshots.readers.engines.spark_streaming.documents import (
    NotReadable,
    parse_object,
    text_of,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileEntry, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.commits import read_commit
from snapshots.readers.engines.spark_streaming.logs.offsets import read_offsets
from snapshots.readers.engines.spark_streaming.logs.text_logs import LOG_BYTES, numbered

MOST_BATCHES = 2_000  # that a look reads; older ones are left to the next
MOST_BYTES = 256 * 2**20  # of files, likewise
MOST_NAMES = 100_000  # files of one folder
LARGEST = 16 * 2**20  # bytes of a file that is read
_AGAIN = 20  # of the newest batches are read at each look: a restored folder has gone back
_LOGS = ("offsets", "commits")
_METADATA = "metadata"


class Vanished(DamagedFile):
    """A file was removed while the folder was read."""


class NotACheckpoint(ValueError):
    """A folder is not the checkpoint folder of a query; the message says why."""


@dataclass(frozen=True)
class Looked:
    """What the folder of a query shows.

    Attributes:
        query: the id of the query.
        checkpoints: its batches that are new or may have changed.
        problems: what cannot be read, in sentences.
    """

    query: str
    checkpoints: tuple[CheckpointFacts, ...]
    problems: tuple[str, ...]


def look(root: Path, below: str, complete: Callable[[str], Container[int]]) -> Looked:
    """Look at a query's folder. No symbolic link below ``root`` is followed.

    Args:
        root: a folder that is trusted.
        below: the path of the query's folder below it; empty for ``root`` itself.
        complete: returns the batches of a query that are known to be complete. Only the newest of
            them are read again.

    Raises: NotACheckpoint.
    """
    files = _Followed(root, {}, folder=below)
    query = _query(files)
    try:
        planned, committed = (_numbers(files, log) for log in _LOGS)
    except OSError as error:
        raise NotACheckpoint(f"Its folders cannot be read ({error.strerror}).") from None
    checkpoints, problems = [], []
    known = complete(query)
    batches = sorted({*planned, *committed}, reverse=True)
    again = set(batches[:_AGAIN])
    unread = [batch for batch in batches if batch in again or batch not in known]
    for batch in unread[:MOST_BATCHES]:
        if files.spent.counts[LOG_BYTES] > MOST_BYTES:
            break
        try:
            checkpoints.append(
                _batch(files, batch, planned, committed, is_newest=batch == batches[0])
            )
        except Vanished:
            continue
        except DamagedFile as damaged:
            problems.append(str(damaged))
    return Looked(query, tuple(checkpoints), tuple(problems))


@dataclass(frozen=True)
class _Followed(Files):
    """The files of a query's folder, opened without following a link on the way to them."""

    folder: str = ""

    def read(self, path: str, most: int) -> bytes:
        try:
            with self.open(path) as file:
                data = file.read(most + 1)
        except FileNotFoundError as error:
            raise Vanished(path, "It is not there.") from error
        except OSError as error:
            raise DamagedFile(path, f"It cannot be read ({error.strerror}).") from error
        if len(data) > most:
            raise DamagedFile(path, f"It is longer than {most:,} bytes, which is the limit.")
        return data

    def open(self, path: str) -> BufferedReader:
        descriptor = self.descriptor(path, os.O_RDONLY | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(0, "It is not a regular file")
        return os.fdopen(descriptor, "rb")

    def descriptor(self, path: str, flags: int) -> int:
        """Open a file or folder below the query's folder. Raises: OSError."""
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        *parents, last = [part for part in f"{self.folder}/{path}".split("/") if part]
        try:
            for parent in parents:
                inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(last, flags | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)


def _query(files: _Followed) -> str:
    """Return the id of the query. Raises: NotACheckpoint."""
    try:
        document = parse_object(files.read(_METADATA, SparkLimits.log_bytes), SparkLimits.depth)
        query = text_of(document, "id")
    except DamagedFile as damaged:
        raise NotACheckpoint(f"Its file “{_METADATA}” cannot be read. {damaged.what}") from None
    except NotReadable as error:
        raise NotACheckpoint(f"Its file “{_METADATA}” does not name a query: {error}") from None
    if not query:
        raise NotACheckpoint(f"Its file “{_METADATA}” does not name a query.")
    return query


def _numbers(files: _Followed, log: str) -> dict[int, FileEntry]:
    """Return the files of a log by the numbers of their batches.

    Raises: OSError, NotACheckpoint.
    """
    try:
        descriptor = files.descriptor(log, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return {}
    try:
        with os.scandir(descriptor) as entries:
            found = {}
            for place, entry in enumerate(entries):
                if place >= MOST_NAMES:
                    raise NotACheckpoint(f"Its folder “{log}” has more than {MOST_NAMES:,} files.")
                for number in numbered({entry.name}):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # Spark has just removed it
                        continue
                    found[number] = FileEntry(
                        f"{log}/{number}", status.st_size, status.st_mtime_ns // 1_000_000
                    )
            return found
    finally:
        os.close(descriptor)


def _batch(
    files: _Followed,
    batch: int,
    planned: dict[int, FileEntry],
    committed: dict[int, FileEntry],
    *,
    is_newest: bool,
) -> CheckpointFacts:
    """Return what is known of a batch. Raises: DamagedFile."""
    limits = SparkLimits(log_bytes=LARGEST, all_log_bytes=MOST_BYTES + 2 * LARGEST)
    triggered_at = None
    if batch in planned:
        triggered_at = read_offsets(files, planned[batch].path, limits).planned_at_ms
    if batch not in committed:
        status = model.IN_PROGRESS if is_newest else model.UNKNOWN
        return CheckpointFacts(batch, status=status, triggered_at=triggered_at)
    read_commit(files, committed[batch].path, limits)
    ended_at = committed[batch].modified_ms
    duration = None
    if triggered_at is not None and ended_at >= triggered_at:
        duration = ended_at - triggered_at
    return CheckpointFacts(
        batch,
        status=model.COMPLETED,
        triggered_at=triggered_at,
        ended_at=ended_at,
        duration=duration,
    )
