"""A seeded simulator: a workload runs on a topology while a snapshot protocol records it.

Discrete events on one heap, ties in the order in which they were planned, so a seed gives one run.
Times are whole microseconds. A message takes a random finite time; on a FIFO channel nothing
arrives before what was sent earlier, markers included.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Protocol

from snapshots.domain.algorithms import chandy_lamport
from snapshots.domain.algorithms.chandy_lamport import Recorder, RecordState, SendMarker, Step
from snapshots.domain.assembly import Header
from snapshots.domain.recording import (
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
    LoggedEvent,
    MessageId,
    SnapshotId,
)
from snapshots.domain.topology import ChannelId, ProcessId, Topology
from snapshots.domain.workloads import Workload

TIME_UNIT = "us"


@dataclass(frozen=True, slots=True)
class SnapshotStart:
    """At ``at`` (us) these processes begin one snapshot, each unaware of the others."""

    at: int
    initiators: tuple[ProcessId, ...]


@dataclass(frozen=True)
class Simulation:
    """What to simulate.

    events: about how many events the log shall have; the workload stops when it is reached, and
    the run goes on until every message and marker has arrived. drain: if not, only until every
    snapshot has ended, and what is under way stays there. mean_delay, mean_pause: us that a message
    travels, and that a process rests before it acts. Snapshots are named s1, s2 … as listed.
    """

    topology: Topology
    workload: Workload
    seed: int = 1
    events: int = 1000
    snapshots: tuple[SnapshotStart, ...] = ()
    mean_delay: int = 2000
    mean_pause: int = 2000
    drain: bool = True

    def header(self, name: str) -> Header:
        """What stands before the events: the topology with the workload's start states."""
        states = self.workload.start(self.topology)
        processes = tuple(
            replace(process, state=self.workload.text(states[process.id]))
            for process in self.topology.processes
        )
        return Header(name, TIME_UNIT, replace(self.topology, processes=processes))

    def expected_duration(self) -> int:
        """About how long (us) the workload runs, if every process acts at every chance."""
        acts = self.events / 2 / max(1, len(self.topology.processes))
        return math.ceil(acts * self.mean_pause)


class Steps(Protocol):
    """The step functions of a snapshot protocol; its module is one."""

    def begin(self, recorder: Recorder) -> Step: ...

    def on_marker(self, recorder: Recorder, channel: ChannelId) -> Step: ...

    def on_message(self, recorder: Recorder, channel: ChannelId, message: MessageId) -> Step: ...


def simulate(simulation: Simulation, protocol: Steps = chandy_lamport) -> Iterator[LoggedEvent]:
    """The events of one run in the order of time, with index, at, states and values."""
    return _Run(simulation, protocol).events()


class _Run:
    """The state of a running simulation. Plans on the heap are (at, order, step, arguments)."""

    def __init__(self, simulation: Simulation, protocol: Steps) -> None:
        topology = simulation.topology
        self.plan = simulation
        self.workload = simulation.workload
        self.protocol = protocol
        self.rng = random.Random(simulation.seed)
        self.states = simulation.workload.start(topology)
        self.outgoing = {
            process: tuple(channel.id for channel in channels)
            for process, channels in topology.outgoing.items()
        }
        self.incoming = {
            process: tuple(channel.id for channel in channels)
            for process, channels in topology.incoming.items()
        }
        self.target = {channel.id: channel.target for channel in topology.channels}
        self.last_arrival = {channel.id: 0 for channel in topology.channels if channel.fifo}
        self.next_index = dict.fromkeys(self.states, 0)
        self.awake: set[ProcessId] = set()
        self.recorders: dict[ProcessId, dict[SnapshotId, Recorder]] = {p: {} for p in self.states}
        self.open: dict[ProcessId, dict[SnapshotId, Recorder]] = {p: {} for p in self.states}
        self.unfinished = sum(len(start.initiators) for start in simulation.snapshots)
        self.heap: list[tuple] = []
        self.order = 0
        self.now = 0
        self.logged: list[LoggedEvent] = []
        self.lines = 1
        self.messages = 0
        self.in_flight = 0

    def events(self) -> Iterator[LoggedEvent]:
        for number, start in enumerate(self.plan.snapshots, start=1):
            for process in start.initiators:
                self.schedule(start.at, self.begin, (process, SnapshotId(f"s{number}")))
        for process in self.states:
            self.wake(process)
        heap = self.heap
        while heap and not self.is_over():
            self.now, _, step, arguments = heappop(heap)
            step(*arguments)
            yield from self.logged
            self.logged.clear()

    def is_over(self) -> bool:
        """Whether a run that is not drained has done all it should."""
        return not self.plan.drain and self.unfinished == 0 and self.budget_is_used()

    def budget_is_used(self) -> bool:
        return self.lines - 1 + self.in_flight >= self.plan.events

    def schedule(self, at: int, step, arguments: tuple) -> None:
        self.order += 1
        heappush(self.heap, (at, self.order, step, arguments))

    def log(self, process: ProcessId, kind: str, **fields: object) -> None:
        index = self.next_index[process]
        self.next_index[process] = index + 1
        self.lines += 1
        self.logged.append(
            LoggedEvent(self.lines, process, kind, index=index, at=self.now, **fields)
        )

    def wait(self, mean: int) -> int:
        """Exponential, at least 1 us."""
        return 1 + int(-math.log(1.0 - self.rng.random()) * mean)

    def wake(self, process: ProcessId) -> None:
        """Plans the process's next action, if it wants one and none is planned."""
        if process in self.awake:
            return
        if self.workload.wants(self.states[process], self.outgoing[process]):
            self.awake.add(process)
            self.schedule(self.now + self.wait(self.plan.mean_pause), self.act, (process,))

    def act(self, process: ProcessId) -> None:
        self.awake.discard(process)
        if self.budget_is_used():
            return
        state, channel, value, label = self.workload.act(
            self.states[process], self.outgoing[process], self.rng
        )
        self.states[process] = state
        text = self.workload.text(state)
        if channel is None:
            self.log(process, INTERNAL, label=label, state=text)
        else:
            self.messages += 1
            message = f"m{self.messages}"
            self.in_flight += 1
            self.log(process, SEND, channel=channel, message=message, value=value, state=text)
            self.schedule(self.arrival(channel), self.receive, (channel, message, value))
        self.wake(process)

    def arrival(self, channel: ChannelId) -> int:
        at = self.now + self.wait(self.plan.mean_delay)
        if channel in self.last_arrival:
            at = max(at, self.last_arrival[channel])
            self.last_arrival[channel] = at
        return at

    def receive(self, channel: ChannelId, message: str, value: str) -> None:
        process = self.target[channel]
        self.in_flight -= 1
        state = self.states[process] = self.workload.receive(self.states[process], value)
        text = self.workload.text(state)
        self.log(process, RECEIVE, channel=channel, message=message, value=value, state=text)
        for recorder in list(self.open[process].values()):
            self.carry_out(process, self.protocol.on_message(recorder, channel, message))
        self.wake(process)

    def begin(self, process: ProcessId, snapshot: SnapshotId) -> None:
        self.unfinished -= 1
        self.carry_out(process, self.protocol.begin(self.recorder(process, snapshot)))

    def receive_marker(self, channel: ChannelId, snapshot: SnapshotId) -> None:
        process = self.target[channel]
        self.unfinished -= 1
        self.log(process, MARKER_RECEIVE, channel=channel, snapshot=snapshot)
        step = self.protocol.on_marker(self.recorder(process, snapshot), channel)
        self.carry_out(process, step)

    def recorder(self, process: ProcessId, snapshot: SnapshotId) -> Recorder:
        known = self.recorders[process].get(snapshot)
        return known or Recorder(snapshot, self.incoming[process], self.outgoing[process])

    def carry_out(self, process: ProcessId, step: Step) -> None:
        recorder, effects = step
        self.recorders[process][recorder.snapshot] = recorder
        if recorder.is_done:
            self.open[process].pop(recorder.snapshot, None)
        else:
            self.open[process][recorder.snapshot] = recorder
        for effect in effects:
            self.do(process, recorder.snapshot, effect)

    def do(self, process: ProcessId, snapshot: SnapshotId, effect) -> None:
        if isinstance(effect, RecordState):
            text = self.workload.text(self.states[process])
            self.log(process, RECORD_STATE, snapshot=snapshot, state=text)
        elif isinstance(effect, SendMarker):
            channel = effect.channel
            self.unfinished += 1
            self.log(process, MARKER_SEND, channel=channel, snapshot=snapshot)
            self.schedule(self.arrival(channel), self.receive_marker, (channel, snapshot))
        else:
            self.log(
                process,
                RECORD_CHANNEL,
                channel=effect.channel,
                snapshot=snapshot,
                messages=effect.messages,
            )
