"""Say in one sentence which rule fired at an event of a log.

The sentence says what the log shows: a rule that ought to have fired and did not is not told here,
but by the verdict. Events of a dataflow have their sentences in ``dataflow.py``.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2: the
marker-sending and the marker-receiving rule. In a run of Lai and Yang's algorithm (IPL 25(3), 1987)
a marker is the first red message, or the number of white ones by itself; the rules are worded
alike.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from snapshots.domain.explaining import dataflow
from snapshots.domain.explaining.words import counted, listed, value_text
from snapshots.domain.judging.spreading import marker_tells
from snapshots.domain.model.recording import (
    CRASH,
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    SEND,
    Event,
    SnapshotId,
)
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId


class Log(Protocol):
    """What a sentence asks of a log."""

    @property
    def engine(self) -> str | None:
        """The engine of a dataflow, "" if it is not named; None for any other system."""

    def event(self, process: ProcessId, index: int) -> Event | None:
        """Return an event; None if there is none with that index."""

    def channel(self, channel: ChannelId) -> Channel:
        """Return a channel by its id."""

    def incoming(self, process: ProcessId) -> int:
        """Count the channels to a process."""

    def outgoing(self, snapshot: SnapshotId, process: ProcessId) -> int:
        """Count the channels on which a process sends markers of a snapshot."""

    def with_record(self, record: Event) -> Sequence[tuple[str, ChannelId | None, int]]:
        """Return kind, channel and index of what a process does next, at once, for a snapshot."""

    def recorded_at(self, snapshot: SnapshotId, process: ProcessId) -> int | None:
        """Return the index at which a process records; None if it never does."""

    def is_noted(self, snapshot: SnapshotId, receive: Event) -> bool:
        """Tell whether the message of a receive is noted for a snapshot."""


@dataclass(frozen=True, slots=True)
class Step:
    """An event, and what its sentence needs beside it.

    Attributes:
        snapshot: that of the event, else the chosen one, if any.
    """

    log: Log
    event: Event
    snapshot: SnapshotId | None

    def near(self, by: int) -> Event | None:
        """Return the event of the process that is ``by`` events later, if it is as late."""
        event = self.event
        found = self.log.event(event.process, event.index + by)
        return found if found is not None and found.at == event.at else None

    @property
    def is_told(self) -> bool:
        """Whether the marker on the channel says which messages are noted."""
        return self.event.channel is not None and marker_tells(self.log.channel(self.event.channel))

    def recorded_at(self) -> int | None:
        """Return the index at which the process records for the snapshot."""
        if self.snapshot is None:
            return None
        return self.log.recorded_at(self.snapshot, self.event.process)


def sentence_of(log: Log, event: Event, chosen: SnapshotId | None) -> str:
    """Return the sentence of an event.

    Args:
        chosen: the snapshot for which messages are told to be noted, or None.
    """
    step = Step(log, event, chosen if event.snapshot is None else event.snapshot)
    if log.engine is not None:
        extra = json.loads(event.extra) if event.extra else {}
        found = dataflow.sentence_of(log.engine, event, _around(log, event), extra)
        if found is not None:
            return found
    return _SENTENCES.get(event.kind, _other)(step)


def _around(log: Log, event: Event) -> Mapping[str, Any]:
    around: dict[str, Any] = {"inputs": log.incoming(event.process)}
    if event.channel is not None:
        channel = log.channel(event.channel)
        around |= {"source": channel.source, "target": channel.target}
    return around


def _message(event: Event) -> str:
    if event.message is None:
        return "a message"
    return f"{event.message}{'' if event.value is None else f' ({value_text(event.value)})'}"


def _send(step: Step) -> str:
    event = step.event
    target = step.log.channel(event.channel).target if event.channel else "?"
    sent = f"{event.process} sends {_message(event)} to {target} on {event.channel}"
    record = step.recorded_at()
    if record is None or record > event.index:
        return f"{sent}."
    return f"{sent}, after it has recorded: that is outside {step.snapshot}."


def _receive(step: Step) -> str:
    event = step.event
    if event.label == "discarded":
        return f"{event.process} throws {_message(event)} on {event.channel} away, unprocessed."
    received = f"{event.process} receives {_message(event)} on {event.channel}"
    channel = step.log.channel(event.channel) if event.channel else None
    is_written_as_it_lies = channel is None or channel.overtaking
    if (
        step.snapshot is None
        or is_written_as_it_lies
        or not step.log.is_noted(step.snapshot, event)
    ):
        return f"{received}."
    return (
        f"{received} before the marker of {step.snapshot}: {event.process} notes it for "
        f"{event.channel}."
    )


def _marker_send(step: Step) -> str:
    if (record := _record_before(step)) is not None:
        return _recording(step, record)
    event = step.event
    return f"{event.process} sends the marker of {event.snapshot} on {event.channel}."


def _marker_receive(step: Step) -> str:
    event, record = step.event, step.recorded_at()
    arrives = f"The marker of {event.snapshot} arrives at {event.process} on {event.channel}"
    if record is None:
        return f"{arrives}: {event.process} never records."
    if record > event.index:
        follows = step.near(1)
        at_once = follows is not None and follows.index == record
        return f"{arrives}: {event.process} had not recorded{', so it records' * at_once}."
    told = step.near(1)
    is_told = told is not None and (told.kind, told.channel) == (RECORD_CHANNEL, event.channel)
    if not is_told and not step.is_told:
        return f"{arrives}: {event.process} had recorded."
    return _locked(event, told if is_told else None)


def _locked(marker: Event, told: Event | None) -> str:
    held = "" if told is None else f" with {counted(len(told.messages or ()), 'message')}"
    return (
        f"The marker of {marker.snapshot} arrives at {marker.process} on {marker.channel}: "
        f"{marker.process} had recorded, so {marker.channel} is locked{held}."
    )


def _record_state(step: Step) -> str:
    event = step.event
    if step.recorded_at() != event.index:
        state = "" if event.state is None else f" {value_text(event.state)}"
        return (
            f"{event.process} records{state} for {event.snapshot} once more; the first record "
            "counts."
        )
    return _recording(step, event)


def _record_channel(step: Step) -> str:
    event, marker = step.event, step.near(-1)
    if (record := _record_before(step)) is not None:
        return _recording(step, record)
    if marker is not None and (marker.kind, marker.channel, marker.snapshot) == (
        MARKER_RECEIVE,
        event.channel,
        event.snapshot,
    ):
        return _locked(marker, event)
    held = counted(len(event.messages or ()), "message")
    return f"{event.process} locks {event.channel} for {event.snapshot} with {held}."


def _record_before(step: Step) -> Event | None:
    """Return the record of which an event is a part, as the process records at that instant."""
    index = step.recorded_at()
    if index is None or index >= step.event.index:
        return None
    record = step.log.event(step.event.process, index)
    return record if record is not None and record.at == step.event.at else None


def _recording(step: Step, record: Event) -> str:
    """Say what a process does that records, all of it at once."""
    log, process, snapshot = step.log, record.process, record.snapshot
    before = log.event(process, record.index - 1)
    marker = before if before is not None and _is_marker_of(before, record) else None
    state = "a state that is not known" if record.state is None else value_text(record.state)
    does = [f"records {state}" if marker else f"records {state} for {snapshot}"]
    follows = log.with_record(record)
    if marker is not None:
        does += [
            f"notes {channel} as {_held(log.event(process, index))}"
            for kind, channel, index in follows
            if (kind, channel) == (RECORD_CHANNEL, marker.channel)
        ]
    markers = [channel for kind, channel, _ in follows if kind == MARKER_SEND]
    if markers and snapshot is not None:
        does.append(f"sends {_markers_on(markers, log.outgoing(snapshot, process))}")
    begin = f"{process} had not recorded: it" if marker else process
    return f"{begin} {listed(does)}."


def _is_marker_of(event: Event, record: Event) -> bool:
    return (event.kind, event.snapshot) == (MARKER_RECEIVE, record.snapshot)


def _held(told: Event | None) -> str:
    count = len(told.messages or ()) if told is not None else 0
    return f"holding {counted(count, 'message')}" if count else "empty"


def _markers_on(markers: Sequence[ChannelId | None], outgoing: int) -> str:
    if len(markers) == 1:
        return f"a marker on {markers[0]}"
    if len(markers) == outgoing:
        return "markers on all its channels"
    return f"markers on {len(markers):,} of its {outgoing:,} channels"


def _internal(step: Step) -> str:
    event = step.event
    label = f": {event.label}" if event.label else " takes a step of its own"
    state = "" if event.state is None else f"; its state is {value_text(event.state)}"
    return f"{event.process}{label}{state}."


def _restore(step: Step) -> str:
    event = step.event
    goal = "the start" if event.snapshot is None else f"what {event.snapshot} holds of it"
    return f"{event.process} goes back to {goal}."


def _crash(step: Step) -> str:
    return f"{step.event.process} crashes."


def _other(step: Step) -> str:
    event = step.event
    about = "".join(f" {word} {text}" for word, text in (
        ("on", event.channel), ("for", event.snapshot), ("", event.label)
    ) if text)  # fmt: skip
    return f"{event.process}: {event.kind}{about}."


_SENTENCES: Mapping[str, Callable[[Step], str]] = {
    SEND: _send,
    RECEIVE: _receive,
    MARKER_SEND: _marker_send,
    MARKER_RECEIVE: _marker_receive,
    RECORD_STATE: _record_state,
    RECORD_CHANNEL: _record_channel,
    INTERNAL: _internal,
    RESTORE: _restore,
    CRASH: _crash,
}
