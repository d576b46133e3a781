"""Read handles from the bytes of `_metadata`. Every type is accepted in every version.

Source: Flink, MetadataV2V3SerializerBase, MetadataV3Serializer, ChannelStateHandleSerializer.
"""

import struct
from dataclasses import replace

from snapshots.readers.engines.flink.handles import (
    EXCLUSIVE,
    INPUT,
    MODES,
    NO_DATA,
    OUTPUT,
    SHARED,
    BackendFile,
    Change,
    Changelog,
    ChangesInFiles,
    ChangesInMemory,
    ChannelPart,
    Channels,
    EmptySegment,
    File,
    Incremental,
    Inline,
    Keyed,
    KeyGroups,
    LogPart,
    OperatorState,
    OperatorStateOffsets,
    RelativeFile,
    Segment,
    Stream,
)
from snapshots.readers.formats.cursor import Cursor, Malformed

MOST_KEY_GROUPS = 2**15  # Flink's upper bound of the maximum parallelism
MOST_NESTED = 8
MOST_THINGS = 2_000_000  # operators, subtasks and handles of one file

_SCOPES = (EXCLUSIVE, SHARED)


class MetadataCursor(Cursor):
    """A cursor that bounds how deep handles nest and how many things one file describes."""

    __slots__ = ("nested", "things")

    def __init__(self, data: bytes | memoryview) -> None:
        super().__init__(data)
        self.nested = 0
        self.things = 0

    def thing(self) -> None:
        """Count one more thing. Raises: Malformed above MOST_THINGS."""
        self.things += 1
        if self.things > MOST_THINGS:
            raise Malformed(f"More than {MOST_THINGS:,} handles are described", self.position)

    def __enter__(self) -> None:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise Malformed(f"Handles nest deeper than {MOST_NESTED}", self.position)

    def __exit__(self, *exception: object) -> None:
        self.nested -= 1

    def natural(self, *, big: bool = False, subject: str = "A number of 0 or more") -> int:
        """Read an i32 (i64 if ``big``) that is not negative. Raises: Malformed."""
        at, number = self.position, self.i64() if big else self.i32()
        if number < 0:
            raise Malformed(f"{subject} is expected and {number} is there", at)
        return number

    def size(self) -> int:
        return self.natural(big=True, subject="A size of 0 or more")

    def offsets(self, count: int | None = None, least: int = 0) -> tuple[int, ...]:
        """Read ``count`` i64 offsets from ``least`` on; None stands for a stored count.

        Raises: Malformed.
        """
        number = self.count(bytes_each=8) if count is None else count
        at = self.position
        offsets = struct.unpack(f">{number}q", self.take(8 * number))
        if number and min(offsets) < least:
            raise Malformed("An offset is negative", at)
        return offsets


def stream(cursor: MetadataCursor) -> Stream | None:
    """Read a stream handle; return None if its kind is 0. Raises: Malformed."""
    cursor.thing()
    at, kind = cursor.position, cursor.u8()
    match kind:
        case 0:
            return None
        case 1:
            name = cursor.utf()
            return Inline(name, cursor.take(cursor.count()))
        case 2:
            size = cursor.size()
            return File(cursor.utf(), size)
        case 3:
            with cursor:
                return _key_groups(cursor)
        case 6:
            path = cursor.utf()
            return RelativeFile(path, cursor.size())
        case 15:
            return _segment(cursor)
        case 16:
            return EmptySegment()
    raise Malformed(f"A stream handle has the unknown type {kind}", at)


def _required_stream(cursor: MetadataCursor) -> Stream:
    at = cursor.position
    if (handle := stream(cursor)) is None:
        raise Malformed("A stream handle is expected and there is none", at)
    return handle


def _segment(cursor: MetadataCursor) -> Segment:
    start, size = cursor.size(), cursor.size()
    at, scope = cursor.position, cursor.i32()
    if not 0 <= scope < len(_SCOPES):
        raise Malformed(f"A segment has the unknown scope {scope}", at)
    path = cursor.utf()
    return Segment(path, start, size, _SCOPES[scope], cursor.utf())


def _range(cursor: MetadataCursor) -> tuple[int, int]:
    """Read the first key group and how many there are. Raises: Malformed."""
    at, first, count = cursor.position, cursor.i32(), cursor.i32()
    if first < 0 or count < 0 or first + count > MOST_KEY_GROUPS:
        raise Malformed(f"{count} key groups from {first} on are not possible", at)
    return first, count


def _key_groups(cursor: MetadataCursor, kind: int = 3) -> KeyGroups:
    first, count = _range(cursor)
    offsets, inner = cursor.offsets(count, NO_DATA), _required_stream(cursor)
    return KeyGroups(first, offsets, inner, kind == 7, cursor.utf() if kind == 12 else None)


def keyed(cursor: MetadataCursor) -> Keyed | None:
    """Read a keyed state handle; return None if its kind is 0. Raises: Malformed."""
    cursor.thing()
    at, kind = cursor.position, cursor.u8()
    with cursor:
        match kind:
            case 0:
                return None
            case 3 | 7 | 12:
                return _key_groups(cursor, kind)
            case 5 | 11:
                return _incremental(cursor, kind == 11)
            case 8 | 14:
                return _changelog(cursor, kind == 14)
            case 9:
                return _changes_in_memory(cursor)
            case 10 | 13:
                return _changes_in_files(cursor, kind == 13)
    raise Malformed(f"A keyed state handle has the unknown type {kind}", at)


def _incremental(cursor: MetadataCursor, second_version: bool) -> Incremental:
    checkpoint_id, backend_id = cursor.i64(), cursor.utf()
    first, count = _range(cursor)
    stored_size = cursor.i64() if second_version else None
    meta = _required_stream(cursor)
    shared, private = _backend_files(cursor), _backend_files(cursor)
    return Incremental(
        first,
        count,
        checkpoint_id,
        backend_id,
        meta,
        shared,
        private,
        None if stored_size == -1 else stored_size,
        cursor.utf() if second_version else None,
    )


def _backend_files(cursor: MetadataCursor) -> tuple[BackendFile, ...]:
    return tuple(
        BackendFile(cursor.utf(), _required_stream(cursor))
        for _ in range(cursor.count(bytes_each=3))
    )


def _changelog(cursor: MetadataCursor, second_version: bool) -> Changelog:
    first, count = _range(cursor)
    uploaded_size = cursor.size()
    materialised, changes = _keyed_list(cursor), _keyed_list(cursor)
    materialisation_id = cursor.i64()
    checkpoint_id = cursor.i64() if second_version else None
    return Changelog(
        first,
        count,
        uploaded_size,
        materialised,
        changes,
        materialisation_id,
        checkpoint_id,
        cursor.utf(),
    )


def _keyed_list(cursor: MetadataCursor) -> tuple[Keyed, ...]:
    at = cursor.position
    handles = [keyed(cursor) for _ in range(cursor.count())]
    present = tuple(handle for handle in handles if handle is not None)
    if len(present) < len(handles):
        raise Malformed("A keyed state handle in a list is expected and there is none", at)
    return present


def _changes_in_memory(cursor: MetadataCursor) -> ChangesInMemory:
    first, count = _range(cursor)
    start, end = cursor.i64(), cursor.i64()
    changes = tuple(_change(cursor) for _ in range(cursor.count(bytes_each=8)))
    return ChangesInMemory(first, count, start, end, changes, cursor.utf())


def _change(cursor: MetadataCursor) -> Change:
    cursor.thing()
    at, key_group = cursor.position, cursor.i32()
    if not -1 <= key_group < MOST_KEY_GROUPS:
        raise Malformed(f"{key_group} is not a key group", at)
    return Change(key_group, cursor.take(cursor.count()))


def _changes_in_files(cursor: MetadataCursor, second_version: bool) -> ChangesInFiles:
    first, count = _range(cursor)
    parts = tuple(_log_part(cursor) for _ in range(cursor.count(bytes_each=9)))
    size, uploaded_size, handle_id = cursor.size(), cursor.size(), cursor.utf()
    storage = cursor.utf() if second_version else None
    return ChangesInFiles(first, count, parts, size, uploaded_size, handle_id, storage)


def _log_part(cursor: MetadataCursor) -> LogPart:
    offset, inner = cursor.size(), _required_stream(cursor)
    log = replace(inner, log=True) if isinstance(inner, File | RelativeFile) else inner
    return LogPart(offset, log)


def operator_state(cursor: MetadataCursor) -> OperatorState | None:
    """Read an operator state handle; return None if its kind is 0. Raises: Malformed."""
    cursor.thing()
    at, kind = cursor.position, cursor.u8()
    if kind == 0:
        return None
    if kind not in (4, 17):
        raise Malformed(f"An operator state handle has the unknown type {kind}", at)
    states = tuple(_state_offsets(cursor) for _ in range(cursor.count(bytes_each=7)))
    if kind == 4:
        return OperatorState(states, _required_stream(cursor))
    task_owned, shared, _empty = cursor.utf(), cursor.utf(), cursor.flag()
    return OperatorState(states, _required_stream(cursor), (task_owned, shared))


def _state_offsets(cursor: MetadataCursor) -> OperatorStateOffsets:
    cursor.thing()
    name, at, mode = cursor.utf(), cursor.position, cursor.u8()
    if mode >= len(MODES):
        raise Malformed(f"An operator state has the unknown mode {mode}", at)
    return OperatorStateOffsets(name, MODES[mode], cursor.offsets())


def channels(cursor: MetadataCursor, side: str, version: int) -> Channels:
    """Read a channel state handle. Raises: Malformed.

    Args:
        cursor: a cursor at the beginning of the handle.
        side: INPUT or OUTPUT; a handle of the other side is refused.
        version: the version of the `_metadata`.
    """
    cursor.thing()
    if version < 6:
        return _single(cursor, side)
    at, kind = cursor.position, cursor.u8()
    if kind not in (1, 2, 3, 4):
        raise Malformed(f"A channel state handle has the unknown type {kind}", at)
    if side != (INPUT if kind % 2 else OUTPUT):
        raise Malformed(f"A channel state handle of type {kind} stands among the {side} ones", at)
    return _single(cursor, side) if kind < 3 else _merged(cursor, side)


def _single(cursor: MetadataCursor, side: str) -> Channels:
    subtask, place = cursor.natural(), _place(cursor)
    offsets, size = cursor.offsets(), cursor.size()
    inner = _required_stream(cursor)
    return Channels(side, subtask, size, (ChannelPart(place, size, offsets),), inner, False)


def _merged(cursor: MetadataCursor, side: str) -> Channels:
    subtask, size, inner = cursor.natural(), cursor.size(), _required_stream(cursor)
    length = cursor.count()
    end = cursor.position + length
    parts = tuple(_part(cursor) for _ in range(cursor.count(bytes_each=20)))
    if cursor.position != end:
        raise Malformed(
            f"{length} bytes of channels are announced and {cursor.position - end + length} "
            "are there",
            end,
        )
    return Channels(side, subtask, size, parts, inner, True)


def _part(cursor: MetadataCursor) -> ChannelPart:
    cursor.thing()
    place, size = _place(cursor), cursor.size()
    return ChannelPart(place, size, cursor.offsets())


def _place(cursor: MetadataCursor) -> tuple[int, int]:
    return cursor.natural(), cursor.natural()
