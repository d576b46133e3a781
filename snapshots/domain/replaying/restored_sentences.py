"""The sentences about a restored run: what is done at each place, and what goes wrong there."""

from collections.abc import Mapping, Sequence

from snapshots.domain.judging.witnesses import short
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.replaying.restored_course import Held, Replayed

MOST_NAMED = 6  # messages in a sentence
RECORDED_TWICE = "it is recorded more often than it is in flight"
SENT_AGAIN = "{source} sends it after the cut again"
HAD_BEFORE = "{target} had received it before the cut"


def amount(text: JsonText) -> str:
    """Return a state or value for a sentence; whole numbers get commas."""
    try:
        return f"{int(text):,}"
    except ValueError:
        return short(text)


def named(message: Held) -> str:
    """Return ``m7 (20)``, or ``m7`` where the value is not known."""
    return message.id if message.value is None else f"{message.id} ({amount(message.value)})"


def emptied(processes: int, channels: int) -> str:
    """Say that nothing is left."""
    return (
        f"The system is emptied: {times(processes, 'process has', 'processes have')} no state, and "
        f"{times(channels, 'channel holds', 'channels hold')} nothing."
    )


def state_set(process: ProcessId, state: JsonText | None, *, is_logged: bool) -> str:
    """Say which state a process gets."""
    if state is None:
        return f"{process} gets a state that is not known: neither the snapshot nor the log has it."
    if is_logged:
        return (
            f"{process} gets the state {amount(state)}, which the log recomputes: what it "
            "recorded is not known."
        )
    return f"{process} gets the state {amount(state)}, which it recorded."


def put_back(channel: Channel, held: Sequence[Held], number: int, *, is_logged: bool) -> str:
    """Say which message is put back, and with the last one what the channel holds."""
    sentence = f"{named(held[number])} is put back in channel {channel.id}"
    if is_logged:
        sentence += ", as the log recomputes it: what was recorded there is not known"
    if number + 1 < len(held):
        return f"{sentence}."
    texts = list(map(named, held))
    return f"{sentence}. Channel {channel.id} is filled with {listed(texts, MOST_NAMED)}."


def filled(held: Mapping[ChannelId, Sequence[Held]]) -> str:
    """Say how many channels hold something, when all that was recorded is back."""
    full = [messages for messages in held.values() if messages]
    if not full:
        return "No channel is filled: no message was recorded in any."
    empty = len(held) - len(full)
    rest = f" {times(empty, 'channel stays', 'channels stay')} empty." if empty else ""
    return (
        f"All that was recorded is back: {times(sum(map(len, full)), 'message')} in "
        f"{times(len(full), 'channel')}.{rest}"
    )


def replayed(
    event: Replayed, channel: Channel | None, state: JsonText | None, *, happens: bool
) -> str:
    """Say what a process does after the cut."""
    becomes = "" if state is None or not happens else f" Its state is then {amount(state)}."
    message = named(Held(event.message, event.value)) if event.message is not None else ""
    if channel is None or event.kind not in (SEND, RECEIVE):
        what = {"read": "reads", "write": "writes"}.get(event.kind, "goes on by itself")
        label = f" ({event.label[:60]})" if event.label else ""
        return f"{event.process} {what}{label}.{becomes}"
    if event.kind == SEND:
        return f"{event.process} sends {message} on {channel.id}.{becomes}"
    if not happens:
        return f"{event.process} cannot receive {message}: channel {channel.id} does not hold it."
    return f"{event.process} receives {message} from {channel.id}.{becomes}"


def wrong_state(process: ProcessId, logged: JsonText | None, restored: JsonText | None) -> str:
    """Say that a process gets another state than it had at the cut."""
    assert logged is not None  # only states that are known are compared
    assert restored is not None
    return (
        f"{process} gets the state {amount(restored)}, but its state at the cut was "
        f"{amount(logged)}."
    )


def lost(channel: Channel, message: Held, *, received: bool | None) -> str:
    """Say that a message in flight was not recorded.

    ``received`` tells whether the original receives it; None if that lies behind what is followed.
    """
    after = " and is received after it" if received else " and is in the channel to the end"
    after = "" if received is None else after
    what = message.id if message.value is None else amount(message.value)
    return (
        f"{message.id} was sent before the cut{after}, and the recorded list of "
        f"{channel.id} lacks it: it is lost. {channel.target} never gets {what}."
    )


def twice(channel: Channel, message: Held, why: str) -> str:
    """Say that a message is put back that is not in flight."""
    reason = why.format(source=channel.source, target=channel.target)
    return (
        f"{named(message)} is put back in {channel.id}, but {reason}: {channel.target} gets it a "
        "second time."
    )


def other_order(channel: Channel, expected: Sequence[Held], found: Sequence[Held]) -> str:
    """Say that a FIFO channel is filled in another order than that of sending."""
    return (
        f"{channel.id} is filled in another order: {listed(list(map(named, found)), MOST_NAMED)} "
        f"instead of {listed(list(map(named, expected)), MOST_NAMED)}."
    )


def sent_again(channel: Channel, message: Held) -> str:
    """Say that an orphan is sent again."""
    return (
        f"{channel.source} sends {named(message)} on {channel.id} again: {channel.target} had "
        "received it before the cut, and its state counts it. It gets it a second time."
    )


def never_sent(channel: Channel, message: Held) -> str:
    """Say that a receive finds nothing, which no recorded list explains."""
    return (
        f"{channel.target} cannot receive {named(message)}: {channel.id} does not hold it, and no "
        "send after the cut explains it."
    )


def overtakes(channel: Channel, message: Held, head: Held) -> str:
    """Say that a receive takes a message that is not the first of a FIFO channel."""
    return (
        f"{channel.target} receives {named(message)} on the FIFO channel {channel.id}, but "
        f"{named(head)} is before it."
    )
