"""Read the commit log: ``commits/<batch>`` is written when a batch is complete.

Source: Spark's CommitLog, CommitMetadata (versions 1 to 3).
"""

from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import read_log

NEWEST = 3


@dataclass(frozen=True)
class SinkEntry:
    """One sink in a commit file of version 3."""

    name: str
    provider: str | None
    active: bool | None


@dataclass(frozen=True)
class CommittedBatch:
    """The content of one commit file.

    Attributes:
        next_watermark_ms: epoch ms; None in a commit of Spark up to 2.3, which is empty.
        state_ids: for each operator, by partition and store, the unique ids of state files; None if
            the state is written in checkpoint format 1.
    """

    version: int
    next_watermark_ms: int | None
    state_ids: dict[int, list[list[str]]] | None = None
    sinks: tuple[SinkEntry, ...] = ()


def read_commit(files: Files, path: str, limits: SparkLimits) -> CommittedBatch:
    """Read one commit file. Raises: DamagedFile."""
    log = read_log(files, path, NEWEST, limits)
    document = log.object(2, limits)
    try:
        return CommittedBatch(
            log.version,
            whole(document, "nextBatchWatermarkMs") if document else None,
            _state_ids(document.get("stateUniqueIds")),
            _sinks(document.get("sinkMetadataMap")),
        )
    except NotReadable as error:
        raise DamagedFile(path, str(error), 2) from error


def _state_ids(value: Json) -> dict[int, list[list[str]]] | None:
    if value is None:
        return None
    fits = isinstance(value, dict) and all(
        key.isascii()
        and key.isdigit()
        and len(key) < 10
        and isinstance(partitions, list)
        and all(isinstance(ids, list) for ids in partitions)
        and all(isinstance(id, str) for ids in partitions for id in ids)
        for key, partitions in value.items()
    )
    if not fits:
        raise NotReadable('The field "stateUniqueIds" must hold ids by operator and partition.')
    return {int(key): partitions for key, partitions in value.items()} or None


def _sinks(value: Json) -> tuple[SinkEntry, ...]:
    if value is None:
        return ()
    if not isinstance(value, dict) or not all(isinstance(sink, dict) for sink in value.values()):
        raise NotReadable('The field "sinkMetadataMap" must hold a description of each sink.')
    return tuple(_sink(name, sink) for name, sink in value.items())


def _sink(name: str, sink: dict[str, Json]) -> SinkEntry:
    provider, active = sink.get("providerName"), sink.get("isActive")
    return SinkEntry(
        name,
        provider if isinstance(provider, str) else None,
        active if isinstance(active, bool) else None,
    )
