"""A seeded simulator of dataflows under Flink's checkpoint protocol.

Discrete events, whole microseconds; a seed gives one run. A task does one thing at a time: a
record takes its cost, and is in the channel until it has been processed; then its outputs go out
together. It takes a record only when all its outputs have room. Barriers, words of the coordinator
and the like are handled between records. The log is that of docs/dataflow-events.md; what is
counted beside it is the truth for those who compute the same from the log.
"""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import NamedTuple

from snapshots.domain.algorithms import flink_task, flink_tracker
from snapshots.domain.algorithms.flink_coordinator import CheckpointSettings
from snapshots.domain.algorithms.flink_task import AT_LEAST_ONCE, TIMEOUT, UNALIGNED
from snapshots.domain.assembly import Header
from snapshots.domain.dataflow import SINK, SOURCE, Dataflow
from snapshots.domain.dataflow_checkpoints import Checkpoints
from snapshots.domain.dataflow_counting import Counted
from snapshots.domain.dataflow_failover import FAILOVERS, FULL, Failover
from snapshots.domain.dataflow_functions import Record, apply, emitted, start_states
from snapshots.domain.dataflow_kinds import END, READ, TX_BEGIN, WRITE
from snapshots.domain.dataflow_lanes import BARRIER, CANCEL, RECORD, Item, Lane
from snapshots.domain.dataflow_lanes import END as END_ITEM
from snapshots.domain.dataflow_parameters import (
    check_failures,
    check_one_of,
    check_slow,
    check_whole_numbers,
)
from snapshots.domain.dataflow_results import count_results
from snapshots.domain.dataflow_tasks import EventLog, SimTask, connect, tasks_of, value_text
from snapshots.domain.event_queue import EventQueue
from snapshots.domain.recording import RECEIVE, SEND, LoggedEvent
from snapshots.domain.script import Log
from snapshots.domain.topology import Channel, ProcessId, Topology
from snapshots.domain.values import canonical

TIME_UNIT = "us"
MOST_EVENTS = 2_000_000


@dataclass(frozen=True, slots=True)
class FailAt:
    """At ``at`` (us) the process dies; nothing happens if it is down or has finished."""

    at: int
    process: ProcessId


@dataclass(frozen=True)
class DataflowSimulation:
    """What to simulate.

    buffer: records that each end of a channel holds. mean_delay: us on the wire. control_delay: us
    between the coordinator and a task. sync_time, async_time: us to copy and to upload a state.
    slow: how many times longer than others a task takes for a record. restart_delay: us from a
    failure to the restart. lost_notices: checkpoints whose word of completion arrives nowhere.
    declines: (checkpoint, task) that does not take part. tx_timeout: us after which a transaction
    that was not committed is gone. most_restarts, most_events: the run then ends unfinished.

    Raises: DataflowRefused, with the field, for what cannot be.
    """

    dataflow: Dataflow
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    seed: int = 1
    buffer: int = 8
    mean_delay: int = 300
    control_delay: int = 200
    sync_time: int = 200
    async_time: int = 2_000
    incremental: bool = True
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    failover: str = FULL
    restart_delay: int = 10_000
    lost_notices: frozenset[int] = frozenset()
    declines: frozenset[tuple[int, str]] = frozenset()
    tx_timeout: int | None = None
    most_restarts: int = 20
    most_events: int = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self, _LEAST)
        check_one_of("failover", self.failover, FAILOVERS)
        check_failures(self.failures, self.dataflow.subtask_by_id, "subtask")
        check_slow(self.slow, self.dataflow)

    def topology(self) -> Topology:
        overtaking = self.checkpoints.mode in (UNALIGNED, TIMEOUT)
        return self.dataflow.expand(one_coordinator=True, overtaking=overtaking)

    def header(self, name: str) -> Header:
        """What stands before the events: the topology with start states, and the dataflow."""
        topology = self.topology()
        states = start_states(self.dataflow)
        processes = tuple(
            replace(process, state=canonical(states.get(process.id, {"completed": 0})))
            for process in topology.processes
        )
        extra = {"engine": "flink", "dataflow": self.dataflow.to_json()}
        return Header(name, TIME_UNIT, replace(topology, processes=processes), extra)


_LEAST = {
    "buffer": 1,
    "mean_delay": 0,
    "control_delay": 0,
    "sync_time": 0,
    "async_time": 0,
    "restart_delay": 0,
    "most_restarts": 0,
    "most_events": 1,
}


class DataflowRun(NamedTuple):
    log: Log
    counted: Counted


def simulate_dataflow(
    simulation: DataflowSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """The events of one run in the order of time. steps: in place of the task's own functions."""
    return Run(simulation, steps).events()


def run_dataflow(
    simulation: DataflowSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """The whole log of one run, and what was counted in it."""
    run = Run(simulation, steps)
    events = tuple(run.events())
    return DataflowRun(Log(simulation.header(name), events), run.count())


class Run:
    """The state of a running simulation: tasks, channels, and who drives the protocol."""

    def __init__(self, simulation: DataflowSimulation, steps: ModuleType | None = None) -> None:
        self.plan = simulation
        self.dataflow = simulation.dataflow
        self.topology = simulation.topology()
        self.coordinator = self.dataflow.coordinators(one=True)[0]
        self.rng = random.Random(simulation.seed)
        self.queue = EventQueue()
        self.log = EventLog(self.queue)
        self.counted = Counted()
        self.stopped = False
        self.messages = 0
        if steps is None:
            at_least_once = simulation.checkpoints.mode == AT_LEAST_ONCE
            steps = flink_tracker if at_least_once else flink_task
        self.tasks = tasks_of(self.dataflow, steps, dict(simulation.slow), simulation.tx_timeout)
        self.lanes = {channel.id: self._lane(channel) for channel in self.topology.channels}
        connect(self.dataflow, self.tasks, self.lanes)
        self.checkpoints = Checkpoints(self)
        self.failover = Failover(self)

    def events(self) -> Iterator[LoggedEvent]:
        for task in self.tasks.values():
            task.reset(task.state)
            self.begin_transaction(task)
            self.plan_wake(task, 0)
        self.checkpoints.begin()
        for failure in self.plan.failures:
            self.queue.at(failure.at, self.failover.fail, failure.process, "injected")
        while self.queue and not self.stopped and self.log.lines <= self.plan.most_events:
            self.queue.run_next()
            yield from self.log.fresh
            self.log.fresh.clear()

    def count(self) -> Counted:
        """When all events have been made."""
        self.counted.finished = self.is_done
        count_results(self.dataflow, self.tasks, self.counted)
        return self.counted

    @property
    def is_done(self) -> bool:
        return all(task.finished for task in self.tasks.values())

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
        return self._next_read(task) if task.vertex.kind == SOURCE else self._next_item(task)

    def _next_read(self, task: SimTask) -> bool:
        if task.ended:
            return False
        offset = task.state["offset"]
        if offset > task.vertex.records:
            self.end(task)
            return True
        available = task.split.available_at(offset)
        if available > self.queue.now:
            self.plan_wake(task, available - self.queue.now)
            return False
        self.occupy(task, self._cost(task), self._read, task, offset)
        return False

    def _next_item(self, task: SimTask) -> bool:
        lane = task.next_lane()
        if lane is None:
            return False
        if lane.input[0].is_record:
            self.occupy(task, self._cost(task), self._process, task, lane)
            return False
        self._take_control(task, lane, lane.take())
        return True

    def _cost(self, task: SimTask) -> int:
        return round(task.cost * (0.5 + self.rng.random()))

    def _read(self, task: SimTask, offset: int) -> None:
        record = task.split.record(offset)
        task.state = {"offset": offset + 1}
        task.changed(record)
        extra = {"rid": list(record.rid), "split": task.id, "offset": offset}
        self.log.add(task.id, READ, extra, value=value_text(record), state=task.state_text)
        self.failover.rereading.note_read(task.id, offset)
        self._emit(task, [record])

    def _process(self, task: SimTask, lane: Lane) -> None:
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
        self._emit(task, made)

    def _write(self, task: SimTask, record: Record) -> None:
        name = task.vertex.id
        self.counted.written.setdefault(name, []).append(record)
        self.counted.tables.setdefault(name, {})[record.key] = record.value
        tx = None if task.tx is None else task.tx.write(record)
        extra = {"rid": list(record.rid), "sink": name, "tx": tx}
        self.log.add(task.id, WRITE, extra, value=value_text(record), state=task.state_text)

    def _emit(self, task: SimTask, records: list[Record]) -> None:
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

    def _take_control(self, task: SimTask, lane: Lane, item: Item) -> None:
        if item.kind == BARRIER:
            self.checkpoints.on_barrier(task, lane, item)
        elif item.kind == CANCEL:
            self.checkpoints.on_cancel(task, lane, item.cid)
        else:
            self.log.add(task.id, END, channel=lane.id)
            self.checkpoints.on_end(task, lane)
            if len(task.handler.ended) == len(task.inputs):
                self.end(task)

    def end(self, task: SimTask) -> None:
        """It has read all its input."""
        task.ended = True
        self.log.add(task.id, END)
        for lane in task.outputs.values():
            lane.put(Item(END_ITEM))
        self.checkpoints.finish_if_done(task)

    def begin_transaction(self, task: SimTask) -> None:
        if task.tx is not None:
            self.log.add(task.id, TX_BEGIN, {"tx": task.tx.begin(self.queue.now)})

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
            self.checkpoints.on_arrival(task, lane, item)
        self.wake(task)

    def _has_room(self, lane: Lane) -> None:
        self.plan_wake(self.tasks[lane.channel.source], 0)
