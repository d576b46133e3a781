"""Correct runs with one fault each, and the witness by which the fault must be found.

Every function takes the log of a correct run of money transfers (`builders.simulated`), finds a
place where its fault can happen, and returns the log with the fault.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
    LoggedEvent,
)
from snapshots.domain.simulators.protocols import chandy_lamport
from snapshots.domain.simulators.protocols.chandy_lamport import SendMarker
from snapshots.domain.simulators.script import Log


class Damaged(NamedTuple):
    """A log with a fault, and where the fault is."""

    log: Log
    snapshot: str
    channel: str | None = None
    message: str | None = None
    process: str | None = None
    other: str | None = None


def relogged(header: Header, events: Iterable[LoggedEvent]) -> Log:
    """Return the events in this order, with new lines and indexes, and with times that never
    fall."""
    events = list(events)
    times = sorted(event.at for event in events)
    counts: dict[str, int] = {}
    placed = []
    for line, (event, at) in enumerate(zip(events, times, strict=True), start=2):
        index = counts.get(event.process, 0)
        counts[event.process] = index + 1
        placed.append(replace(event, line=line, index=index, at=at))
    return Log(header, tuple(placed))


def lose_recorded_message(log: Log) -> Damaged:
    """Let the protocol lose a message that it should have stored."""
    record = _channel_record_with(log, 1)
    return _with_recorded(log, record, record.messages[1:])


def duplicate_recorded_message(log: Log) -> Damaged:
    """Let the protocol store a message twice."""
    record = _channel_record_with(log, 1)
    return _with_recorded(log, record, record.messages[:1] + record.messages)


def wrong_state(log: Log) -> Damaged:
    """Let the protocol store one coin too many."""
    record = next(event for event in log.events if event.kind == RECORD_STATE)
    wrong = replace(record, state=str(int(record.state) + 1))
    return Damaged(_changed(log, {record: wrong}), record.snapshot, process=record.process)


def marker_sent_late(log: Log) -> Damaged:
    """Let a message go before the marker, although its sender has already recorded.

    The receiver has recorded, too, so it takes the message for one in flight.
    """
    for marker in (event for event in log.events if event.kind == MARKER_RECEIVE):
        recorded = _find(log, RECORD_STATE, process=marker.process, snapshot=marker.snapshot)
        sent = _find(log, MARKER_SEND, channel=marker.channel, snapshot=marker.snapshot)
        closed = _find(log, RECORD_CHANNEL, channel=marker.channel, snapshot=marker.snapshot)
        message = _first_after(log, sent, SEND, marker.channel)
        received = message and _find(log, RECEIVE, channel=marker.channel, message=message.message)
        if received and recorded.line < marker.line:
            longer = replace(closed, messages=(*closed.messages, message.message))
            events = [event for event in log.events if event not in (sent, marker, closed)]
            events.insert(events.index(message) + 1, sent)
            after = events.index(received) + 1
            events[after:after] = [marker, longer]
            damaged = relogged(log.header, events)
            return Damaged(damaged, marker.snapshot, marker.channel, message.message)
    raise _nowhere("a marker behind a later message")


def record_late(log: Log) -> Damaged:
    """Let a process receive a message behind the marker before it records its state."""
    for record in (event for event in log.events if event.kind == RECORD_STATE):
        marker = log.events[record.line - 3]
        if marker.kind != MARKER_RECEIVE or marker.snapshot != record.snapshot:
            continue
        received = _first_after(log, record, RECEIVE, marker.channel)
        if received:
            events = [event for event in log.events if event is not record]
            late = replace(record, state=received.state)
            events.insert(events.index(received) + 1, late)
            damaged = relogged(log.header, events)
            return Damaged(
                damaged, record.snapshot, marker.channel, received.message, record.process
            )
    raise _nowhere("a message behind a first marker")


def overtake(log: Log) -> Damaged:
    """Let two messages in flight in a snapshot arrive in the other order."""
    for record in (event for event in log.events if event.kind == RECORD_CHANNEL):
        for pair in zip(record.messages, record.messages[1:], strict=False):
            first, second = (
                _find(log, RECEIVE, channel=record.channel, message=message) for message in pair
            )
            sent = _find(log, SEND, channel=record.channel, message=second.message)
            between = _between(log, first, second)
            if (
                sent.line < first.line
                and first.value != second.value
                and all(event.kind in APPLICATION_KINDS for event in between)
            ):
                return _swapped(log, record, first, second, between)
    raise _nowhere("two neighbours in flight on one channel")


def never_sending(channel: str, snapshot: str) -> SimpleNamespace:
    """Return Chandy-Lamport that never sends one marker, for `builders.simulated`."""

    def without(step: chandy_lamport.Step) -> chandy_lamport.Step:
        recorder, effects = step
        left_out = recorder.snapshot == snapshot and SendMarker(channel) in effects
        kept = tuple(e for e in effects if not left_out or e != SendMarker(channel))
        return recorder, kept

    changed = {
        "begin": lambda recorder: without(chandy_lamport.begin(recorder)),
        "on_marker": lambda recorder, over, count: without(
            chandy_lamport.on_marker(recorder, over)
        ),
    }
    return SimpleNamespace(**vars(chandy_lamport) | changed)


def without(log: Log, *kinds: str) -> Log:
    """Return the log of the same run without events of these kinds."""
    return relogged(log.header, (event for event in log.events if event.kind not in kinds))


def unfinished(log: Log, kept: int) -> Log:
    """Let the log break off after this many events. What is under way then never arrives."""
    return Log(log.header, log.events[:kept])


def _with_recorded(log: Log, record: LoggedEvent, messages: Sequence[str]) -> Damaged:
    damaged = _changed(log, {record: replace(record, messages=tuple(messages))})
    return Damaged(damaged, record.snapshot, record.channel, record.messages[0])


def _swapped(
    log: Log,
    record: LoggedEvent,
    first: LoggedEvent,
    second: LoggedEvent,
    between: Sequence[LoggedEvent],
) -> Damaged:
    more = int(second.value) - int(first.value)
    changes = {
        event: replace(event, state=str(int(event.state) + more)) for event in (first, *between)
    }
    changes[first] = replace(changes[first], message=second.message, value=second.value)
    changes[second] = replace(second, message=first.message, value=first.value)
    names = {first.message: second.message, second.message: first.message}
    for other in log.events:
        if other.kind == RECORD_CHANNEL and other.channel == record.channel:
            swapped = tuple(names.get(message, message) for message in other.messages)
            changes[other] = replace(other, messages=swapped)
    return Damaged(
        _changed(log, changes),
        record.snapshot,
        record.channel,
        first.message,
        other=second.message,
    )


def _changed(log: Log, changes: dict[LoggedEvent, LoggedEvent]) -> Log:
    return Log(log.header, tuple(changes.get(event, event) for event in log.events))


def _channel_record_with(log: Log, least: int) -> LoggedEvent:
    for event in log.events:
        if event.kind == RECORD_CHANNEL and len(event.messages) >= least:
            return event
    raise _nowhere("a channel with a message in flight")


def _matching(log: Log, kind: str, **fields: object) -> Iterator[LoggedEvent]:
    return (
        event
        for event in log.events
        if event.kind == kind and all(getattr(event, k) == v for k, v in fields.items())
    )


def _find(log: Log, kind: str, **fields: object) -> LoggedEvent | None:
    return next(_matching(log, kind, **fields), None)


def _first_after(log: Log, event: LoggedEvent, kind: str, channel: str) -> LoggedEvent | None:
    return next((e for e in _matching(log, kind, channel=channel) if e.line > event.line), None)


def _between(log: Log, first: LoggedEvent, second: LoggedEvent) -> list[LoggedEvent]:
    """Return the events of their process after ``first`` and before ``second``."""
    return [
        event
        for event in log.events[first.line - 1 : second.line - 2]
        if event.process == first.process
    ]


def _nowhere(what: str) -> LookupError:
    return LookupError(f"this run has nowhere {what}: simulate more events or another seed")


DAMAGES: dict[str, Callable[[Log], Damaged]] = {
    "orphan": record_late,
    "lost": lose_recorded_message,
    "duplicated": duplicate_recorded_message,
    "state-mismatch": wrong_state,
    "marker-rule": marker_sent_late,
    "fifo-violation": overtake,
}
"""What provokes each verdict; ``incomplete`` needs `never_sending`."""
