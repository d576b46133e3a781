"""Check whether an order of events is a computation, by executing it on a global state.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 2.2: an event may
occur in a global state iff its process is in the state before it and, for a receive, the message is
at the head of its channel. A sequence is a computation iff each event may occur at its place.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from snapshots.domain.judging.cuts import Cut, contents, state_at
from snapshots.domain.model.recording import RECEIVE, SEND, Event, MessageId, Recording
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import parsed

PROCESS_ORDER = "process-order"
SENDS_FIRST = "sends-first"
FIFO = "fifo"
STATES = "states"


@dataclass(frozen=True)
class GlobalState:
    """The states of processes and the contents of channels, in the order of the header.

    Attributes:
        processes: the state of each process; None if it is not known.
        channels: the ordinals of the messages in each channel.
    """

    processes: Mapping[ProcessId, JsonText | None]
    channels: Mapping[ChannelId, tuple[int, ...]]

    def ids(self, recording: Recording) -> dict[ChannelId, tuple[MessageId, ...]]:
        """Return the ids of the messages in each channel."""
        return {
            channel: tuple(recording.messages[channel][ordinal].id for ordinal in ordinals)
            for channel, ordinals in self.channels.items()
        }

    def to_json(self, recording: Recording) -> dict[str, object]:
        """Return the fields as JSON values."""
        return state_json(self.processes, self.ids(recording))


def state_json(
    processes: Mapping[ProcessId, JsonText | None],
    channels: Mapping[ChannelId, Iterable[MessageId]],
) -> dict[str, object]:
    """Return a global state as JSON. States that are not known are left out."""
    return {
        "processes": {
            name: parsed(state) for name, state in processes.items() if state is not None
        },
        "channels": {name: list(ids) for name, ids in channels.items()},
    }


def state_of(recording: Recording, cut: Cut) -> GlobalState:
    """Return the global state that the log recomputes at a cut."""
    return GlobalState(
        {
            process.id: state_at(recording, process.id, cut.position(process.id))
            for process in recording.topology.processes
        },
        {
            channel: tuple(message.ordinal for message in messages)
            for channel, messages in contents(recording, cut).items()
        },
    )


@dataclass
class Faults:
    """The first fault of each rule, in the order in which they occur.

    Attributes:
        broken: the reason why each broken rule does not hold.
        unknown: the reason why a rule cannot be checked.
    """

    broken: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def first_reason(self) -> str | None:
        """The reason of the first fault; None if no rule is broken."""
        return next(iter(self.broken.values()), None)


class Travel:
    """An index of the messages that sends put on channels and receives take from them."""

    def __init__(self, recording: Recording) -> None:
        self._sent: dict[tuple[ChannelId, int], int] = {}
        self._received: dict[tuple[ChannelId, int], int] = {}
        for channel, messages in recording.messages.items():
            for message in messages:
                self._sent[channel, message.sent_index] = message.ordinal
                if message.received_index is not None:
                    self._received[channel, message.received_index] = message.ordinal

    def ordinal(self, event: Event) -> int | None:
        """Return the ordinal of the message that an event sends or receives.

        None stands for a receive that no send in the log explains.
        """
        ends = self._sent if event.kind == SEND else self._received
        return ends.get((channel_of(event), event.index))


class Walk:
    """A global state on which application events are executed.

    An event that is not allowed is executed all the same and noted as a fault, so that one fault
    does not cause others.

    Args:
        travel: the index of the recording's messages.
        start: the global state before the first event.
        before: the state in which each event found its process in the original run.
    """

    def __init__(
        self,
        recording: Recording,
        travel: Travel,
        start: GlobalState,
        before: Mapping[Event, JsonText | None],
    ) -> None:
        self._channel_by_id = recording.topology.channel_by_id
        self._messages = recording.messages
        self._travel = travel
        self._before = before
        self._states = dict(start.processes)
        self._channels = {name: deque(held) for name, held in start.channels.items()}
        self._latest: dict[ProcessId, int] = {}
        self._early: set[tuple[ChannelId, int]] = set()
        self.faults = Faults()

    def state(self) -> GlobalState:
        """Return the global state after the events so far."""
        return GlobalState(
            dict(self._states), {name: tuple(held) for name, held in self._channels.items()}
        )

    def take_all(self, events: Iterable[Event]) -> None:
        """Execute events in this order."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Execute one event, and note the rules that it breaks."""
        self._take_turn(event)
        if event.kind == SEND:
            self._send(event)
        elif event.kind == RECEIVE:
            self._receive(event)
        self._states[event.process] = event.state

    def differs(self, target: GlobalState, process: ProcessId) -> bool:
        """Tell whether a process has another state than in ``target``."""
        return self._states[process] != target.processes[process]

    def holds_other(self, target: GlobalState, channel: ChannelId) -> bool:
        """Tell whether a channel holds other messages than in ``target``.

        Their order counts on FIFO channels.
        """
        held, expected = self._channels[channel], target.channels[channel]
        if self._channel_by_id[channel].fifo or len(held) != len(expected):
            return tuple(held) != expected
        return set(held) != set(expected)

    def _take_turn(self, event: Event) -> None:
        if event.index < self._latest.get(event.process, -1):
            later = self._latest[event.process]
            reason = f"{named(event)} comes after event {later} of its process."
            self._break(PROCESS_ORDER, reason)
        self._latest[event.process] = event.index
        if self._states[event.process] != self._before[event]:
            self._break(
                STATES,
                f"{named(event)} finds {event.process} in the state "
                f"{self._states[event.process]}, not in {self._before[event]}.",
            )

    def _send(self, event: Event) -> None:
        channel, ordinal = channel_of(event), self._travel.ordinal(event)
        assert ordinal is not None  # every send in the log is a message
        if (channel, ordinal) in self._early:
            self._early.remove((channel, ordinal))
        else:
            self._channels[channel].append(ordinal)

    def _receive(self, event: Event) -> None:
        channel, ordinal = channel_of(event), self._travel.ordinal(event)
        held = self._channels[channel]
        if ordinal is None:
            self.faults.unknown.setdefault(SENDS_FIRST, never_sent(event))
        elif ordinal not in held:
            self._early.add((channel, ordinal))
            self._break(SENDS_FIRST, received_early(event))
        else:
            if held[0] != ordinal and self._channel_by_id[channel].fifo:
                self._break(FIFO, not_the_head(event, self._messages[channel][held[0]].id))
            held.remove(ordinal)

    def _break(self, rule: str, reason: str) -> None:
        self.faults.broken.setdefault(rule, reason)


def channel_of(event: Event) -> ChannelId:
    """Return the channel of a send or a receive, which always has one."""
    assert event.channel is not None  # assembly refuses these kinds without a channel
    return event.channel


def named(event: Event) -> str:
    """Return the name of an event in a sentence: ``event 4 of p``."""
    return f"event {event.index} of {event.process}"


def never_sent(event: Event) -> str:
    """Explain that no send in the log explains a receive."""
    return f"{named(event)} receives {event.message}, but the log holds no send of it."


def received_early(event: Event) -> str:
    """Explain that a receive stands before the send of its message."""
    return f"{named(event)} receives {event.message} before it is sent."


def not_the_head(event: Event, head: MessageId) -> str:
    """Explain that another message is at the head of the FIFO channel of a receive."""
    return (
        f"{named(event)} receives {event.message}, but {head} is at the head of the FIFO channel "
        f"{event.channel}."
    )
