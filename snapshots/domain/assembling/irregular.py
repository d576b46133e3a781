"""Report what is odd in a log that still has a meaning: the kept defects of the assembly.

In every function ``rows`` holds all logged events, process by process, as in `assembly`.
"""

from collections import defaultdict
from typing import TypedDict

import numpy as np

from snapshots.domain.assembling.matching import IN_FLIGHT, Matches, Traffic, overtaken
from snapshots.domain.model import defects as complaints
from snapshots.domain.model.defects import Defects, quoted
from snapshots.domain.model.recording import (
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    LoggedEvent,
    MessageId,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology


def report_strays(
    channel: ChannelId,
    rows: list[LoggedEvent],
    messages: Matches,
    markers: Matches,
    defects: Defects,
) -> None:
    """Report each receive on the channel, of a message or a marker, that has no send."""
    for complaint, numbers in (
        (complaints.stray_receive, messages.unexplained),
        (complaints.received_twice, messages.surplus),
        (complaints.received_late, messages.late),
        (complaints.stray_marker, markers.unexplained),
        (complaints.marker_received_twice, markers.surplus),
        (complaints.marker_late, markers.late),
    ):
        for event in (rows[number] for number in numbers):
            defects.add(complaint(channel=channel, message=event.message, **_facts(event)))


class _Facts(TypedDict):
    process: ProcessId
    snapshot: SnapshotId | None
    line: int


def _facts(event: LoggedEvent) -> _Facts:
    return {"process": event.process, "snapshot": event.snapshot, "line": event.line}


def report_resent(channel: ChannelId, sends: list[LoggedEvent], defects: Defects) -> None:
    """Report a channel that sends an id again, at the first such send."""
    seen: set[MessageId | None] = set()
    repeated: list[LoggedEvent] = []
    for event in sends:
        if event.message in seen:
            repeated.append(event)
        seen.add(event.message)
    if repeated:
        first = repeated[0]
        defects.add(
            complaints.sent_twice(
                channel=channel, message=first.message, count=len(repeated), line=first.line
            )
        )


def report_skew(
    rows: list[LoggedEvent], falls: np.ndarray, too_early: np.ndarray, defects: Defects
) -> None:
    """Report each process whose clock goes back, and each channel with receives before sends.

    Args:
        falls: bool[N], the rows at which a clock goes back.
        too_early: bool[N], the receives that lie before their sends.
    """
    for process, events in _grouped(rows, falls, "process").items():
        defects.add(
            complaints.falling_clock(process=process, count=len(events), line=events[0].line)
        )
    for channel, events in _grouped(rows, too_early, "channel").items():
        defects.add(
            complaints.received_before_sent(channel=channel, count=len(events), line=events[0].line)
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
    """Report each FIFO channel on which a message or marker was overtaken.

    The defect names the first one overtaken, and what arrived first of all that were sent after it.
    On a channel where markers may overtake, being overtaken by one does not count.
    """
    for channel in topology.channels:
        flow = traffic[channel.id]
        sends = sorted(flow.sends + flow.marker_sends)
        ends = map(flow.end, sends)  # what a restore took back was overtaken by nothing behind it
        received = np.array([IN_FLIGHT if end is None else end for end in ends], np.int64)
        by = received
        if channel.overtaking:
            marks = np.array([rows[send].kind == MARKER_SEND for send in sends], bool)
            by = np.where(marks, IN_FLIGHT, received)
        late = overtaken(received, by)
        if channel.fifo and late.any():
            first = int(np.argmax(late))
            later = first + 1 + int(np.argmin(by[first + 1 :]))
            defects.add(
                complaints.overtaken(
                    channel=channel.id,
                    first=_named(rows[sends[first]]),
                    later=_named(rows[sends[later]]),
                    count=int(late.sum()),
                    line=rows[sends[first]].line,
                )
            )


def _named(event: LoggedEvent) -> str:
    if event.kind == MARKER_SEND:
        return f"the marker of snapshot {quoted(event.snapshot)}"
    return quoted(event.message)


def report_records(
    traffic: dict[ChannelId, Traffic], rows: list[LoggedEvent], defects: Defects
) -> None:
    """Report each record that is not the first of its part, and each that names an unsent id."""
    sent = {name: {rows[row].message for row in flow.sends} for name, flow in traffic.items()}
    seen: set[tuple[ProcessId, SnapshotId | None, ChannelId | None]] = set()
    for event in rows:
        if event.kind not in (RECORD_STATE, RECORD_CHANNEL):
            continue
        channel = event.channel if event.kind == RECORD_CHANNEL else None
        key = (event.process, event.snapshot, channel)
        if key in seen:
            part = "its state" if channel is None else f"channel {quoted(channel)}"
            defects.add(complaints.recorded_twice(part=part, **_facts(event)))
        seen.add(key)
        unsent = (
            message
            for message in event.messages or ()
            if channel is not None and message not in sent[channel]
        )
        if (message := next(unsent, None)) is not None:
            defects.add(
                complaints.unknown_message(channel=channel, message=message, **_facts(event))
            )
