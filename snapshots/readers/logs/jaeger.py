"""Reads traces that Jaeger exports or stores as JSON: services are processes, and spans are events.

A span that refers to a span of another service received a message from it, if one is a producer or
client and the other a consumer or server: it was sent when the first began, and received when the
second began. A server's answer is a message as well. A span whose reference leads out of the file
is an event like any other: what it received is not known.

Source: https://www.jaegertracing.io/docs/apis/ (query JSON), OpenTelemetry's semantic conventions
for messaging spans.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import INTERNAL, RECEIVE, SEND
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.fields import json_text
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.documents import (
    DocumentReader,
    Lines,
    mapping,
    message_sentence,
    name,
    objects,
)
from snapshots.readers.logs.headers import TOLD
from snapshots.readers.logs.json_events import LineEvent, Link, Misfit, Reading

_START = re.compile(rb'\s*(?:\{\s*"data"\s*:\s*\[|\[)?\s*\{\s*"traceID"\s*:')
_DESTINATION = ("messaging.destination.name", "messaging.destination", "message_bus.destination")
_PARTITION = ("messaging.kafka.destination.partition", "messaging.destination.partition.id",
              "messaging.kafka.partition")  # fmt: skip
_OFFSET = ("messaging.kafka.message.offset", "messaging.kafka.offset")
_MESSAGE = ("messaging.message.id", "messaging.message_id")
_LATEST = 2**60  # us
_OUTSIDE = re.compile(r'"references_outside":(\d+)')
NOTES = (
    "Each span is an event of its service. A message is known only where a span refers to one of "
    "another service.",
    "A message of which no span tells leaves no trace: what channels hold is a lower bound.",
    "The clocks of different hosts may differ: what is said of times between services is as exact "
    "as they are.",
)


@dataclass(frozen=True)
class _Span:
    """A span; times in microseconds since 1970."""

    key: tuple[str, str]
    process: ProcessId
    title: str
    began: int
    ended: int
    tags: dict[str, object]
    parents: tuple[tuple[str, str], ...]
    line: int

    @property
    def kind(self) -> str:
        """The value of ``span.kind``; empty if the span does not say it."""
        return str(self.tags.get("span.kind", "")).lower()

    def tag(self, names: tuple[str, ...]) -> object:
        """Return the first of these tags that the span has."""
        return next((self.tags[item] for item in names if item in self.tags), None)


class JaegerReader(DocumentReader):
    """Reads an export of Jaeger's user interface or of its query API."""

    name = "jaeger"
    title = "Jaeger JSON"
    key = "jaeger"
    notes = NOTES
    member = "operationName"

    def recognises(self, head: Head) -> str | None:
        if head.not_text is not None:
            return None
        is_one = _START.match(head.start) is not None and b'"spans"' in head.start
        item = head.fields or {}
        own = mapping(item.get("_source")) or item
        is_span = {"traceID", "spanID", "process"} <= own.keys()
        return f"{self.title}, by its traces and spans" if is_one or is_span else None

    def header(self, source: Path, limits: Limits) -> Header:
        header = super().header(source, limits)
        facts = mapping(header.extra[self.key])
        missing, readings = 0, list(self.readings(source, limits))
        for _, reading in readings:
            missing += isinstance(reading, LineEvent) and '"parent":"not known"' in (
                reading.extra or ""
            )
        if missing:
            notes = header.extra["notes"]
            assert isinstance(notes, list)  # as JsonEventsReader writes it
            notes.append(
                f"Of {times(missing, 'span')} that consumed a message or served a request the "
                "sender is not known: no reference leads to a span of this file."
            )
        facts["without_parent"] = missing
        services = [process.id for process in header.topology.processes]
        shown = f"{times(len(services), 'service')} ({listed(services, 5)})"
        told = [message_sentence(f"The traces have {shown}", readings)]
        if outside := sum(_outside_of(reading) for _, reading in readings):
            lead = "leads" if outside == 1 else "lead"
            text = (
                f"{times(outside, 'reference')} of spans {lead} to spans that are not in the file"
            )
            text = f"{text}: what was sent from there is not known."
            told.append({"level": "not-known", "text": text})
        return replace(header, extra={**header.extra, TOLD: told})

    def events_of(self, document: object, lines: Lines) -> Iterator[tuple[int, Reading]]:
        items = list(_items(document))
        spans: dict[tuple[str, str], _Span] = {}
        found: list[tuple[int, int, Reading]] = []
        for place, (trace, item) in enumerate(items):
            line = lines.of(place, len(items))
            span = _span(trace, item, line)
            if isinstance(span, Misfit):
                found.append((_LATEST, line, span))
            else:
                spans.setdefault(span.key, span)
        found += _events(spans)
        for _, line, reading in sorted(found, key=lambda event: event[0]):
            yield line, reading


def _items(document: object) -> Iterator[tuple[dict, dict]]:
    """Yield each span with its trace; a span of a store's own has an empty one."""
    given = mapping(document).get("data", [document]) if type(document) is dict else document
    for item in objects(given):
        own = mapping(item.get("_source")) or item
        if "spanID" in own:
            yield {}, own
        for span in objects(own.get("spans")):
            yield own, span


def _span(trace: dict, item: dict, line: int) -> _Span | Misfit:
    about = mapping(mapping(trace.get("processes")).get(str(item.get("processID"))))
    service = name((about or mapping(item.get("process"))).get("serviceName"))
    trace_id, span_id = item.get("traceID", trace.get("traceID")), item.get("spanID")
    began, lasted = item.get("startTime"), item.get("duration", 0)
    if service is None:
        return Misfit("is a span without a service: its processID names no process with one")
    if not isinstance(span_id, str) or not isinstance(trace_id, str):
        return Misfit("is a span without an id")
    if type(began) is not int or type(lasted) is not int or not 0 <= began < _LATEST:
        return Misfit("is a span whose startTime is no number of microseconds")
    references = objects(item.get("references"))
    parents = [(str(ref.get("traceID", trace_id)), str(ref.get("spanID"))) for ref in references]
    if not parents and isinstance(item.get("parentSpanID"), str):
        parents = [(trace_id, item["parentSpanID"])]
    tags = {str(tag.get("key")): tag.get("value") for tag in objects(item.get("tags"))}
    title = str(item.get("operationName", ""))[:500]
    ended = began + max(0, min(lasted, _LATEST))
    key = (trace_id, span_id)
    return _Span(key, ProcessId(service), title, began, ended, tags, tuple(parents), line)


def _events(spans: dict[tuple[str, str], _Span]) -> Iterator[tuple[int, int, Reading]]:
    """Yield the events of all spans as (time, line, event)."""
    told: set[tuple[str, str]] = set()  # spans that a message already shows
    outside = {span.key: _outside(span, spans) for span in spans.values()}
    names: set[tuple[Link, str]] = set()
    for span in spans.values():
        for key in dict.fromkeys(span.parents):
            parent = spans.get(key)
            if parent is None or parent.process == span.process:
                continue
            link = Link(None, (parent.process, span.process))
            message = _unused(names, link, _message_of(parent, span), span)
            told |= {parent.key, span.key}
            yield (
                parent.began,
                parent.line,
                _event(
                    parent, SEND, parent.began, link, message, outside=outside.pop(parent.key, 0)
                ),
            )
            yield (
                span.began,
                span.line,
                _event(span, RECEIVE, span.began, link, message, outside=outside.pop(span.key, 0)),
            )
            if (parent.kind, span.kind) == ("client", "server") and span.ended <= parent.ended:
                back = Link(None, (span.process, parent.process))
                answer = _unused(names, back, f"answer to {message}", span)
                yield span.ended, span.line, _event(span, SEND, span.ended, back, answer)
                yield parent.ended, parent.line, _event(parent, RECEIVE, parent.ended, back, answer)
    for span in spans.values():
        if span.key not in told:
            event = _event(
                span,
                INTERNAL,
                span.began,
                lacks=_lacks(span, spans),
                outside=outside.pop(span.key, 0),
            )
            yield span.began, span.line, event


def _outside(span: _Span, spans: dict[tuple[str, str], _Span]) -> int:
    """Return how many references of a span lead to spans that are not in the file."""
    return sum(key not in spans for key in dict.fromkeys(span.parents))


def _outside_of(reading: Reading) -> int:
    """Return how many references of an event's span lead out of the file, if it tells that."""
    told = _OUTSIDE.search((isinstance(reading, LineEvent) and reading.extra) or "")
    return int(told[1]) if told else 0


def _lacks(span: _Span, spans: dict[tuple[str, str], _Span]) -> bool:
    """Tell whether a span took a message or request whose sender is not in the file."""
    return span.kind in ("consumer", "server") and not any(key in spans for key in span.parents)


def _event(
    span: _Span,
    kind: str,
    at: int,
    link: Link | None = None,
    message: str | None = None,
    *,
    lacks: bool = False,
    outside: int = 0,
) -> LineEvent:
    """Return an event of a span; ``lacks`` says that its sender is not in the file.

    ``outside``: how many references of the span lead out of the file, told at its first event.
    """
    extra: dict[str, object] = {
        "trace": span.key[0],
        "span": span.key[1],
        "lasted_us": span.ended - span.began,
    }
    if lacks:
        extra["parent"] = "not known"
    if outside:
        extra["references_outside"] = outside
    label = span.title or None
    return LineEvent(span.process, kind, at, link, message, label=label, extra=json_text(extra))


def _message_of(parent: _Span, span: _Span) -> str:
    """Return the id of a message: topic-partition@offset of Kafka, its own id, or the span's."""
    for one in (span, parent):
        topic, offset = one.tag(_DESTINATION), one.tag(_OFFSET)
        partition = one.tag(_PARTITION)
        if topic is not None and offset is not None:
            where = topic if partition is None else f"{topic}-{partition}"
            return f"{where}@{offset}"[:200]
    own = span.tag(_MESSAGE) or parent.tag(_MESSAGE)
    return str(own or span.key[1])[:200]


def _unused(names: set[tuple[Link, str]], link: Link, message: str, span: _Span) -> str:
    """Return an id that no other message on the channel has: a message may be read twice."""
    if (link, message) in names:
        message = f"{message} ({span.key[1]})"[:250]
    names.add((link, message))
    return message
