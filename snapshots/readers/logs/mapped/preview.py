"""The first events of a log as a mapping would read them, and the fields that its lines have."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks
from snapshots.readers.logs.json_events import Misfit, Misfits, Told
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
    """One event as it will be read. at: us since the first of those shown that has a time.

    instant: its time as a date in UTC (ISO 8601), where it is one: by the mapping, or a number
    that, counted from 1970, lies between FIRST_YEAR and LAST_YEAR.
    """

    line: int
    told: Told
    at: int | None
    message: str | None
    instant: str | None = None


@dataclass(frozen=True)
class Preview:
    """events: the first. lines: how many were looked at; ended: by what reading stopped, if it did
    not come to its end. without_time: events shown whose time cannot be read."""

    events: tuple[Shown, ...]
    lines: int
    left_out: int
    misfits: Misfits
    ended: str | None = None

    @property
    def without_time(self) -> int:
        return sum(event.at is None for event in self.events)


def preview(source: Path, mapping: Mapping, limits: Limits, most: int = SHOWN_EVENTS) -> Preview:
    """The first events of a log, and what of its lines could not be mapped until then."""
    told: list[tuple[int, Told, str | None]] = []
    misfits, pairing = Misfits(), Pairing()
    lines = left_out = 0
    ended = None
    try:
        for line, found in MappedReader(mapping).told(source, _few(limits)):
            lines += 1
            if isinstance(found, Misfit):
                misfits.add(line, str(found))
            elif found is None:
                left_out += 1
            else:
                told.append((line, found, _paired(found, pairing)))
            if len(told) == most or lines == MOST_LINES:
                break
    except InputRefused as refused:
        if refused.defects[0].code != "too-large":  # so much is not looked at
            ended = str(refused.defects[0])
    began = min((item.at for _, item, _ in told if item.at is not None), default=0)
    shown = tuple(
        Shown(
            line,
            item,
            None if item.at is None else item.at - began,
            message,
            None if item.at is None else _instant(item.at, is_date=mapping.unit == DATE),
        )
        for line, item, message in told
    )
    return Preview(shown, lines, left_out, misfits, ended)


def _instant(at: int, *, is_date: bool) -> str | None:
    try:
        found = EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return None
    if not is_date and not FIRST_YEAR <= found.year < LAST_YEAR:
        return None
    return found.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _paired(told: Told, pairing: Pairing) -> str | None:
    if told.message is not None or told.link is None or told.kind not in (SEND, RECEIVE):
        return told.message
    pair = pairing.send if told.kind == SEND else pairing.receive
    return pair(told.link.id, told.content)


def fields_of(source: Path, limits: Limits, lines: int = 200) -> dict[str, str]:
    """The paths that the first lines have, each with an example as JSON."""
    found: dict[str, str] = {}
    try:
        for _, fields in zip(range(lines), _objects(source, _few(limits)), strict=False):
            for path, value in _paths(fields, "", _DEEPEST):
                if len(found) == MOST_FIELDS:
                    return found
                found.setdefault(path, orjson.dumps(value).decode()[:_LONGEST_EXAMPLE])
    except InputRefused:
        pass  # what cannot be read, the preview says
    return found


def _objects(source: Path, limits: Limits) -> Iterator[dict]:
    for chunk in chunks(source, limits):
        for line, text in enumerate(chunk.data.split(b"\n"), chunk.first_line):
            fields = load(text, line) if text and not text.isspace() else None
            if type(fields) is dict:
                yield fields


def _paths(fields: dict, before: str, levels: int) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        path = f"{before}{name}"
        if isinstance(value, dict) and value and levels:
            yield from _paths(value, f"{path}.", levels - 1)
        else:
            yield path, value


def _few(limits: Limits) -> Limits:
    return replace(limits, total_bytes=min(limits.total_bytes, MOST_BYTES))
