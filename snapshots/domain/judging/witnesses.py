"""Build the findings: the witnesses of verdicts, with their sentences and facts.

The reference and the Spark job find the facts in different ways. Both build their findings here, so
facts, sentences and JSON are the same. Sentences contain ids as they are; pages turn them into
links.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2.
"""

from dataclasses import dataclass
from typing import TypedDict

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
from snapshots.domain.model.engine_words import EngineWords
from snapshots.domain.model.recording import Event, Marker, Message, MessageId, SnapshotId
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId

LONGEST_SHOWN = 200  # characters of a state or value in a sentence; the finding has it whole
SENDING_RULE = "paper, section 3.2, marker-sending rule"
RECEIVING_RULE = "paper, section 3.2, marker-receiving rule"
CONDITION_L1 = "paper, section 3.3, condition L1"
CONDITION_L2 = "paper, section 3.3, condition L2"
NEVER_ARRIVED = (
    "The marker of {snapshot} never arrived at {channel.target} on {channel.id}, so that channel "
    "was never closed."
)
NEVER_SENT = (
    "{channel.source} recorded its state for {snapshot}, but the log holds no marker that it sent "
    "on {channel.id}."
)


@dataclass(frozen=True, slots=True)
class MessageWitness:
    """Builds the findings about one message that share a verdict and a wording, when called.

    Attributes:
        template: the sentence, with ``channel``, ``message`` and ``snapshot`` in braces.
        rule: the rule of the paper that the message breaks.
    """

    verdict: str
    template: str
    rule: str | None = None

    def __call__(
        self, channel: Channel, message: Message, snapshot: SnapshotId | None = None
    ) -> Finding:
        """Return the finding about a message on a channel in a snapshot."""
        sentence = self.template.format(channel=channel, message=named(message), snapshot=snapshot)
        ends = _ends(channel, message)
        return Finding(self.verdict, sentence, channel=channel.id, rule=self.rule, **ends)


orphan = MessageWitness(
    ORPHAN,
    "Not consistent: {channel.target} received {message} before recording its state, "
    "but {channel.source} sent it after recording its own.",
)
lost = MessageWitness(
    LOST,
    "Lost: {message} is in flight on {channel.id}, but the recorded channel state lacks it. "
    "A restore would lose it.",
)
recorded_twice = MessageWitness(
    DUPLICATED,
    "Duplicated: {message} is recorded on {channel.id} more often than it is in flight. "
    "A restore would deliver it again.",
)
recorded_but_received = MessageWitness(
    DUPLICATED,
    "Duplicated: {message} is recorded on {channel.id}, but {channel.target} had received it "
    "before recording its state. A restore would count it twice.",
)
recorded_but_taken_back = MessageWitness(
    DUPLICATED,
    "Duplicated: {message} is recorded on {channel.id}, but a restore of {channel.target} had "
    "taken it back before. A new restore would bring it back.",
)
recorded_but_not_sent = MessageWitness(
    DUPLICATED,
    "Duplicated: {message} is recorded on {channel.id}, but {channel.source} sent it after "
    "recording its state. A restore would send it again.",
)
sent_before_marker = MessageWitness(
    MARKER_RULE,
    "{channel.source} sent {message} after recording its state for {snapshot} and before its "
    "marker on {channel.id} (marker-sending rule of section 3.2).",
    SENDING_RULE,
)
sent_after_marker = MessageWitness(
    MARKER_RULE,
    "{channel.source} sent {message} after its marker of {snapshot} on {channel.id} and before "
    "recording its state (marker-sending rule of section 3.2).",
    SENDING_RULE,
)
received_after_marker = MessageWitness(
    MARKER_RULE,
    "{channel.target} received {message} after the marker of {snapshot} on {channel.id} and "
    "before recording its state (marker-receiving rule of section 3.2).",
    RECEIVING_RULE,
)


def state_mismatch(
    process: ProcessId, event: Place, recorded: JsonText, recomputed: JsonText
) -> Finding:
    """Return the witness for a recorded state that differs from the recomputed one.

    Args:
        event: the place of the record_state.
        recorded, recomputed: the two states.
    """
    return Finding(
        STATE_MISMATCH,
        f"{process} recorded the state {short(recorded)}, but its state there is "
        f"{short(recomputed)}.",
        process=process,
        event=event,
        recorded=recorded,
        recomputed=recomputed,
    )


def overtook(channel: Channel, first: Message | Marker, second: Message | Marker) -> Finding:
    """Return the witness for two that a FIFO channel delivered in the wrong order.

    Args:
        first: the one that was sent first and was overtaken; it is the finding's ``message``.
        second: the one that overtook it; it is the finding's ``other``.
    """
    if first.received_index is None:
        clause = f"arrived, but {named(first)}, sent before it, never did"
    else:
        clause = f"was received before {named(first)}, which was sent first"
    return _out_of_order(channel, first, second, clause)


def recorded_out_of_order(channel: Channel, earlier: Message, later: Message) -> Finding:
    """Return the witness for two messages in flight that were recorded in the wrong order."""
    clause = f"is recorded before {named(earlier)}, which was sent first"
    return _out_of_order(channel, earlier, later, clause)


def _out_of_order(
    channel: Channel, first: Message | Marker, second: Message | Marker, clause: str
) -> Finding:
    return Finding(
        FIFO_VIOLATION,
        f"On the FIFO channel {channel.id} {named(second)} {clause}.",
        channel=channel.id,
        other=_companion(channel, second),
        **_ends(channel, first),
    )


def never_recorded(
    process: ProcessId,
    snapshot: SnapshotId,
    path: tuple[ChannelId, ...] | None,
    in_derived: str | None = None,
) -> Finding:
    """Return the witness for a process that never recorded its state.

    Args:
        path: the channels from an initiator to the process, or None if no path leads there.
        in_derived: the sentence for a derived recording, whose channels bring no markers.
    """
    if in_derived is not None:
        return Finding(INCOMPLETE, in_derived, process=process)
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
        rule=CONDITION_L2,
        path=path,
    )


def marker_in_flight(
    channel: Channel,
    marker: Marker,
    path: tuple[ChannelId, ...] | None,
    words: EngineWords | None = None,
) -> Finding:
    """Return the witness for a marker that never arrived.

    Args:
        path: the channels from an initiator; ``channel`` is the last of them.
        words: the words of the engine that the recording is derived from.
    """
    template = words.in_flight if words else NEVER_ARRIVED
    ends = _ends(channel, marker)
    ends["received"] = None  # also if a restore took it back
    return Finding(
        INCOMPLETE,
        template.format(channel=channel, snapshot=marker.snapshot),
        channel=channel.id,
        process=channel.target,
        rule=None if words else CONDITION_L1,
        path=path,
        **ends,
    )


def marker_not_sent(
    channel: Channel,
    snapshot: SnapshotId,
    path: tuple[ChannelId, ...] | None,
    words: EngineWords | None = None,
) -> Finding:
    """Return the witness for a process that recorded but sent no marker on this channel.

    Args:
        path: the channels from an initiator; ``channel`` is the last of them.
        words: the words of the engine that the recording is derived from.
    """
    template = words.not_sent if words else NEVER_SENT
    return Finding(
        INCOMPLETE,
        template.format(channel=channel, snapshot=snapshot),
        channel=channel.id,
        process=channel.source,
        rule=None if words else SENDING_RULE,
        path=path,
    )


def stray_inside(channel: Channel, stray: Event) -> Finding:
    """Return the witness for a receive inside the cut that no send in the log explains."""
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


def received_late(channel: Channel, message: Message, stray: Event) -> Finding:
    """Return the witness for a message whose send a restore undid, and that arrived after it."""
    ends = _ends(channel, message)
    ends["received"] = place(stray)
    return Finding(
        ORPHAN,
        f"Not consistent: {channel.target} received {named(message)} after a restore and before "
        f"recording its state, but {channel.source} sent it in an earlier run, and the restore "
        "undid that.",
        channel=channel.id,
        process=channel.target,
        **ends,
    )


def recorded_unsent(channel: Channel, message: MessageId, event: Place) -> Finding:
    """Return the witness for a recorded message that the log never sends on that channel.

    Args:
        event: the place of the record_channel.
    """
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
    """Return the place of an event."""
    return Place(event.process, event.index, event.at)


def named(travelling: Message | Marker) -> str:
    """Return the name of a message with its value, ``m42 (1000)``, or ``the marker of s1``."""
    if isinstance(travelling, Marker):
        return f"the marker of {travelling.snapshot}"
    if travelling.value is None:
        return travelling.id
    return f"{travelling.id} ({short(travelling.value)})"


def short(text: JsonText) -> str:
    """Return a state or value for a sentence; of a longer one the beginning and its length."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"


class _Ends(TypedDict):
    """The fields that Finding and Companion share: a message or marker, and its two ends."""

    message: MessageId | None
    value: JsonText | None
    sent: Place
    received: Place | None


def _ends(channel: Channel, travelling: Message | Marker) -> _Ends:
    index, at = travelling.received_index, travelling.received_at
    message = travelling if isinstance(travelling, Message) else None
    return {
        "message": None if message is None else message.id,
        "value": None if message is None else message.value,
        "sent": Place(channel.source, travelling.sent_index, travelling.sent_at),
        "received": None if index is None or at is None else Place(channel.target, index, at),
    }


def _companion(channel: Channel, travelling: Message | Marker) -> Companion:
    snapshot = None if isinstance(travelling, Message) else travelling.snapshot
    return Companion(snapshot=snapshot, **_ends(channel, travelling))
