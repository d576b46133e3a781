"""One constructor a witness: the facts of a verdict and the sentence that says them.

The reference and the Spark job find the facts each in their own way and build their findings here,
so that facts, sentences and JSON are the same. Sentences name ids as they are; pages make links of
them.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2.
"""

from snapshots.domain.judging.findings import (
    DUPLICATED,
    FIFO_VIOLATION,
    INCOMPLETE,
    LOST,
    MARKER_RULE,
    ORPHAN,
    STATE_MISMATCH,
    UNKNOWN,
    Companion,
    Finding,
    Place,
)
from snapshots.domain.model.recording import Event, Marker, Message, MessageId, SnapshotId
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId

LONGEST_SHOWN = 200  # characters of a state or value in a sentence; the finding has it whole
SENDING_RULE = "paper, section 3.2, marker-sending rule"
RECEIVING_RULE = "paper, section 3.2, marker-receiving rule"


def orphan(channel: Channel, message: Message) -> Finding:
    """A message received before its receiver recorded, but sent after its sender recorded."""
    return _of_message(
        ORPHAN,
        f"Not consistent: {channel.target} received {named(message)} before recording its state, "
        f"but {channel.source} sent it after recording its own.",
        channel,
        message,
    )


def lost(channel: Channel, message: Message) -> Finding:
    """A message in flight that the recorded channel state lacks."""
    return _of_message(
        LOST,
        f"Lost: {named(message)} is in flight on {channel.id}, but the recorded channel state "
        "lacks it. A restore would lose it.",
        channel,
        message,
    )


def recorded_twice(channel: Channel, message: Message) -> Finding:
    """A message in flight that the recorded channel state has more than once."""
    return _of_message(
        DUPLICATED,
        f"Duplicated: {named(message)} is in flight on {channel.id} once, but recorded more than "
        "once. A restore would deliver it again.",
        channel,
        message,
    )


def recorded_but_received(channel: Channel, message: Message) -> Finding:
    """A recorded message that the receiver's recorded state already holds."""
    return _of_message(
        DUPLICATED,
        f"Duplicated: {named(message)} is recorded on {channel.id}, but {channel.target} had "
        "received it before recording its state. A restore would count it twice.",
        channel,
        message,
    )


def recorded_but_not_sent(channel: Channel, message: Message) -> Finding:
    """A recorded message that the sender's recorded state has not sent yet."""
    return _of_message(
        DUPLICATED,
        f"Duplicated: {named(message)} is recorded on {channel.id}, but {channel.source} sent it "
        "after recording its state. A restore would send it again.",
        channel,
        message,
    )


def state_mismatch(
    process: ProcessId, event: Place, recorded: JsonText, recomputed: JsonText
) -> Finding:
    """event: the record_state."""
    return Finding(
        STATE_MISMATCH,
        f"{process} recorded the state {_short(recorded)}, but its state there is "
        f"{_short(recomputed)}.",
        process=process,
        event=event,
        recorded=recorded,
        recomputed=recomputed,
    )


def sent_before_marker(channel: Channel, message: Message, snapshot: SnapshotId) -> Finding:
    """A message sent after the sender's recording and before its marker on that channel."""
    return _of_message(
        MARKER_RULE,
        f"{channel.source} sent {named(message)} after recording its state for {snapshot} and "
        f"before its marker on {channel.id} (marker-sending rule of section 3.2).",
        channel,
        message,
        rule=SENDING_RULE,
    )


def sent_after_marker(channel: Channel, message: Message, snapshot: SnapshotId) -> Finding:
    """A message sent after the marker on that channel and before the sender's recording."""
    return _of_message(
        MARKER_RULE,
        f"{channel.source} sent {named(message)} after its marker of {snapshot} on {channel.id} "
        "and before recording its state (marker-sending rule of section 3.2).",
        channel,
        message,
        rule=SENDING_RULE,
    )


def received_after_marker(channel: Channel, message: Message, snapshot: SnapshotId) -> Finding:
    """A message received after the marker on that channel and before the receiver's recording."""
    return _of_message(
        MARKER_RULE,
        f"{channel.target} received {named(message)} after the marker of {snapshot} on "
        f"{channel.id} and before recording its state (marker-receiving rule of section 3.2).",
        channel,
        message,
        rule=RECEIVING_RULE,
    )


def overtook(channel: Channel, first: Message | Marker, second: Message | Marker) -> Finding:
    """``second`` was sent after ``first`` on a FIFO channel, but received before it.

    The finding's message is the one that was overtaken, ``other`` the one that overtook.
    """
    if first.received_index is None:
        what = f"arrived, but {named(first)}, sent before it, never did"
    else:
        what = f"was received before {named(first)}, which was sent first"
    return Finding(
        FIFO_VIOLATION,
        f"On the FIFO channel {channel.id} {named(second)} {what}.",
        channel=channel.id,
        other=_companion(channel, second),
        **_travel(channel, first),
    )


def recorded_out_of_order(channel: Channel, earlier: Message, later: Message) -> Finding:
    """Two messages in flight on a FIFO channel, recorded in the other order than sent."""
    return Finding(
        FIFO_VIOLATION,
        f"On the FIFO channel {channel.id} {named(later)} is recorded before {named(earlier)}, "
        "which was sent first.",
        channel=channel.id,
        other=_companion(channel, later),
        **_travel(channel, earlier),
    )


def never_recorded(
    process: ProcessId, snapshot: SnapshotId, path: tuple[ChannelId, ...] | None
) -> Finding:
    """path: from an initiator to the process, None where there is none."""
    why = (
        "No path of channels leads there from a process that is known to have begun it, so no "
        "marker of theirs can reach it."
        if path is None
        else f"The shortest way there from a process that began it is {', '.join(path)}."
    )
    return Finding(
        INCOMPLETE,
        f"{process} never recorded its state for {snapshot}. {why}",
        process=process,
        path=path,
    )


def marker_in_flight(
    channel: Channel, marker: Marker, path: tuple[ChannelId, ...] | None
) -> Finding:
    """A marker that never arrived. path: from an initiator over the channel."""
    return Finding(
        INCOMPLETE,
        f"The marker of {marker.snapshot} never arrived at {channel.target} on {channel.id}, so "
        "that channel was never closed.",
        channel=channel.id,
        process=channel.target,
        path=path,
        **_travel(channel, marker),
    )


def marker_not_sent(
    channel: Channel, snapshot: SnapshotId, path: tuple[ChannelId, ...] | None
) -> Finding:
    """A process recorded, but its marker on this outgoing channel is not in the log."""
    return Finding(
        INCOMPLETE,
        f"{channel.source} recorded its state for {snapshot}, but never sent its marker on "
        f"{channel.id}.",
        channel=channel.id,
        process=channel.source,
        path=path,
    )


def state_unknown(process: ProcessId, event: Place, recorded: JsonText) -> Finding:
    """A recorded state that cannot be compared. event: the record_state."""
    return Finding(
        UNKNOWN,
        f"{process} recorded the state {_short(recorded)}, but the log does not hold its state "
        "there: the last event before it carries no state.",
        process=process,
        event=event,
        recorded=recorded,
    )


def stray_inside(channel: Channel, stray: Event) -> Finding:
    """A receive inside the cut that no send in the log explains."""
    return Finding(
        UNKNOWN,
        f"{channel.target} received {stray.message} on {channel.id} before recording its state, "
        "but no send in the log is left for it. Is a part of the log missing, or was it received "
        "twice?",
        channel=channel.id,
        message=stray.message,
        process=channel.target,
        value=stray.value,
        received=place(stray),
    )


def recorded_unsent(channel: Channel, message: MessageId, event: Place) -> Finding:
    """A recorded message that the log never sends on that channel. event: the record_channel."""
    return Finding(
        UNKNOWN,
        f"{message} is recorded on {channel.id}, but the log holds no send of it there. Is a part "
        "of the log missing?",
        channel=channel.id,
        message=message,
        process=channel.target,
        event=event,
    )


def place(event: Event) -> Place:
    return Place(event.process, event.index, event.at)


def named(travelling: Message | Marker) -> str:
    """``m42 (1000)``, or ``the marker of s1``."""
    if isinstance(travelling, Marker):
        return f"the marker of {travelling.snapshot}"
    if travelling.value is None:
        return travelling.id
    return f"{travelling.id} ({_short(travelling.value)})"


def _short(text: JsonText) -> str:
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"


def _of_message(
    verdict: str, sentence: str, channel: Channel, message: Message, *, rule: str | None = None
) -> Finding:
    return Finding(verdict, sentence, channel=channel.id, rule=rule, **_travel(channel, message))


def _travel(channel: Channel, travelling: Message | Marker) -> dict[str, object]:
    is_message = isinstance(travelling, Message)
    return {
        "message": travelling.id if is_message else None,
        "value": travelling.value if is_message else None,
        "sent": _sent(channel, travelling),
        "received": _received(channel, travelling),
    }


def _companion(channel: Channel, travelling: Message | Marker) -> Companion:
    is_message = isinstance(travelling, Message)
    return Companion(
        message=travelling.id if is_message else None,
        snapshot=None if is_message else travelling.snapshot,
        value=travelling.value if is_message else None,
        sent=_sent(channel, travelling),
        received=_received(channel, travelling),
    )


def _sent(channel: Channel, travelling: Message | Marker) -> Place:
    return Place(channel.source, travelling.sent_index, travelling.sent_at)


def _received(channel: Channel, travelling: Message | Marker) -> Place | None:
    if travelling.received_index is None:
        return None
    return Place(channel.target, travelling.received_index, travelling.received_at)
