"""Cuts: which events lie inside, what is in the channels, and which cuts are consistent.

A message is in a channel at a cut iff it is sent inside, and neither received nor taken back by a
restore inside (``assembling/restores.py``). If a FIFO channel
keeps its order, these are its messages m+1 .. n (n sends and m receives inside). If it does not,
this definition still names the messages that are really on their way.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, sections 2 and 3.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import attrgetter

from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    INTERNAL,
    Instant,
    Marker,
    Message,
    MessageId,
    Recording,
    Restored,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

NEVER = 2**63 - 1  # stands for the index of a receive that has not happened; above every index


@dataclass(frozen=True, slots=True)
class Cut:
    """How many events of each process lie inside; an absent process has 0."""

    positions: Mapping[ProcessId, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the positions by process."""
        return {process: position for process, position in self.positions.items()}  # noqa: C416

    def position(self, process: ProcessId) -> int:
        """Return how many events of a process lie inside."""
        return self.positions.get(process, 0)

    def includes(self, process: ProcessId, index: int) -> bool:
        """Tell whether an event of a process lies inside."""
        return index < self.position(process)


def end_index(flight: Message | Marker) -> int:
    """Return the index at which a message or marker leaves its channel, NEVER if it never does.

    It is received there, or taken back.
    """
    return NEVER if flight.received_index is None else flight.received_index


def received_index(flight: Message | Marker) -> int:
    """Return the index of the receive of a message or marker, NEVER if it is never received."""
    return NEVER if flight.taken_back else end_index(flight)


def has_arrived(flight: Message | Marker) -> bool:
    """Tell whether a message or marker was received, not taken back by a restore."""
    return received_index(flight) != NEVER


class ChannelLog:
    """The messages of one channel, indexed: an answer of k messages costs O(log(messages) + k).

    The indexes of sends rise along the channel. Those of their ends need not, so searches use their
    running maximum from the left (``_reach``) and their running minimum from the right
    (``_floor``).
    """

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.messages = messages
        self.sent = [message.sent_index for message in messages]
        self._ended = [end_index(message) for message in messages]

    def in_flight(self, sender_at: int, receiver_at: int) -> tuple[Message, ...]:
        """Return what is sent before ``sender_at`` and not received before ``receiver_at``."""
        first = bisect_left(self._reach, receiver_at)
        last = bisect_left(self.sent, sender_at)
        return tuple(self.messages[n] for n in range(first, last) if self._ended[n] >= receiver_at)

    def orphans(self, sender_at: int, receiver_at: int) -> tuple[Message, ...]:
        """Return what is received before ``receiver_at`` and not sent before ``sender_at``."""
        first = bisect_left(self.sent, sender_at)
        last = bisect_left(self._floor, receiver_at)
        return tuple(
            self.messages[n]
            for n in range(first, last)
            if received_index(self.messages[n]) < receiver_at
        )

    def sent_between(self, first: int, last: int) -> tuple[Message, ...]:
        """Return the messages with first <= sent_index < last, in the order of sending."""
        return self.messages[bisect_left(self.sent, first) : bisect_left(self.sent, last)]

    def received_between(self, first: int, last: int) -> tuple[Message, ...]:
        """Return the messages with first <= received_index < last, in the order of arrival."""
        indexes, messages = self._arrivals
        return messages[bisect_left(indexes, first) : bisect_left(indexes, last)]

    def latest_before(self, sent_index: int) -> Message | None:
        """Return the message sent before ``sent_index`` that arrives last, or None.

        A message that never arrives counts as the latest; ties go to the first sent.
        """
        count = bisect_left(self.sent, sent_index)
        return self._latest[count - 1] if count else None

    def earliest_after(self, sent_index: int) -> Message | None:
        """Return the message sent after ``sent_index`` that arrives first, or None.

        Only messages that never arrive tie, and these overtake none.
        """
        count = bisect_right(self.sent, sent_index)
        return self._earliest[count] if count < len(self.messages) else None

    @cached_property
    def by_id(self) -> dict[MessageId, list[Message]]:
        """The messages of each id in the order of sending; several if an id was sent again."""
        groups: dict[MessageId, list[Message]] = {}
        for message in self.messages:
            groups.setdefault(message.id, []).append(message)
        return groups

    def last_ended(self, message: MessageId, index: int) -> Message | None:
        """Return the last message with an id that left the channel until ``index``, or None.

        It goes by the latest end so far of the messages with the id.
        """
        ends = self._ends_by_id.get(message, [])
        count = bisect_right(ends, index)
        return self.by_id[message][count - 1] if count else None

    @cached_property
    def _ends_by_id(self) -> dict[MessageId, list[int]]:
        return {
            name: list(accumulate(map(end_index, messages), max))
            for name, messages in self.by_id.items()
        }

    @cached_property
    def _reach(self) -> list[int]:
        return list(accumulate(self._ended, max))

    @cached_property
    def _floor(self) -> list[int]:
        return list(accumulate(self._ended[::-1], min))[::-1]

    @cached_property
    def _latest(self) -> list[Message]:
        return list(accumulate(self.messages, _later))

    @cached_property
    def _earliest(self) -> list[Message]:
        return list(accumulate(self.messages[::-1], _earlier))[::-1]

    @cached_property
    def _arrivals(self) -> tuple[list[int], tuple[Message, ...]]:
        arrived = sorted(
            filter(has_arrived, self.messages),
            key=received_index,
        )
        return [received_index(message) for message in arrived], tuple(arrived)


def _later(one: Message, other: Message) -> Message:
    return max(one, other, key=end_index)


def _earlier(one: Message, other: Message) -> Message:
    return min(other, one, key=end_index)


def contents(recording: Recording, cut: Cut) -> dict[ChannelId, tuple[Message, ...]]:
    """Return what is in every channel of the topology at the cut, in the order of sending."""
    return {
        channel.id: tuple(
            message
            for message in recording.messages.get(channel.id, ())
            if cut.includes(channel.source, message.sent_index)
            and not cut.includes(channel.target, end_index(message))
        )
        for channel in recording.topology.channels
    }


def orphans(recording: Recording, cut: Cut) -> tuple[Message, ...]:
    """Return the messages received inside the cut and sent outside it, by channel, as sent."""
    return tuple(
        message
        for channel in recording.topology.channels
        for message in recording.messages.get(channel.id, ())
        if cut.includes(channel.target, received_index(message))
        and not cut.includes(channel.source, message.sent_index)
    )


def is_consistent(recording: Recording, cut: Cut) -> bool:
    """Tell whether every message that is received inside is also sent inside."""
    return not orphans(recording, cut)


def state_at(recording: Recording, process: ProcessId, position: int) -> JsonText | None:
    """Return the state of a process after its first ``position`` events, None if not known.

    Before the first event it is the state in the header. An application event without a state makes
    it not known; events of other kinds leave it as it was.
    """
    for event in reversed(recording.events.get(process, ())[:position]):
        if event.kind in APPLICATION_KINDS:
            return event.state
    return recording.topology.process_by_id[process].state


def state_after(recording: Recording, process: ProcessId, restored: Restored) -> JsonText | None:
    """Return the state of a process right after a restore, None if it is not known.

    An ``internal`` event that follows at once says it.
    """
    events, position = recording.events[process], restored.row + 1
    says = position < len(events) and events[position].kind == INTERNAL
    return state_at(recording, process, position + 1 if says else position)


def cut_at(recording: Recording, *, at: Instant | None = None, step: int | None = None) -> Cut:
    """Return the cut of the events with ``at`` <= at, or of those with ``step`` < step.

    Both are consistent for every instant and step. Raises: ValueError unless exactly one is given.
    """
    if (at is None) == (step is None):
        raise ValueError("a cut is asked for by exactly one of at and step")
    positions = {}
    for process in recording.topology.processes:
        events = recording.events.get(process.id, ())
        if at is not None:
            positions[process.id] = bisect_right(events, at, key=attrgetter("at"))
        else:
            positions[process.id] = bisect_left(events, step, key=attrgetter("step"))
    return Cut(positions)
