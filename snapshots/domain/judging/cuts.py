"""Cuts: what lies inside, what lies in the channels, and whether it could have been seen.

A message is in a channel at a cut iff it is sent inside and not received inside. Where a FIFO
channel keeps its promise these are its messages m+1 .. n (n sends and m receives inside); where it
does not, this definition still names the messages that are really on their way.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, sections 2 and 3.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    Instant,
    Message,
    MessageId,
    Recording,
)
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

_Item = TypeVar("_Item")

NEVER = 2**63 - 1  # the index of a receive that has not happened: later than every index


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


def received_index(message: Message) -> int:
    """Where the message was received; NEVER while it is in flight."""
    return NEVER if message.received_index is None else message.received_index


class ChannelLog:
    """The messages of one channel, made searchable: an answer costs log(messages) + what it holds.

    Sends rise along the channel; receives need not, so the searches go over their running maximum
    from the left (``_reach``) and running minimum from the right (``_floor``).
    """

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.messages = messages
        self.sent = [message.sent_index for message in messages]
        self._received = [received_index(message) for message in messages]

    def in_flight(self, sender_at: int, receiver_at: int) -> tuple[Message, ...]:
        """Sent before position ``sender_at``, not received before ``receiver_at``; as sent."""
        first = bisect_left(self._reach, receiver_at)
        last = bisect_left(self.sent, sender_at)
        return tuple(
            self.messages[n] for n in range(first, last) if self._received[n] >= receiver_at
        )

    def orphans(self, sender_at: int, receiver_at: int) -> tuple[Message, ...]:
        """Received before position ``receiver_at``, sent at or after ``sender_at``; as sent."""
        first = bisect_left(self.sent, sender_at)
        last = bisect_left(self._floor, receiver_at)
        return tuple(
            self.messages[n] for n in range(first, last) if self._received[n] < receiver_at
        )

    def sent_between(self, first: int, last: int) -> tuple[Message, ...]:
        """Messages with first <= sent_index < last, as sent."""
        return self.messages[bisect_left(self.sent, first) : bisect_left(self.sent, last)]

    def received_between(self, first: int, last: int) -> tuple[Message, ...]:
        """Messages with first <= received_index < last, as received."""
        indexes, messages = self._arrivals
        return messages[bisect_left(indexes, first) : bisect_left(indexes, last)]

    def latest_before(self, sent_index: int) -> Message | None:
        """Of the messages sent before, the one received last (never is latest; then first sent)."""
        place = bisect_left(self.sent, sent_index)
        return self._latest[place - 1] if place else None

    def earliest_after(self, sent_index: int) -> Message | None:
        """Of the messages sent after, the one received first; None where none was sent."""
        place = bisect_right(self.sent, sent_index)
        return self._earliest[place] if place < len(self.messages) else None

    @cached_property
    def by_id(self) -> dict[MessageId, list[Message]]:
        """The messages of each id, as sent; more than one only where an id was sent twice."""
        groups: dict[MessageId, list[Message]] = {}
        for message in self.messages:
            groups.setdefault(message.id, []).append(message)
        return groups

    @cached_property
    def _reach(self) -> list[int]:
        return _running(self._received, max)

    @cached_property
    def _floor(self) -> list[int]:
        return _running(self._received[::-1], min)[::-1]

    @cached_property
    def _latest(self) -> list[Message]:
        return _running(
            self.messages, lambda a, b: b if received_index(b) > received_index(a) else a
        )

    @cached_property
    def _earliest(self) -> list[Message]:
        earlier = _running(
            self.messages[::-1], lambda a, b: b if received_index(b) <= received_index(a) else a
        )
        return earlier[::-1]

    @cached_property
    def _arrivals(self) -> tuple[list[int], tuple[Message, ...]]:
        arrived = sorted(
            (message for message in self.messages if message.received_index is not None),
            key=received_index,
        )
        return [received_index(message) for message in arrived], tuple(arrived)


def _running(items: Iterable[_Item], choose: Callable[[_Item, _Item], _Item]) -> list[_Item]:
    chosen: list[_Item] = []
    for item in items:
        chosen.append(choose(chosen[-1], item) if chosen else item)
    return chosen


def contents(recording: Recording, cut: Cut) -> dict[ChannelId, tuple[Message, ...]]:
    """What lies in every channel of the topology at the cut, in the order of sending."""
    return {
        channel.id: tuple(
            message
            for message in recording.messages.get(channel.id, ())
            if cut.includes(channel.source, message.sent_index)
            and not cut.includes(channel.target, received_index(message))
        )
        for channel in recording.topology.channels
    }


def orphans(recording: Recording, cut: Cut) -> tuple[Message, ...]:
    """Messages received inside the cut and sent outside it, by channel, then as sent."""
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
    """The state of a process after its first ``position`` events; None where it is not known.

    An internal, send or receive event without a state leaves the state not known; every other kind
    leaves it as it was. Before the first event it is the header's.
    """
    for event in reversed(recording.events.get(process, ())[:position]):
        if event.kind in APPLICATION_KINDS:
            return event.state
    return recording.topology.process_by_id[process].state


def cut_at(recording: Recording, *, at: Instant | None = None, step: int | None = None) -> Cut:
    """The cut of the events with ``at`` <= at, or of those with ``step`` < step.

    Both are consistent for every instant and step. Raises: ValueError unless exactly one is given.
    """
    if (at is None) == (step is None):
        raise ValueError("a cut is asked for by exactly one of at and step")
    positions = {}
    for process in recording.topology.processes:
        events = recording.events.get(process.id, ())
        if at is not None:
            positions[process.id] = bisect_right(events, at, key=lambda event: event.at)
        else:
            positions[process.id] = bisect_left(events, step, key=lambda event: event.step)
    return Cut(positions)


def nearest_consistent_cut(recording: Recording, cut: Cut) -> Cut:
    """The largest consistent cut inside this one or the smallest around it: whichever moves fewer
    events, the one inside when both move as many. Positions beyond a process's end are its end."""
    ends = {
        process.id: len(recording.events.get(process.id, ()))
        for process in recording.topology.processes
    }
    start = {process: min(max(cut.position(process), 0), end) for process, end in ends.items()}
    inside = _shrunk(recording, start)
    around = _grown(recording, start)
    moved_back = sum(start[process] - inside[process] for process in start)
    moved_on = sum(around[process] - start[process] for process in start)
    return Cut(inside if moved_back <= moved_on else around)


def _shrunk(recording: Recording, positions: Mapping[ProcessId, int]) -> dict[ProcessId, int]:
    """Least moves back until no orphan is left: an orphan's receiver steps before its receipt."""
    positions = dict(positions)
    unread = {
        channel: sorted(messages, key=lambda message: message.sent_index)
        for channel, messages in recording.messages.items()
    }
    waiting = list(positions)
    while waiting:
        process = waiting.pop()
        for channel in recording.topology.outgoing[process]:
            sends = unread.get(channel.id, [])
            while sends and sends[-1].sent_index >= positions[process]:
                receipt = received_index(sends.pop())
                if receipt < positions[channel.target]:
                    positions[channel.target] = receipt
                    waiting.append(channel.target)
    return positions


def _grown(recording: Recording, positions: Mapping[ProcessId, int]) -> dict[ProcessId, int]:
    """Least moves on until no orphan is left: an orphan's sender steps behind its sending."""
    positions = dict(positions)
    unread = {
        channel: sorted(messages, key=received_index, reverse=True)
        for channel, messages in recording.messages.items()
    }
    waiting = list(positions)
    while waiting:
        process = waiting.pop()
        for channel in recording.topology.incoming[process]:
            receipts = unread.get(channel.id, [])
            while receipts and received_index(receipts[-1]) < positions[process]:
                needed = receipts.pop().sent_index + 1
                if needed > positions[channel.source]:
                    positions[channel.source] = needed
                    waiting.append(channel.source)
    return positions
