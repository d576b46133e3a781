"""The state of Flink's operators as entries that every engine's pages and comparisons know.

The identity of a key is the same in whichever layout it is stored, and what is decoded is compared
by value. Bytes of lists and maps that are not decoded depend on
the layout, so that whether they changed cannot be told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from json import dumps

import orjson

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import BROADCAST, COORDINATOR, LISTED, RAW, UNION
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import Stream
from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry, Limits
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.keyed.keyed_state import KeyedState
from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.types.spelling import spelt
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.formats.opaque import SHOWN_BYTES, Opaque

UNNAMED = "not known"  # a state whose name is not
COORDINATOR_STATE = "coordinator"
_OF_ONE_ENCODING = frozenset({"VALUE", "REDUCING", "AGGREGATING", TIMERS})
_MODES = {"SPLIT_DISTRIBUTE": LISTED, "UNION": UNION, "BROADCAST": BROADCAST}


@dataclass(slots=True)
class StateSeen:
    """A state of an operator as its checkpoint describes it. kind, type: as in StateInventory."""

    kind: str
    type: str | None = None
    complete: bool = True
    type_in_full: str | None = None


@dataclass(slots=True)
class OperatorSeen:
    """What came to light while an operator's entries were read.

    layouts: of its keyed state; compressed: of all its state, as far as known.
    """

    states: dict[str, StateSeen] = field(default_factory=dict)
    layouts: dict[str, None] = field(default_factory=dict)
    compressed: set[bool] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)

    def state(
        self, name: str, kind: str, type_: str | None = None, in_full: str | None = None
    ) -> StateSeen:
        return self.states.setdefault(name, StateSeen(kind, type_, type_in_full=in_full))


def entries_of(
    upload: FlinkUpload,
    place: Place,
    operator: Operator,
    seen: OperatorSeen,
    limits: Limits | None = None,
) -> Iterator[StateEntry]:
    """All of one operator: keyed state, operator state, its coordinator. ``seen`` grows."""
    alone = replace(place.stored, metadata=replace(place.stored.metadata, operators=(operator,)))
    own = _Entries(upload, place.number, operator, seen)
    for keyed in checkpoint_state.keyed_states(upload, alone, limits):
        yield from own.of_keyed(keyed.subtask.index, keyed.state)
    for state in checkpoint_state.operator_states(upload, alone):
        yield from own.of_operator(state)
    if operator.coordinator is not None:
        yield own.of_coordinator(operator.coordinator, place.stored.folder)
    own.mark_incomplete()


class _Entries:
    def __init__(
        self, upload: FlinkUpload, number: int, operator: Operator, seen: OperatorSeen
    ) -> None:
        self._upload = upload
        self._number = number
        self._operator = operator
        self._seen = seen
        self._keyed: set[str] = set()
        self._is_complete = True

    def of_keyed(self, subtask: int, state: KeyedState) -> Iterator[StateEntry]:
        seen = self._seen
        for one in state.states:
            self._keyed.add(one.name)
            value = one.user_key.name + " → " + one.element.name if one.kind == "MAP" else None
            value = value or (one.element.name if one.kind == "LIST" else one.value_type)
            key = one.key.name if state.key is None else state.key.name
            type_ = key if one.kind == TIMERS else f"{key} → {value}"
            in_full = None if one.kind == TIMERS else _in_full(state.key or one.key, one)
            seen.state(one.name, one.kind.lower(), type_, None if in_full == type_ else in_full)
        for entry in state.entries:
            name = UNNAMED if entry.state is None else entry.state
            self._keyed.add(name)
            seen.state(name, entry.kind.lower())
            yield self._entry(subtask, name, entry)
        if state.layout is not None:
            seen.layouts[state.layout] = None
        if state.compressed is not None:
            seen.compressed.add(state.compressed)
        seen.notes |= dict.fromkeys(state.notes.sentences)
        seen.notes |= dict.fromkeys(_lacking(missing) for missing in state.notes.missing)
        self._is_complete = self._is_complete and state.notes.complete

    def mark_incomplete(self) -> None:
        """What one subtask lacks may be of any keyed state, also of one told of behind it."""
        if not self._is_complete:
            for name in self._keyed:
                self._seen.states[name].complete = False

    def _entry(self, subtask: int, name: str, entry: Entry) -> StateEntry:
        return StateEntry(
            self._number,
            self._operator.id,
            subtask,
            name,
            _part(entry.key),
            _part(entry.value),
            entry.size,
            entry.key_group,
            _namespace(entry.namespace),
            _identity(entry),
            _digest(entry),
        )

    def of_operator(self, state: checkpoint_state.SubtaskState) -> Iterator[StateEntry]:
        seen, found = self._seen, state.contents
        for one in found.states:
            name = f"{one.name} (operator state)" if one.name in self._keyed else one.name
            kind = RAW if state.raw else _MODES.get(one.mode, one.mode.lower())
            described = seen.state(name, kind, " → ".join(_in_order(one.types)) or None)
            for place, element in enumerate(one.elements):
                value = _part(element.value)
                digest = element.raw if isinstance(value, NotRead) else _text(value)
                is_missing = element.size > len(element.raw)
                yield StateEntry(
                    self._number,
                    self._operator.id,
                    state.subtask.index,
                    name,
                    place,
                    value,
                    element.size,
                    identity=_hash(dumps([state.subtask.index, place]).encode()),
                    digest=None if is_missing else _hash(bytes(digest)),
                )
            wanted = next(each for each in state.handle.states if each.name == one.name)
            if len(one.elements) < len(wanted.offsets):
                described.complete = False
        if found.problem:
            seen.notes[found.problem] = None
        if found.compressed is not None:
            seen.compressed.add(found.compressed)
        for unread in found.unread:
            if unread.size:
                seen.notes[f"{unread.size:,} bytes of operator state: {unread.reason}"] = None

    def of_coordinator(self, stream: Stream, folder: str) -> StateEntry:
        seen = self._seen.state(COORDINATOR_STATE, "coordinator")
        data = self._upload.files.read(stream, folder)
        reason = "The state of an operator's coordinator is private to it."
        digest = None
        if isinstance(data, Missing):
            seen.complete = False
            data, reason = b"", _lacking(data)
        else:
            digest = _hash(bytes(data))
        value = NotRead(stream.size, bytes(data[:SHOWN_BYTES]), reason)
        return StateEntry(
            self._number,
            self._operator.id,
            COORDINATOR,
            COORDINATOR_STATE,
            0,
            value,
            stream.size,
            identity=b"coordinator",
            digest=digest,
        )


def _in_order(types: dict[str, str]) -> list[str]:
    """The key's before the value's."""
    return [types[role] for role in ("KEY_SERIALIZER", "VALUE_SERIALIZER") if role in types]


def _lacking(missing: Missing) -> str:
    return f"{missing.path}: {missing.reason}"


def _in_full(key: Serializer, state: StateType) -> str | None:
    """Spell key, user key and value with the fields of their classes."""
    if state.kind == "MAP":
        parts = [key, state.user_key, state.element]
    else:
        parts = [key, state.element if state.kind == "LIST" else state.value]
    spellings = [spelt(part) for part in parts if part is not None]
    return None if None in spellings else " → ".join(filter(None, spellings))


def _part(value: object) -> object:
    """A key or value as it is kept: NotRead where nobody could decode it, or JSON cannot hold
    it."""
    if isinstance(value, Opaque):
        return NotRead(value.size, value.head, value.reason)
    try:
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError) as error:
        return NotRead(0, b"", f"It was decoded, but cannot be written as JSON: {error}.")
    return value


def _namespace(value: object) -> object:
    kept = _part(value)
    return kept.reason if isinstance(kept, NotRead) else kept


def _identity(entry: Entry) -> bytes:
    if isinstance(entry.key, Opaque) or (entry.raw_key and entry.kind == "MAP"):
        return _hash(b"raw " + bytes(entry.raw_key))
    parts = [entry.namespace, entry.key]
    if entry.kind == TIMERS and entry.is_known:
        parts.append(entry.value)
    return _hash(dumps(parts).encode())


def _digest(entry: Entry) -> bytes | None:
    if entry.is_known:
        return _hash(_text(entry.value))
    if entry.kind in _OF_ONE_ENCODING and entry.raw_value:
        return _hash(b"raw " + bytes(entry.raw_value))
    return None


def _text(value: object) -> bytes:
    return dumps(value, sort_keys=True).encode()


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
