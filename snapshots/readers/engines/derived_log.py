"""The header and the events of a recording that is derived from what an engine wrote.

Every event is marked ``derived``; its list ``inferred`` names what no file says of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import Instant, LoggedEvent
from snapshots.domain.model.topology import JsonText, ProcessId, Topology
from snapshots.domain.model.values import canonical
from snapshots.readers.formats.fields import Unfit, json_text

MICROSECONDS = "us"
LONGEST_NAME = 200  # characters of a recording's name
TIME = "at"  # in ``inferred``: the event's time, which lies between those that are known
_LONGEST_SPAN_MS = 2**53 // 1000
_FIRST_LINE = 2  # the header is line 1


def present(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}


def header(
    engine: str,
    name: str,
    topology: Topology,
    about: Mapping[str, object],
    time_unit: str = MICROSECONDS,
) -> Header:
    """Return the header of a derived recording.

    Args:
        engine: the word for the engine in the inventory.
        name: what the recording is called; it may be too long.
        topology: its processes and channels.
        about: what else the header says, see ``domain.model.derived``; None is left out.
        time_unit: the unit of all instants.
    """
    extra = {"engine": engine, "derived": True, **present(about)}
    return Header(name[:LONGEST_NAME], time_unit, topology, extra)


def event(
    process: ProcessId,
    kind: str,
    at: Instant | None,
    about: Mapping[str, object],
    inferred: Iterable[str] = (),
    **fields: Any,
) -> LoggedEvent:
    """Return a derived event, which ``numbered`` gives its line.

    Args:
        process, kind, at: as in ``LoggedEvent``.
        about: what else the event says; None is left out.
        inferred: the names of what no file says.
        fields: further arguments of ``LoggedEvent``.
    """
    extra = {"derived": True, **present(about)}
    if inferred := list(inferred):
        extra["inferred"] = inferred
    return LoggedEvent(0, process, kind, at=at, extra=_text(extra), **fields)


def _text(value: object) -> JsonText:
    """Return the canonical text of a JSON value, also of one too large for a log's field."""
    try:
        return JsonText(json_text(value))
    except Unfit:
        return canonical(value)


def numbered(events: Iterable[LoggedEvent]) -> Iterator[LoggedEvent]:
    """Yield the events of a log, which come in its order, with the numbers of their lines."""
    for line, logged in enumerate(events, _FIRST_LINE):
        yield replace(logged, line=line)


def instant(at_ms: int | None, origin_ms: int | None) -> Instant | None:
    """Return microseconds since the origin; None where no such time is known."""
    if at_ms is None or origin_ms is None or not 0 <= at_ms - origin_ms <= _LONGEST_SPAN_MS:
        return None
    return Instant((at_ms - origin_ms) * 1000)
