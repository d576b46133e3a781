"""The positions in the splits of Flink's new sources, by the form of their bytes.

A reader keeps one ``byte[]`` a split: the version of the split's serializer, a length, and the
split. Nothing names the serializer, so a form counts only if it fits to the last byte. Source:
Flink, SourceOperator, SimpleVersionedSerialization, NumberSequenceSource, FileSourceSplitSerializer
and Path; Flink's connector for Kafka, KafkaPartitionSplitSerializer.
"""

from collections.abc import Callable

from snapshots.domain.inventory.positions import NUMBERS, OFFSETS, Position
from snapshots.readers.engines.flink.types.values import string
from snapshots.readers.formats.cursor import Cursor, Malformed

_COORDINATORS = {(1, 1)}  # versions of the coordinator and of the enumerator's serializer
_SMALLEST_SPLIT = 18  # bytes
_NO_STOP = -(2**63)
_MARKS = {-1: "the latest", -2: "the earliest", -3: "the last committed"}
_NUMBERS = "The bytes have the form of a split of Flink's NumberSequenceSource."
_KAFKA = "The bytes have the form of a split of Flink's Kafka source."
_FILE = "The bytes have the form of a split of Flink's FileSource."


def position_of(data: bytes) -> Position | None:
    """Return the position in one split; None if the bytes have none of the known forms."""
    cursor = Cursor(memoryview(data))
    try:
        version, length = cursor.i32(), cursor.i32()
        if length != cursor.left:
            return None
    except Malformed:
        return None
    for form in _FORMS.get(version, ()):
        fresh = Cursor(memoryview(data)[8:])
        try:
            position = form(fresh)
        except Malformed:
            continue
        if position is not None and not fresh.left:
            return position
    return None


def waiting_of(data: bytes) -> tuple[Position, ...] | None:
    """Return the splits that the coordinator of a NumberSequenceSource has not given out.

    It is None if the bytes have not that form. Source: Flink, SourceCoordinator, which writes its
    own version, that of the enumerator's serializer, and a length.
    """
    cursor = Cursor(memoryview(data))
    try:
        versions = cursor.i32(), cursor.i32()
        if versions not in _COORDINATORS or cursor.i32() != cursor.left:
            return None
        splits = [_numbers(cursor) for _ in range(cursor.count(bytes_each=_SMALLEST_SPLIT))]
    except Malformed:
        return None
    known = tuple(split for split in splits if split is not None)
    return known if len(known) == len(splits) and not cursor.left else None


def _numbers(cursor: Cursor) -> Position | None:
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


_FORMS: dict[int, tuple[Callable[[Cursor], Position | None], ...]] = {
    0: (_kafka,),
    1: (_numbers, _file_of_new, _file_of_old),
}
