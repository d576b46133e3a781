"""Any log of JSON lines, read by a mapping that says which field is what."""

from datetime import UTC, datetime
from functools import cached_property

import orjson

from snapshots.domain.model.defects import quoted
from snapshots.domain.model.recording import INTERNAL, MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
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
    Link,
    Misfit,
    Told,
    ToldLinesReader,
)
from snapshots.readers.logs.mapped.mapping import DATE, KINDS, SKIP, Mapping, Parts, parse

PREFIX = "mapped:"
LONGEST_LABEL = 500
_MISSING = object()
_IN_A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LATEST = 2**60  # us


class MappedReader(ToldLinesReader):
    """name: PREFIX and the mapping's document, so that whoever has the name has the reader."""

    title = "mapped JSON lines"
    key = "mapped"

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.name = format_of(mapping)
        self.fifo = mapping.fifo

    def about(self) -> dict[str, object]:
        return {"mapping": self.mapping.document}

    def tell(self, fields: dict) -> Told | None:
        mapping = self.mapping
        kind, label = self._kind(fields)
        if kind == SKIP:
            return None
        process = _name(_at(fields, mapping.process), "process", mapping.process)
        value = _json(fields, mapping.value, "value")
        is_message = kind in (SEND, RECEIVE)
        return Told(
            process,
            kind,
            at=None if mapping.at is None else microseconds(_at(fields, mapping.at), mapping.unit),
            link=self._link(fields, kind, process) if kind in OUTGOING | INCOMING else None,
            message=self._message(fields) if is_message else None,
            content=value or "",
            value=value if is_message else None,
            state=_json(fields, mapping.state, "state"),
            snapshot=self._snapshot(fields, kind),
            label=_label(fields, mapping.label) or label,
            extra=self._extra(fields),
        )

    def _kind(self, fields: dict) -> tuple[str, str | None]:
        """The kind, and a label where the mapping has none."""
        mapping = self.mapping
        if mapping.kind is None:
            return INTERNAL, None
        value = _at(fields, mapping.kind)
        text = value if isinstance(value, str) else _text(value)
        if mapping.rules is None:
            return (text, None) if text in KINDS else (INTERNAL, text)
        rule = next((rule for rule in mapping.rules if text and rule.fits(text)), None)
        return (mapping.otherwise if rule is None else rule.kind), text

    def _link(self, fields: dict, kind: str, process: str) -> Link:
        mapping = self.mapping
        path = mapping.peer_sent if kind in OUTGOING else mapping.peer_received
        name = None
        if mapping.channel is not None:
            name = _name(_at(fields, mapping.channel), "channel", mapping.channel)
        if path is None:
            if name is None:
                raise Misfit(f"is a {kind}, and the mapping has no field for its peer")
            return Link(name)
        peer = _name(_at(fields, path), "peer", path)
        return Link(name, *((process, peer) if kind in OUTGOING else (peer, process)))

    def _message(self, fields: dict) -> str | None:
        path = self.mapping.message
        if path is None:
            return None
        value = _at(fields, path)
        if value is _MISSING or (problem := id_problem(value)) is not None:
            why = "is not there" if value is _MISSING else problem[1]
            raise Misfit(f"has no id of its message: {quoted(path)} {why}")
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
        kept = {name: item for name, item in fields.items() if name not in self._used}
        try:
            return json_text(kept) if kept else None
        except Unfit as unfit:
            raise Misfit(f"holds a further field that {unfit.problem[1]}") from None

    @cached_property
    def _used(self) -> set[str]:
        return self.mapping.paths


def format_of(mapping: Mapping) -> str:
    return PREFIX + orjson.dumps(mapping.document, option=orjson.OPT_SORT_KEYS).decode()


def reader_of(format: str) -> MappedReader:
    """format: as ``format_of`` gives it. Raises: MappingRefused."""
    return MappedReader(parse(orjson.loads(format.removeprefix(PREFIX))))


# --- fields -------------------------------------------------------------------------------------


def _at(fields: object, path: str) -> object:
    """The value at a path, or _MISSING."""
    if isinstance(fields, dict) and path in fields:
        return fields[path]
    value = fields
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
    """A number or a truth value as a text; None for what is neither."""
    return orjson.dumps(value).decode() if type(value) in (int, float, bool) else None


def _name(value: object, what: str, path: str) -> str:
    if value is _MISSING:
        raise Misfit(f"has no {what}: there is no {quoted(path)}")
    name = str(value) if type(value) is int else value
    if (problem := given_name_problem(name)) is not None:
        raise Misfit(f"has no {what}: {quoted(path)} {problem[1]}")
    return name


def _label(fields: dict, path: str | None) -> str | None:
    value = _MISSING if path is None else _at(fields, path)
    if value is _MISSING or value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text[:LONGEST_LABEL]


def _json(fields: dict, parts: Parts, what: str) -> str | None:
    """Canonical JSON; None where nothing of it is there."""
    if parts is None:
        return None
    if isinstance(parts, str):
        value = _at(fields, parts)
    else:
        found = {name: _at(fields, path) for name, path in parts.items()}
        value = {name: item for name, item in found.items() if item is not _MISSING} or _MISSING
    if value is _MISSING:
        return None
    try:
        return json_text(value)
    except Unfit as unfit:
        raise Misfit(f"has a {what} that {unfit.problem[1]}") from None


def microseconds(value: object, unit: str) -> int | None:
    """Of a number in a unit, or of a date; None for what is neither. A date without a zone is UTC.

    A number may be written as a text.
    """
    if unit == DATE:
        return _date(value)
    if isinstance(value, str) and len(value) < 40:
        try:
            value = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            return None
    if type(value) is int:
        found = value * 1_000_000 // _IN_A_SECOND[unit]
    elif type(value) is float and abs(value) < 2.0**63:
        found = round(value * 1_000_000 / _IN_A_SECOND[unit])
    else:
        return None
    return found if abs(found) < _LATEST else None


def _date(value: object) -> int | None:
    if not isinstance(value, str) or len(value) > 50:
        return None
    try:
        found = datetime.fromisoformat(value)
        found = found.replace(tzinfo=found.tzinfo or UTC)
        return round(found.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None
