"""Subtasks at work: the part of a simulated dataflow that does not depend on the protocol.

Discrete events, whole microseconds; a seed gives one run. A task does one thing at a time: a
record takes its cost, and is in the channel until it has been processed; then its outputs go out
together. It takes a record only when all its outputs have room. Barriers, words of the coordinator
and the like are handled between records.
"""

import math
import random
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SINK, Dataflow
from snapshots.domain.dataflow_logs.kinds import WRITE
from snapshots.domain.model.recording import MARKER_RECEIVE, RECEIVE, SEND
from snapshots.domain.model.topology import Channel, ProcessId, Topology
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Record, apply, emitted
from snapshots.domain.simulators.dataflows.lanes import BARRIER, RECORD, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import EventLog, SimTask, value_text
from snapshots.domain.simulators.event_queue import EventQueue

DISCARDED = "discarded"


class Machine:
    """The state of a running simulation; a protocol says what its tasks do with what is no record.

    plan: what to simulate, with ``seed``, ``buffer``, ``mean_delay`` and ``control_delay``.
    """

    def __init__(self, plan: Any, dataflow: Dataflow, topology: Topology) -> None:
        self.plan = plan
        self.dataflow = dataflow
        self.topology = topology
        self.rng = random.Random(plan.seed)
        self.queue = EventQueue()
        self.log = EventLog(self.queue)
        self.counted = Counted()
        self.stopped = False
        self.messages = 0
        self.tasks: dict[ProcessId, SimTask] = {}
        self.lanes = {channel.id: self._lane(channel) for channel in topology.channels}

    def next_work(self, task: SimTask) -> bool:
        """Begins what the task can do now; whether it took no time and there may be more."""
        raise NotImplementedError

    def take_control(self, task: SimTask, lane: Lane, item: Item) -> None:
        """What is no record has come to the head of the channel."""
        raise NotImplementedError

    def barrier_arrived(self, task: SimTask, lane: Lane, item: Item) -> None:
        """A barrier has come into the receiver's buffer."""

    # --- time ------------------------------------------------------------------------------------

    def delay(self) -> int:
        """On the wire: exponential, at least 1 us."""
        return 1 + int(-math.log(1.0 - self.rng.random()) * self.plan.mean_delay)

    def later(self, task: SimTask, delay: int, step, *arguments: object) -> None:
        """Plans a step of this attempt of the task."""
        self.queue.after(delay, self._if_same, task, task.attempt, step, arguments)

    def _if_same(self, task: SimTask, attempt: int, step, arguments: tuple) -> None:
        if task.alive and task.attempt == attempt:
            step(*arguments)

    def post(self, task: SimTask, step, *arguments: object) -> None:
        """To be done by the task before its next record."""
        task.mail.append((step, arguments))
        self.wake(task)

    def tell(self, task: SimTask, step, *arguments: object) -> None:
        """The coordinator's word to a task; what it says to a dead one is lost."""
        self.later(task, self.plan.control_delay, self.post, task, step, *arguments)

    def occupy(self, task: SimTask, time: int, step, *arguments: object) -> None:
        """The task does nothing else for a while, and then this."""
        task.busy = True
        self.later(task, time, self._free, task, step, arguments)

    def _free(self, task: SimTask, step, arguments: tuple) -> None:
        task.busy = False
        step(*arguments)
        self.wake(task)

    def plan_wake(self, task: SimTask, delay: int) -> None:
        self.later(task, delay, self.wake, task)

    # --- a task at work --------------------------------------------------------------------------

    def wake(self, task: SimTask) -> None:
        while task.alive and not task.busy and self._step(task):
            pass

    def _step(self, task: SimTask) -> bool:
        """One thing that the task can do now; whether there was one that took no time."""
        if task.mail:
            step, arguments = task.mail.popleft()
            step(*arguments)
            return True
        if not task.can_put:
            return False
        return self.next_work(task)

    def next_item(self, task: SimTask) -> bool:
        lane = task.next_lane()
        if lane is None:
            return False
        if lane.input[0].is_record:
            self.occupy(task, self.cost_of(task), self.process, task, lane)
            return False
        self.take_control(task, lane, lane.take())
        return True

    def cost_of(self, task: SimTask) -> int:
        return round(task.cost * (0.5 + self.rng.random()))

    def process(self, task: SimTask, lane: Lane) -> None:
        item = lane.take()
        made: list[Record] = []
        if task.vertex.kind == SINK:
            task.state = {"written": task.state["written"] + 1}
        else:
            port = task.ports[lane.id]
            task.state, made = apply(task.vertex, task.state, item.record, port)
        task.changed(item.record)
        self.log.add(
            task.id,
            RECEIVE,
            {"rid": list(item.record.rid)},
            channel=lane.id,
            message=item.message,
            value=value_text(item.record),
            state=task.state_text,
        )
        if task.vertex.kind == SINK:
            self._write(task, item.record)
        self.emit(task, made)

    def _write(self, task: SimTask, record: Record) -> None:
        name = task.vertex.id
        self.counted.written.setdefault(name, []).append(record)
        self.counted.tables.setdefault(name, {})[record.key] = record.value
        tx = None if task.tx is None else task.tx.write(record)
        extra = {"rid": list(record.rid), "sink": name, "tx": tx}
        self.log.add(task.id, WRITE, extra, value=value_text(record), state=task.state_text)

    def emit(self, task: SimTask, records: list[Record]) -> None:
        for edge, subtask, record in emitted(self.dataflow, task.edges, task.index, records):
            self.send(task, task.outputs[edge.target, subtask], record)

    def send(
        self, task: SimTask, lane: Lane, record: Record, *, restored: bool | None = None
    ) -> None:
        self.messages += 1
        message = f"m{self.messages}"
        self.log.add(
            task.id,
            SEND,
            {"rid": list(record.rid), "restored": restored},
            channel=lane.id,
            message=message,
            value=value_text(record),
            state=task.state_text,
        )
        lane.put(Item(RECORD, record, message))

    # --- channels --------------------------------------------------------------------------------

    def _lane(self, channel: Channel) -> Lane:
        return Lane(
            channel, self.plan.buffer, self.queue, self.delay, self._arrived, self._has_room
        )

    def _arrived(self, lane: Lane, item: Item) -> None:
        task = self.tasks[lane.channel.target]
        if not task.alive:
            return
        if item.kind == BARRIER:
            self.barrier_arrived(task, lane, item)
        self.wake(task)

    def _has_room(self, lane: Lane) -> None:
        self.plan_wake(self.tasks[lane.channel.source], 0)

    def discard(self, task: SimTask, lane: Lane) -> None:
        """Takes all out that the channel held, so that no later cut finds it there."""
        for item in lane.clear():
            if item.is_record:
                self.log.add(
                    task.id,
                    RECEIVE,
                    {"rid": list(item.record.rid)},
                    channel=lane.id,
                    message=item.message,
                    value=value_text(item.record),
                    label=DISCARDED,
                )
            elif item.kind == BARRIER:
                self.log.add(
                    task.id,
                    MARKER_RECEIVE,
                    {"end": item.stands_for_end or None},
                    channel=lane.id,
                    snapshot=str(item.barrier.cid),
                    label=DISCARDED,
                )
