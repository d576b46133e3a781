"""A seeded simulator of dataflows under Flink's checkpoint protocol.

The log is that of docs/formats/dataflow-events.md. What the run counts beside it is the truth for
an analysis that computes the same from the log.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import NamedTuple

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.dataflow_logs.kinds import END, READ, TX_BEGIN
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.domain.model.values import canonical
from snapshots.domain.simulators.flink.checkpoints import Checkpoints
from snapshots.domain.simulators.flink.counting import Counted
from snapshots.domain.simulators.flink.failover import FAILOVERS, FULL, Failover
from snapshots.domain.simulators.flink.functions import start_states
from snapshots.domain.simulators.flink.lanes import BARRIER, CANCEL, Item, Lane
from snapshots.domain.simulators.flink.lanes import END as END_ITEM
from snapshots.domain.simulators.flink.machine import Machine
from snapshots.domain.simulators.flink.parameters import (
    check_failures,
    check_one_of,
    check_slow,
    check_whole_numbers,
)
from snapshots.domain.simulators.flink.results import count_results
from snapshots.domain.simulators.flink.tasks import SimTask, connect, tasks_of, value_text
from snapshots.domain.simulators.protocols import flink_task, flink_tracker
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import AT_LEAST_ONCE, TIMEOUT, UNALIGNED
from snapshots.domain.simulators.script import Log

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
        extra = {"engine": "flink", "dataflow": as_json(self.dataflow)}
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


class Run(Machine):
    """A run under Flink's protocol."""

    def __init__(self, simulation: DataflowSimulation, steps: ModuleType | None = None) -> None:
        super().__init__(simulation, simulation.dataflow, simulation.topology())
        self.coordinator = self.dataflow.coordinators(one=True)[0]
        if steps is None:
            at_least_once = simulation.checkpoints.mode == AT_LEAST_ONCE
            steps = flink_tracker if at_least_once else flink_task
        self.tasks = tasks_of(self.dataflow, steps, dict(simulation.slow), simulation.tx_timeout)
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

    # --- a task at work --------------------------------------------------------------------------

    def next_work(self, task: SimTask) -> bool:
        return self._next_read(task) if task.vertex.kind == SOURCE else self.next_item(task)

    def barrier_arrived(self, task: SimTask, lane: Lane, item: Item) -> None:
        self.checkpoints.on_arrival(task, lane, item)

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
        self.occupy(task, self.cost_of(task), self._read, task, offset)
        return False

    def _read(self, task: SimTask, offset: int) -> None:
        record = task.split.record(offset)
        task.state = {"offset": offset + 1}
        task.changed(record)
        extra = {"rid": list(record.rid), "split": task.id, "offset": offset}
        self.log.add(task.id, READ, extra, value=value_text(record), state=task.state_text)
        self.failover.rereading.note_read(task.id, offset)
        self.emit(task, [record])

    def take_control(self, task: SimTask, lane: Lane, item: Item) -> None:
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
