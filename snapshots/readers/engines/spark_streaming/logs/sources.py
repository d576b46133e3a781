"""Logs of the files that a file source has seen, or a file sink has written.

``sources/<source>/<k>``: k is the source's own count (``logOffset``), not a batch. Every tenth is
``<k>.compact`` and holds all entries so far. ``<sink>/_spark_metadata/<batch>`` is kept alike.

Source: Spark's CompactibleFileStreamLog, FileStreamSourceLog, FileStreamSinkLog.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from snapshots.readers.engines.spark_streaming.documents import NotReadable, text_of, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import Log, read_log

NEWEST = 1
_NAME = re.compile(r"(\d{1,18})(\.compact)?")


@dataclass(frozen=True)
class SeenFile:
    """url: as the engine wrote it, never opened. modified_ms: epoch milliseconds."""

    url: str
    modified_ms: int

    @property
    def path(self) -> str:
        """The path in the url, decoded."""
        try:
            return unquote(urlsplit(self.url).path)
        except ValueError:  # such as an unfinished IPv6 address
            return self.url

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class SourceLog:
    """files: by the source's own count, ascending."""

    files: dict[int, tuple[SeenFile, ...]] = field(default_factory=dict)

    def between(self, start: int, end: int) -> tuple[SeenFile, ...] | None:
        """The files of the counts start + 1 .. end; None where some of these are not in the log."""
        if end < start:
            return None
        wanted = range(start + 1, end + 1)
        if any(count not in self.files for count in wanted):
            return None
        return tuple(seen for count in wanted for seen in self.files[count])


def read_source_log(
    files: Files, folder: str, limits: SparkLimits
) -> tuple[SourceLog, list[DamagedFile], list[str]]:
    """The log, what is damaged in it, and the paths that were read."""
    seen: dict[int, dict[str, SeenFile]] = {}
    damaged: list[DamagedFile] = []
    read: list[str] = []
    for name in sorted(files.children(folder), key=_order):
        path = f"{folder}/{name}"
        if _NAME.fullmatch(name) is None or path not in files:
            continue
        read.append(path)
        try:
            _read_entries(files, path, seen, limits)
        except DamagedFile as error:
            damaged.append(error)
    known = {count: tuple(seen[count].values()) for count in sorted(seen)}
    return SourceLog(known), damaged, read


def _order(name: str) -> tuple[int, str]:
    found = _NAME.fullmatch(name)
    return (int(found[1]) if found else -1, name)


def _read_entries(
    files: Files, path: str, seen: dict[int, dict[str, SeenFile]], limits: SparkLimits
) -> None:
    log = _log_of_files(files, path, limits)
    for line in range(2, len(log.lines) + 2):
        entry = log.object(line, limits)
        try:
            count, url = whole(entry, "batchId"), text_of(entry, "path")
            file = SeenFile(url, whole(entry, "timestamp"))
        except NotReadable as error:
            raise DamagedFile(path, str(error), line) from error
        seen.setdefault(count, {})[url] = file


def _log_of_files(files: Files, path: str, limits: SparkLimits) -> Log:
    """Raises: DamagedFile, also where the upload's logs hold too many entries."""
    log = read_log(files, path, NEWEST, limits, of_files=True)
    files.spend("entries of logs", path, len(log.lines), limits.source_entries)
    return log


def read_sink_log(
    files: Files, folder: str, limits: SparkLimits
) -> tuple[dict[int, tuple[str, ...]], list[DamagedFile], list[str]]:
    """Urls of the files that count as output, by file of the log."""
    written: dict[int, tuple[str, ...]] = {}
    damaged: list[DamagedFile] = []
    read: list[str] = []
    for name in sorted(files.children(folder), key=_order):
        path = f"{folder}/{name}"
        found = _NAME.fullmatch(name)
        if found is None or path not in files:
            continue
        read.append(path)
        try:
            log = _log_of_files(files, path, limits)
            entries = [log.object(line, limits) for line in range(2, len(log.lines) + 2)]
            written[int(found[1])] = tuple(
                text_of(entry, "path") for entry in entries if entry.get("action") == "add"
            )
        except DamagedFile as error:
            damaged.append(error)
        except NotReadable as error:
            damaged.append(DamagedFile(path, str(error)))
    return written, damaged, read
