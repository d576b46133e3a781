"""What is odd in a log that still has a meaning: the kept defects of the assembly.

rows: all logged events in the order of their processes, as in `assembly`.
"""

from collections import defaultdict

import numpy as np

from snapshots.domain.assembling.matching import IN_FLIGHT, Matches, Traffic, overtaken
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defects
from snapshots.domain.model.recording import MARKER_SEND, RECORD_CHANNEL, RECORD_STATE, LoggedEvent
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology


def report_strays(
    channel: ChannelId,
    rows: list[LoggedEvent],
    messages: Matches,
    markers: Matches,
    defects: Defects,
) -> None:
    """One defect per receive, of a message or a marker of the channel, that took no send."""
    for complaint, numbers in (
        (say.stray_receive, messages.unexplained),
        (say.received_twice, messages.surplus),
        (say.stray_marker, markers.unexplained),
        (say.marker_received_twice, markers.surplus),
    ):
        for event in (rows[number] for number in numbers):
            defects.add(complaint(channel=channel, message=event.message, **_facts(event)))


def _facts(event: LoggedEvent) -> dict[str, object]:
    return {"process": event.process, "snapshot": event.snapshot, "line": event.line}


def report_resent(channel: ChannelId, sends: list[LoggedEvent], defects: Defects) -> None:
    """One defect per channel that sends an id again."""
    seen: set[str] = set()
    again: list[LoggedEvent] = []
    for event in sends:
        if event.message in seen:
            again.append(event)
        seen.add(event.message)
    if again:
        first = again[0]
        defects.add(
            say.sent_twice(
                channel=channel, message=first.message, count=len(again), line=first.line
            )
        )


def report_skew(
    rows: list[LoggedEvent], falls: np.ndarray, too_early: np.ndarray, defects: Defects
) -> None:
    """One defect per process whose clock goes back, one per channel with receives too early."""
    for process, events in _grouped(rows, falls, "process").items():
        defects.add(say.falling_clock(process=process, count=len(events), line=events[0].line))
    for channel, events in _grouped(rows, too_early, "channel").items():
        defects.add(
            say.received_before_sent(channel=channel, count=len(events), line=events[0].line)
        )


def _grouped(rows: list[LoggedEvent], chosen: np.ndarray, by: str) -> dict[str, list[LoggedEvent]]:
    groups: dict[str, list[LoggedEvent]] = defaultdict(list)
    for row in np.flatnonzero(chosen):
        groups[getattr(rows[row], by)].append(rows[row])
    return groups


def report_overtaking(
    topology: Topology,
    traffic: dict[ChannelId, Traffic],
    rows: list[LoggedEvent],
    defects: Defects,
) -> None:
    """One defect per FIFO channel: the first that was overtaken, by the first received after it.

    Where markers may overtake, nothing counts as overtaken by one.
    """
    for channel in topology.channels:
        flow = traffic[channel.id]
        sends = sorted(flow.sends + flow.marker_sends)
        received = np.array([flow.received.get(send, IN_FLIGHT) for send in sends], np.int64)
        by = received
        if channel.overtaking:
            marks = np.array([rows[send].kind == MARKER_SEND for send in sends], bool)
            by = np.where(marks, IN_FLIGHT, received)
        late = overtaken(received, by)
        if channel.fifo and late.any():
            first = int(np.argmax(late))
            later = first + 1 + int(np.argmin(by[first + 1 :]))
            defects.add(
                say.overtaken(
                    channel=channel.id,
                    first=_called(rows[sends[first]]),
                    later=_called(rows[sends[later]]),
                    count=int(late.sum()),
                    line=rows[sends[first]].line,
                )
            )


def _called(event: LoggedEvent) -> str:
    if event.kind == MARKER_SEND:
        return f"the marker of snapshot {say.quoted(event.snapshot)}"
    return say.quoted(event.message)


def report_records(
    traffic: dict[ChannelId, Traffic], rows: list[LoggedEvent], defects: Defects
) -> None:
    """One defect per record that is not the first of its kind, and per one that names no send."""
    sent = {name: {rows[row].message for row in flow.sends} for name, flow in traffic.items()}
    seen: set[tuple[ProcessId, str, ChannelId | None]] = set()
    for event in rows:
        if event.kind not in (RECORD_STATE, RECORD_CHANNEL):
            continue
        channel = event.channel if event.kind == RECORD_CHANNEL else None
        key = (event.process, event.snapshot, channel)
        if key in seen:
            part = "its state" if channel is None else f"channel {say.quoted(channel)}"
            defects.add(say.recorded_twice(part=part, **_facts(event)))
        seen.add(key)
        for message in event.messages if channel is not None else ():
            if message not in sent[channel]:
                defects.add(say.unknown_message(channel=channel, message=message, **_facts(event)))
                break
