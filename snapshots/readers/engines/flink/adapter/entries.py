"""The state of Flink's operators as entries that every engine's pages and comparisons know.

The identity of a key is the same in whichever layout it is stored, and what is decoded is compared
by value. The bytes of lists and maps depend on the layout, so that nobody can tell whether those
that are not decoded changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from json import dumps

import orjson

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import BROADCAST, COORDINATOR, LISTED, RAW, UNION, UNNAMED
from snapshots.readers.engines.flink import checkpoint_state, enumerators
from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import Stream
from snapshots.readers.engines.flink.keyed.entries import MOST_SENTENCES, TIMERS, Entry, Limits
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.keyed.keyed_state import KeyedState
from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.python_values import NOTE, is_python, python_value
from snapshots.readers.engines.flink.sink_values import sink_value
from snapshots.readers.engines.flink.splits import position_of
from snapshots.readers.engines.flink.sql.query import Query
from snapshots.readers.engines.flink.types.spelling import spelt
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.engines.flink.upload import FlinkUpload, StoredCheckpoint
from snapshots.readers.formats.opaque import SHOWN_BYTES, Opaque

COORDINATOR_STATE = "coordinator"
READER = "SourceReaderState"
WINDOW_TIMERS = "_window-timers"  # how the names of timers of windows end
RAW_TIMERS = "Flink keeps the timers of this operator in raw keyed state."
_OF_ONE_ENCODING = frozenset({"VALUE", "REDUCING", "AGGREGATING", TIMERS})
_MODES = {"SPLIT_DISTRIBUTE": LISTED, "UNION": UNION, "BROADCAST": BROADCAST}


@dataclass(slots=True)
class StateSeen:
    """A state of an operator as its checkpoint describes it; fields as in StateInventory."""

    kind: str
    type: str | None = None
    complete: bool = True
    type_in_full: str | None = None


@dataclass(slots=True)
class OperatorSeen:
    """What came to light while an operator's entries were read.

    Attributes:
        states: its states by name.
        layouts: the layouts of its keyed state, in order.
        compressed: whether its states are compressed, as far as that is known.
        notes: what must be said, as sentences in order.
        damage: sentences about bytes that contradict themselves.
        not_read: sentences about bytes that may be intact, and are not read to their end.
        query: what the operator holds, if it is one of a query.
        private_bytes: bytes of raw keyed state in a form of the operator's own.
        undecoded: how many keys or values of each state cannot be decoded, and why the first one.
    """

    states: dict[str, StateSeen] = field(default_factory=dict)
    layouts: dict[str, None] = field(default_factory=dict)
    compressed: set[bool] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    damage: dict[str, None] = field(default_factory=dict)
    not_read: dict[str, None] = field(default_factory=dict)
    undecoded: dict[str, tuple[int, str]] = field(default_factory=dict)
    query: Query = field(default_factory=lambda: Query(None))
    private_bytes: int = 0

    def state(
        self, name: str, kind: str, type_: str | None = None, in_full: str | None = None
    ) -> StateSeen:
        """Return a state, which is added if it is new."""
        return self.states.setdefault(name, StateSeen(kind, type_, type_in_full=in_full))

    def note(self, sentence: str) -> None:
        """Add a sentence, once."""
        self.notes[sentence] = None

    def miss(self, subtask: int, missing: Missing) -> None:
        """Note bytes that may be there and are not read; the files say what is absent."""
        if not missing.is_certain:
            self.not_read[f"subtask {subtask}: {_lacking(missing)}"] = None

    def count_opaque(self, state: str, subtask: int, *parts: object) -> None:
        """Count an entry if its key or value is not known, and note what contradicts its type."""
        opaque = next((part for part in parts if isinstance(part, Opaque)), None)
        if opaque is None:
            return
        count, reason = self.undecoded.get(state, (0, opaque.reason))
        self.undecoded[state] = count + 1, reason
        if opaque.damaged and len(self.not_read) < MOST_SENTENCES:
            self.not_read[f"{state}, subtask {subtask}: {opaque.reason}"] = None


def entries_of(
    upload: FlinkUpload,
    number: int,
    stored: StoredCheckpoint,
    operator: Operator,
    seen: OperatorSeen,
    limits: Limits | None = None,
) -> Iterator[StateEntry]:
    """Yield the entries of an operator: keyed state, operator state, its coordinator's state.

    Args:
        number: the number of the checkpoint.
        seen: what is known of the operator; it grows.
    """
    assert stored.metadata is not None  # an operator comes from it
    alone = replace(stored, metadata=replace(stored.metadata, operators=(operator,)))
    reading = _Entries(upload, number, operator, seen)
    for keyed in checkpoint_state.keyed_states(upload, alone, limits):
        yield from reading.keyed(keyed.subtask.index, keyed.state)
    yield from reading.raw_keyed(checkpoint_state.raw_timers(upload, alone))
    for state in checkpoint_state.operator_states(upload, alone):
        yield from reading.operator_state(state)
    if operator.coordinator is not None:
        yield reading.coordinator(operator.coordinator, stored.folder)
    reading.mark_incomplete()


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

    def keyed(self, subtask: int, state: KeyedState) -> Iterator[StateEntry]:
        seen = self._seen
        for described in state.states:
            self._keyed.add(described.name)
            element, kind = described.element.name, described.kind
            value = f"{described.user_key.name} → {element}" if kind == "MAP" else None
            value = value or (element if kind == "LIST" else described.value_type)
            key = described.key if state.key is None else state.key
            type_ = key.name if kind == TIMERS else f"{key.name} → {value}"
            in_full = None if kind == TIMERS else _in_full(key, described)
            seen.state(described.name, kind.lower(), type_, None if in_full == type_ else in_full)
            seen.query.describe(described, key)
        for entry in state.entries:
            name = UNNAMED if entry.state is None else entry.state
            self._keyed.add(name)
            seen.state(name, entry.kind.lower())
            seen.count_opaque(name, subtask, entry.value, entry.key)
            identity, shown = _identity(entry), self._value(name, entry.value)
            seen.query.add(name, identity, shown)
            if entry.kind == TIMERS and name.endswith(WINDOW_TIMERS):
                seen.query.time(entry.namespace, entry.value)
            yield StateEntry(
                self._number,
                self._operator.id,
                subtask,
                name,
                _shown(entry.key),
                shown,
                entry.size,
                entry.key_group,
                _namespace(entry.namespace),
                identity,
                _digest(entry),
            )
        if state.layout is not None:
            seen.layouts[state.layout] = None
        if state.compressed is not None:
            seen.compressed.add(state.compressed)
        for sentence in (*state.notes.sentences, *map(_lacking, state.notes.missing)):
            seen.note(sentence)
        for missing in state.notes.missing:
            seen.miss(subtask, missing)
        for own, sentences in (
            (seen.damage, state.notes.damage),
            (seen.not_read, state.notes.not_read),
        ):
            own.update((f"subtask {subtask}: {sentence}", None) for sentence in sentences)
        self._is_complete = self._is_complete and state.notes.complete

    def raw_keyed(
        self, states: Iterator[checkpoint_state.SubtaskKeyedState | Missing | int]
    ) -> Iterator[StateEntry]:
        """Yield timers in raw keyed state, and note what else lies there."""
        private = 0
        for state in states:
            if isinstance(state, int):
                private += state
            elif isinstance(state, Missing):
                self._seen.note(_lacking(state))
                self._is_complete = False
            else:
                self._seen.note(RAW_TIMERS)
                yield from self.keyed(state.subtask.index, state.state)
        if private:
            self._seen.private_bytes = private
            self._seen.note(
                f"{private:,} bytes of raw keyed state, whose content is private to the operator."
            )

    def mark_incomplete(self) -> None:
        """Mark all keyed states if one subtask lacks something, which may be part of any state."""
        if not self._is_complete:
            for name in self._keyed:
                self._seen.states[name].complete = False

    def operator_state(self, state: checkpoint_state.SubtaskState) -> Iterator[StateEntry]:
        seen, contents, subtask = self._seen, state.contents, state.subtask.index
        for listed in contents.states:
            name = f"{listed.name} (operator state)" if listed.name in self._keyed else listed.name
            kind = RAW if state.raw else _MODES.get(listed.mode, listed.mode.lower())
            roles = ("KEY_SERIALIZER", "VALUE_SERIALIZER")
            types = [listed.types[role] for role in roles if role in listed.types]
            described = seen.state(name, kind, " → ".join(types) or None)
            for place, element in enumerate(listed.elements):
                value = self._value(name, element.value)
                if not state.raw and contents.missing is None:
                    seen.count_opaque(name, subtask, element.value)
                content = bytes(element.raw) if _is_opaque(element.value, value) else _text(value)
                is_missing = element.size > len(element.raw)
                yield StateEntry(
                    self._number,
                    self._operator.id,
                    subtask,
                    name,
                    place,
                    value,
                    element.size,
                    identity=_hash(dumps([subtask, place]).encode()),
                    digest=None if is_missing else _hash(content),
                )
            handle = next(each for each in state.handle.states if each.name == listed.name)
            if len(listed.elements) < len(handle.offsets):
                described.complete = False
        if contents.problem:
            seen.note(contents.problem)
            if contents.missing is not None:
                seen.miss(subtask, contents.missing)
            elif not state.raw:
                seen.not_read[f"subtask {subtask}: {contents.problem}"] = None
        if contents.compressed is not None:
            seen.compressed.add(contents.compressed)
        for unread in contents.unread:
            if unread.size:
                seen.note(f"{unread.size:,} bytes of operator state: {unread.reason}")

    def _value(self, state: str, value: object) -> object:
        """Return a value as it is shown; bytes of Python, sources and sinks by their form."""
        if isinstance(value, Opaque):
            return _shown(value)
        if is_python(state):
            self._seen.note(NOTE)
            return _shown(python_value(value))
        return _shown(_of_connector(state, value))

    def coordinator(self, stream: Stream, folder: str) -> StateEntry:
        seen = self._seen.state(COORDINATOR_STATE, "coordinator")
        data = self._upload.files.read(stream, folder)
        head, reason = b"", "The state of an operator's coordinator is private to it."
        digest = None
        if isinstance(data, Missing):
            seen.complete = False
            self._seen.miss(COORDINATOR, data)
            reason = _lacking(data)
        else:
            head, digest = bytes(data[:SHOWN_BYTES]), _hash(bytes(data))
        known = None if isinstance(data, Missing) else enumerators.shown(bytes(data))
        return StateEntry(
            self._number,
            self._operator.id,
            COORDINATOR,
            COORDINATOR_STATE,
            0,
            known or NotRead(stream.size, head, reason),
            stream.size,
            identity=b"coordinator",
            digest=digest,
        )


def _of_connector(state: str, value: object) -> object:
    """Return what a source's reader or a sink keeps; the value itself if its form is not known."""
    text = value.get("hex") if isinstance(value, dict) else None
    if not isinstance(text, str):
        return value
    data = bytes.fromhex(text)
    if state == READER:
        position = position_of(data)
        return value if position is None else {"position": position.sentence, "hex": text}
    return sink_value(state, data) or value


def _lacking(missing: Missing) -> str:
    return f"{missing.path}: {missing.reason}"


def _in_full(key: Serializer, state: StateType) -> str | None:
    """Spell key, user key and value with the fields of their classes."""
    if state.kind == "MAP":
        parts = [key, state.user_key, state.element]
    else:
        parts = [key, state.element if state.kind == "LIST" else state.value]
    spellings = [spelling for part in parts if (spelling := spelt(part)) is not None]
    return " → ".join(spellings) if len(spellings) == len(parts) else None


def _shown(value: object) -> object:
    """Return a key or value; NotRead if nobody could decode it, or if JSON cannot hold it.

    A value of which only the beginning could be decoded says so where its other fields would be.
    """
    if isinstance(value, Opaque) and value.known is not None:
        return _shown(value.known)
    if isinstance(value, Opaque):
        return NotRead(value.size, value.head, value.reason)
    try:
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError) as error:
        return NotRead(0, b"", f"It was decoded, but cannot be written as JSON: {error}.")
    return value


def _is_opaque(stored: object, shown: object) -> bool:
    """Tell whether a value is not known to its end."""
    return isinstance(stored, Opaque) or isinstance(shown, NotRead)


def _namespace(value: object) -> object:
    shown = _shown(value)
    return shown.reason if isinstance(shown, NotRead) else shown


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
