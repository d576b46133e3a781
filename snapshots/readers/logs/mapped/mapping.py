"""Checks a mapping: the document that says what each field of a JSON line means.

    process   path of the field that names the process
    kind      path of a field with the kinds of the native format (without it, all events are
              internal); or {"path", "rules", "otherwise"}: rules are {"value", "kind"}, the first
              that fits counts, a value may end in *
    peer      path of the other process of a message; or {"send": path, "receive": path}
    channel   path of the channel's name, instead of the peer or beside it
    message   path of the message's id; without it, messages are paired by their content
    at        path of the time, in seconds since 1970; or {"path", "unit"}, unit one of UNITS
    state     path, or {name: path}, of the state after the event
    value     path, or {name: path}, of a message's value
    label     path of the event's label
    snapshot  path of the snapshot's id
    clock     path of the event's vector clock: an object of processes and counts, a list of counts,
              or either as text; or {"path", "first"}, first the number of a list's first process (0
              by default). Messages then follow from the clocks, and peer, channel and message are
              not asked for
    fifo      whether channels keep the order of messages; false by default

A path is names with dots between them; a number is a place in a list. A field whose own name is the
whole path comes first.
"""

from collections.abc import Mapping as JsonObject
from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.model.defects import quoted
from snapshots.domain.model.recording import (
    CRASH,
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_STATE,
    SEND,
)
from snapshots.readers.logs.json_events import INCOMING, OUTGOING

SKIP = "skip"
KINDS = (INTERNAL, SEND, RECEIVE, RECORD_STATE, MARKER_SEND, MARKER_RECEIVE, CRASH)
SECONDS, DATE = "s", "date"
UNITS = (SECONDS, "ms", "us", "ns", DATE)
LONGEST_PATH = 200  # characters
MOST_RULES = 100
MOST_PARTS = 50  # of a state or value
_FIELDS = {
    "process", "kind", "peer", "channel", "message", "at", "state", "value", "label", "snapshot",
    "fifo", "clock",
}  # fmt: skip

Parts = str | dict[str, str] | None
"""The path of a state or value, or the path of each of its named parts."""


class MappingRefused(ValueError):
    """The document is no mapping."""

    permanent = True

    def __init__(self, field: str, sentence: str) -> None:
        """Name the place of the fault as a path, such as ``kind.rules[3]``."""
        self.field = field
        self.sentence = sentence
        super().__init__(f"{field}: {sentence}")


@dataclass(frozen=True, slots=True)
class Rule:
    """Gives a kind to some values of the kind's field.

    Attributes:
        value: the value that fits; with * at its end, all values that begin so.
        kind: one of KINDS, or SKIP.
    """

    value: str
    kind: str

    def fits(self, value: str) -> bool:
        if self.value.endswith("*"):
            return value.startswith(self.value[:-1])
        return value == self.value


@dataclass(frozen=True)
class Mapping:
    """The paths of a checked document, and its settings. A path of None means no such field.

    Attributes:
        rules: none means that the kind's field has the kinds of the native format.
        otherwise: the kind of an event that no rule fits.
        first: the number of the first process of a clock that is a list.
    """

    process: str
    kind: str | None = None
    rules: tuple[Rule, ...] | None = None
    otherwise: str = INTERNAL
    peer_sent: str | None = None
    peer_received: str | None = None
    channel: str | None = None
    message: str | None = None
    at: str | None = None
    unit: str = SECONDS
    state: Parts = None
    value: Parts = None
    label: str | None = None
    snapshot: str | None = None
    fifo: bool = False
    clock: str | None = None
    first: int = 0
    document: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def paths(self) -> set[str]:
        """All paths in use. Any other field of a line is kept beside the event."""
        paths = {self.process, self.kind, self.peer_sent, self.peer_received, self.channel}
        paths |= {self.message, self.at, self.label, self.snapshot, self.clock}
        for parts in (self.state, self.value):
            paths |= set(parts.values()) if isinstance(parts, dict) else {parts}
        return {path for path in paths if path is not None}


def parse(document: object) -> Mapping:
    """Return the mapping that a JSON document describes. Raises: MappingRefused."""
    if not isinstance(document, JsonObject):
        raise MappingRefused("mapping", "A mapping is an object.")
    for name in document:
        if name not in _FIELDS:
            raise MappingRefused(str(name)[:100], "There is no such field.")
    kind, rules, otherwise = _kind(document.get("kind"))
    sent, received = _peer(document.get("peer"))
    at, unit = _time(document.get("at"))
    clock, first = _clock(document.get("clock"))
    fifo = document.get("fifo", False)
    if not isinstance(fifo, bool):
        raise MappingRefused("fifo", "It is true or false.")
    mapping = Mapping(
        process=_path(document.get("process"), "process"),
        kind=kind,
        rules=rules,
        otherwise=otherwise,
        peer_sent=sent,
        peer_received=received,
        channel=_optional(document, "channel"),
        message=_optional(document, "message"),
        at=at,
        unit=unit,
        state=_parts(document.get("state"), "state"),
        value=_parts(document.get("value"), "value"),
        label=_optional(document, "label"),
        snapshot=_optional(document, "snapshot"),
        fifo=fifo,
        clock=clock,
        first=first,
        document=dict(document),
    )
    _check_needs(mapping)
    return mapping


def _check_needs(mapping: Mapping) -> None:
    """Check that the mapping has the fields that its kinds need. Raises: MappingRefused."""
    kinds = {rule.kind for rule in mapping.rules or ()} | {mapping.otherwise}
    for linked, peer, verb in (
        (OUTGOING, mapping.peer_sent, "send"),
        (INCOMING, mapping.peer_received, "receive"),
    ):
        is_named = peer is not None or mapping.channel is not None or mapping.clock is not None
        if kinds & linked and not is_named:
            raise MappingRefused(
                "peer", f"A {verb} needs the field of its peer, or that of its channel."
            )
    if kinds & {RECORD_STATE, MARKER_SEND, MARKER_RECEIVE} and mapping.snapshot is None:
        raise MappingRefused("snapshot", "What belongs to a snapshot needs the field with its id.")


def _path(value: object, where: str) -> str:
    if value is None or value == "":
        raise MappingRefused(where, "Which field is it?")
    if not isinstance(value, str):
        raise MappingRefused(where, "A path is a text: names with dots between.")
    if len(value) > LONGEST_PATH or not value.isprintable():
        raise MappingRefused(where, f"A path has 1 to {LONGEST_PATH} characters that can be seen.")
    return value


def _optional(document: JsonObject, name: str) -> str | None:
    return None if document.get(name) is None else _path(document[name], name)


def _kind(value: object) -> tuple[str | None, tuple[Rule, ...] | None, str]:
    if value is None:
        return None, None, INTERNAL
    if isinstance(value, str):
        return _path(value, "kind"), None, INTERNAL
    fields = _object(value, "kind", {"path", "rules", "otherwise"})
    rules = fields.get("rules")
    if not isinstance(rules, list) or len(rules) > MOST_RULES:
        raise MappingRefused("kind.rules", f"Rules are a list of at most {MOST_RULES}.")
    otherwise = _event_kind(fields.get("otherwise", INTERNAL), "kind.otherwise")
    checked = tuple(_rule(rule, f"kind.rules[{place}]") for place, rule in enumerate(rules))
    return _path(fields.get("path"), "kind.path"), checked, otherwise


def _rule(rule: object, where: str) -> Rule:
    fields = _object(rule, where, {"value", "kind"})
    value = fields.get("value")
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_PATH:
        raise MappingRefused(f"{where}.value", f"It is a text of 1 to {LONGEST_PATH} characters.")
    return Rule(value, _event_kind(fields.get("kind"), f"{where}.kind"))


def _event_kind(value: object, where: str) -> str:
    if isinstance(value, str) and value in (*KINDS, SKIP):
        return value
    raise MappingRefused(where, f"It is one of {', '.join(KINDS)} or {SKIP}, not {quoted(value)}.")


def _peer(value: object) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    if isinstance(value, str):
        path = _path(value, "peer")
        return path, path
    fields = _object(value, "peer", {"send", "receive"})
    sent, received = (
        None if fields.get(end) is None else _path(fields[end], f"peer.{end}")
        for end in ("send", "receive")
    )
    return sent, received


def _time(value: object) -> tuple[str | None, str]:
    if value is None or isinstance(value, str):
        return None if value is None else _path(value, "at"), SECONDS
    fields = _object(value, "at", {"path", "unit"})
    unit = fields.get("unit", SECONDS)
    if unit not in UNITS:
        raise MappingRefused("at.unit", f"It is one of {', '.join(UNITS)}, not {quoted(unit)}.")
    return _path(fields.get("path"), "at.path"), unit


def _clock(value: object) -> tuple[str | None, int]:
    if value is None or isinstance(value, str):
        return None if value is None else _path(value, "clock"), 0
    fields = _object(value, "clock", {"path", "first"})
    first = fields.get("first", 0)
    if first not in (0, 1) or isinstance(first, bool):
        raise MappingRefused("clock.first", f"It is 0 or 1, not {quoted(first)}.")
    return _path(fields.get("path"), "clock.path"), first


def _parts(value: object, where: str) -> Parts:
    if value is None:
        return None
    if isinstance(value, str):
        return _path(value, where)
    if not isinstance(value, JsonObject) or not 1 <= len(value) <= MOST_PARTS:
        raise MappingRefused(where, f"It is a path, or 1 to {MOST_PARTS} names with paths.")
    return {_path(name, where): _path(path, f"{where}.{name}") for name, path in value.items()}


def _object(value: object, where: str, known: set[str]) -> JsonObject[str, Any]:
    if not isinstance(value, JsonObject):
        raise MappingRefused(where, f"It is an object with {', '.join(sorted(known))}.")
    for name in value:
        if name not in known:
            raise MappingRefused(f"{where}.{str(name)[:100]}", "There is no such field.")
    return value
