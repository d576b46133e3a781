"""What the writers and committers of Flink's sinks keep, by the form of their bytes.

Each element of their state is one ``byte[]``: the version of a serializer, a length, and the bytes.
Source: Flink, FileWriterBucketStateSerializer, FileSinkCommittableSerializer,
OutputStreamBasedPartFileWriter, LocalRecoverableSerializer, CommittableCollectorSerializer; Flink's
connector for Kafka, KafkaWriterStateSerializer, KafkaCommittableSerializer.
"""

import struct
from collections.abc import Callable

from snapshots.readers.engines.flink.forms import fitting, versioned, versioned_whole
from snapshots.readers.formats.cursor import Cursor, Malformed

WRITER, COMMITTER = "writer_raw_states", "streaming_committer_raw_states"
_BUCKET, _COMMITTABLE, _COLLECTOR = 0x1E764B79, 0x1E765C80, 0xB91F252C
_IN_PROGRESS, _PENDING, _LOCAL = 0xB3A4073D, 0x2C853C89, 0x1E744B57
_PART_VERSION = 2  # of the serializers of files in progress and pending: with the path
_OWNERSHIP = ("implicit by subtask", "explicit by the state of the writer")
_STATES = ("received", "retry", "failed", "committed")

Value = dict[str, object]


def sink_value(state: str, data: bytes) -> Value | None:
    """Return an element of a sink's state; None if the bytes have none of the known forms."""
    if (element := versioned_whole(data)) is None:
        return None
    version, inside = element
    return fitting(_FORMS.get((state, version), ()), inside)


def _bucket(cursor: Cursor) -> Value | None:
    """Read the bucket of a FileSink's writer: where it writes, and the file that is not done."""
    if cursor.u32() != _BUCKET:
        return None
    _version, bucket = versioned(cursor)
    value: Value = {"bucket": _text(bucket), "path": cursor.utf()}
    created = cursor.i64()
    if not cursor.flag():
        return value | {"inProgress": None}
    return value | {"inProgress": _in_progress(*versioned(cursor)) | {"createdAt": created}}


def _text(data: bytes) -> str | None:
    """Return a text behind its length, little-endian; None if the bytes are none."""
    cursor = Cursor(data)
    (length,) = struct.unpack("<I", cursor.take(4))
    if length != cursor.left:
        return None
    try:
        return data[4:].decode()
    except UnicodeDecodeError:
        raise Malformed("The name of a bucket is no text", 4) from None


def _in_progress(version: int, data: bytes) -> Value:
    """Read how to go on with a file: the path, and the bytes in it that count."""
    cursor = Cursor(data)
    if version != _PART_VERSION or cursor.u32() != _IN_PROGRESS:
        raise Malformed("The file in progress has another form", 0)
    path = cursor.utf() if cursor.flag() else None
    return {"path": path, "bytes": _local_offset(versioned(cursor)[1])}


def _local_offset(data: bytes) -> int | None:
    """Return how many bytes of a local file count; None for other file systems."""
    if len(data) < 12 or struct.unpack("<I", data[:4])[0] != _LOCAL:
        return None
    return int(struct.unpack("<q", data[4:12])[0])


def _collector(cursor: Cursor) -> Value | None:
    """Read what a committer has to commit, by checkpoint and subtask."""
    if cursor.u32() != _COLLECTOR:
        return None
    return {"checkpoints": _list(cursor, _of_checkpoint)}


def _list(cursor: Cursor, read: Callable[[Cursor, int], object]) -> list[object]:
    """Read the version of a serializer, then elements behind their lengths."""
    version = cursor.i32()
    values = []
    for _ in range(cursor.count(bytes_each=4)):
        inside = Cursor(cursor.take(cursor.count()))
        values.append(read(inside, version))
        if inside.left:
            raise Malformed(f"{inside.left} bytes follow an element", inside.position)
    return values


def _of_checkpoint(cursor: Cursor, version: int) -> Value:
    checkpoint, subtasks = cursor.i64(), cursor.i32()
    if version != 1 or subtasks < 0:
        raise Malformed("The commits of a checkpoint have another form", 0)
    return {"checkpoint": checkpoint, "subtasks": _list(cursor, _of_subtask)}


def _of_subtask(cursor: Cursor, version: int) -> Value:
    subtask = cursor.i32()
    commits = _list(cursor, _request)
    if version < 2:
        cursor.i32()  # how many had been committed
    cursor.i32()  # how many there were at first
    return {"subtask": subtask, "failed": cursor.i32(), "commits": commits}


def _request(cursor: Cursor, version: int) -> Value:
    version_of_commit, inside = versioned(cursor)
    retries, state = cursor.i32(), cursor.i32()
    value = fitting(_COMMITS.get(version_of_commit, ()), inside) or {"hex": inside.hex()}
    told = {"retries": retries} if retries else {}
    return value | told | ({"state": _STATES[state]} if 0 < state < len(_STATES) else {})


def _file_commit(cursor: Cursor) -> Value | None:
    """Read a file that waits for its commit, or one that is to be removed."""
    if cursor.u32() != _COMMITTABLE:
        return None
    value: Value = {"bucket": cursor.utf()}
    if cursor.flag():
        value["pending"] = _pending(*versioned(cursor))
    if cursor.flag():
        value["inProgressToCleanUp"] = _in_progress(*versioned(cursor))
    if cursor.flag():
        value["compactedToCleanUp"] = cursor.utf()
    return value


def _pending(version: int, data: bytes) -> Value:
    cursor = Cursor(data)
    if version != _PART_VERSION or cursor.u32() != _PENDING:
        raise Malformed("The pending file has another form", 0)
    path = cursor.utf() if cursor.flag() else None
    return {"path": path, "bytes": cursor.i64()}


def _transaction(cursor: Cursor) -> Value | None:
    """Read a transaction of Kafka that waits for its commit."""
    epoch, producer, transaction = cursor.i16(), cursor.i64(), cursor.utf()
    if epoch < 0 or producer < 0 or not transaction:
        return None
    return {"transactionalId": transaction, "producerId": producer, "epoch": epoch}


def _kafka_prefix(cursor: Cursor) -> Value | None:
    return {"transactionalIdPrefix": cursor.utf()}


def _kafka_writer(cursor: Cursor) -> Value | None:
    prefix, subtask, subtasks, ownership = cursor.utf(), cursor.i32(), cursor.i32(), cursor.i32()
    if not 0 <= ownership < len(_OWNERSHIP):
        return None
    transactions = [
        {"transactionalId": cursor.utf(), "checkpoint": cursor.i64()}
        for _ in range(cursor.count(bytes_each=10))
    ]
    return {
        "transactionalIdPrefix": prefix,
        "ownedSubtask": subtask if subtask >= 0 else None,
        "ofSubtasks": subtasks if subtasks >= 0 else None,
        "ownership": _OWNERSHIP[ownership],
        "transactions": transactions,
    }


_COMMITS: dict[int, tuple[Callable[[Cursor], Value | None], ...]] = {
    1: (_transaction,),
    2: (_file_commit,),
}
_FORMS: dict[tuple[str, int], tuple[Callable[[Cursor], Value | None], ...]] = {
    (WRITER, 1): (_kafka_prefix,),
    (WRITER, 2): (_kafka_writer,),
    (WRITER, 3): (_bucket,),
    (COMMITTER, 2): (_collector,),
}
