"""Read the offset log: ``offsets/<batch>`` is written before a batch runs.

Source: Spark's OffsetSeqLog, OffsetSeq (versions 1 and 2).
"""

from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, parse, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import Log, read_log

NEWEST = 2
NO_OFFSET = "-"
FILE = "file"
RATE_PER_BATCH = "rate-micro-batch"
RATE_CONTINUOUS = "rate-continuous"
KAFKA = "kafka"
LONG = "rate-or-memory"
UNKNOWN = "unknown"

_PLANNED, _WATERMARK = "batchTimestampMs", "batchWatermarkMs"


@dataclass(frozen=True)
class PlannedBatch:
    """The content of one offset file.

    In continuous mode offset files are written at the end of an epoch, and have neither a time nor
    a watermark.

    Attributes:
        offsets: the offset of each source, in the order of the file; None for a source without one
            yet.
        planned_at_ms: epoch ms; None in continuous mode, and where the file does not say.
        watermark_ms: epoch ms; None in continuous mode.
        settings: the settings that are fixed for the checkpoint.
    """

    version: int
    offsets: dict[str, Json]
    planned_at_ms: int | None
    watermark_ms: int | None
    settings: dict[str, str]

    @property
    def continuous(self) -> bool:
        return self.planned_at_ms is None and self.watermark_ms is None


def read_offsets(files: Files, path: str, limits: SparkLimits) -> PlannedBatch:
    """Read one offset file. Raises: DamagedFile."""
    log = read_log(files, path, NEWEST, limits)
    if not log.lines:
        raise DamagedFile(path, "It ends after its version: the line of metadata is missing.")
    if not log.lines[0] and log.version == 1:
        return PlannedBatch(log.version, _offsets(log, limits), None, None, {})
    metadata = log.object(2, limits)
    try:
        # Spark takes a plan without these, too, and a watermark of 0 with it.
        planned_at = whole(metadata, _PLANNED) if _PLANNED in metadata else None
        watermark = whole(metadata, _WATERMARK) if _WATERMARK in metadata else 0
        settings = _settings(metadata)
    except NotReadable as error:
        raise DamagedFile(path, str(error), 2) from error
    return PlannedBatch(log.version, _offsets(log, limits), planned_at, watermark, settings)


def _settings(metadata: dict[str, Json]) -> dict[str, str]:
    settings = metadata.get("conf", {})
    if not isinstance(settings, dict) or not all(isinstance(v, str) for v in settings.values()):
        raise NotReadable('The field "conf" must hold texts.')
    return settings


def _offsets(log: Log, limits: SparkLimits) -> dict[str, Json]:
    """Read the offsets of all sources, which version 1 numbers by line and version 2 names."""
    offsets: dict[str, Json] = {}
    for index, text in enumerate(log.lines[1:]):
        line = index + 3
        name = str(index)
        if log.version > 1:
            name, separator, text = text.partition(":")
            if not separator or not name or name in offsets:
                raise DamagedFile(log.file, "A new source's name and a colon are expected.", line)
        try:
            offsets[name] = None if text == NO_OFFSET else parse(text, limits.depth)
        except NotReadable as error:
            raise DamagedFile(log.file, str(error), line) from error
    if not offsets:
        raise DamagedFile(log.file, "It names no source: was it cut short?")
    return offsets


def kind_of(offset: Json) -> str:
    """Return the kind of source that writes an offset of this form."""
    if isinstance(offset, int) and not isinstance(offset, bool):
        return LONG
    if not isinstance(offset, dict) or not offset:
        return UNKNOWN
    if set(offset) == {"logOffset"}:
        return FILE
    if set(offset) == {"offset", "timestamp"}:
        return RATE_PER_BATCH
    inner = [value for value in offset.values() if isinstance(value, dict)]
    if len(inner) != len(offset):
        return UNKNOWN
    if all(set(value) == {"value", "runTimeMs"} for value in inner):
        return RATE_CONTINUOUS
    if all(name.isdigit() and isinstance(n, int) for value in inner for name, n in value.items()):
        return KAFKA
    return UNKNOWN


def span(start: Json, end: Json) -> int | None:
    """Return how many offsets lie between two of one source; None if that is unknown.

    For rate sources it is the number of rows, for Kafka an upper bound of the number of records.
    """
    kind = kind_of(end)
    if kind == RATE_PER_BATCH:
        first = start["offset"] if kind_of(start) == kind else 0 if start is None else None
        return _difference(first, end["offset"])
    if kind == KAFKA and kind_of(start) == kind:
        return _kafka_span(start, end)
    return None


def _kafka_span(start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> int | None:
    total = 0
    for topic, partitions in end.items():
        for partition, offset in partitions.items():
            step = _difference(start.get(topic, {}).get(partition), offset)
            if step is None:
                return None
            total += step
    return total


def _difference(start: Json, end: Json) -> int | None:
    return end - start if type(start) is type(end) is int and end >= start else None
