"""Draw the events around a cut as SVG, without a browser.

It shows the part that ``static/js/lib/checking/part.js`` shows in the HTML file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape

from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_STATE,
    Event,
    Marker,
    Message,
    Recording,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.proving.claims import CUT, EVENT, SNAPSHOT
from webapp import direction

EVENTS_BESIDE = 8
MOST_LANES = 24
_WIDTH, _LEFT, _LANE, _TOP = 960, 190, 36, 20
_INNER = _WIDTH - _LEFT - 20
_STYLE = "font:12px system-ui,sans-serif"


def space_time_svg(recording: Recording, claim: Mapping[str, Any]) -> str:
    """Return the diagram of a snapshot, a cut, an event or a message."""
    return "\n".join(_Drawing.around(recording, cut_of(recording, claim)).lines()) + "\n"


def cut_of(recording: Recording, claim: Mapping[str, Any]) -> dict[ProcessId, int]:
    """Return the position of each process around which a claim's figure is drawn."""
    says = claim["says"]
    events = recording.events
    if claim["kind"] in (CUT, SNAPSHOT):
        given: Mapping[str, int] = says["positions"]
        times = [events[ProcessId(name)][n - 1].at for name, n in given.items() if n]
        last = max(times, default=None)
    elif claim["kind"] == EVENT:
        given, last = {}, events[says["process"]][says["index"]].at
    else:
        given, last = {}, says["ways"][0]["sent_at"]
    return {
        name: given.get(name, 0 if last is None else sum(event.at <= last for event in own))
        for name, own in events.items()
    }


@dataclass(frozen=True)
class _Drawing:
    """A part of a recording in pixels."""

    recording: Recording
    cut: Mapping[ProcessId, int]
    lanes: Sequence[ProcessId]
    hidden: int
    events: Sequence[Event]
    flights: Sequence[Message | Marker]
    first: int
    span: int

    @classmethod
    def around(cls, recording: Recording, cut: Mapping[ProcessId, int]) -> "_Drawing":
        filled = [p.id for p in recording.topology.processes if recording.events.get(p.id)]
        lanes = filled[:MOST_LANES]
        events = [
            event
            for name in lanes
            for event in recording.events[name]
            if cut[name] - EVENTS_BESIDE <= event.index < cut[name] + EVENTS_BESIDE
        ]
        near = {(event.process, event.index) for event in events}
        flights = [
            flight
            for channel in recording.topology.channels
            if channel.source in lanes and channel.target in lanes
            for table in (recording.messages, recording.markers)
            for flight in table.get(channel.id, ())
            if (channel.source, flight.sent_index) in near
            or (channel.target, flight.received_index) in near
        ]
        times = [event.at for event in events]
        times += [flight.sent_at for flight in flights]
        times += [flight.received_at for flight in flights if flight.received_at is not None]
        first, last = min(times, default=0), max(times, default=1)
        hidden = len(filled) - len(lanes)
        return cls(recording, cut, lanes, hidden, events, flights, first, max(last - first, 1))

    def lines(self) -> Iterator[str]:
        height = _TOP + _LANE * len(self.lanes) + 40
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" style="{_STYLE}">'
        )
        yield '<rect width="100%" height="100%" fill="#ffffff"/>'
        for row, name in enumerate(self.lanes):
            yield self._lane(row, name)
        yield from (self._flight(flight) for flight in self.flights)
        for event in sorted(self.events, key=_layer):
            yield self._event(event)
        path = " ".join(f"{x:.1f},{y}" for x, y in self._cut_places())
        yield f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="2.5"/>'
        unit, last = _text(self.recording.time_unit), self.first + self.span
        more = f"; {self.hidden:,} more processes are not shown" if self.hidden else ""
        span = f"{self.first:,} to {last:,} {unit}"
        if is_derived(self.recording.header_extra):
            span = "The times are not known, only the order is"
        words = f"{span}; the thick line is the cut{more}"
        yield f'<text x="{_LEFT}" y="{height - 12}" fill="#56626b">{words}</text>'
        yield "</svg>"

    def _lane(self, row: int, name: ProcessId) -> str:
        y = self._y(row)
        shown = name if len(name) <= 24 else f"{name[:23]}…"
        return (
            f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y}" y2="{y}" stroke="#c3cacf"/>'
            f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{_text(shown)}</text>'
        )

    def _flight(self, flight: Message | Marker) -> str:
        channel = self.recording.topology.channel_by_id[flight.channel]
        y, to_y = (self._y(self.lanes.index(end)) for end in (channel.source, channel.target))
        received = flight.received_at
        if received is None:
            received, to_y = flight.sent_at, (y + to_y) // 2
        is_marker = isinstance(flight, Marker)
        look = 'stroke="#e69f00" stroke-dasharray="3 3"' if is_marker else 'stroke="#6b8196"'
        return (
            f'<line x1="{self._x(flight.sent_at):.1f}" y1="{y}" x2="{self._x(received):.1f}" '
            f'y2="{to_y}" {look}/>'
        )

    def _event(self, event: Event) -> str:
        x, y = self._x(event.at), self._y(self.lanes.index(event.process))
        what = [event.kind.replace("_", " "), event.message, event.snapshot]
        title = f"<title>{_text(' '.join(filter(None, what)))}</title>"
        if event.kind == RECORD_STATE:
            place = f'x="{x - 4:.1f}" y="{y - 4}" width="8" height="8"'
            return f'<rect {place} fill="#009e73">{title}</rect>'
        if event.kind in (MARKER_SEND, MARKER_RECEIVE):
            corners = f"{x:.1f},{y - 7} {x + 7:.1f},{y} {x:.1f},{y + 7} {x - 7:.1f},{y}"
            return f'<polygon points="{corners}" fill="#e69f00">{title}</polygon>'
        return f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="#56626b">{title}</circle>'

    def _cut_places(self) -> Iterator[tuple[float, int]]:
        for row, name in enumerate(self.lanes):
            events, position = self.recording.events[name], self.cut[name]
            beside = [event.at for event in events[max(position - 1, 0) : position + 1]]
            at = sum(beside) / len(beside) if 0 < position < len(events) else beside[0]
            yield self._x(at), self._y(row)

    def _x(self, at: float) -> float:
        return _LEFT + (at - self.first) / self.span * _INNER

    @staticmethod
    def _y(row: int) -> int:
        return _TOP + _LANE * row + _LANE // 2


def _layer(event: Event) -> bool:
    """Put recorded states above the markers that are sent at the same time."""
    return event.kind == RECORD_STATE


def _text(text: str) -> str:
    return escape(direction.in_text(text))
