"""A mapping: which field of a JSON line says what, as a checked document.

    process   path of the field that names the process
    kind      path of a field with the kinds of the native format; without, all are internal; or
              {"path", "rules", "otherwise"}: rules are {"value", "kind"}, the first that fits
              counts, a value may end in *
    peer      path of the other process of a message; or {"send": path, "receive": path}
    channel   path of the channel's name, instead of the peer or beside it
    message   path of the message's id; without, messages are paired by their content
    at        path of the time, in seconds since 1970; or {"path", "unit"}, unit one of UNITS
    state     path, or {name: path}; the state after the event
    value     likewise; of a message
    label, snapshot   paths
    fifo      whether channels keep the order of messages; false unless it says otherwise

A path is names with dots between, a number is a place in a list; a field whose own name is the
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

Parts = str | dict[str, str] | None


class MappingRefused(ValueError):
    """The document is no mapping. field: where in it."""

    permanent = True

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        self.sentence = sentence
        super().__init__(f"{field}: {sentence}")


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values of the kind's field are of a kind. kind: one of KINDS, or SKIP."""

    value: str
    kind: str

    def fits(self, value: str) -> bool:
        if self.value.endswith("*"):
            return value.startswith(self.value[:-1])
        return value == self.value


@dataclass(frozen=True)
class Mapping:
    """rules: None where the field has the kinds of the native format. otherwise: the kind of what
    no rule fits. peer_sent, peer_received: paths."""

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
    document: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def paths(self) -> set[str]:
        """All that are used; whatever else a line has is kept beside the event."""
        parts = (self.process, self.kind, self.peer_sent, self.peer_received, self.channel)
        parts += (self.message, self.at, self.label, self.snapshot)
        found = {part for part in parts if part is not None}
        for several in (self.state, self.value):
            found |= set(several.values()) if isinstance(several, dict) else {several} - {None}
        return found


def parse(document: object) -> Mapping:
    """Raises: MappingRefused."""
    if not isinstance(document, JsonObject):
        raise MappingRefused("mapping", "A mapping is an object.")
    known = {"process", "kind", "peer", "channel", "message", "at", "state", "value", "label"}
    known |= {"snapshot", "fifo"}
    for name in document:
        if name not in known:
            raise MappingRefused(str(name)[:100], "There is no such field.")
    kind, rules, otherwise = _kind(document.get("kind"))
    sent, received = _peer(document.get("peer"))
    at, unit = _time(document.get("at"))
    fifo = document.get("fifo", False)
    if not isinstance(fifo, bool):
        raise MappingRefused("fifo", "It is true or false.")
    found = Mapping(
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
        document=dict(document),
    )
    _check_needs(found)
    return found


def _check_needs(mapping: Mapping) -> None:
    """That what some kind needs has a field."""
    kinds = {rule.kind for rule in mapping.rules or ()} | {mapping.otherwise}
    for kinds_, peer, word in (
        (OUTGOING, mapping.peer_sent, "send"),
        (INCOMING, mapping.peer_received, "receive"),
    ):
        if kinds & kinds_ and peer is None and mapping.channel is None:
            raise MappingRefused(
                "peer", f"A {word} needs the field of its peer, or that of its channel."
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
    own = _object(value, "kind", {"path", "rules", "otherwise"})
    rules = own.get("rules")
    if not isinstance(rules, list) or len(rules) > MOST_RULES:
        raise MappingRefused("kind.rules", f"Rules are a list of at most {MOST_RULES}.")
    otherwise = own.get("otherwise", INTERNAL)
    _check_kind(otherwise, "kind.otherwise")
    found = [_rule(rule, f"kind.rules[{place}]") for place, rule in enumerate(rules)]
    return _path(own.get("path"), "kind.path"), tuple(found), otherwise


def _rule(value: object, where: str) -> Rule:
    own = _object(value, where, {"value", "kind"})
    if not isinstance(own.get("value"), str) or not 1 <= len(own["value"]) <= LONGEST_PATH:
        raise MappingRefused(f"{where}.value", f"It is a text of 1 to {LONGEST_PATH} characters.")
    _check_kind(own.get("kind"), f"{where}.kind")
    return Rule(own["value"], own["kind"])


def _check_kind(value: object, where: str) -> None:
    if value not in (*KINDS, SKIP):
        raise MappingRefused(
            where, f"It is one of {', '.join(KINDS)} or {SKIP}, not {quoted(value)}."
        )


def _peer(value: object) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    if isinstance(value, str):
        path = _path(value, "peer")
        return path, path
    own = _object(value, "peer", {"send", "receive"})
    return tuple(
        None if own.get(end) is None else _path(own[end], f"peer.{end}")
        for end in ("send", "receive")
    )


def _time(value: object) -> tuple[str | None, str]:
    if value is None or isinstance(value, str):
        return None if value is None else _path(value, "at"), SECONDS
    own = _object(value, "at", {"path", "unit"})
    unit = own.get("unit", SECONDS)
    if unit not in UNITS:
        raise MappingRefused("at.unit", f"It is one of {', '.join(UNITS)}, not {quoted(unit)}.")
    return _path(own.get("path"), "at.path"), unit


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
