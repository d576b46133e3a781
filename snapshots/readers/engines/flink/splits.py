"""The positions in the splits of Flink's new sources, by the form of their bytes.

A reader keeps one ``byte[]`` a split: the version of the split's serializer, a length, and the
split. Nothing names the serializer, so a form counts only if it fits to the last byte. Source:
Flink, SourceOperator, SimpleVersionedSerialization, NumberSequenceSource, FileSourceSplitSerializer
and Path; HybridSourceSplitSerializer; Flink's connector for Kafka, KafkaPartitionSplitSerializer.
"""

from collections.abc import Callable
from dataclasses import replace

from snapshots.domain.inventory.positions import NUMBERS, OFFSETS, Position
from snapshots.readers.engines.flink.forms import fitting, versioned, versioned_whole
from snapshots.readers.engines.flink.types.values import string
from snapshots.readers.formats.cursor import Cursor, Malformed

_NO_STOP = -(2**63)
_MARKS = {-1: "the latest", -2: "the earliest", -3: "the last committed"}
_NUMBERS = "The bytes have the form of a split of Flink's NumberSequenceSource."
_KAFKA = "The bytes have the form of a split of Flink's Kafka source."
_FILE = "The bytes have the form of a split of Flink's FileSource."


def position_of(data: bytes) -> Position | None:
    """Return the position in one split; None if the bytes have none of the known forms."""
    if (split := versioned_whole(data)) is None:
        return None
    version, inside = split
    return position_in(version, inside) or (fitting((_hybrid,), inside) if version == 0 else None)


def position_in(version: int, split: bytes) -> Position | None:
    """Return the position in a split that a serializer of some version wrote; None as above.

    A split of a HybridSource has none here, so that none is read in another one.
    """
    return fitting(_FORMS.get(version, ()), split)


def numbers(cursor: Cursor) -> Position | None:
    split, begin, end = cursor.utf(), cursor.i64(), cursor.i64()
    if not split.isdecimal() or begin > end + 1:
        return None
    left = end - begin + 1
    return Position(
        split,
        begin,
        end,
        NUMBERS,
        f"Split {split} goes on with the number {begin:,}. {left:,} are left, up to {end:,}."
        if left
        else f"Split {split} has been read to its end, {end:,}.",
        _NUMBERS,
    )


def _kafka(cursor: Cursor) -> Position | None:
    topic, partition = cursor.utf(), cursor.i32()
    offset, stop = cursor.i64(), cursor.i64()
    is_mark = offset in _MARKS
    if not topic or partition < 0 or not (is_mark or offset >= 0):
        return None
    if stop != _NO_STOP and stop < min(_MARKS):
        return None
    split = f"{topic}-{partition}"
    where = f"{_MARKS[offset]} offset" if is_mark else f"the offset {offset:,}"
    until = f" and stops before {stop:,}" if stop >= 0 else ""
    return Position(
        split,
        None if is_mark else offset,
        stop - 1 if stop >= 0 else None,
        OFFSETS,
        f"Partition {partition} of the topic {topic} goes on with {where}{until}.",
        _KAFKA,
    )


def _file(cursor: Cursor, *, has_times: bool) -> Position | None:
    split, path = cursor.utf(), _path(cursor)
    begin, length = cursor.i64(), cursor.i64()
    if has_times:
        cursor.i64()  # when the file was changed
        cursor.i64()  # the size of the file
    for _ in range(cursor.count()):
        cursor.utf()  # a host that has the bytes
    at, records = (cursor.i64(), cursor.i64()) if cursor.flag() else (None, 0)
    if begin < 0 or length < 0 or not split:
        return None
    return Position(
        f"{path} from byte {begin:,}",
        None,
        None,
        None,
        _file_sentence(path, begin, length, at, records),
        _FILE,
    )


def _file_sentence(path: str, begin: int, length: int, at: int | None, records: int) -> str:
    part = f"{path}, bytes {begin:,} to {begin + length:,},"
    if at is None:
        return f"{part} has not been begun: all of it is read."
    skipped = f" {records:,} records after" if records else ""
    if at < 0:
        return f"{part} goes on{skipped or ' at'} its beginning."
    return f"{part} goes on{skipped or ' at'} byte {at:,}."


def _path(cursor: Cursor) -> str:
    """Read Flink's Path, which is a URI in its parts."""
    if not cursor.flag():
        raise Malformed("The path is missing", cursor.position)
    scheme, _user, host = (_nullable(cursor) for _ in range(3))
    port = cursor.i32()
    path = _nullable(cursor)
    _nullable(cursor)  # the query
    _nullable(cursor)  # the fragment
    if path is None:
        raise Malformed("The path is missing", cursor.position)
    server = f"//{host}{f':{port}' if port >= 0 else ''}" if host else ""
    return f"{scheme}:{server}{path}" if scheme else path


def _nullable(cursor: Cursor) -> str | None:
    return string(cursor) if cursor.flag() else None


def _file_of_old(cursor: Cursor) -> Position | None:
    return _file(cursor, has_times=False)


def _file_of_new(cursor: Cursor) -> Position | None:
    return _file(cursor, has_times=True)


def _hybrid(cursor: Cursor) -> Position | None:
    """Read a split of the source that a HybridSource reads now; the first one has the number 0."""
    source, _split = cursor.i32(), cursor.utf()
    position = position_in(*versioned(cursor))
    if source < 0 or position is None:
        return None
    return replace(
        position,
        sentence=f"{position.sentence} {of_source(source)}",
        inferred=f"{position.inferred} It lies in a split of a HybridSource.",
    )


def of_source(number: int) -> str:
    """Return a sentence about the source that a HybridSource reads, the first one being 0."""
    return f"It is of source {number + 1} of the hybrid source."


_FORMS: dict[int, tuple[Callable[[Cursor], Position | None], ...]] = {
    0: (_kafka,),
    1: (numbers, _file_of_new, _file_of_old),
}
