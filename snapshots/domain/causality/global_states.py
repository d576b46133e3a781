"""Build the graph of global states of a computation, level by level.

A vertex is a consistent cut: a number of events of each process, so that every message that is
received is also sent. An edge is one event. Every path from the first state to the last is an order
in which the same events can happen (a linearisation of "happened before"), and every such order is
a path. The cuts form a lattice; their level is how many events lie inside.

Two cuts can hold the same global state: the same states of processes, and the same contents of
channels. Folded over those, the graph is the one of the paper's figure 4.

Events are those of the paper (recording.APPLICATION_KINDS), because markers and recordings change
neither a process nor what is in a channel for the application.

Sources: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 2, figures 4 and
7; Mattern, "Virtual Time and Global States of Distributed Systems", 1989.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from snapshots.domain.judging.cuts import Cut, contents, state_at
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    RECEIVE,
    SEND,
    Event,
    Message,
    MessageId,
    Recording,
)
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId

Counts = tuple[int, ...]
"""How many events of each process lie inside, in the order of the processes."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message as the contents of a channel show it.

    Attributes:
        id: the id of the message.
        value: the value as JSON; None if the log does not say it.
        sent_index: the index of the send, within the sending process.
    """

    id: MessageId
    value: JsonText | None
    sent_index: int

    @property
    def content(self) -> tuple[str, str]:
        """What makes two messages equal: the value, or the id if the value is not known."""
        return ("id", self.id) if self.value is None else ("value", self.value)


@dataclass(frozen=True, slots=True)
class Action:
    """One event of a process, and the message that it sends or receives.

    Attributes:
        process: the number of the process.
        index: the place of the event within the log of its process, from 0.
        step: the place of the event in the whole recording.
        kind: the kind of event, such as ``send``.
        state: the state of the process afterwards, as JSON; None if it is not known.
        label: a text for people; None if the log has none.
        channel: the channel of the message; None if no message is sent or received.
        parcel: the message; None for a receive that no send in the log explains.
    """

    process: int
    index: int
    step: int
    kind: str
    state: JsonText | None = None
    label: str | None = None
    channel: ChannelId | None = None
    parcel: Parcel | None = None


@dataclass(frozen=True)
class Computation:
    """The events of the processes between two cuts of a run.

    Attributes:
        processes: the ids of the processes; the number of a process is its place here.
        channels: the channels between them.
        states: the state of each process at the beginning, as JSON; None if it is not known.
        contents: what each channel holds at the beginning, in the order of sending.
        actions: the events of each process, in their order.
        start: how many events of each process the log has before.
    """

    processes: tuple[ProcessId, ...]
    channels: tuple[Channel, ...]
    states: tuple[JsonText | None, ...]
    contents: Mapping[ChannelId, tuple[Parcel, ...]]
    actions: tuple[tuple[Action, ...], ...]
    start: Counts

    @cached_property
    def needs(self) -> tuple[tuple[tuple[int, int] | None, ...], ...]:
        """Return for each event the process and the number of its events that a receive needs."""
        source = {channel.id: self.processes.index(channel.source) for channel in self.channels}
        place = {
            (action.process, action.index): number
            for actions in self.actions
            for number, action in enumerate(actions, start=1)
        }
        return tuple(
            tuple(_need(action, source, place) for action in actions) for actions in self.actions
        )

    @property
    def in_order(self) -> tuple[Action, ...]:
        """All events in the order of the run."""
        return tuple(sorted(self._all, key=lambda action: action.step))

    @property
    def unexplained(self) -> int:
        """How many receives have no send in the log; nothing says what they had to wait for."""
        return sum(action.kind == RECEIVE and action.parcel is None for action in self._all)

    @property
    def first(self) -> Counts:
        """The cut with no event."""
        return (0,) * len(self.processes)

    def positions(self, counts: Counts) -> dict[ProcessId, int]:
        """Return the positions in the log right after the last event of each process inside."""
        return {
            process: actions[count - 1].index + 1 if count else start
            for process, actions, count, start in zip(
                self.processes, self.actions, counts, self.start, strict=True
            )
        }

    def counts_at(self, positions: Mapping[ProcessId, int]) -> Counts:
        """Return how many events of each process lie before its position in the log."""
        return tuple(
            sum(action.index < positions[process] for action in actions)
            for process, actions in zip(self.processes, self.actions, strict=True)
        )

    def is_consistent(self, counts: Counts) -> bool:
        """Tell whether every message that is received inside is also sent inside."""
        return all(
            need is None or counts[need[0]] >= need[1]
            for needs, count in zip(self.needs, counts, strict=True)
            for need in needs[:count]
        )

    def next_actions(self, counts: Counts) -> Iterator[Action]:
        """Yield the events that can happen at a consistent cut, at most one of each process."""
        for process, count in enumerate(counts):
            if count < len(self.actions[process]):
                need = self.needs[process][count]
                if need is None or counts[need[0]] >= need[1]:
                    yield self.actions[process][count]

    @property
    def _all(self) -> Iterator[Action]:
        for actions in self.actions:
            yield from actions


@dataclass(frozen=True, slots=True)
class State:
    """One consistent cut, and the global state in it.

    Attributes:
        number: the place of the cut among all: level by level, then by position.
        counts: how many events of each process lie inside.
        processes: the state of each process, as JSON; None if it is not known.
        channels: what each channel that is not empty holds, in the order of sending.
        same_as: the number of the first cut with the same global state; the cut's own number if
            there is none before, or if a state is not known.
    """

    number: int
    counts: Counts
    processes: tuple[JsonText | None, ...]
    channels: Mapping[ChannelId, tuple[Parcel, ...]] = field(default_factory=dict)
    same_as: int = 0

    @property
    def level(self) -> int:
        """How many events lie inside."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Edge:
    """One event that leads from one cut to another, by their numbers."""

    source: int
    target: int
    action: Action


@dataclass(frozen=True)
class StateGraph:
    """All global states that a computation can pass through, and the events between them."""

    computation: Computation
    states: tuple[State, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def number_of(self) -> dict[Counts, int]:
        """The number of each consistent cut."""
        return {state.counts: state.number for state in self.states}

    @property
    def distinct(self) -> int | None:
        """How many different global states there are; None if a state is not known."""
        if any(None in state.processes for state in self.states):
            return None
        return sum(state.same_as == state.number for state in self.states)

    def path(self, order: Iterable[Action]) -> tuple[int, ...]:
        """Return the cuts through which an order of events leads.

        Raises: KeyError if an event comes before one that it needs.
        """
        counts = list(self.computation.first)
        passed = [self.number_of[tuple(counts)]]
        for action in order:
            counts[action.process] += 1
            passed.append(self.number_of[tuple(counts)])
        return tuple(passed)

    def run(self) -> tuple[int, ...]:
        """Return the path that the run took."""
        return self.path(self.computation.in_order)

    def path_through(self, counts: Counts) -> tuple[int, ...]:
        """Return the path of Theorem 1: the events inside a consistent cut come first.

        Within the cut and after it, events keep the order of the run. Raises: KeyError if the cut
        is not consistent.
        """
        return self.path(through(self.computation, counts))


def through(computation: Computation, counts: Counts) -> tuple[Action, ...]:
    """Return the events in the order of the run, but those inside the cut before the others."""
    inside = {
        (action.process, action.index)
        for actions, count in zip(computation.actions, counts, strict=True)
        for action in actions[:count]
    }
    order = computation.in_order
    return (
        *(action for action in order if (action.process, action.index) in inside),
        *(action for action in order if (action.process, action.index) not in inside),
    )


def computation_between(recording: Recording, start: Cut, end: Cut) -> Computation:
    """Return the events of the processes after one consistent cut and inside another."""
    processes = tuple(process.id for process in recording.topology.processes)
    parcels = _parcels(recording)
    return Computation(
        processes,
        recording.topology.channels,
        tuple(state_at(recording, process, start.position(process)) for process in processes),
        {
            channel: tuple(map(_parcel, messages))
            for channel, messages in contents(recording, start).items()
            if messages
        },
        tuple(
            tuple(
                _action(number, event, parcels)
                for event in recording.events.get(process, ())[
                    start.position(process) : end.position(process)
                ]
                if event.kind in APPLICATION_KINDS
            )
            for number, process in enumerate(processes)
        ),
        tuple(start.position(process) for process in processes),
    )


def whole(recording: Recording) -> Computation:
    """Return all events of the processes of a recording."""
    ends = {process: len(events) for process, events in recording.events.items()}
    return computation_between(recording, Cut(), Cut(ends))


def levels(computation: Computation, most: int) -> list[list[Counts]] | None:
    """Return all consistent cuts, level by level; None if there are more than ``most``."""
    found, total = [[computation.first]], 1
    while True:
        following = {
            _after(counts, action)
            for counts in found[-1]
            for action in computation.next_actions(counts)
        }
        if not following:
            return found
        total += len(following)
        if total > most:
            return None
        found.append(sorted(following, reverse=True))


def state_graph(computation: Computation, most: int) -> StateGraph | None:
    """Return the graph of global states; None if there are more than ``most``."""
    cuts = levels(computation, most)
    if cuts is None:
        return None
    numbers = {counts: n for n, counts in enumerate(cut for level in cuts for cut in level)}
    first = State(0, computation.first, computation.states, computation.contents)
    states: list[State | None] = [first, *[None] * (len(numbers) - 1)]
    edges = []
    for counts, number in numbers.items():
        state = states[number]
        assert state is not None  # a state of the level before leads to it
        for action in computation.next_actions(counts):
            target = numbers[_after(counts, action)]
            edges.append(Edge(number, target, action))
            if states[target] is None:
                states[target] = _next_state(state, target, action)
    return StateGraph(computation, _folded([state for state in states if state]), tuple(edges))


def _after(counts: Counts, action: Action) -> Counts:
    process = action.process
    return (*counts[:process], counts[process] + 1, *counts[process + 1 :])


def _next_state(state: State, number: int, action: Action) -> State:
    process = action.process
    return State(
        number,
        _after(state.counts, action),
        (*state.processes[:process], action.state, *state.processes[process + 1 :]),
        _next_contents(state.channels, action),
    )


def _next_contents(
    channels: Mapping[ChannelId, tuple[Parcel, ...]], action: Action
) -> Mapping[ChannelId, tuple[Parcel, ...]]:
    channel, parcel = action.channel, action.parcel
    if channel is None or parcel is None:
        return channels
    held = channels.get(channel, ())
    if action.kind == SEND:
        held = (*held, parcel)
    else:
        held = tuple(item for item in held if item.sent_index != parcel.sent_index)
    others = {name: items for name, items in channels.items() if name != channel}
    return {**others, channel: held} if held else others


def _folded(states: Sequence[State]) -> tuple[State, ...]:
    """Return the states, each with the first that is the same global state."""
    first_with: dict[object, int] = {}
    folded = []
    for state in states:
        same_as = state.number
        if None not in state.processes:
            same_as = first_with.setdefault(_global_state(state), state.number)
        folded.append(replace(state, same_as=same_as))
    return tuple(folded)


def _global_state(state: State) -> object:
    channels = {
        (channel, tuple(parcel.content for parcel in held))
        for channel, held in state.channels.items()
    }
    return state.processes, frozenset(channels)


def _need(
    action: Action,
    source: Mapping[ChannelId, int],
    place: Mapping[tuple[int, int], int],
) -> tuple[int, int] | None:
    """Return the process and the number of its events that an event needs, or None."""
    if action.kind != RECEIVE or action.parcel is None or action.channel is None:
        return None
    sender = source[action.channel]
    count = place.get((sender, action.parcel.sent_index))
    return None if count is None else (sender, count)


def _parcels(recording: Recording) -> dict[tuple[str, ChannelId, int], Parcel]:
    """Return each message by the kind and the index of its two events."""
    parcels = {}
    for channel, messages in recording.messages.items():
        for message in messages:
            parcels[SEND, channel, message.sent_index] = _parcel(message)
            if message.received_index is not None:
                parcels[RECEIVE, channel, message.received_index] = _parcel(message)
    return parcels


def _parcel(message: Message) -> Parcel:
    return Parcel(message.id, message.value, message.sent_index)


def _action(
    process: int, event: Event, parcels: Mapping[tuple[str, ChannelId, int], Parcel]
) -> Action:
    is_message = event.kind in (SEND, RECEIVE) and event.channel is not None
    return Action(
        process,
        event.index,
        event.step,
        event.kind,
        event.state,
        event.label,
        event.channel if is_message else None,
        parcels.get((event.kind, event.channel, event.index)) if event.channel else None,
    )
