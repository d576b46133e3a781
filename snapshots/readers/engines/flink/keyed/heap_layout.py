"""Read keyed state of the hashmap backend: every state by key group, without lengths.

The end of a value that cannot be decoded is stored nowhere. It is taken to be the first place
where the number of a following state stands, and from which the key group decodes exactly to its
end. Source: Flink, HeapSnapshotStrategy, CopyOnWriteStateTableSnapshot,
StateTableByKeyGroupReaders.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator

from snapshots.readers.engines.flink.handles import NO_DATA
from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.key_group_parts import Part
from snapshots.readers.engines.flink.keyed.keyed_meta import KeyedMeta, StateType
from snapshots.readers.engines.flink.types.composites import TimerSerializer
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed, NotReadHere
from snapshots.readers.formats.opaque import Opaque

_GROUP_BYTES, _NUMBER_BYTES = 4, 2
_MOST_TRIED_FOR_ORDER = 64  # key groups
_MOST_UNDECODABLE = 8  # states with undecodable values that one search may pass
_COPIED_PER_SEARCHED = 4096  # bytes that are copied in the time of decoding one

Seen = dict[int, None]  # the numbers of the states that a key group has so far, in order


class HeapLayout:
    """A reader of one stream's key groups."""

    def __init__(self, meta: KeyedMeta, limits: Limits, notes: Notes) -> None:
        self._meta = meta
        self._limits = limits
        self._notes = notes
        self._next: dict[int, set[int]] | None = None  # the successors of a state, once known
        self._to_search = limits.searched_bytes

    def entries(self, parts: list[Part], read: Callable[[Part], memoryview]) -> Iterator[Entry]:
        """Yield the entries in the order of ``parts``; ``read`` returns the bytes of one."""
        self._learn_order(parts, read)
        for part in parts:
            if part.offset != NO_DATA:
                yield from self._part_entries(part, read(part))

    def fits(self, part: Part, data: memoryview) -> bool:
        """Tell whether all states are there and decode exactly to the end."""
        seen: Seen = {}
        try:
            self._pass(self._body(part, data), seen)
        except Malformed:
            return False
        return len(seen) == len(self._meta.states)

    def _learn_order(self, parts: list[Part], read: Callable[[Part], memoryview]) -> None:
        """Learn the order of the states, the same in all key groups, from the smallest ones."""
        for part in sorted(parts, key=lambda part: part.size)[:_MOST_TRIED_FOR_ORDER]:
            seen: Seen = {}
            try:
                self._pass(self._body(part, read(part)), seen)
            except Malformed:
                continue
            if len(seen) == len(self._meta.states):
                order = list(seen)
                self._next = {number: {follower} for number, follower in itertools.pairwise(order)}
                return

    def _body(self, part: Part, data: memoryview) -> Cursor:
        """Return a cursor on what follows the number of the key group. Raises: Malformed."""
        cursor = Cursor(data)
        number = cursor.i32()
        if number != part.key_group:
            raise Malformed(f"Key group {number} stands where {part.key_group} should", 0)
        if not self._meta.compressed:
            return cursor
        return Cursor(self._limits.inflate(data[_GROUP_BYTES:]))

    def _pass(self, cursor: Cursor, seen: Seen) -> None:
        """Decode all that is left. Raises: Malformed, with the cursor at the bad entry."""
        while cursor.left:
            state, count = self._header(cursor, seen)
            for _ in range(count):
                self._entry(state, cursor)

    def _entry(self, state: StateType, cursor: Cursor) -> tuple[object, object, object]:
        """Decode namespace, key and value. Raises: Malformed, without moving the cursor."""
        start, end = cursor.position, cursor.end
        cursor.end = min(end, start + self._limits.value_bytes)
        try:
            return _decoded(state, cursor)
        except Malformed as malformed:
            too_large = cursor.end < end and not isinstance(malformed, Undecodable)
            cursor.position = start
            if too_large:
                size = f"{self._limits.value_bytes:,} bytes"
                raise NotReadHere(f"The entry has more than {size}, or is damaged", start) from None
            raise
        finally:
            cursor.end = end

    def _header(self, cursor: Cursor, seen: Seen) -> tuple[StateType, int]:
        """Read the next state and how many entries it has. Raises: Malformed."""
        at, number = cursor.position, cursor.i16()
        if number in seen or not 0 <= number < len(self._meta.states):
            if self._meta.problem:
                is_damaged = self._meta.is_damaged
                kind = NotReadHere if is_damaged else Undecodable
                raise kind(f"State {number} is unknown ({self._meta.problem})", at)
            raise Malformed(f"State {number} is unknown", at)
        count = cursor.count()
        seen[number] = None
        return self._meta.states[number], count

    def _part_entries(self, part: Part, data: memoryview) -> Iterator[Entry]:
        at, seen = 0, Seen()
        try:
            cursor = self._body(part, data)
            data = cursor.data
            while cursor.left:
                at = cursor.position
                state, count = self._header(cursor, seen)
                yield from self._state_entries(state, count, cursor, part, seen)
        except Malformed as malformed:
            self._notes.lose(f"Key group {part.key_group}", malformed)
            yield unread(data[at:], f"{malformed.what}.", key_group=part.key_group)

    def _state_entries(
        self, state: StateType, count: int, cursor: Cursor, part: Part, seen: Seen
    ) -> Iterator[Entry]:
        for left in range(count, 0, -1):
            start = cursor.position
            try:
                namespace, key, value = self._entry(state, cursor)
            except Malformed as malformed:
                cursor.position = self._end_of_state(start, cursor, seen)
                lost = cursor.data[start : cursor.position]
                yield _lost(state, left, lost, part.key_group, malformed)
                return
            size = cursor.position - start
            yield Entry(state.name, state.kind, part.key_group, namespace, key, value, size)

    def _end_of_state(self, start: int, cursor: Cursor, seen: Seen) -> int:
        """Return where the state ends whose entry at ``start`` cannot be decoded."""
        data = bytes(cursor.data[: cursor.end])
        self._to_search -= len(data) // _COPIED_PER_SEARCHED
        end = self._search(start, data, seen, 0)
        if end is None and self._following(seen):
            self._notes.say(
                "Where an undecodable value ends could not be found.", complete=False, is_whole=True
            )
        return cursor.end if end is None else end

    def _search(self, start: int, data: bytes, seen: Seen, depth: int) -> int | None:
        """Return the first offset behind ``start`` from which ``data`` decodes to its end."""
        for offset in _state_offsets(data, start + 1, self._following(seen)):
            if self._fits(offset, data, seen, depth):
                return offset
            if self._to_search < 0:
                return None
        return None

    def _following(self, seen: Seen) -> set[int]:
        """Return the states that can come next; none at the end of a key group."""
        if self._next is not None:
            return self._next.get(next(reversed(seen)), set())
        return set(range(len(self._meta.states))) - set(seen)

    def _fits(self, offset: int, data: bytes, seen: Seen, depth: int) -> bool:
        """Tell whether all from ``offset`` on decodes, except further undecodable values."""
        trial, seen = Cursor(data, offset), dict(seen)
        try:
            self._pass(trial, seen)
        except Undecodable:
            return depth < _MOST_UNDECODABLE and (
                not self._following(seen)
                or self._search(trial.position, data, seen, depth + 1) is not None
            )
        except Malformed:
            return False
        finally:
            self._to_search -= trial.position - offset + len(seen)
        return not self._following(seen)


def _state_offsets(data: bytes, start: int, numbers: set[int]) -> Iterator[int]:
    """Yield the offsets from ``start`` on where one of the states' numbers stands, ascending."""
    return heapq.merge(*(_occurrences(data, start, number) for number in numbers))


def _occurrences(data: bytes, start: int, number: int) -> Iterator[int]:
    pattern = number.to_bytes(_NUMBER_BYTES, "big")
    offset = data.find(pattern, start)
    while offset >= 0:
        yield offset
        offset = data.find(pattern, offset + 1)


def _decoded(state: StateType, cursor: Cursor) -> tuple[object, object, object]:
    """Decode namespace, key and value of the next entry. Raises: Malformed."""
    if state.kind != TIMERS:
        return state.namespace.decode(cursor), state.key.decode(cursor), state.value.decode(cursor)
    if not isinstance(state.value, TimerSerializer):
        raise Undecodable("The encoding of timers is unknown", cursor.position)
    timer = state.value.decode(cursor)
    return timer["namespace"], timer["key"], timer["timestamp"]


def _lost(state: StateType, left: int, data: memoryview, group: int, malformed: Malformed) -> Entry:
    """Return the bytes of a state's last ``left`` entries as one entry.

    If it is a single one, its namespace and key may be known.
    """
    reason, damaged = f"{malformed.what}.", not isinstance(malformed, NotReadHere)
    if left > 1:
        reason = f"{reason} The entries that follow it are lost, too: {left - 1:,}."
    try:
        if left > 1 or state.kind == TIMERS:
            raise Malformed("Keys cannot be told apart", 0)
        cursor = Cursor(data)
        namespace, key = state.namespace.decode(cursor), state.key.decode(cursor)
    except Malformed:
        return unread(data, reason, state.name, group, state.kind, damaged=damaged)
    raw = bytes(data[cursor.position :])
    known = malformed.known if isinstance(malformed, Undecodable) else None
    value = Opaque.of(raw, reason, damaged=damaged, known=known)
    return Entry(state.name, state.kind, group, namespace, key, value, len(data), b"", raw)
