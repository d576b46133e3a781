"""A run in continuous mode: what its sources, tasks and parts do together."""

from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.domain.simulators.continuous.driver import Driver
from snapshots.domain.simulators.continuous.failover import Deploy, Failover
from snapshots.domain.simulators.continuous.markers import Markers, Report
from snapshots.domain.simulators.continuous.tasks import ContinuousTask, tasks_of
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.lanes import Item, Lane
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import Effects, connect
from snapshots.domain.simulators.protocols import continuous_task


class ContinuousRun(StreamMachine[ContinuousTask]):
    """The state of a running query."""

    def __init__(self, plan: Any, topology: Topology) -> None:
        """Make a run that has not begun.

        Args:
            plan: what to simulate.
            topology: the processes and channels of the plan's dataflow.
        """
        super().__init__(plan, topology)
        self.tasks = tasks_of(self.dataflow, continuous_task, plan.slow)
        connect(self.dataflow, self.tasks, self.lanes)
        alignments = Alignments(self.log, self.counted)
        self.markers = Markers(self, alignments)
        self.driver = Driver(self)
        self.failover = Failover(self, self.driver, self.markers, alignments)

    def begin(self) -> None:
        """Deploy all tasks, and plan the first trigger."""
        for task in self.tasks.values():
            task.reset(task.state)
            self._deploy(task)
        self.driver.begin()

    def _deploy(self, task: ContinuousTask) -> None:
        self.committing.begin(task)
        self.plan_wake(task, 0)
        if task.vertex.kind == SOURCE:
            self.later(task, self.plan.epochs.poll_interval, self._poll, task)

    def fail(self, process: ProcessId) -> None:
        """Let a task or the driver die."""
        self.failover.fail(process)

    def count(self) -> Counted:
        """Return what was counted, after the last event."""
        self.counted.finished = self.driver.is_done
        count_results(self.dataflow, self.tasks, self.counted)
        return self.counted

    # --- a task at work --------------------------------------------------------------------------

    def _poll(self, task: ContinuousTask) -> None:
        """Ask the driver for the number of the epoch, and plan to ask again."""
        self.later(task, self.plan.control_delay, self._answer, task)
        self.later(task, self.plan.epochs.poll_interval, self._poll, task)

    def _answer(self, task: ContinuousTask) -> None:
        self.tell(task, self.markers.on_epoch, task, self.driver.state.epoch)

    def next_work(self, task: ContinuousTask) -> bool:
        """Begin what the task can do now; return whether it took no time and there may be more."""
        if task.vertex.kind != SOURCE:
            return self.next_item(task)
        offset = task.state["offset"]
        if offset > task.vertex.records:
            return False
        available = task.own_split.available_at(offset)
        if available > self.queue.now:
            self.plan_wake(task, available - self.queue.now)
        else:
            self.occupy(task, self.cost_of(task), self._read, task, offset)
        return False

    def _read(self, task: ContinuousTask, offset: int) -> None:
        self.read(task, task.own_split, offset, {"offset": offset + 1})

    def take_control(self, task: ContinuousTask, lane: Lane, item: Item) -> Effects:
        """Handle a marker, the only item beside records."""
        return self.markers.on_marker(task, lane, item.barrier)

    def do(self, effect: object) -> None:
        """Carry out what concerns more than one part of the run."""
        match effect:
            case Report():
                self.later(self.driver, self.plan.control_delay, self.driver.on_report, effect)
            case Deploy(task):
                self._deploy(task)
