"""Processes and the directed channels between them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NewType

ProcessId = NewType("ProcessId", str)
ChannelId = NewType("ChannelId", str)
JsonText = NewType("JsonText", str)  # canonical JSON, see values.canonical


@dataclass(frozen=True, slots=True)
class Process:
    """A node of the topology.

    Attributes:
        state: the state at the start; None if it is not known.
        scope: processes with the same scope, or without one, take snapshots together; see
            scopes.py.
    """

    id: ProcessId
    state: JsonText | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A directed link ``source -> target``.

    Attributes:
        fifo: whether messages and markers arrive in the order of sending.
        overtaking: whether markers may overtake messages, as unaligned barriers do. Messages keep
            their order, and never overtake a marker.
    """

    id: ChannelId
    source: ProcessId
    target: ProcessId
    fifo: bool = True
    overtaking: bool = False


@dataclass(frozen=True)
class Topology:
    """Processes and channels in the order of the header; ids are unique in each."""

    processes: tuple[Process, ...]
    channels: tuple[Channel, ...] = field(default=())

    @cached_property
    def process_by_id(self) -> dict[ProcessId, Process]:
        """Index the processes by id."""
        return {process.id: process for process in self.processes}

    @cached_property
    def channel_by_id(self) -> dict[ChannelId, Channel]:
        """Index the channels by id."""
        return {channel.id: channel for channel in self.channels}

    @cached_property
    def scopes(self) -> set[str | None]:
        """The scopes of all processes; None is the scope of those that name none."""
        return {process.scope for process in self.processes}

    @cached_property
    def outgoing(self) -> dict[ProcessId, tuple[Channel, ...]]:
        """The channels that leave each process, in the order of the header."""
        return self._grouped("source")

    @cached_property
    def incoming(self) -> dict[ProcessId, tuple[Channel, ...]]:
        """The channels that enter each process, in the order of the header."""
        return self._grouped("target")

    def _grouped(self, end: str) -> dict[ProcessId, tuple[Channel, ...]]:
        groups: dict[ProcessId, list[Channel]] = {process.id: [] for process in self.processes}
        for channel in self.channels:
            groups[getattr(channel, end)].append(channel)
        return {process: tuple(channels) for process, channels in groups.items()}

    def reachable(self, starts: Iterable[ProcessId]) -> tuple[ProcessId, ...]:
        """Return the processes that markers sent by ``starts`` can reach, and ``starts``."""
        reached = set(starts)
        waiting = list(reached)
        while waiting:
            targets = {channel.target for channel in self.outgoing[waiting.pop()]} - reached
            reached |= targets
            waiting.extend(targets)
        return tuple(process.id for process in self.processes if process.id in reached)

    def path(self, starts: Iterable[ProcessId], goal: ProcessId) -> tuple[ChannelId, ...] | None:
        """Return the shortest path of channels from one of ``starts`` to ``goal``, or None."""
        arrived_by = self.last_channels(starts, goal)
        if goal not in arrived_by:
            return None
        path: list[ChannelId] = []
        while (last := arrived_by[goal]) is not None:
            path.append(last.id)
            goal = last.source
        return tuple(reversed(path))

    def last_channels(
        self, starts: Iterable[ProcessId], goal: ProcessId | None = None
    ) -> dict[ProcessId, Channel | None]:
        """Return the last channel of the shortest path to each process that can be reached.

        It is None for ``starts``. Processes farther away than ``goal`` may be left out.
        """
        arrived_by: dict[ProcessId, Channel | None] = dict.fromkeys(starts)
        frontier = list(arrived_by)
        while frontier and goal not in arrived_by:
            nearer, frontier = frontier, []
            for channel in (channel for process in nearer for channel in self.outgoing[process]):
                if channel.target not in arrived_by:
                    arrived_by[channel.target] = channel
                    frontier.append(channel.target)
        return arrived_by
