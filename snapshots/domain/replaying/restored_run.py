"""A restored run beside the original, from the cut on: what both hold at each place.

The run has four beats: the system is emptied, each process gets its state, the recorded messages
are put back in their channels, and every application event after the cut is replayed in the order
of its step. A *place* counts what was done: place 0 is the emptied system, then each process that
gets its state, each message that is put back, the channels as they are filled, and each event make
one place more. The original stands at the cut until the last beat begins.

A *fault* has the place at which it begins to show. What follows from a fault is none.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import total
from snapshots.domain.replaying import restored_sentences as sentences
from snapshots.domain.replaying.restored_course import Course, Held, Replayed

EMPTIED, STATES, CHANNELS, GOING_ON = 1, 2, 3, 4
"""The four beats."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A message in a channel of one side.

    Attributes:
        put: the place at which it is in the channel first.
        taken: the place at which it is received; None if it stays.
        sent: whether a send of the run put it there, not the snapshot.
    """

    channel: ChannelId
    message: Held
    put: int
    taken: int | None
    sent: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, with the place at which it begins to show; ``kind`` is a verdict."""

    place: int
    kind: str
    sentence: str
    process: ProcessId | None = None
    channel: ChannelId | None = None
    message: MessageId | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What is done at one place, in a sentence.

    Attributes:
        process: whose lane it is on; None for what concerns all.
        happens: false for a receive that does not find its message.
    """

    beat: int
    sentence: str
    process: ProcessId | None = None
    event: Replayed | None = None
    happens: bool = True


@dataclass(frozen=True)
class Side:
    """One of the two runs.

    Attributes:
        states: for each process the places at which its state changes, rising, and the states.
        flights: all messages that are in a channel at some place, by ``put``.
    """

    states: Mapping[ProcessId, tuple[tuple[int, ...], tuple[JsonText | None, ...]]]
    flights: tuple[Flight, ...]

    def has_state(self, process: ProcessId, place: int) -> bool:
        """Tell whether the process has got a state by then."""
        return bool(self.states[process][0]) and self.states[process][0][0] <= place

    def state(self, process: ProcessId, place: int) -> JsonText | None:
        """Return the state of a process at a place; None if it has none, or is not known."""
        places, states = self.states[process]
        row = bisect_right(places, place) - 1
        return states[row] if row >= 0 else None

    def held(self, place: int) -> list[Flight]:
        """Return the messages in all channels at a place, as they came."""
        return [
            flight
            for flight in self.flights
            if flight.put <= place and (flight.taken is None or flight.taken > place)
        ]

    def contents(self, place: int) -> dict[ChannelId, list[Held]]:
        """Return the messages in each channel that is not empty at a place."""
        found: dict[ChannelId, list[Held]] = {}
        for flight in self.held(place):
            found.setdefault(flight.channel, []).append(flight.message)
        return found

    def total(self, place: int) -> int | float | None:
        """Return the sum over states and messages at a place; None if one is not a number."""
        texts = [self.state(process, place) for process in self.states]
        texts.extend(flight.message.value for flight in self.held(place))
        return total(texts)


@dataclass(frozen=True)
class RestoredRun:
    """A restored run and the original, from the cut on.

    Attributes:
        opening: what is done at each place until the run goes on.
        beats: the last place of each beat.
        missing: the receives that do not find their message, by process and index.
        faults: what goes wrong, by place.
        conserved: the sum that the original has at its start and at its end; None if they differ,
            or are not known.
    """

    course: Course
    original: Side
    restored: Side
    opening: tuple[Step, ...]
    beats: tuple[int, int, int, int]
    missing: frozenset[tuple[ProcessId, int]]
    faults: tuple[Fault, ...]
    conserved: int | float | None = None

    @property
    def cut(self) -> int:
        """The last place before the run goes on."""
        return self.beats[CHANNELS - 1]

    @property
    def end(self) -> int:
        """The last place."""
        return self.beats[GOING_ON - 1]

    def beat(self, place: int) -> int:
        """Return the beat of a place."""
        return bisect_left(self.beats[: GOING_ON - 1], place) + 1

    def step(self, place: int) -> Step:
        """Return what is done at a place."""
        if place <= self.cut:
            return self.opening[place]
        event = self.course.events[place - self.cut - 1]
        channels = self.course.topology.channel_by_id
        happens = (event.process, event.index) not in self.missing
        state = None if event.state is None else self.restored.state(event.process, place)
        channel = channels[event.channel] if event.channel is not None else None
        sentence = sentences.replayed(event, channel, state, happens=happens)
        return Step(GOING_ON, sentence, event.process, event, happens)
