"""Read logs of the files that a file source has seen, or a file sink has written.

In ``sources/<source>/<k>`` k is the source's own count (``logOffset``), not a batch. Every tenth
file is ``<k>.compact`` and holds all entries so far. The files of a sink's log,
``<sink>/_spark_metadata/<batch>``, have the same form.

Source: Spark's CompactibleFileStreamLog, FileStreamSourceLog, FileStreamSinkLog.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, text_of, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import read_log

NEWEST = 1
_NAME = re.compile(r"(\d{1,18})(\.compact)?")


@dataclass(frozen=True)
class SeenFile:
    """An input file in the log of a source.

    Attributes:
        url: the url that the engine wrote. It is never opened.
        modified_ms: epoch ms.
    """

    url: str
    modified_ms: int

    @property
    def path(self) -> str:
        """Return the decoded path of the url."""
        try:
            return unquote(urlsplit(self.url).path)
        except ValueError:  # such as an incomplete IPv6 address
            return self.url

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class SourceLog:
    """The log of a file source.

    Attributes:
        files: the files by the source's own count, ascending.
    """

    files: dict[int, tuple[SeenFile, ...]] = field(default_factory=dict)

    def between(self, start: int, end: int) -> tuple[SeenFile, ...] | None:
        """Return the files of the counts start + 1 .. end; None if the log lacks any of these."""
        if end < start:
            return None
        counts = range(start + 1, end + 1)
        if any(count not in self.files for count in counts):
            return None
        return tuple(seen for count in counts for seen in self.files[count])


def read_source_log(
    files: Files, folder: str, limits: SparkLimits
) -> tuple[SourceLog, list[DamagedFile], list[str]]:
    """Return the log of a source, its damaged files, and the paths that were read."""
    seen: dict[int, dict[str, SeenFile]] = {}
    damaged: list[DamagedFile] = []
    paths = _log_files(files, folder)
    for path in paths.values():
        try:
            _read_entries(files, path, seen, limits)
        except DamagedFile as error:
            damaged.append(error)
    by_count = {count: tuple(seen[count].values()) for count in sorted(seen)}
    return SourceLog(by_count), damaged, list(paths.values())


def lists_files(files: Files, folder: str, limits: SparkLimits) -> bool:
    """Tell whether the log of a source, of which no offset tells the kind, names files."""
    for path in _log_files(files, folder).values():
        try:
            log = read_log(files, path, NEWEST, limits, of_files=True)
            return {"path", "batchId"} <= log.object(2, limits).keys()
        except DamagedFile:
            continue
    return False


def _log_files(files: Files, folder: str) -> dict[str, str]:
    """Return the paths of a log's files by name, in the order of their numbers."""
    numbers = {
        name: int(match[1])
        for name in files.children(folder)
        if (match := _NAME.fullmatch(name)) and f"{folder}/{name}" in files
    }
    return {name: f"{folder}/{name}" for name in sorted(numbers, key=lambda n: (numbers[n], n))}


def _read_entries(
    files: Files, path: str, seen: dict[int, dict[str, SeenFile]], limits: SparkLimits
) -> None:
    for line, entry in _entries(files, path, limits):
        try:
            count, url = whole(entry, "batchId"), text_of(entry, "path")
            file = SeenFile(url, whole(entry, "timestamp"))
        except NotReadable as error:
            raise DamagedFile(path, str(error), line) from error
        seen.setdefault(count, {})[url] = file


def _entries(files: Files, path: str, limits: SparkLimits) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the lines and entries of one file. Raises: DamagedFile, also for too many entries."""
    log = read_log(files, path, NEWEST, limits, of_files=True)
    files.spend("entries of logs", path, len(log.lines), limits.source_entries)
    for line in range(2, len(log.lines) + 2):
        yield line, log.object(line, limits)


def read_sink_log(
    files: Files, folder: str, limits: SparkLimits
) -> tuple[dict[int, tuple[str, ...]], dict[int, int], list[DamagedFile], list[str]]:
    """Return the urls of a sink's output files by number of the log's file.

    Beside them are when the newest of these was written (epoch ms), the log's damaged files, and
    the paths that were read.
    """
    written: dict[int, tuple[str, ...]] = {}
    modified: dict[int, int] = {}
    damaged: list[DamagedFile] = []
    paths = _log_files(files, folder)
    for name, path in paths.items():
        try:
            entries = [entry for _, entry in _entries(files, path, limits)]
            added = [entry for entry in entries if entry.get("action") == "add"]
            number = int(name.removesuffix(".compact"))
            written[number] = tuple(text_of(entry, "path") for entry in added)
            if times := [t for e in added if type(t := e.get("modificationTime")) is int]:
                modified[number] = max(times)
        except DamagedFile as error:
            damaged.append(error)
        except NotReadable as error:
            damaged.append(DamagedFile(path, str(error)))
    return written, modified, damaged, list(paths.values())
