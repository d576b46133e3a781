"""A run of a micro-batch query: how its tasks get from one version of the state to the next."""

from types import ModuleType
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SOURCE, TWO_PHASE
from snapshots.domain.dataflow_logs.kinds import TASK_END, TX_PRECOMMIT
from snapshots.domain.model.topology import Channel, ProcessId, Topology
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Record
from snapshots.domain.simulators.dataflows.machine import Machine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import connect
from snapshots.domain.simulators.micro_batches.driver import Driver
from snapshots.domain.simulators.micro_batches.failover import Failover
from snapshots.domain.simulators.micro_batches.tasks import Shuffle, SparkTask, tasks_of
from snapshots.domain.simulators.protocols import spark_epochs
from snapshots.domain.simulators.protocols.spark_epochs import Batch, RunTask


class SparkRun(Machine[SparkTask, Shuffle]):
    """The state of a running query."""

    def __init__(self, plan: Any, topology: Topology, steps: ModuleType | None = None) -> None:
        super().__init__(plan, topology)
        self.tasks = tasks_of(self.dataflow, plan.slow)
        connect(self.dataflow, self.tasks, self.lanes)
        self.driver = Driver(self, steps or spark_epochs)
        self.failover = Failover(self, self.driver)

    def begin(self) -> None:
        """Plan the first trigger."""
        self.driver.plan_trigger(0)

    def fail(self, process: ProcessId) -> None:
        """Let a task or the driver die."""
        self.failover.fail(process)

    def count(self) -> Counted:
        """Return what was counted, after the last event."""
        self.counted.finished = self.driver.is_done
        delivered = {
            name: sink.records
            for name, sink in self.driver.sinks.items()
            if sink.vertex.sink != TWO_PHASE
        }
        count_results(self.dataflow, self.tasks, self.counted, delivered=delivered)
        return self.counted

    def new_lane(self, channel: Channel) -> Shuffle:
        """Return a channel without a wire."""
        return Shuffle(channel)

    # --- a task at work --------------------------------------------------------------------------

    def do(self, effect: object) -> None:
        """Let a task begin with its part of the batch."""
        assert isinstance(effect, RunTask)  # no other effect reaches the run
        task = self.tasks[effect.task]
        task.batch = effect.batch
        self.later(task, self.plan.control_delay, self._start, task)

    def _start(self, task: SparkTask) -> None:
        task.state = task.versions[task.current.id]
        self.committing.begin(task)
        self.wake(task)

    def next_work(self, task: SparkTask) -> bool:
        """Begin with the next record, or end; return False, as either is all for now."""
        cost = self.cost_of(task)  # drawn for the end, too: seeds of older versions stay the same
        lane = next((lane for lane in task.inputs if lane.input), None)
        if lane is not None:
            self.occupy(task, cost, self.process, task, lane)
        elif task.vertex.kind == SOURCE and task.state["offset"] < task.current.ranges[task.id][1]:
            self.occupy(task, cost, self._read, task)
        else:
            self._end(task, task.current)
        return False

    def _read(self, task: SparkTask) -> None:
        offset = task.state["offset"]
        self.read(task, self.driver.splits[task.id], offset, {"offset": offset + 1})

    def write(self, task: SparkTask, record: Record) -> None:
        """Write a record to the sink, unless the sink has its batch."""
        task.written.append(record)
        sink = self.driver.sinks[task.vertex.id]
        if not sink.skips(task.current.id):
            super().write(task, record)
            sink.write(record)

    def emit(self, task: SparkTask, records: list[Record]) -> None:
        """Keep the records until the task ends."""
        task.made += records

    def _end(self, task: SparkTask, batch: Batch) -> None:
        super().emit(task, task.made)
        task.made = []
        if task.tx is not None:
            extra = {"tx": task.tx.precommit(batch.id), "batch": batch.id}
            self.log.add(task.id, TX_PRECOMMIT, extra)
        task.versions[batch.id + 1] = task.state
        task.batch = None
        extra = {
            "batch": batch.id,
            "attempt": batch.attempt,
            "operator": task.vertex.id,
            "partition": task.index,
            "state_version": batch.id + 1,
        }
        self.log.add(task.id, TASK_END, extra, snapshot=str(batch.id))
        self.later(self.driver, self.plan.control_delay, self.driver.on_task_end, task.id)
