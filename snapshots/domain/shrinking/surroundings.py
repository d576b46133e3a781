"""Collect the events around a witness, of which a part is chosen.

The choice is such that everything a part of them says about the snapshot is true of the whole
recording: of each process that is named, the first record of its state, and of each channel that is
named, every marker of the snapshot.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.judging.findings import (
    CONSISTENT,
    DUPLICATED,
    FIFO_VIOLATION,
    LOST,
    STATE_MISMATCH,
    UNKNOWN,
)
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    MARKER_SEND,
    LoggedEvent,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.domain.shrinking.whole import EventKey, Whole
from snapshots.domain.shrinking.witness import Witness

MOST_EVENTS = 20_000
START = -1  # stands for the index of a process's start

Unit = tuple[EventKey, ...]
"""Events that are kept or left out together: both ends of a message or marker, or one event."""


class TooManyEvents(Exception):
    """More than MOST_EVENTS events belong to a witness."""


@dataclass(frozen=True)
class Surroundings:
    """The events around a witness.

    Attributes:
        units: what may be left out, in no order.
        events: all events, by key.
        following: the next application event after each one in ``events`` and after each start; no
            entry if there is none.
        ways: the last channel of the shortest path to each process from those that began the
            snapshot, if that was asked for.
        topology: the processes and channels of these events, in the order of the whole header.
    """

    units: tuple[Unit, ...]
    events: dict[EventKey, LoggedEvent]
    following: dict[EventKey, int]
    ways: dict[ProcessId, ChannelId]
    topology: Topology


def surroundings(whole: Whole, witness: Witness, *, with_ways: bool) -> Surroundings:
    """Return the events around a witness.

    Args:
        with_ways: add what led from those who began the snapshot to every process. Findings about
            missing records and markers name such paths.

    Raises: TooManyEvents, KeyError if the witness names what does not exist.
    """
    collection = _Collection(whole)
    for process in witness.processes:
        collection.take_process(process)
    for channel in witness.channels:
        collection.take_channel(channel)
    for key in (*witness.events, *_needed(whole, witness)):
        collection.take_event(key)
    if not collection.has_record:
        record = whole.any_record() or whole.any_marker()
        if record is not None:
            collection.take_event(record)
    if with_ways:
        collection.take_ways()
    return collection.surroundings()


def _needed(whole: Whole, witness: Witness) -> Iterator[EventKey]:
    """Yield the events on which a finding rests beside those that it names."""
    if witness.verdict == STATE_MISMATCH:
        for key in witness.events:
            if (before := whole.application_before(key)) is not None:
                yield before
    if witness.channel is None:
        return
    if witness.verdict in (LOST, DUPLICATED, UNKNOWN, FIFO_VIOLATION, CONSISTENT):
        record = whole.channel_record(witness.channel)
        if record is not None:
            yield record
    if witness.message is not None and witness.verdict in (LOST, DUPLICATED, UNKNOWN):
        yield from whole.sends(witness.channel, witness.message)


class _Collection:
    """Collects events with the processes and channels that they need."""

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self._units: dict[Unit, None] = {}
        self._events: dict[EventKey, LoggedEvent] = {}
        self._processes: dict[ProcessId, None] = {}
        self._channels: dict[ChannelId, None] = {}
        self._ways: dict[ProcessId, ChannelId] = {}

    @property
    def has_record(self) -> bool:
        return any(event.snapshot == self._whole.snapshot for event in self._events.values())

    def take_event(self, key: EventKey) -> None:
        """Add an event and its other end. Raises: TooManyEvents."""
        if key in self._events:
            return
        if len(self._events) >= MOST_EVENTS:
            raise TooManyEvents
        other = self._whole.other_end(key)
        unit = (key,) if other is None else (key, other)
        self._units[unit] = None
        for end in unit:
            self._events[end] = event = self._whole.event(end)
            self.take_process(end.process)
            if event.channel is not None:
                self.take_channel(event.channel)

    def take_channel(self, channel: ChannelId) -> None:
        """Add a channel with its two ends and the snapshot's markers on it."""
        if channel in self._channels:
            return
        self._channels[channel] = None
        ends = self._whole.header.topology.channel_by_id[channel]
        self.take_process(ends.source)
        self.take_process(ends.target)
        for marker in self._whole.markers(channel):
            self.take_event(marker)

    def take_process(self, process: ProcessId) -> None:
        """Add a process with the record of its state."""
        if process in self._processes:
            return
        self._processes[process] = None
        record = self._whole.state_record(process)
        if record is not None:
            self.take_event(record)

    def take_ways(self) -> None:
        """Add the shortest path to every process, and the markers that made processes record.

        A process belongs to the snapshot only if another one of its scope recorded for it.
        A process without the marker that made it record would pass for one that began the snapshot.
        """
        for process in self._whole.initiators[:1]:
            self.take_process(process)
        if not any(event.kind == MARKER_SEND for event in self._events.values()):
            marker = self._whole.any_marker()
            if marker is not None:
                self.take_event(marker)
        settled: set[ProcessId] = set()
        while pending := self._processes.keys() - settled:
            settled |= pending
            for process in sorted(pending):
                self._take_first_marker(process)
                self._take_way(process)

    def _take_first_marker(self, process: ProcessId) -> None:
        record = self._whole.state_record(process)
        marker = self._whole.first_marker(process)
        if record is not None and marker is not None and marker.index < record.index:
            self.take_event(marker)

    def _take_way(self, process: ProcessId) -> None:
        record = self._whole.any_record(process)
        if record is not None and self._whole.state_record(process) is None:
            self.take_event(record)
        channel = self._whole.way_to(process)
        if channel is not None:
            self._ways[process] = channel
            self.take_channel(channel)

    def surroundings(self) -> Surroundings:
        """Return what was collected."""
        topology = self._whole.header.topology
        return Surroundings(
            units=tuple(self._units),
            events=self._events,
            following=dict(self._following()),
            ways=self._ways,
            topology=Topology(
                tuple(process for process in topology.processes if process.id in self._processes),
                tuple(channel for channel in topology.channels if channel.id in self._channels),
            ),
        )

    def _following(self) -> Iterator[tuple[EventKey, int]]:
        starts = (EventKey(process, START) for process in self._processes)
        changes = (key for key, event in self._events.items() if event.kind in APPLICATION_KINDS)
        for key in (*starts, *changes):
            after = self._whole.application_after(key)
            if after is not None:
                yield key, after.index
