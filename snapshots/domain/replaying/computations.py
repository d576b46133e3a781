"""Is an order of events a computation? A global state carried through it, event by event.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 2.2: an event may
occur in a global state iff its process is in the state before it and, for a receive, the message is
at the head of its channel. A sequence is a computation iff each event may occur where it stands.
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
    """What the processes and channels hold, in the order of the header.

    processes: None for a state that is not known. channels: ordinals of the messages, as sent.
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
    """A global state as JSON; a state that is not known is absent."""
    return {
        "processes": {
            name: parsed(state) for name, state in processes.items() if state is not None
        },
        "channels": {name: list(ids) for name, ids in channels.items()},
    }


def state_of(recording: Recording, cut: Cut) -> GlobalState:
    """The global state at a cut, as the log recomputes it."""
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
    """broken, unknown: of each rule the first reason why it does not hold, or cannot be told.

    In the order in which they are met.
    """

    broken: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def first_reason(self) -> str | None:
        """Why the order breaks where it first does."""
        return next(iter(self.broken.values()), None)


class Travel:
    """Which message of a channel a send puts there and a receive takes: its ordinal."""

    def __init__(self, recording: Recording) -> None:
        self._sent: dict[tuple[ChannelId, int], int] = {}
        self._received: dict[tuple[ChannelId, int], int] = {}
        for channel, messages in recording.messages.items():
            for message in messages:
                self._sent[channel, message.sent_index] = message.ordinal
                if message.received_index is not None:
                    self._received[channel, message.received_index] = message.ordinal

    def ordinal(self, event: Event) -> int | None:
        """Of a send or a receive; None for a receive that no send in the log explains."""
        ends = self._sent if event.kind == SEND else self._received
        return ends.get((event.channel, event.index))


class Walk:
    """A global state on its way through application events. What is not allowed is done anyway,
    and noted, so that one fault does not bring forth others.

    before: the state in which each event found its process in the run as it was.
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
        """Return the global state after all events so far."""
        return GlobalState(
            dict(self._states), {name: tuple(held) for name, held in self._channels.items()}
        )

    def take_all(self, events: Iterable[Event]) -> None:
        """Execute events one after the other."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Execute one event. Raises an exception if it is not possible now."""
        self._take_turn(event)
        if event.kind == SEND:
            self._send(event)
        elif event.kind == RECEIVE:
            self._receive(event)
        self._states[event.process] = event.state

    def differs(self, target: GlobalState, process: ProcessId) -> bool:
        """Tell whether a process has another state than in the target."""
        return self._states[process] != target.processes[process]

    def holds_other(self, target: GlobalState, channel: ChannelId) -> bool:
        """Whether a channel holds other messages than in ``target``; order counts if FIFO."""
        held, expected = self._channels[channel], target.channels[channel]
        if len(held) != len(expected):
            return True
        if self._channel_by_id[channel].fifo:
            return tuple(held) != expected
        return set(held) != set(expected)

    def _take_turn(self, event: Event) -> None:
        if event.index < self._latest.get(event.process, -1):
            later = self._latest[event.process]
            self._break(PROCESS_ORDER, f"{place(event)} comes after event {later} of its process.")
        self._latest[event.process] = event.index
        if self._states[event.process] != self._before[event]:
            self._break(
                STATES,
                f"{place(event)} finds {event.process} in the state "
                f"{self._states[event.process]}, not in {self._before[event]}.",
            )

    def _send(self, event: Event) -> None:
        ordinal = self._travel.ordinal(event)
        if (event.channel, ordinal) in self._early:
            self._early.remove((event.channel, ordinal))
        else:
            self._channels[event.channel].append(ordinal)

    def _receive(self, event: Event) -> None:
        ordinal, held = self._travel.ordinal(event), self._channels[event.channel]
        if ordinal is None:
            self.faults.unknown.setdefault(SENDS_FIRST, never_sent(event))
        elif ordinal not in held:
            self._early.add((event.channel, ordinal))
            self._break(SENDS_FIRST, received_early(event))
        else:
            if held[0] != ordinal and self._channel_by_id[event.channel].fifo:
                self._break(FIFO, not_the_head(event, self._messages[event.channel][held[0]].id))
            held.remove(ordinal)

    def _break(self, rule: str, reason: str) -> None:
        self.faults.broken.setdefault(rule, reason)


def place(event: Event) -> str:
    """``event 4 of p``."""
    return f"event {event.index} of {event.process}"


def never_sent(event: Event) -> str:
    """event: a receive that no send in the log explains."""
    return f"{place(event)} receives {event.message}, of which the log holds no send."


def received_early(event: Event) -> str:
    """event: a receive before the send of its message."""
    return f"{place(event)} receives {event.message} before it is sent."


def not_the_head(event: Event, head: MessageId) -> str:
    """event: a receive on a FIFO channel at whose head another message is."""
    return (
        f"{place(event)} receives {event.message}, but {head} is at the head of the FIFO channel "
        f"{event.channel}."
    )
