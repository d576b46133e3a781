"""Reads any log of JSON lines by a mapping, which says what each field means."""

from datetime import UTC, datetime
from functools import cached_property

import orjson

from snapshots.domain.model.defects import quoted
from snapshots.domain.model.recording import INTERNAL, MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.fields import (
    Unfit,
    given_name_problem,
    id_problem,
    json_text,
    name_problem,
)
from snapshots.readers.logs.json_events import (
    INCOMING,
    OUTGOING,
    JsonEventsReader,
    LineEvent,
    Link,
    Misfit,
)
from snapshots.readers.logs.mapped.mapping import DATE, KINDS, SKIP, Mapping, Parts
from snapshots.readers.logs.shiviz.events import LARGEST_COUNT, clock_value

PREFIX = "mapped:"
LONGEST_LABEL = 500
_MISSING = object()
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LATEST = 2**60  # us


class MappedReader(JsonEventsReader):
    """Reads a log by one mapping; the reader's name holds the mapping's document."""

    title = "mapped JSON lines"
    key = "mapped"

    def __init__(self, mapping: Mapping, title: str | None = None) -> None:
        self.mapping = mapping
        self.title = title or self.title
        self.name = format_of(mapping)
        self.fifo = mapping.fifo

    def further_facts(self) -> dict[str, object]:
        return {"mapping": self.mapping.document}

    def event_of(self, fields: dict) -> LineEvent | None:
        mapping = self.mapping
        kind, label = self._kind(fields)
        if kind == SKIP:
            return None
        process = ProcessId(_name(fields, mapping.process, "process"))
        value = _json(fields, mapping.value, "value")
        clock = None
        if mapping.clock is not None:
            clock = clock_of(_at(fields, mapping.clock), mapping.clock, process, mapping.first)
        is_linked = kind in OUTGOING | INCOMING and clock is None
        is_message = kind in (SEND, RECEIVE) and clock is None
        return LineEvent(
            process,
            kind,
            at=None if mapping.at is None else microseconds(_at(fields, mapping.at), mapping.unit),
            link=self._link(fields, kind, process) if is_linked else None,
            message=self._message(fields) if is_message else None,
            content=value or "",
            value=value if is_message else None,
            state=_json(fields, mapping.state, "state"),
            snapshot=self._snapshot(fields, kind),
            label=_label(fields, mapping.label) or label,
            extra=self._extra(fields),
            clock=clock,
        )

    def _kind(self, fields: dict) -> tuple[str, str | None]:
        """Return the kind of an event, and its label if the mapping names no field for that."""
        mapping = self.mapping
        if mapping.kind is None:
            return INTERNAL, None
        value = _at(fields, mapping.kind)
        text = value if isinstance(value, str) else _text(value)
        if mapping.rules is None:
            return (text, None) if text in KINDS else (INTERNAL, text)
        rule = next((rule for rule in mapping.rules if text and rule.fits(text)), None)
        return (mapping.otherwise if rule is None else rule.kind), text

    def _link(self, fields: dict, kind: str, process: ProcessId) -> Link:
        mapping = self.mapping
        path = mapping.peer_sent if kind in OUTGOING else mapping.peer_received
        name = None
        if mapping.channel is not None:
            name = _name(fields, mapping.channel, "channel")
        if path is None:
            if name is None:
                raise Misfit(f"is a {kind}, and the mapping has no field for its peer")
            return Link(name)
        peer = ProcessId(_name(fields, path, "peer"))
        return Link(name, (process, peer) if kind in OUTGOING else (peer, process))

    def _message(self, fields: dict) -> str | None:
        path = self.mapping.message
        if path is None:
            return None
        value = _at(fields, path)
        if value is _MISSING:
            raise Misfit(f"has no id of its message: {quoted(path)} is not there")
        if (problem := id_problem(value)) is not None:
            raise Misfit(f"has no id of its message: {quoted(path)} {problem[1]}")
        return str(value)

    def _snapshot(self, fields: dict, kind: str) -> str | None:
        path = self.mapping.snapshot
        value = _MISSING if path is None else _at(fields, path)
        if value is _MISSING or value is None:
            if kind in ("record_state", MARKER_SEND, MARKER_RECEIVE):
                raise Misfit(f"is a {kind} and does not name its snapshot")
            return None
        if (problem := name_problem(value)) is not None:
            raise Misfit(f"has no id of a snapshot: {quoted(path)} {problem[1]}")
        return str(value)

    def _extra(self, fields: dict) -> str | None:
        extra = {name: item for name, item in fields.items() if name not in self._used}
        try:
            return json_text(extra) if extra else None
        except Unfit as unfit:
            raise Misfit(f"holds a further field that {unfit.problem[1]}") from None

    @cached_property
    def _used(self) -> set[str]:
        return self.mapping.paths


def format_of(mapping: Mapping) -> str:
    """Return the name of the format that a mapping defines: PREFIX, and the mapping's document."""
    return PREFIX + orjson.dumps(mapping.document, option=orjson.OPT_SORT_KEYS).decode()


def clock_of(value: object, path: str, process: ProcessId, first: int = 0) -> dict[str, int]:
    """Return a vector clock by process, without zero entries. Raises: Misfit.

    Args:
        value: an object of processes and counts, a list of counts, or either as JSON text.
        process: the process of the event, which the clock must count.
        first: the number of a list's first process; its place in a list shows whose a count is.
    """
    if isinstance(value, str):
        value = clock_value(value.encode("utf-8", "replace"))
    if isinstance(value, list):
        name = process.rstrip("0123456789")
        value = {f"{name}{number}": count for number, count in enumerate(value, first)}
    if not isinstance(value, dict):
        raise Misfit(f"has no clock: {quoted(path)} is not an object of processes and counts")
    for name, count in value.items():
        if type(count) is not int or not 0 <= count <= LARGEST_COUNT:
            raise Misfit(f"has a clock whose entry for {quoted(name)} is not a count")
    if not value.get(process):
        raise Misfit(f"has a clock that does not count its own process {quoted(process)}")
    return {name: count for name, count in value.items() if count}


def _at(fields: dict, path: str) -> object:
    """Return the value at a path, or _MISSING."""
    if path in fields:
        return fields[path]
    value: object = fields
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 7:
            if int(part) >= len(value):
                return _MISSING
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _text(value: object) -> str | None:
    """Return a number or a truth value as text, None for anything else."""
    return orjson.dumps(value).decode() if type(value) in (int, float, bool) else None


def _name(fields: dict, path: str, role: str) -> str:
    """Return the name of a process or channel; ``role`` says which one. Raises: Misfit."""
    value = _at(fields, path)
    if value is _MISSING:
        raise Misfit(f"has no {role}: there is no {quoted(path)}")
    name = str(value) if type(value) is int else value
    if (problem := given_name_problem(name)) is not None:
        raise Misfit(f"has no {role}: {quoted(path)} {problem[1]}")
    return str(name)


def _label(fields: dict, path: str | None) -> str | None:
    value = _MISSING if path is None else _at(fields, path)
    if value is _MISSING or value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text[:LONGEST_LABEL]


def _json(fields: dict, parts: Parts, role: str) -> str | None:
    """Return a state or value as canonical JSON, None if the line has no part of it."""
    if parts is None:
        return None
    if isinstance(parts, str):
        value = _at(fields, parts)
    else:
        items = {name: _at(fields, path) for name, path in parts.items()}
        value = {name: item for name, item in items.items() if item is not _MISSING} or _MISSING
    if value is _MISSING:
        return None
    try:
        return json_text(value)
    except Unfit as unfit:
        raise Misfit(f"has a {role} that {unfit.problem[1]}") from None


def microseconds(value: object, unit: str) -> int | None:
    """Return a number in a unit, or a date, as microseconds since 1970; None for anything else.

    A number may be written as text. A date without a zone is UTC.
    """
    if unit == DATE:
        return _date(value)
    if isinstance(value, str) and len(value) < 40:
        try:
            value = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            return None
    if type(value) is int:
        instant = value * 1_000_000 // _PER_SECOND[unit]
    elif type(value) is float and abs(value) < 2.0**63:
        instant = round(value * 1_000_000 / _PER_SECOND[unit])
    else:
        return None
    return instant if abs(instant) < _LATEST else None


def _date(value: object) -> int | None:
    if not isinstance(value, str) or len(value) > 50:
        return None
    try:
        date = datetime.fromisoformat(value)
        return round(date.replace(tzinfo=date.tzinfo or UTC).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None
