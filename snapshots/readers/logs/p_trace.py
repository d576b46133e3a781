"""Reads the JSON trace of a counterexample that the checker of the language P writes.

Machines are processes. A dequeued event is the earliest one of its name that was sent to the
machine with the same payload and not dequeued before: a machine of P has one queue.

Source: https://p-org.github.io/P/ and the traces of ``p check``, one object of ``type`` and
``details`` an entry.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import quoted, times
from snapshots.domain.model.recording import INTERNAL, RECEIVE, SEND
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.fields import Unfit, json_text
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
from snapshots.readers.logs.headers import MOST_TOLD, TOLD
from snapshots.readers.logs.json_events import LineEvent, Link, Misfit, Reading

_START = re.compile(rb'\s*\[\s*\{\s*"(?:logT|t)ype"\s*:\s*"[A-Za-z]+"\s*,\s*"details"\s*:\s*\{')
_TAKES = ("DequeueEvent", "ReceiveEvent")
_FAILS = {
    "AssertionFailure": "The assertion fails: ",
    "Exception": "An exception was thrown: ",
    "ExceptionThrown": "An exception was thrown: ",
}
_OF_NONE = ("PrintLog", "StrategyDescription")
_OWNERS = ("id", "monitor", "sender", "creatorName")
_Queues = dict[tuple[str, str], deque[tuple[str, str, str | None]]]
"""By machine and event: sender, message and payload of what was sent and not dequeued yet."""
_LONGEST = 500  # characters of a label
NOTES = (
    "Steps of the checker count as time: it runs one machine after the other.",
    "Each dequeued event is taken to be the earliest of its name and payload that was sent to "
    "the machine.",
)


class PTraceReader(DocumentReader):
    """Reads a trace of P's checker."""

    name = "p-trace"
    title = "trace of P's checker"
    key = "p_trace"
    notes = NOTES
    member = "details"

    def recognises(self, head: Head) -> str | None:
        is_one = head.not_text is None and _START.match(head.start) is not None
        return "A trace of P's checker, by its types and details" if is_one else None

    def header(self, source: Path, limits: Limits) -> Header:
        header = super().header(source, limits)
        readings = list(self.readings(source, limits))
        said = dict.fromkeys(
            reading.label
            for _, reading in readings
            if isinstance(reading, LineEvent)
            and reading.label is not None
            and reading.label.startswith(tuple(_FAILS.values()))
        )
        told = [{"level": "wrong", "text": text} for text in [*said][:MOST_TOLD]]
        machines = times(len(header.topology.processes), "machine")
        told.append(message_sentence(f"The trace has {machines}", readings))
        return replace(header, extra={**header.extra, TOLD: told})

    def events_of(self, document: object, lines: Lines) -> Iterator[tuple[int, Reading]]:
        items = objects(document)
        queues: _Queues = defaultdict(deque)
        counts: Counter[str] = Counter()
        last: str | None = None
        for place, item in enumerate(items):
            kind = str(item.get("type", item.get("logType")))
            details = mapping(item.get("details"))
            line = lines.of(place, len(items))
            owner = next((name(details[key]) for key in _OWNERS if key in details), None)
            if kind in _FAILS and owner is None:
                owner = _named_in(str(details.get("log", "")), items) or last
            if owner is None and kind in _OF_NONE:
                yield line, None
                continue
            if owner is None:
                yield line, Misfit(f"is of the type {quoted(kind)} and names no machine")
                continue
            last = owner
            yield line, _event(kind, details, ProcessId(owner), queues, counts)


def _event(
    kind: str,
    details: dict,
    owner: ProcessId,
    queues: _Queues,
    counts: Counter[str],
) -> Reading:
    event = str(details.get("event", ""))[:200]
    text = str(details.get("log") or details.get("error") or kind)[:_LONGEST]
    value = _json(details.get("payload"))
    extra = _json({key: details[key] for key in ("state", "clock") if key in details})
    if kind in _FAILS:
        sentence = text.rstrip(".") + "."
        return LineEvent(owner, INTERNAL, label=f"{_FAILS[kind]}{sentence}", extra=extra)
    target = name(details.get("target")) if kind == "SendEvent" else None
    if target is not None and target != owner and details.get("isTargetHalted") is not True:
        counts[event] += 1
        message = f"{event}#{counts[event]}"
        queues[target, event].append((owner, message, value))
        link = Link(None, (owner, ProcessId(target)))
        return LineEvent(owner, SEND, None, link, message, value=value, label=text, extra=extra)
    waiting = queues[owner, event] if kind in _TAKES else ()
    taken = next((sent for sent in waiting if sent[2] == value), None)
    if taken is not None:
        queues[owner, event].remove(taken)
        sender, message, _ = taken
        link = Link(None, (ProcessId(sender), owner))
        return LineEvent(owner, RECEIVE, None, link, message, value=value, label=text, extra=extra)
    return LineEvent(owner, INTERNAL, label=text, extra=extra)


def _named_in(text: str, items: list[dict]) -> str | None:
    """Return the machine with which a text begins, of those that the trace creates."""
    for item in items:
        machine = name(mapping(item.get("details")).get("id"))
        if machine is not None and machine in text:
            return machine
    return None


def _json(value: object) -> str | None:
    if value is None or value == {}:
        return None
    try:
        return json_text(value)
    except Unfit:
        return None
