"""Read what a source that reads no files keeps for itself in ``sources/<source>/``.

Each source has a form of its own. Kafka writes a zero byte, ``v1`` and its initial offsets as JSON,
and what Event Hubs writes cannot be told from it; ``rate`` writes ``v1`` and the instant of its
start, a bare number. A log of another form may be whole, so it is named and not judged.

Source: Spark's KafkaSourceInitialOffsetWriter, RateStreamMicroBatchStream, HDFSMetadataLog.
"""

import re
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, parse
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.offsets import KAFKA, LONG, kind_of

OWN_LOG = "source's own log"
INITIAL_OFFSETS, START = "initial offsets", "started at"
NOT_READ = "It is a log of the source's own, which is not read here."
EMPTY = "It is empty, and the source does not start with an empty log."
_ZERO = b"\0"
_INSTANT = re.compile(r"\d{1,18}")


@dataclass(frozen=True)
class OwnLog:
    """The log that a source keeps for itself.

    Attributes:
        what: what it holds, INITIAL_OFFSETS or START; None if it is not read here.
        value: the initial offsets by topic and partition, or the instant in epoch ms.
    """

    what: str | None = None
    value: Json = None


def read_own_log(
    files: Files, folder: str, kind: str, limits: SparkLimits
) -> tuple[OwnLog, list[DamagedFile], list[str]]:
    """Return the log of a source, its damaged files, and all files in it.

    Args:
        folder: ``sources/<source>``.
        kind: the kind of the source by its offsets.
    """
    log, damaged = OwnLog(), []
    path = f"{folder}/0"
    if path in files:
        try:
            log = _read(files, path, kind, limits)
        except FileNotRead:
            pass  # it may be whole
        except DamagedFile as error:
            damaged.append(error)
    return log, damaged, files.below(folder)


def _read(files: Files, path: str, kind: str, limits: SparkLimits) -> OwnLog:
    data = files.read(path, limits.log_bytes)
    files.spend("bytes of logs", path, len(data), limits.all_log_bytes)
    if not data and kind in (KAFKA, LONG):
        raise DamagedFile(path, EMPTY)
    zero, content = data[:1] == _ZERO, data.removeprefix(_ZERO)
    try:
        version, separator, text = content.decode().partition("\n")
        if not separator or version != "v1":
            return OwnLog()
        if not zero and _INSTANT.fullmatch(text.strip()):
            return OwnLog(START, int(text))
        value = parse(text, limits.depth) if zero else None
    except (UnicodeDecodeError, NotReadable):
        return OwnLog()
    return OwnLog(INITIAL_OFFSETS, value) if kind_of(value) == KAFKA else OwnLog()
