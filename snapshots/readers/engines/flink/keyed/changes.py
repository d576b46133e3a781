"""Read the changes of a changelog, in order, from the metadata itself or from log files.

Source: Flink, StateChangeFormat, StateChangeOperation, KvStateChangeLoggerImpl,
PriorityQueueStateChangeLoggerImpl, ChangelogBackendLogApplier.
"""

from collections.abc import Callable, Iterator

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import (
    Change,
    ChangesInFiles,
    ChangesInMemory,
    LogPart,
    Stream,
)
from snapshots.readers.engines.flink.keyed.entries import Limits, Notes
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType, state_type
from snapshots.readers.engines.flink.types.state_meta import read_meta_info
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.snappy import inflate_frames

METADATA = 8
OPERATIONS = {
    0: "CLEAR",
    1: "SET",
    2: "SET_INTERNAL",
    3: "ADD",
    4: "MERGE_NS",
    5: "ADD_ELEMENT",
    6: "ADD_OR_UPDATE_ELEMENT",
    7: "REMOVE_ELEMENT",
    METADATA: "METADATA",
}
_META_VERSION = 7
_LEAST_AFTER_META = 5  # bytes: two flags, the state's number, its kind
_NUMBER_AND_KIND = 3  # bytes at the end of a description


class Log:
    """A reader of changes, at most ``limits.inflated_bytes`` in all; ``notes`` say what lacks."""

    def __init__(
        self,
        read: Callable[[Stream], bytes | memoryview | Missing],
        limits: Limits,
        notes: Notes,
    ) -> None:
        self._read = read
        self._left = limits.inflated_bytes
        self._notes = notes
        self._last: tuple[Stream, memoryview] | None = None

    def changes(self, handle: ChangesInMemory | ChangesInFiles) -> Iterator[Change]:
        """Yield the changes of one handle in the order in which they were made."""
        if isinstance(handle, ChangesInMemory):
            yield from handle.changes
            return
        for part in handle.parts:
            yield from self.in_part(part)

    def in_part(self, part: LogPart) -> Iterator[Change]:
        """Yield the changes in one part of a log."""
        content = self._content(part.stream)
        if content is None:
            return
        try:
            for change in _in_file(content, part.offset):
                self._spend(len(change.data))
                yield change
        except Malformed as malformed:
            self._notes.lose("A file of changes", malformed)

    def _content(self, stream: Stream) -> memoryview | None:
        """Return what follows a stream's first byte, inflated. The last result is kept."""
        if self._last is not None and self._last[0] == stream:
            return self._last[1]
        data = self._read(stream)
        if isinstance(data, Missing):
            self._notes.miss(data)
            return None
        try:
            cursor = Cursor(data)
            content = cursor.data[1:]
            if cursor.flag():
                content = memoryview(inflate_frames(content, self._left))
            self._spend(len(content))
        except Malformed as malformed:
            self._notes.lose("A file of changes", malformed)
            return None
        self._last = (stream, content)
        return content

    def _spend(self, size: int) -> None:
        """Take from the budget, which bounds many handles of one small file. Raises: Malformed."""
        self._left -= size
        if self._left < 0:
            raise NotReadHere("The files of changes hold more than the limit", 0)


def _in_file(content: memoryview, offset: int) -> Iterator[Change]:
    cursor = Cursor(content, offset)
    for _ in range(cursor.count(bytes_each=8)):
        count, group = cursor.count(bytes_each=4), cursor.i32()
        for _ in range(count):
            yield Change(group, cursor.take(cursor.count()))


def described_state(change: Change, key: Serializer) -> tuple[int, StateType]:
    """Return number and type of the state that a METADATA change describes. Raises: Malformed.

    Time-to-live and a default value, which follow the description, are skipped.
    """
    cursor = Cursor(change.data, 1)
    at, version = cursor.position, cursor.i32()
    if version != _META_VERSION:
        raise Malformed(f"Version {version} of a state's description is unknown", at)
    meta = read_meta_info(cursor)
    if not meta.open_end and cursor.left < _LEAST_AFTER_META:
        raise Malformed("The number of a state is expected", cursor.position)
    return Cursor(change.data, cursor.end - _NUMBER_AND_KIND).i16(), state_type(meta, key)
