"""The commit log: ``commits/<batch>``, written when a batch is complete.

Source: Spark's CommitLog, CommitMetadata (versions 1 to 3).
"""

from dataclasses import dataclass, field

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, whole
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import read_log

NEWEST = 3


@dataclass(frozen=True)
class SinkEntry:
    """One sink as the commit log names it (version 3)."""

    name: str
    provider: str | None
    active: bool | None


@dataclass(frozen=True)
class CommittedBatch:
    """What one commit file says.

    next_watermark_ms: epoch milliseconds. state_ids: operator to partitions to the ids of the
    stores in it, where the state is written in checkpoint format 2; else None.
    """

    version: int
    next_watermark_ms: int
    state_ids: dict[int, list[list[str]]] | None = None
    sinks: tuple[SinkEntry, ...] = field(default=())


def read_commit(files: Files, path: str, limits: SparkLimits) -> CommittedBatch:
    """Raises: DamagedFile."""
    log = read_log(files, path, NEWEST, limits)
    document = log.object(2, limits)
    try:
        return CommittedBatch(
            log.version,
            whole(document, "nextBatchWatermarkMs"),
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
        and all(isinstance(one, str) for ids in partitions for one in ids)
        for key, partitions in value.items()
    )
    if not fits:
        raise NotReadable('The field "stateUniqueIds" must hold ids by operator and partition.')
    return {int(key): partitions for key, partitions in value.items()} or None


def _sinks(value: Json) -> tuple[SinkEntry, ...]:
    if value is None:
        return ()
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise NotReadable('The field "sinkMetadataMap" must hold a description of each sink.')
    return tuple(
        SinkEntry(
            name,
            _of_type(one.get("providerName"), str),
            _of_type(one.get("isActive"), bool),
        )
        for name, one in value.items()
    )


def _of_type(value: Json, kind: type) -> Json:
    return value if isinstance(value, kind) else None
