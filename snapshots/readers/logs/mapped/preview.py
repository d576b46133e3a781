"""Shows the first events of a log as a mapping would read them, and the fields of its lines."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import orjson

from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks
from snapshots.readers.logs.json_events import LineEvent, Misfit, Misfits
from snapshots.readers.logs.mapped.lines import MappedReader
from snapshots.readers.logs.mapped.mapping import DATE, Mapping
from snapshots.readers.logs.pairing import Pairing

SHOWN_EVENTS = 100
MOST_LINES = 10_000
MOST_BYTES = 32 * 2**20
MOST_FIELDS = 200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_YEAR, LAST_YEAR = 2000, 2100
_LONGEST_EXAMPLE = 60  # characters
_DEEPEST = 5  # objects in objects


@dataclass(frozen=True)
class Shown:
    """One event as it will be read.

    Attributes:
        at: microseconds since the first of the shown events that has a time.
        instant: the event's time as a date in UTC (ISO 8601). None means that the log's time is no
            date. It is a date if the mapping says so, or if the time, counted from 1970, lies
            between FIRST_YEAR and LAST_YEAR.
    """

    line: int
    event: LineEvent
    at: int | None
    message: str | None
    instant: str | None = None


@dataclass(frozen=True)
class Preview:
    """The first events of a log, and what could not be read on the way.

    Attributes:
        lines: the number of lines that were read.
        ended: the defect at which reading stopped. None means that no defect stopped it.
    """

    events: tuple[Shown, ...]
    lines: int
    left_out: int
    misfits: Misfits
    ended: str | None = None

    @property
    def without_time(self) -> int:
        """The number of shown events whose time cannot be read."""
        return sum(event.at is None for event in self.events)


def preview(source: Path, mapping: Mapping, limits: Limits, most: int = SHOWN_EVENTS) -> Preview:
    """Return the first ``most`` events of a log, and the lines before them that are no events."""
    events: list[tuple[int, LineEvent, str | None]] = []
    misfits, pairing = Misfits(), Pairing()
    lines = left_out = 0
    ended = None
    try:
        for line, reading in MappedReader(mapping).readings(source, _few(limits)):
            lines += 1
            if isinstance(reading, Misfit):
                misfits.add(line, str(reading))
            elif reading is None:
                left_out += 1
            else:
                events.append((line, reading, _message(reading, pairing)))
            if len(events) == most or lines == MOST_LINES:
                break
    except InputRefused as refused:
        if refused.defects[0].code != "too-large":  # the rest is left for the ingest to read
            ended = str(refused.defects[0])
    began = min((event.at for _, event, _ in events if event.at is not None), default=0)
    shown = tuple(
        Shown(
            line,
            event,
            None if event.at is None else event.at - began,
            message,
            None if event.at is None else _instant(event.at, is_date=mapping.unit == DATE),
        )
        for line, event, message in events
    )
    return Preview(shown, lines, left_out, misfits, ended)


def _instant(at: int, *, is_date: bool) -> str | None:
    try:
        date = EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return None
    if not is_date and not FIRST_YEAR <= date.year < LAST_YEAR:
        return None
    return date.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _message(event: LineEvent, pairing: Pairing) -> str | None:
    if event.message is not None or event.link is None or event.kind not in (SEND, RECEIVE):
        return event.message
    return pairing.message_id(event.kind, event.link.id, event.content)


def fields_of(source: Path, limits: Limits, lines: int = 200) -> dict[str, str]:
    """Return the paths that the first lines have, each with an example as JSON."""
    examples: dict[str, str] = {}
    try:
        for fields in islice(_objects(source, _few(limits)), lines):
            for path, value in _paths(fields, "", _DEEPEST):
                if len(examples) == MOST_FIELDS:
                    return examples
                examples.setdefault(path, orjson.dumps(value).decode()[:_LONGEST_EXAMPLE])
    except InputRefused:
        pass  # the preview says what cannot be read
    return examples


def _objects(source: Path, limits: Limits) -> Iterator[dict]:
    for chunk in chunks(source, limits):
        for line, text in chunk.lines():
            fields = load(text, line)
            if isinstance(fields, dict):
                yield fields


def _paths(fields: dict, prefix: str, levels: int) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and value and levels:
            yield from _paths(value, f"{path}.", levels - 1)
        else:
            yield path, value


def _few(limits: Limits) -> Limits:
    return replace(limits, total_bytes=min(limits.total_bytes, MOST_BYTES))
