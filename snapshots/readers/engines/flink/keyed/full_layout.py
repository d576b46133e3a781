"""Read keyed state of canonical savepoints: length-prefixed keys and values by key group.

Source: Flink, FullSnapshotAsyncWriter, FullSnapshotRestoreOperation.
"""

from collections.abc import Callable, Iterator

from snapshots.readers.engines.flink.handles import NO_DATA
from snapshots.readers.engines.flink.keyed.entries import Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.key_group_parts import Part
from snapshots.readers.engines.flink.keyed.keyed_meta import KeyedMeta
from snapshots.readers.engines.flink.keyed.stored_pairs import Pair, entries, key_group_of
from snapshots.readers.formats.cursor import Cursor, Malformed

_LAST_OF_STATE = 0x80  # this bit of a key's first byte marks the last key of a state
_END = 0xFFFF


class FullLayout:
    """A reader of one stream's key groups."""

    def __init__(self, meta: KeyedMeta, max_parallelism: int, limits: Limits, notes: Notes) -> None:
        self._meta = meta
        self._max_parallelism = max_parallelism
        self._limits = limits
        self._notes = notes

    def entries(self, parts: list[Part], read: Callable[[Part], memoryview]) -> Iterator[Entry]:
        """Yield the entries in the order of ``parts``; ``read`` returns the bytes of one."""
        for part in parts:
            if part.offset in (0, NO_DATA):
                continue  # an empty key group
            rest: list[Entry] = []
            yield from entries(
                self._pairs(part, read(part), rest), self._max_parallelism, self._limits
            )
            yield from rest

    def fits(self, part: Part, data: memoryview) -> bool:
        """Tell whether keys and values of this key group fill the bytes."""
        rest: list[Entry] = []
        silent = FullLayout(self._meta, self._max_parallelism, self._limits, Notes())
        return all(pair.reason is None for pair in silent._pairs(part, data, rest)) and not rest

    def _pairs(self, part: Part, data: memoryview, rest: list[Entry]) -> Iterator[Pair]:
        """Yield the stored pairs. Bytes that cannot be read are appended to ``rest``."""
        cursor = Cursor(data)
        at = 0
        try:
            if self._meta.compressed:
                cursor = Cursor(self._limits.inflate(data))
            number = cursor.u16()
            while number != _END:
                at = cursor.position
                key, value = cursor.take(cursor.count()), cursor.take(cursor.count())
                last = bool(key) and bool(key[0] & _LAST_OF_STATE)
                if last:
                    key = bytes([key[0] ^ _LAST_OF_STATE]) + key[1:]
                following = cursor.u16() if last else number
                yield self._pair(number, key, value, part)
                number, at = following, cursor.position
            if cursor.left:
                raise Malformed(f"{cursor.left} bytes follow the last key", at)
        except Malformed as malformed:
            self._notes.lose(f"Key group {part.key_group}", malformed)
            left = cursor.data[at : cursor.end]
            rest.append(unread(left, f"{malformed.what}.", key_group=part.key_group))

    def _pair(self, number: int, key: bytes, value: bytes, part: Part) -> Pair:
        if number >= len(self._meta.states):
            problem = self._meta.problem or "The checkpoint does not describe the state."
            return Pair(None, None, key, value, problem)
        state = self._meta.states[number]
        if key_group_of(key, self._max_parallelism) != part.key_group:
            return Pair(state, state.name, key, value, "The key belongs to another key group.")
        return Pair(state, state.name, key, value)
