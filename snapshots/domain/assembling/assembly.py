"""Order, match and time logged events: the reference for the Spark ingest.

A row is the number of an event when all events are listed process by process, in the order of the
header.
"""

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

import numpy as np

from snapshots.domain.assembling import irregular
from snapshots.domain.assembling.clocks import NONE, CausalCycle, Times, causal_times, early, fallen
from snapshots.domain.assembling.matching import Matches, Traffic, match
from snapshots.domain.assembling.restores import History, meet, with_done
from snapshots.domain.model import defects as complaints
from snapshots.domain.model.defects import Defect, Defects, InputRefused, quoted, refuse
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
    Event,
    Instant,
    LoggedEvent,
    Marker,
    Message,
    MessageId,
    Recording,
    Restored,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology

SOURCE_KINDS = frozenset({SEND, MARKER_SEND})
TARGET_KINDS = frozenset({RECEIVE, MARKER_RECEIVE, RECORD_CHANNEL})
NEEDED = {
    SEND: ("channel", "message"),
    RECEIVE: ("channel", "message"),
    MARKER_SEND: ("channel", "snapshot"),
    MARKER_RECEIVE: ("channel", "snapshot"),
    RECORD_STATE: ("snapshot",),
    RECORD_CHANNEL: ("snapshot", "channel", "messages"),
}
"""The fields without which an event of a kind has no meaning."""
_ENDS = {
    SEND: "sends",
    RECEIVE: "receives",
    MARKER_SEND: "marker_sends",
    MARKER_RECEIVE: "marker_receives",
}
"""The list in Traffic that takes the events of a kind."""


Again = dict[tuple[ProcessId, int], list[tuple[int | None, Hashable | None]]]
"""What was received again on each channel of a process after its n-th restore."""


@dataclass(frozen=True)
class Header:
    """The part of a log before its events.

    Attributes:
        extra: the fields of the header that Cutline does not know, kept as they are.
    """

    name: str
    time_unit: str
    topology: Topology
    extra: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def process_codes(self) -> dict[ProcessId, int]:
        """The code of each process: its place in the topology."""
        return {process.id: code for code, process in enumerate(self.topology.processes)}

    @cached_property
    def channel_codes(self) -> dict[ChannelId, int]:
        """The code of each channel: its place in the topology."""
        return {channel.id: code for code, channel in enumerate(self.topology.channels)}

    @cached_property
    def channel_ends(self) -> np.ndarray:
        """int32[2, C]: the codes of each channel's source and target."""
        codes = self.process_codes
        channels = self.topology.channels
        ends = [[codes[c.source] for c in channels], [codes[c.target] for c in channels]]
        return np.array(ends, np.int32).reshape(2, len(channels))


@dataclass(frozen=True)
class Assembly:
    """The recording that a log describes, and what is odd in the log.

    Attributes:
        defects: the kept defects, at most MOST_LISTED of ``defects_total``.
    """

    recording: Recording
    defects: tuple[Defect, ...]
    defects_total: int


def assemble(header: Header, logged_events: Iterable[LoggedEvent]) -> Assembly:
    """Make a recording of a log. Raises: InputRefused if the log has no meaning."""
    defects = Defects()
    topology = header.topology
    by_process = _by_process(topology, logged_events, defects)
    defects.raise_refused()
    ordered = {name: _ordered(name, events, defects) for name, events in by_process.items()}
    defects.raise_refused()
    rows = [event for events in ordered.values() for event in events]
    starts = np.cumsum([0, *map(len, ordered.values())])
    traffic = _traffic(topology, rows)
    history = History(rows)
    stray_rows, again = _match_all(topology, traffic, rows, history, defects)
    times = _timed(starts, rows, traffic, defects)
    irregular.report_overtaking(topology, traffic, rows, defects)
    irregular.report_records(traffic, rows, defects)
    defects.extend(history.defects(topology))
    events = _placed(rows, starts, times)
    recording = Recording(
        topology=topology,
        events=_split(topology, starts, events),
        messages={name: _messages(flow, events) for name, flow in traffic.items()},
        markers={name: _markers(flow, events) for name, flow in traffic.items()},
        strays=tuple(sorted((events[row] for row in stray_rows), key=lambda event: event.line)),
        name=header.name,
        time_unit=header.time_unit,
        header_extra=header.extra,
        restores=_restores(topology, starts, history, again),
    )
    return Assembly(recording, defects.listed, defects.total)


def _by_process(
    topology: Topology, logged_events: Iterable[LoggedEvent], defects: Defects
) -> dict[ProcessId, list[LoggedEvent]]:
    by_process: dict[ProcessId, list[LoggedEvent]] = {
        process.id: [] for process in topology.processes
    }
    for event in logged_events:
        if event.process in by_process:
            by_process[event.process].append(event)
        else:
            defects.add(complaints.unknown_process(name=event.process, line=event.line))
        _check_fields(topology, event, defects)
    return by_process


def _check_fields(topology: Topology, event: LoggedEvent, defects: Defects) -> None:
    for name in NEEDED.get(event.kind, ()):
        if getattr(event, name) is None:
            defects.add(complaints.missing_field(kind=event.kind, field=name, line=event.line))
    if event.channel is None:
        return
    channel = topology.channel_by_id.get(event.channel)
    if channel is None:
        defects.add(complaints.unknown_channel(name=event.channel, line=event.line))
        return
    end = "source" if event.kind in SOURCE_KINDS else "target"
    expected = getattr(channel, end)
    if event.kind in SOURCE_KINDS | TARGET_KINDS and event.process != expected:
        defects.add(
            complaints.wrong_end(
                kind=event.kind,
                process=event.process,
                channel=channel.id,
                end=end,
                expected=expected,
                line=event.line,
            )
        )


def _ordered(process: ProcessId, events: list[LoggedEvent], defects: Defects) -> list[LoggedEvent]:
    """Sort the events of a process by index if every event has one, else by line."""
    events = sorted(events, key=lambda event: event.line)
    without_index = [event.line for event in events if event.index is None]
    indexed = [(event.index, event) for event in events if event.index is not None]
    indexed.sort(key=itemgetter(0))  # stable: events with one index stay in the order of the file
    for (earlier_index, earlier), (index, later) in itertools.pairwise(indexed):
        if earlier_index == index:
            defects.add(
                complaints.index_twice(
                    process=process, index=index, line=later.line, earlier_line=earlier.line
                )
            )
    if without_index:
        if indexed:
            count, line = len(without_index), without_index[0]
            defects.add(complaints.index_partly(process=process, count=count, line=line))
        return events
    gap = next((n for n, (index, _) in enumerate(indexed) if index > n), None)
    if gap is not None:
        missing, line = indexed[-1][0] + 1 - len(indexed), indexed[gap][1].line
        defects.add(complaints.index_gap(process=process, count=missing, first=gap, line=line))
    return [event for _, event in indexed]


def _traffic(topology: Topology, rows: list[LoggedEvent]) -> dict[ChannelId, Traffic]:
    traffic = {channel.id: Traffic() for channel in topology.channels}
    for row, event in enumerate(rows):
        if event.kind in _ENDS:
            assert event.channel is not None  # _check_fields refuses these kinds without a channel
            getattr(traffic[event.channel], _ENDS[event.kind]).append(row)
    return traffic


def _match_all(
    topology: Topology,
    traffic: dict[ChannelId, Traffic],
    rows: list[LoggedEvent],
    history: History,
    defects: Defects,
) -> tuple[list[int], Again]:
    """Fill the ends of the ways on every channel; return the stray receives, and what came again.

    The strays are rows.
    """
    strays: list[int] = []
    again: Again = defaultdict(list)
    for channel in topology.channels:
        flow, held = traffic[channel.id], history.held(channel)
        messages = _matched(
            [(rows[row].message, row) for row in flow.sends],
            [(rows[row].message, row) for row in flow.receives],
            history.ends(channel),
            held,
        )
        for number, found in messages.again.items():
            again[channel.target, number].append(found)
        markers = _matched(
            [(rows[row].snapshot, row) for row in flow.marker_sends],
            [(rows[row].snapshot, row) for row in flow.marker_receives],
            history.ends(channel),
            [()] * len(held),  # no snapshot keeps markers
        )
        flow.received = messages.received | markers.received
        flow.taken_back = messages.taken_back | markers.taken_back
        for matches in (messages, markers):
            strays += matches.unexplained + matches.surplus + matches.late
        irregular.report_strays(channel.id, rows, messages, markers, defects)
        irregular.report_resent(channel.id, [rows[row] for row in flow.sends], defects)
    return strays, again


def _restores(
    topology: Topology, starts: np.ndarray, history: History, again: Again
) -> dict[ProcessId, tuple[Restored, ...]]:
    """Return the restores of each process by index, with what came again after each."""
    found = {}
    for process, start in zip(topology.processes, starts.tolist(), strict=False):
        if own := history.restores.get(process.id):
            whole = [with_done(item, again[process.id, n]) for n, item in enumerate(own)]
            found[process.id] = tuple(_from_start(item, start) for item in whole)
    return found


def _from_start(restored: Restored, start: int) -> Restored:
    """Return a restore with indexes within its process, whose first row is ``start``."""
    done = None if restored.done is None else restored.done - start
    return replace(restored, row=restored.row - start, done=done)


def _matched(
    sends: list[tuple[Hashable, int]],
    receives: list[tuple[Hashable, int]],
    restores: tuple[list[Restored], list[Restored]],
    held: Sequence[Sequence[MessageId]],
) -> Matches:
    return meet(sends, receives, *restores, held) if any(restores) else match(sends, receives)


def _timed(
    starts: np.ndarray,
    rows: list[LoggedEvent],
    traffic: dict[ChannelId, Traffic],
    defects: Defects,
) -> Times:
    at = np.array([0 if event.at is None else event.at for event in rows], np.int64)
    known = np.array([event.at is not None for event in rows], bool)
    line = np.array([event.line for event in rows], np.int64)
    cause = np.full(len(rows), NONE)
    for flow in traffic.values():
        for send, receive in flow.received.items():
            cause[receive] = send
    irregular.report_skew(rows, fallen(starts, at, known), early(at, known, cause), defects)
    try:
        return causal_times(starts, at, known, line, cause)
    except CausalCycle as cycle:
        raise refused_cycle([(rows[row].process, rows[row].line) for row in cycle.rows]) from cycle


def refused_cycle(events: list[tuple[ProcessId, int]]) -> InputRefused:
    """Return the refusal for a circle of events, given as (process, line), causes first."""
    shown = [f"{quoted(process)} in line {line}" for process, line in events[:6]]
    more = f" and {len(events) - 6} more" if len(events) > 6 else ""
    return refuse(
        "causal-cycle",
        "These events each come before the next, and the last before the first: "
        f"{', '.join(shown)}{more}. Is the order within a process right?",
        line=min(line for _, line in events),
    )


def _placed(rows: list[LoggedEvent], starts: np.ndarray, times: Times) -> list[Event]:
    indexes = np.arange(len(rows)) - np.repeat(starts[:-1], np.diff(starts))
    return [
        Event(
            process=event.process,
            index=index,
            kind=event.kind,
            at=at,
            step=step,
            line=event.line,
            channel=event.channel,
            message=event.message,
            value=event.value,
            state=event.state,
            snapshot=event.snapshot,
            messages=event.messages,
            label=event.label,
            extra=event.extra,
            logged_at=event.at if event.at not in (None, at) else None,
        )
        for event, index, at, step in zip(
            rows, indexes.tolist(), times.at.tolist(), times.step.tolist(), strict=True
        )
    ]


def _split(
    topology: Topology, starts: np.ndarray, events: list[Event]
) -> dict[ProcessId, tuple[Event, ...]]:
    return {
        process.id: tuple(events[first:end])
        for process, first, end in zip(topology.processes, starts[:-1], starts[1:], strict=True)
    }


def _messages(flow: Traffic, events: list[Event]) -> tuple[Message, ...]:
    messages = []
    for ordinal, send in enumerate(flow.sends):
        sent, receive = events[send], _receive(flow, events, send)
        assert sent.channel is not None  # _check_fields refuses a send without channel or message
        assert sent.message is not None
        messages.append(
            Message(
                sent.channel,
                ordinal,
                sent.message,
                sent.value,
                sent.index,
                sent.at,
                received_index=receive[0],
                received_at=receive[1],
                taken_back=send in flow.taken_back,
            )
        )
    return tuple(messages)


def _markers(flow: Traffic, events: list[Event]) -> tuple[Marker, ...]:
    markers = []
    for ordinal, send in enumerate(flow.marker_sends):
        sent, receive = events[send], _receive(flow, events, send)
        assert sent.channel is not None  # _check_fields refuses a marker without one of the two
        assert sent.snapshot is not None
        markers.append(
            Marker(
                sent.channel,
                ordinal,
                sent.snapshot,
                sent.index,
                sent.at,
                received_index=receive[0],
                received_at=receive[1],
                taken_back=send in flow.taken_back,
            )
        )
    return tuple(markers)


def _receive(
    flow: Traffic, events: list[Event], send: int
) -> tuple[int, Instant] | tuple[None, None]:
    """Return index and time of what ends the way of a send, or (None, None) if nothing does."""
    row = flow.end(send)
    return (None, None) if row is None else (events[row].index, events[row].at)
