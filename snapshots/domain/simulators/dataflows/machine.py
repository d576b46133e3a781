"""Tasks at work: the part of a simulated dataflow that does not depend on the engine.

Discrete events in whole microseconds; a seed gives one run. A task does one thing at a time. A
record takes its cost and stays in the channel until it has been processed; then its outputs go out
together. A task takes a record only when all its outputs have room. Barriers and messages of the
coordinator are handled between records.

An engine's run is a ``Machine`` that owns the parts of a protocol: checkpoints, snapshots,
failover. The parts know the machine and those below them. What concerns parts above them is left to
the run: their steps return effects, and the machine carries out each before the step goes on.
"""

import math
import random
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from snapshots.domain.dataflow_logs.dataflow import SINK
from snapshots.domain.dataflow_logs.kinds import READ, WRITE
from snapshots.domain.model.recording import RECEIVE, SEND, LoggedEvent, MessageId
from snapshots.domain.model.topology import Channel, ProcessId, Topology
from snapshots.domain.simulators.dataflows.committing import Committing
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Record, Split, State, emitted
from snapshots.domain.simulators.dataflows.lanes import (
    BARRIER,
    RECORD,
    AnyLane,
    Item,
    Lane,
    LaneT,
)
from snapshots.domain.simulators.dataflows.recovery import Rereading
from snapshots.domain.simulators.dataflows.tasks import (
    Attempt,
    Effects,
    EventLog,
    Step,
    Task,
    rid_text,
    value_text,
)
from snapshots.domain.simulators.event_queue import EventQueue

TaskT = TypeVar("TaskT", bound=Task[Any])


class Machine(Generic[TaskT, LaneT]):
    """The state of a running simulation.

    Args:
        plan: what to simulate; it has ``dataflow``, ``seed``, ``failures`` and ``most_events``, and
            where the engine has lanes also ``buffer`` and ``mean_delay``.
    """

    def __init__(self, plan: Any, topology: Topology) -> None:
        self.plan = plan
        self.dataflow = plan.dataflow
        self.rng = random.Random(plan.seed)
        self.queue = EventQueue()
        self.log = EventLog(self.queue)
        self.counted = Counted()
        self.committing = Committing(self.log)
        self.rereading = Rereading(self.log)
        self.stopped = False
        self.logs_event_times = False
        self.messages = 0
        self.tasks: dict[ProcessId, TaskT] = {}
        self.lanes = {channel.id: self.new_lane(channel) for channel in topology.channels}

    # --- what an engine's run decides ------------------------------------------------------------

    def begin(self) -> None:
        """Plan the first steps of the run."""
        raise NotImplementedError

    def fail(self, process: ProcessId) -> Effects | None:
        """Let a process die."""
        raise NotImplementedError

    def do(self, effect: object) -> None:
        """Carry out an effect of a step."""
        raise NotImplementedError

    def count(self) -> Counted:
        """Return what was counted, after the last event."""
        raise NotImplementedError

    def next_work(self, task: TaskT) -> bool:
        """Begin what the task can do now; return whether it took no time and there may be more."""
        raise NotImplementedError

    def new_lane(self, channel: Channel) -> LaneT:
        """Return the channel as the engine has it."""
        raise NotImplementedError

    # --- time ------------------------------------------------------------------------------------

    def events(self) -> Iterator[LoggedEvent]:
        """Run the simulation, and yield its events in the order of time."""
        self.begin()
        for failure in self.plan.failures:
            self.queue.at(failure.at, self.fail, failure.process)
        while self.queue and not self.stopped and self.log.lines <= self.plan.most_events:
            self.carry_out(self.queue.run_next())
            yield from self.log.fresh
            self.log.fresh.clear()

    def carry_out(self, effects: Effects | None) -> None:
        """Carry out each effect before the next one is made."""
        for effect in effects or ():
            self.do(effect)

    def later(self, owner: Attempt, delay: int, step: Step, *arguments: object) -> None:
        """Plan a step that happens unless its owner dies before."""
        self.queue.after(delay, _if_alive, owner, owner.attempt, step, arguments)

    def post(self, task: TaskT, step: Step, *arguments: object) -> None:
        """Queue a step that the task runs before its next record."""
        task.mail.append((step, arguments))
        self.wake(task)

    def tell(self, task: TaskT, step: Step, *arguments: object) -> None:
        """Send the coordinator's message to a task; a dead task does not get it."""
        self.later(task, self.plan.control_delay, self.post, task, step, *arguments)

    def occupy(self, task: TaskT, time: int, step: Step, *arguments: object) -> None:
        """Keep the task busy for a while, then run the step."""
        task.busy = True
        self.later(task, time, self._free, task, step, arguments)

    def _free(self, task: TaskT, step: Step, arguments: tuple[Any, ...]) -> None:
        task.busy = False
        self.carry_out(step(*arguments))
        self.wake(task)

    def plan_wake(self, task: TaskT, delay: int) -> None:
        """Let the task look for work after the delay."""
        self.later(task, delay, self.wake, task)

    # --- a task at work --------------------------------------------------------------------------

    def wake(self, task: TaskT) -> None:
        """Let the task do what it can do now."""
        while task.alive and not task.busy and self._step(task):
            pass

    def _step(self, task: TaskT) -> bool:
        """Let the task take its next step; return whether there was one, and it took no time."""
        if task.mail:
            step, arguments = task.mail.popleft()
            self.carry_out(step(*arguments))
            return True
        if not task.can_put:
            return False
        return self.next_work(task)

    def cost_of(self, task: TaskT) -> int:
        """Draw how many us the task's next record takes."""
        return round(task.cost * (0.5 + self.rng.random()))

    def read(self, task: TaskT, split: Split, offset: int, state: State) -> None:
        """Read a record of the split, and give the source its state after that."""
        record = split.record(offset)
        task.state = state
        time = record.time if self.logs_event_times else None
        extra = {"rid": record.rid, "split": split.name, "offset": offset, "time": time}
        self.log.add(task.id, READ, extra, value=value_text(record), state=task.state_text)
        self.rereading.note_read(split.name, offset)
        self.emit(task, [record])

    def process(self, task: TaskT, lane: AnyLane) -> None:
        """Take the record at the head of the channel, with all that follows from it."""
        item = lane.take()
        assert item.record is not None  # the caller has seen a record at the head
        made = task.absorb(item.record, lane.id)
        self.log_receive(task, lane, item, item.record)
        if task.vertex.kind == SINK:
            self.write(task, item.record)
        self.emit(task, made)

    def log_receive(
        self, task: TaskT, lane: AnyLane, item: Item, record: Record, label: str | None = None
    ) -> None:
        """Log that the task has taken the item's record, with the state that it has now."""
        self.log.add(
            task.id,
            RECEIVE,
            rid_text(record.rid),
            channel=lane.id,
            message=item.message,
            value=value_text(record),
            state=task.state_text,
            label=label,
        )

    def write(self, task: TaskT, record: Record) -> None:
        """Write a record to the sink."""
        name = task.vertex.id
        self.counted.written.setdefault(name, []).append(record)
        self.counted.tables.setdefault(name, {})[record.key] = record.value
        tx = None if task.tx is None else task.tx.write(record)
        extra = {"rid": record.rid, "sink": name, "tx": tx}
        self.log.add(task.id, WRITE, extra, value=value_text(record), state=task.state_text)

    def emit(self, task: TaskT, records: list[Record]) -> None:
        """Send the records that a task has made to their receivers."""
        for edge, subtask, record in emitted(self.dataflow, task.edges, task.index, records):
            self.send(task, task.outputs[edge.target, subtask], record)

    def send(self, task: TaskT, lane: AnyLane, record: Record, *, restored: bool = False) -> None:
        """Send one record; ``restored`` marks one that a restart has put back."""
        self.messages += 1
        message = MessageId(f"m{self.messages}")
        self.log.add(
            task.id,
            SEND,
            {"rid": record.rid, "restored": True} if restored else rid_text(record.rid),
            channel=lane.id,
            message=message,
            value=value_text(record),
            state=task.state_text,
        )
        lane.put(Item(RECORD, record, message))


class StreamMachine(Machine[TaskT, Lane]):
    """A machine whose channels have buffers and a wire, on which barriers travel with records."""

    def take_control(self, task: TaskT, lane: Lane, item: Item) -> Effects | None:
        """Handle an item at the head of the channel that is not a record."""
        raise NotImplementedError

    def barrier_arrived(self, task: TaskT, lane: Lane, item: Item) -> None:
        """Note that a barrier has come into the receiver's buffer."""

    def next_item(self, task: TaskT) -> bool:
        """Begin with the next item of the inputs; the result is that of ``next_work``."""
        lane: Lane | None = task.next_lane()
        if lane is None:
            return False
        if lane.head is not None and lane.head.is_record:
            self.occupy(task, self.cost_of(task), self.process, task, lane)
            return False
        self.carry_out(self.take_control(task, lane, lane.take()))
        return True

    def new_lane(self, channel: Channel) -> Lane:
        """Return the channel with empty buffers."""
        return Lane(
            channel, self.plan.buffer, self.queue, self._delay, self._arrived, self._has_room
        )

    def _delay(self) -> int:
        """Draw a time on the wire: exponential, at least 1 us."""
        return 1 + int(-math.log(1.0 - self.rng.random()) * self.plan.mean_delay)

    def _arrived(self, lane: Lane, item: Item) -> None:
        task = self.tasks[lane.channel.target]
        if not task.alive:
            return
        if item.kind == BARRIER:
            self.barrier_arrived(task, lane, item)
        self.wake(task)

    def _has_room(self, lane: Lane) -> None:
        self.plan_wake(self.tasks[lane.channel.source], 0)


def _if_alive(
    owner: Attempt, attempt: int, step: Step, arguments: tuple[Any, ...]
) -> Effects | None:
    return step(*arguments) if owner.alive and owner.attempt == attempt else None
