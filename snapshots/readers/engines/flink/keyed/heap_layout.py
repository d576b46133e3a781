"""Keyed state as the hashmap backend writes it: per key group every state, without lengths.

Source: Flink, HeapSnapshotStrategy, CopyOnWriteStateTableSnapshot, StateTableByKeyGroupReaders.

Where a value cannot be decoded nothing says where it ends. It is taken to end where the next
state's number stands and all the rest of the key group decodes from there exactly to its end.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator

from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry, Limits, Notes, unread
from snapshots.readers.engines.flink.keyed.key_group_parts import Part
from snapshots.readers.engines.flink.keyed.keyed_meta import KeyedMeta, StateType
from snapshots.readers.engines.flink.types.composites import TimerSerializer
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.opaque import Opaque

_GROUP_BYTES, _NUMBER_BYTES = 4, 2
_MOST_TRIED_FOR_ORDER = 64  # key groups
_MOST_UNDECODABLE = 8  # states in a row that are looked for behind one another
_COPIED_PER_SEARCHED = 4096  # bytes that are copied in the time of decoding one

Seen = dict[int, None]  # the numbers of the states of a key group so far, in order


class HeapLayout:
    """The entries of one stream's key groups."""

    def __init__(self, meta: KeyedMeta, limits: Limits, notes: Notes) -> None:
        self._meta = meta
        self._limits = limits
        self._notes = notes
        self._next: dict[int, set[int]] | None = None  # which state follows which, once known
        self._to_search = limits.searched_bytes

    def entries(self, parts: list[Part], read: Callable[[Part], memoryview]) -> Iterator[Entry]:
        """The entries in the order of ``parts``. read: gives the bytes of one."""
        self._learn_order(parts, read)
        for part in parts:
            yield from self._of_part(part, read(part))

    def fits(self, part: Part, data: memoryview) -> bool:
        """Whether all states are there and decode exactly to the end."""
        seen: Seen = {}
        try:
            self._pass(self._body(part, data), seen)
        except Malformed:
            return False
        return len(seen) == len(self._meta.states)

    def _learn_order(self, parts: list[Part], read: Callable[[Part], memoryview]) -> None:
        """All key groups have the states in one order; the smallest ones tell which."""
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
        """What follows the number of the key group. Raises: Malformed."""
        cursor = Cursor(data)
        number = cursor.i32()
        if number != part.key_group:
            raise Malformed(f"Key group {number} stands where {part.key_group} should", 0)
        if not self._meta.compressed:
            return cursor
        return Cursor(self._limits.inflate(data[_GROUP_BYTES:]))

    def _pass(self, cursor: Cursor, seen: Seen) -> None:
        """Decodes all that is left. Raises: Malformed; the cursor then is at the bad entry."""
        while cursor.left:
            state, count = self._header(cursor, seen)
            for _ in range(count):
                self._entry(state, cursor)

    def _entry(self, state: StateType, cursor: Cursor) -> tuple[object, object, object]:
        """Namespace, key and value. Raises: Malformed, and the cursor then stays."""
        start, end = cursor.position, cursor.end
        cursor.end = min(end, start + self._limits.value_bytes)
        try:
            return _decoded(state, cursor)
        except Malformed as malformed:
            too_large = cursor.end < end and not isinstance(malformed, Undecodable)
            cursor.position = start
            if too_large:
                size = f"{self._limits.value_bytes:,} bytes"
                raise Malformed(f"The entry has more than {size}, or is damaged", start) from None
            raise
        finally:
            cursor.end = end

    def _header(self, cursor: Cursor, seen: Seen) -> tuple[StateType, int]:
        """The next state and how many entries it has. Raises: Malformed."""
        at, number = cursor.position, cursor.i16()
        if number in seen or not 0 <= number < len(self._meta.states):
            problem = f" ({self._meta.problem})" if self._meta.problem else ""
            raise Malformed(f"State {number} is not known here{problem}", at)
        count = cursor.count()
        seen[number] = None
        return self._meta.states[number], count

    def _of_part(self, part: Part, data: memoryview) -> Iterator[Entry]:
        at, seen = 0, {}
        try:
            cursor = self._body(part, data)
            data = cursor.data
            while cursor.left:
                at = cursor.position
                state, count = self._header(cursor, seen)
                yield from self._of_state(state, count, cursor, part, seen)
        except Malformed as malformed:
            self._notes.say(f"Key group {part.key_group}: {malformed.what}.", complete=False)
            yield unread(data[at:], f"{malformed.what}.", key_group=part.key_group)

    def _of_state(
        self, state: StateType, count: int, cursor: Cursor, part: Part, seen: Seen
    ) -> Iterator[Entry]:
        for left in range(count, 0, -1):
            start = cursor.position
            try:
                namespace, key, value = self._entry(state, cursor)
            except Malformed as malformed:
                cursor.position = self._end_of_state(start, cursor, seen)
                lost = cursor.data[start : cursor.position]
                yield _lost(state, left, lost, part.key_group, f"{malformed.what}.")
                return
            size = cursor.position - start
            yield Entry(state.name, state.kind, part.key_group, namespace, key, value, size)

    def _end_of_state(self, start: int, cursor: Cursor, seen: Seen) -> int:
        """Where the state ends whose entry at ``start`` cannot be decoded."""
        data = bytes(cursor.data[: cursor.end])
        self._to_search -= len(data) // _COPIED_PER_SEARCHED
        found = self._search(start, data, seen, 0)
        if found is None and self._following(seen):
            self._notes.say("Where an undecodable value ends could not be found.", complete=False)
        return cursor.end if found is None else found

    def _search(self, start: int, data: bytes, seen: Seen, depth: int) -> int | None:
        """The first place behind ``start`` from which all of ``data`` decodes to its end."""
        for place in _places(data, start + 1, self._following(seen)):
            if self._fits(place, data, seen, depth):
                return place
            if self._to_search < 0:
                return None
        return None

    def _following(self, seen: Seen) -> set[int]:
        """The states that can come next; none at the end of a key group."""
        if self._next is not None:
            return self._next.get(next(reversed(seen)), set())
        return set(range(len(self._meta.states))) - set(seen)

    def _fits(self, place: int, data: bytes, seen: Seen, depth: int) -> bool:
        """Whether all from ``place`` on decodes, further undecodable values aside."""
        trial, seen = Cursor(data, place), dict(seen)
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
            self._to_search -= trial.position - place + len(seen)
        return not self._following(seen)


def _places(data: bytes, start: int, numbers: set[int]) -> Iterator[int]:
    """Where one of the numbers of states stands from ``start`` on, in order."""
    return heapq.merge(*(_occurrences(data, start, number) for number in numbers))


def _occurrences(data: bytes, start: int, number: int) -> Iterator[int]:
    pattern = number.to_bytes(_NUMBER_BYTES, "big")
    place = data.find(pattern, start)
    while place >= 0:
        yield place
        place = data.find(pattern, place + 1)


def _decoded(state: StateType, cursor: Cursor) -> tuple[object, object, object]:
    """Namespace, key and value of the next entry. Raises: Malformed."""
    if state.kind != TIMERS:
        return state.namespace.decode(cursor), state.key.decode(cursor), state.value.decode(cursor)
    if not isinstance(state.value, TimerSerializer):
        raise Undecodable("How timers are written is not known here", cursor.position)
    timer = state.value.decode(cursor)
    return timer["namespace"], timer["key"], timer["timestamp"]


def _lost(state: StateType, left: int, data: memoryview, group: int, reason: str) -> Entry:
    """The bytes of the last ``left`` entries of a state; of a single one the key can be known."""
    if left > 1:
        reason = f"{reason} With it {left - 1:,} more of its entries are lost."
    try:
        if left > 1 or state.kind == TIMERS:
            raise Malformed("Keys cannot be told apart", 0)
        cursor = Cursor(data)
        namespace, key = state.namespace.decode(cursor), state.key.decode(cursor)
    except Malformed:
        return unread(data, reason, state.name, group, state.kind)
    raw = bytes(data[cursor.position :])
    value = Opaque.of(raw, reason)
    return Entry(state.name, state.kind, group, namespace, key, value, len(data), b"", raw)
