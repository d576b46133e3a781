"""A run under SeaTunnel's checkpoint protocol: its pipelines, and the run that it goes on from."""

from types import ModuleType
from typing import Any, Self

from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Rid, expected_rids
from snapshots.domain.simulators.dataflows.lanes import BARRIER, AnyLane, Item, Lane
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import Step
from snapshots.domain.simulators.protocols import seatunnel_task
from snapshots.domain.simulators.protocols.seatunnel import FINISHED, SUSPENDED
from snapshots.domain.simulators.seatunnel.barriers import Acknowledge, Barriers, Confirm
from snapshots.domain.simulators.seatunnel.checkpoints import FailPipeline, Numbering, Pipeline
from snapshots.domain.simulators.seatunnel.failover import Failover
from snapshots.domain.simulators.seatunnel.regions import REGION, Skipping
from snapshots.domain.simulators.seatunnel.schema_changes import AskForPoint, SchemaChanges
from snapshots.domain.simulators.seatunnel.splits import ReadyToClose, Splits
from snapshots.domain.simulators.seatunnel.tasks import (
    ENUMERATOR,
    READER,
    SeaTunnelTask,
    tasks_of,
)


class SeaTunnelRun(StreamMachine[SeaTunnelTask]):
    """The state of a running SeaTunnel job."""

    def __init__(
        self,
        plan: Any,
        topology: Topology,
        before: Self | None = None,
        steps: ModuleType | None = None,
    ) -> None:
        """Make a run that has not begun.

        Args:
            plan: what to simulate.
            topology: of the plan's dataflow.
            before: a run that has ended with the savepoint from which this one starts.
            steps: the step functions of the tasks, in place of SeaTunnel's own.
        """
        super().__init__(plan, topology)
        steps = steps or seatunnel_task
        self.tasks = tasks_of(
            self.dataflow, steps, plan.slow, plan.tx_timeout, self.lanes, plan.writer_commits
        )
        self.before = before
        self.changes = SchemaChanges(self, plan.schema_changes)
        self.splits = Splits(self, (before or self).dataflow, self.changes)
        for task in self.tasks.values():
            task.state = self.splits.fresh_state(task)
        self.numbering = Numbering()
        if before is not None:
            self._take_over(before)
        alignments = Alignments(self.log, self.counted)
        self.barriers = Barriers(self, alignments)
        self.pipelines = [
            Pipeline(self, self.barriers, self.changes, self.numbering, index)
            for index in range(len(self.dataflow.pipelines))
        ]
        self.skipping = (
            Skipping(self.counted, self.splits.source_of, plan.unrepeatable)
            if plan.failover == REGION
            else None
        )
        self.failover = Failover(self, self.splits, self.barriers, alignments, self.pipelines)

    def _take_over(self, before: Self) -> None:
        """Begin with what an earlier run has left in the sinks, and number on from it."""
        earlier = before.count()
        self.counted.written = {name: list(items) for name, items in earlier.written.items()}
        self.counted.tables = {name: dict(table) for name, table in earlier.tables.items()}
        self.numbering.next_cid = before.numbering.next_cid

    def begin(self) -> None:
        """Deploy all tasks, and plan the checkpoints."""
        for task in self.tasks.values():
            task.reset(task.state)
        if self.before is None:
            for task in self.tasks.values():
                self.committing.begin(task)
                self.plan_wake(task, 0)
        else:
            for pipeline, old in zip(self.pipelines, self.before.pipelines, strict=True):
                self.failover.start_from(pipeline, old, self.before.dataflow)
        for pipeline in self.pipelines:
            pipeline.begin()

    def fail(self, process: ProcessId) -> None:
        """Let a task die, and its pipeline with it."""
        self.failover.fail(process)

    def count(self) -> Counted:
        """Return what was counted, after the last event.

        What the run before has written counts too. If a job ended with a savepoint, only what it
        has read can be lost.
        """
        counted = self.counted
        counted.finished = all(item.state.status == FINISHED for item in self.pipelines)
        earlier = {} if self.before is None else self.before.counted.visible
        expected = self._expected()
        count_results(self.dataflow, self.tasks, counted, expected=expected, earlier=earlier)
        return counted

    def _expected(self) -> dict[str, set[Rid]]:
        expected = expected_rids((self.before or self).dataflow)
        if not self._is_suspended:
            return expected
        reached = {
            split: offset
            for task in self.tasks.values()
            if task.role in (ENUMERATOR, READER)
            for split, offset in task.state["splits"].items()
        }
        return {
            name: {rid for rid in rids if rid.offset < reached[rid.split]}
            for name, rids in expected.items()
        }

    @property
    def _is_suspended(self) -> bool:
        """Whether every pipeline has ended, one at least with a savepoint."""
        return self.has_ended and any(item.state.status == SUSPENDED for item in self.pipelines)

    @property
    def has_ended(self) -> bool:
        """Whether every pipeline has, with a savepoint or because all had been read."""
        return all(item.state.status in (FINISHED, SUSPENDED) for item in self.pipelines)

    # --- a task at work --------------------------------------------------------------------------

    def next_work(self, task: SeaTunnelTask) -> bool:
        """Begin what the task can do now; return whether it took no time and there may be more."""
        if task.role == ENUMERATOR:
            return self.splits.next_assignment(task)
        if task.role != READER:
            return self.next_item(task)
        lane = task.next_lane()
        if lane is None:
            self.splits.next_read(task)
            return False
        item = lane.take()
        take = self.splits.receive if item.is_record else self.take_control
        take(task, lane, item)
        return True

    def process(self, task: SeaTunnelTask, lane: AnyLane) -> None:
        """Take the record at the head of the channel, or skip it if it was taken before."""
        item = lane.input[0]
        assert item.record is not None  # the caller has seen a record at the head
        if self.skipping is not None:
            rid, _, value, _ = item.record
            label = self.skipping.label(task.vertex.id, task.taken, rid, value)
            if label is not None:
                self.log_receive(task, lane, lane.take(), item.record, label)
                return
        super().process(task, lane)

    def take_control(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        """Handle a barrier or a change of the schema, the only items beside records."""
        if item.kind == BARRIER:
            self.barriers.on_barrier(task, lane, item)
        else:
            self.changes.on_change(task, lane, item)

    # --- effects ---------------------------------------------------------------------------------

    def do(self, effect: object) -> None:
        """Carry out what concerns more than one part of the run."""
        match effect:
            case Acknowledge(cid, task):
                self._report(task, self._pipeline_of(task).on_ack, cid, task.id)
            case Confirm(cid, task):
                self._report(task, self._pipeline_of(task).on_confirmed, cid, task.id)
            case ReadyToClose(task):
                self._report(task, self._pipeline_of(task).ready_to_close, task.id)
            case AskForPoint(task, point):
                self._report(task, self._pipeline_of(task).on_schema_change, point)
            case FailPipeline(pipeline):
                self.failover.fail_pipeline(pipeline)

    def _report(self, task: SeaTunnelTask, step: Step, *arguments: object) -> None:
        """Send a message to the coordinator, which is lost if the task dies."""
        self.later(task, self.plan.control_delay, step, *arguments)

    def _pipeline_of(self, task: SeaTunnelTask) -> Pipeline:
        return self.pipelines[task.pipeline]
