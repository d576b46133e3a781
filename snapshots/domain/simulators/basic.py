"""A seeded simulator: a workload runs on a topology while a snapshot protocol records it.

Discrete events lie on one heap, ties in the order in which they were planned, so a seed gives one
run. Times are whole microseconds. A message takes a random finite time; on a FIFO channel nothing
arrives before what was sent earlier, markers included.

Snapshots do not interfere: their markers and pieces take their times from random numbers of their
own, and no message waits for them. A marker that would hold up a message on a FIFO channel arrives
right before it instead. So the same seed gives the same computation with and without snapshots.

What can be made to go wrong: channels that reorder although they promise not to, markers that stay
in a channel for ever (against condition L1 of the paper), processes that never record (against L2),
and each of the two marker rules (section 3.2).
"""

import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

from snapshots.domain.model.recording import (
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
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.simulators.algorithms import AnyRecorder, Steps
from snapshots.domain.simulators.protocols import chandy_lamport, flooding
from snapshots.domain.simulators.protocols.effects import (
    Effect,
    RecordChannel,
    RecordState,
)
from snapshots.domain.simulators.protocols.flooding import Collector, Piece
from snapshots.domain.simulators.simulation import Simulation

Recorders = dict[SnapshotId, AnyRecorder]
Plan = Callable[..., None]
"""What is done at a planned time."""
Red = tuple[SnapshotId, ...]
"""The colour of a message: the snapshots that its sender had recorded; empty without colours."""


def simulate(
    simulation: Simulation, protocol: Steps[Any] = chandy_lamport
) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time, with index, at, states and values."""
    return _Run(simulation, protocol).events()


@dataclass(eq=False, slots=True)
class _Travelling:
    """Something under way on a FIFO channel, and what is done when it arrives."""

    step: Plan
    arguments: tuple[Any, ...]


class _Run:
    """The state of a running simulation. Plans on the heap are (at, order, step, arguments)."""

    def __init__(self, simulation: Simulation, protocol: Steps[Any]) -> None:
        topology = simulation.topology
        self.plan = simulation
        self.workload = simulation.workload
        self.protocol = protocol
        self.rng = random.Random(simulation.seed)
        own = random.Random(f"snapshots of {simulation.seed}")
        self.snapshot_rng = self.rng if simulation.interferes else own
        self.states = simulation.workload.start(topology)
        self.outgoing = {
            process: tuple(channel.id for channel in channels)
            for process, channels in topology.outgoing.items()
        }
        self.target = {channel.id: channel.target for channel in topology.channels}
        self.last_arrival = {
            channel.id: 0
            for channel in topology.channels
            if channel.fifo and channel.id not in simulation.reorder
        }
        self.last_of_snapshots = dict.fromkeys(self.last_arrival, 0)
        self.under_way: dict[ChannelId, deque[_Travelling]] = {
            channel: deque() for channel in self.last_arrival
        }
        self.blocked: set[ChannelId] = set()
        self.held_markers: dict[ChannelId, list[tuple[SnapshotId, int | None]]] = {}
        self.postponed: dict[tuple[ProcessId, str], list[Callable[[], None]]] = {}
        self.sent_early: set[tuple[ChannelId, SnapshotId]] = set()
        self.next_index = dict.fromkeys(self.states, 0)
        self.awake: set[ProcessId] = set()
        self.sent = {process: dict.fromkeys(self.outgoing[process], 0) for process in self.states}
        self.received = {
            process: {channel.id: 0 for channel in channels}
            for process, channels in topology.incoming.items()
        }
        self.recorders: dict[ProcessId, Recorders] = {process: {} for process in self.states}
        self.open: dict[ProcessId, Recorders] = {process: {} for process in self.states}
        self.red: dict[ProcessId, Red] = dict.fromkeys(self.states, ())
        self.colour: dict[ProcessId, JsonText | None] = dict.fromkeys(self.states)
        self.counts: dict[tuple[ChannelId, SnapshotId], int | None] = {}
        self.marked: set[tuple[ChannelId, SnapshotId]] = set()
        self.collectors: dict[tuple[ProcessId, SnapshotId], Collector] = {}
        self.recorded: dict[tuple[ProcessId, SnapshotId], Piece] = {}
        self.unfinished = sum(len(start.initiators) for start in simulation.snapshots)
        self.heap: list[tuple[int, int, Plan, tuple[Any, ...]]] = []
        self.order = 0
        self.now = 0
        self.logged: list[LoggedEvent] = []
        self.lines = 1
        self.flooded = 0
        self.computed = 0
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
        """Tell whether a run that is not drained has done everything."""
        return (
            not self.plan.drain
            and self.unfinished == 0
            and self.budget_is_used()
            and not any(
                recorder.is_waiting
                for recorders in self.open.values()
                for recorder in recorders.values()
            )
        )

    def budget_is_used(self) -> bool:
        logged = self.lines - 1 - self.flooded if self.plan.interferes else self.computed
        return logged + self.in_flight >= self.plan.events

    def schedule(self, at: int, step: Plan, arguments: tuple[Any, ...]) -> None:
        self.order += 1
        heappush(self.heap, (at, self.order, step, arguments))

    def log(self, process: ProcessId, kind: str, **fields: Any) -> None:
        index = self.next_index[process]
        self.next_index[process] = index + 1
        self.lines += 1
        self.logged.append(
            LoggedEvent(self.lines, process, kind, index=index, at=self.now, **fields)
        )

    def wait(self, mean: int, rng: random.Random) -> int:
        """Draw a time: exponential, at least 1 us."""
        return 1 + int(-math.log(1.0 - rng.random()) * mean)

    def wake(self, process: ProcessId) -> None:
        """Plan the process's next action, if it wants one and none is planned."""
        if process in self.awake:
            return
        if self.workload.wants(self.states[process], self.outgoing[process]):
            self.awake.add(process)
            self.schedule(
                self.now + self.wait(self.plan.mean_pause, self.rng), self.act, (process,)
            )

    def act(self, process: ProcessId) -> None:
        self.awake.discard(process)
        if self.budget_is_used():
            return
        state, channel, value, label = self.workload.act(
            self.states[process], self.outgoing[process], self.rng
        )
        self.states[process] = state
        self.computed += 1
        if channel is None:
            self.log(process, INTERNAL, label=label, state=self.workload.text(state))
        else:
            self.messages += 1
            message = MessageId(f"m{self.messages}")
            if self.send(process, channel, message, value, self.receive):
                self.in_flight += 1
            self.send_held_markers(process, channel)
            self.catch_up(process, SEND)
        self.wake(process)

    def send(
        self,
        process: ProcessId,
        channel: ChannelId,
        message: MessageId,
        value: JsonText | None,
        receive: Plan,
        *,
        label: str | None = None,
        is_piece: bool = False,
    ) -> bool:
        """Log the send, and plan ``receive``; return False for a message that can never arrive."""
        self.sent[process][channel] += 1
        self.log(
            process,
            SEND,
            channel=channel,
            message=message,
            value=value,
            state=self.workload.text(self.states[process]),
            label=label,
            extra=self.colour[process],
        )
        arguments = (channel, message, value, self.red[process])
        return self.put(channel, receive, arguments, of_snapshot=is_piece)

    def put(
        self, channel: ChannelId, step: Plan, arguments: tuple[Any, ...], *, of_snapshot: bool
    ) -> bool:
        """Put something on a channel; return False if it stays there for ever.

        ``of_snapshot``: whether it is a marker or a piece, for which no message waits.
        """
        if channel in self.blocked:
            return False
        is_apart = of_snapshot and not self.plan.interferes
        at = self.arrival_of_snapshot(channel) if is_apart else self.arrival(channel)
        if channel in self.under_way:
            travelling = _Travelling(step, arguments)
            self.under_way[channel].append(travelling)
            self.schedule(at, self.deliver, (channel, travelling))
        else:
            self.schedule(at, step, arguments)
        return True

    def deliver(self, channel: ChannelId, travelling: _Travelling) -> None:
        """Deliver what was put on a FIFO channel, after what is still ahead of it."""
        under_way = self.under_way[channel]
        while travelling in under_way:
            ahead = under_way.popleft()
            ahead.step(*ahead.arguments)

    def put_marker(self, channel: ChannelId, arguments: tuple[Any, ...]) -> bool:
        if channel not in self.plan.stuck:
            return self.put(channel, self.receive_marker, arguments, of_snapshot=True)
        if channel in self.last_arrival:
            self.blocked.add(channel)
        return False

    def arrival(self, channel: ChannelId) -> int:
        at = self.now + self.wait(self.plan.mean_delay, self.rng)
        if channel in self.last_arrival:
            at = max(at, self.last_arrival[channel])
            self.last_arrival[channel] = at
        return at

    def arrival_of_snapshot(self, channel: ChannelId) -> int:
        """Draw when a marker or piece arrives, unless a message that is put behind comes first."""
        at = self.now + self.wait(self.plan.mean_delay, self.snapshot_rng)
        if channel in self.last_arrival:
            at = max(at, self.last_arrival[channel], self.last_of_snapshots[channel])
            self.last_of_snapshots[channel] = at
        return at

    def receive(
        self, channel: ChannelId, message: MessageId, value: JsonText | None, red: Red
    ) -> None:
        process = self.target[channel]
        assert value is not None  # every message of a workload has a value
        self.in_flight -= 1
        self.computed += 1
        self.heed_colour(channel, red)
        self.states[process] = self.workload.receive(self.states[process], value)
        self.take(process, channel, message, value, red)
        self.catch_up(process, RECEIVE)
        self.wake(process)

    def heed_colour(self, channel: ChannelId, red: Red) -> None:
        """Do what a process does before it receives a message of this colour."""
        for snapshot in red:
            if (channel, snapshot) not in self.marked:
                self.take_marker(channel, snapshot, self.counts[channel, snapshot])

    def take(
        self,
        process: ProcessId,
        channel: ChannelId,
        message: MessageId,
        value: JsonText | None,
        red: Red,
        label: str | None = None,
    ) -> None:
        """Log the receive, and pass it to the snapshots that are under way at the process."""
        self.received[process][channel] += 1
        text = self.workload.text(self.states[process])
        fields = {"channel": channel, "message": message, "value": value, "state": text}
        self.log(process, RECEIVE, label=label, **fields)
        for recorder in list(self.open[process].values()):
            if recorder.snapshot not in red:
                self.carry_out(process, *self.protocol.on_message(recorder, channel, message))

    def begin(self, process: ProcessId, snapshot: SnapshotId) -> None:
        self.unfinished -= 1
        if process in self.plan.silent:
            return
        if process in self.plan.early_markers and not self.recorder(process, snapshot).has_recorded:
            self.send_markers_early(process, snapshot)
            self.postpone(process, SEND, partial(self.record_first, process, snapshot))
        else:
            self.record_first(process, snapshot)

    def record_first(self, process: ProcessId, snapshot: SnapshotId) -> None:
        self.carry_out(process, *self.protocol.begin(self.recorder(process, snapshot)))

    def receive_marker(self, channel: ChannelId, snapshot: SnapshotId, count: int | None) -> None:
        self.unfinished -= 1
        if (channel, snapshot) not in self.marked:
            self.take_marker(channel, snapshot, count)

    def take_marker(self, channel: ChannelId, snapshot: SnapshotId, count: int | None) -> None:
        process = self.target[channel]
        if count is not None:
            self.marked.add((channel, snapshot))
        self.log(process, MARKER_RECEIVE, channel=channel, snapshot=snapshot, value=_counted(count))
        if process in self.plan.silent:
            return
        obey = partial(self.obey_marker, process, snapshot, channel, count)
        if self.recorder(process, snapshot).has_recorded:
            obey()
        elif process in self.plan.late_records:
            self.postpone(process, RECEIVE, obey)
        elif process in self.plan.early_markers:
            self.send_markers_early(process, snapshot)
            self.postpone(process, SEND, obey)
        else:
            obey()

    def obey_marker(
        self, process: ProcessId, snapshot: SnapshotId, channel: ChannelId, count: int | None
    ) -> None:
        recorder = self.recorder(process, snapshot)
        self.carry_out(process, *self.protocol.on_marker(recorder, channel, count))

    def postpone(self, process: ProcessId, kind: str, plan: Callable[[], None]) -> None:
        """Keep what breaks a rule until the process has had its next event of this kind."""
        self.postponed.setdefault((process, kind), []).append(plan)

    def catch_up(self, process: ProcessId, kind: str) -> None:
        for plan in self.postponed.pop((process, kind), ()):
            plan()

    def send_markers_early(self, process: ProcessId, snapshot: SnapshotId) -> None:
        for channel in self.outgoing[process]:
            if (channel, snapshot) not in self.sent_early:
                self.sent_early.add((channel, snapshot))
                self.send_marker(process, snapshot, channel, None)

    def send_held_markers(self, process: ProcessId, channel: ChannelId) -> None:
        for snapshot, count in self.held_markers.pop(channel, ()):
            self.send_marker(process, snapshot, channel, count)

    def recorder(self, process: ProcessId, snapshot: SnapshotId) -> AnyRecorder:
        recorder = self.recorders[process].get(snapshot)
        return recorder or self.protocol.start(snapshot, self.received[process], self.sent[process])

    def carry_out(
        self, process: ProcessId, recorder: AnyRecorder, effects: tuple[Effect, ...]
    ) -> None:
        self.recorders[process][recorder.snapshot] = recorder
        if recorder.is_done:
            self.open[process].pop(recorder.snapshot, None)
        else:
            self.open[process][recorder.snapshot] = recorder
        for effect in effects:
            self.do(process, recorder.snapshot, effect)
        if self.plan.collect and recorder.is_done:
            self.learn(process, self.recorded[process, recorder.snapshot])

    def do(self, process: ProcessId, snapshot: SnapshotId, effect: Effect) -> None:
        if isinstance(effect, RecordState):
            self.record_state(process, snapshot)
        elif isinstance(effect, RecordChannel):
            self.record_channel(process, snapshot, effect)
        elif effect.channel in self.plan.late_markers:
            self.held_markers.setdefault(effect.channel, []).append((snapshot, effect.count))
        elif (effect.channel, snapshot) not in self.sent_early:
            self.send_marker(process, snapshot, effect.channel, effect.count)

    def send_marker(
        self, process: ProcessId, snapshot: SnapshotId, channel: ChannelId, count: int | None
    ) -> None:
        if channel in self.plan.no_markers:
            return
        self.log(process, MARKER_SEND, channel=channel, snapshot=snapshot, value=_counted(count))
        self.counts[channel, snapshot] = count
        if self.put_marker(channel, (channel, snapshot, count)):
            self.unfinished += 1

    def record_state(self, process: ProcessId, snapshot: SnapshotId) -> None:
        text = self.workload.text(self.states[process])
        self.log(process, RECORD_STATE, snapshot=snapshot, state=text)
        if self.protocol.COLOURS_MESSAGES:
            self.red[process] = (*self.red[process], snapshot)
            self.colour[process] = canonical({"red": self.red[process]})
        if self.plan.collect:
            self.recorded[process, snapshot] = Piece(snapshot, process, text, {})

    def record_channel(
        self, process: ProcessId, snapshot: SnapshotId, effect: RecordChannel
    ) -> None:
        channel = effect.channel
        messages = () if channel in self.plan.empty_channels else effect.messages
        self.log(process, RECORD_CHANNEL, channel=channel, snapshot=snapshot, messages=messages)
        if self.plan.collect:
            piece = self.recorded[process, snapshot]
            channels = {**piece.channels, channel: messages}
            self.recorded[process, snapshot] = replace(piece, channels=channels)

    def learn(self, process: ProcessId, piece: Piece) -> None:
        """Take a piece, the process's own or another's, and pass it on if it is new."""
        key = process, piece.snapshot
        collector = self.collectors.get(key) or Collector(self.outgoing[process])
        self.collectors[key], onward = flooding.on_piece(collector, piece.process)
        for channel in onward:
            self.flooded += 1
            receive = partial(self.receive_piece, piece)
            if self.send(
                process,
                channel,
                piece.message,
                piece.value,
                receive,
                label=piece.label,
                is_piece=True,
            ):
                self.unfinished += 1

    def receive_piece(
        self, piece: Piece, channel: ChannelId, message: MessageId, value: JsonText, red: Red
    ) -> None:
        process = self.target[channel]
        self.unfinished -= 1
        self.flooded += 1
        self.heed_colour(channel, red)
        self.take(process, channel, message, value, red, piece.label)
        self.learn(process, piece)


def _counted(count: int | None) -> JsonText | None:
    return None if count is None else canonical(count)
