"""A run under Flink's checkpoint protocol: what its sources, tasks and parts do together."""

from types import ModuleType
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.dataflow_logs.kinds import END, FINISH
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Rid, expected_rids
from snapshots.domain.simulators.dataflows.lanes import (
    BARRIER,
    CANCEL,
    WATERMARK,
    AnyLane,
    Item,
    Lane,
)
from snapshots.domain.simulators.dataflows.lanes import END as END_ITEM
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import Effects, connect
from snapshots.domain.simulators.flink.barriers import Barriers, MayFinish
from snapshots.domain.simulators.flink.checkpoints import AnyMayFinish, Checkpoints
from snapshots.domain.simulators.flink.event_time import EventTime
from snapshots.domain.simulators.flink.failover import Failover
from snapshots.domain.simulators.flink.snapshots import Acknowledge, Snapshots
from snapshots.domain.simulators.flink.tasks import ONLY_GROUP, FlinkTask, tasks_of
from snapshots.domain.simulators.protocols import flink_task, flink_tracker
from snapshots.domain.simulators.protocols.flink_coordinator import (
    FailJob,
    Notify,
    Pending,
    Trigger,
)
from snapshots.domain.simulators.protocols.flink_task import AT_LEAST_ONCE, Decline


class FlinkRun(StreamMachine[FlinkTask]):
    """The state of a running Flink job; ``ending`` tasks have read all and have not finished."""

    def __init__(self, plan: Any, topology: Topology, steps: ModuleType | None = None) -> None:
        super().__init__(plan, topology)
        if steps is None:
            steps = flink_tracker if plan.checkpoints.mode == AT_LEAST_ONCE else flink_task
        windows = plan.event_time.windows
        self.tasks = tasks_of(self.dataflow, steps, plan.slow, plan.tx_timeout, windows)
        self.logs_event_times = plan.event_time.interval is not None
        self.event_time = EventTime(self, plan.event_time)
        connect(self.dataflow, self.tasks, self.lanes)
        alignments = Alignments(self.log, self.counted)
        self.snapshots = Snapshots(self)
        self.barriers = Barriers(self, self.snapshots, alignments)
        self.checkpoints = Checkpoints(self, self.dataflow.coordinators(one=True)[0])
        self.failover = Failover(
            self, self.checkpoints, self.snapshots, alignments, self.event_time
        )
        self.ending: list[FlinkTask] = []

    def begin(self) -> None:
        """Deploy all tasks, and plan the checkpoints."""
        for task in self.tasks.values():
            task.reset(task.state)
            self.committing.begin(task)
            self.event_time.begin(task)
            self.plan_wake(task, 0)
        self.checkpoints.begin()

    def fail(self, process: ProcessId) -> Effects:
        """Let a task die."""
        return self.failover.fail(process)

    def count(self) -> Counted:
        """Return what was counted, after the last event."""
        self.counted.finished = all(task.finished for task in self.tasks.values())
        count_results(self.dataflow, self.tasks, self.counted, expected=self._expected())
        return self.counted

    def _expected(self) -> dict[str, set[Rid]]:
        """Return what should be visible; of windows, those that have fired at least once."""
        fired = {rid[:2] for _, rid in self.counted.fired}
        splits = {task.id for task in self.tasks.values() if task.split is not None}
        return {
            sink: {rid for rid in rids if rid.split in splits or rid[:2] in fired}
            for sink, rids in expected_rids(self.dataflow, self.event_time.windows).items()
        }

    # --- a task at work --------------------------------------------------------------------------

    def next_work(self, task: FlinkTask) -> bool:
        """Begin what the task can do now; return whether it took no time and there may be more."""
        return self._next_read(task) if task.vertex.kind == SOURCE else self.next_item(task)

    def _next_read(self, task: FlinkTask) -> bool:
        if task.ended:
            return False
        offset = task.state["offset"]
        if offset > task.vertex.records:
            self._end(task)
            return True
        available = task.own_split.available_at(offset)
        if available > self.queue.now:
            self.plan_wake(task, available - self.queue.now)
            return False
        self.occupy(task, self.cost_of(task), self._read, task, offset)
        return False

    def _read(self, task: FlinkTask, offset: int) -> None:
        task.versions[ONLY_GROUP] += 1
        self.event_time.note_read(task, offset)
        self.read(task, task.own_split, offset, {"offset": offset + 1})

    def process(self, task: FlinkTask, lane: AnyLane) -> None:
        """Take the record at the head of the channel; a window may drop it because it is late."""
        record = lane.input[0].record
        super().process(task, lane)
        if task.is_late:
            assert record is not None  # the caller has seen a record at the head
            task.is_late = False
            self.event_time.log_late(task, record)

    def barrier_arrived(self, task: FlinkTask, lane: Lane, item: Item) -> None:
        """Note that a barrier has come into the receiver's buffer."""
        self.barriers.on_arrival(task, lane, item)

    def take_control(self, task: FlinkTask, lane: Lane, item: Item) -> Effects:
        """Handle a barrier, a cancellation, or the end of a channel."""
        if item.kind == BARRIER:
            yield from self.barriers.on_barrier(task, lane, item)
        elif item.kind == CANCEL:
            assert item.cid is not None  # every cancellation names its checkpoint
            yield from self.barriers.on_cancel(task, lane, item.cid)
        elif item.kind == WATERMARK:
            self.event_time.on_item(task, lane, item)
        else:
            self.log.add(task.id, END, channel=lane.id)
            yield from self.barriers.on_end(task, lane)
            if len(task.handler.ended) == len(task.inputs):
                self._end(task)

    def _end(self, task: FlinkTask) -> None:
        """Note that the task has read all its input."""
        self.event_time.end(task)
        task.ended = True
        self.log.add(task.id, END)
        for lane in task.outputs.values():
            lane.put(Item(END_ITEM))
        self._finish_if_done(task)

    # --- effects ---------------------------------------------------------------------------------

    def do(self, effect: object) -> None:
        """Carry out what concerns more than one part of the run."""
        match effect:
            case MayFinish(task):
                self._finish_if_done(task)
            case AnyMayFinish():
                for task in list(self.ending):
                    self._finish_if_done(task)
            case Acknowledge(cid, task):
                self.queue.after(self.plan.control_delay, self.checkpoints.on_ack, cid, task)
            case Decline(cid, reason):
                self.queue.after(self.plan.control_delay, self.checkpoints.on_decline, cid, reason)
            case Trigger(pending):
                self._trigger(pending)
            case Notify(cid, what, names):
                for task in (self.tasks[name] for name in names):
                    if task.alive:
                        self.tell(task, self.barriers.on_notice, task, cid, what)
            case FailJob():
                self.carry_out(self.failover.fail_job())

    def _trigger(self, pending: Pending) -> None:
        barrier = self.checkpoints.barrier_of(pending)
        for task in self.tasks.values():
            if task.finished:
                self.snapshots.record_finished(task, barrier)
        for name in pending.plan.to_trigger:
            task = self.tasks[name]
            self.tell(task, self.barriers.on_trigger, task, barrier)

    # --- the end of a task -----------------------------------------------------------------------

    def _finish_if_done(self, task: FlinkTask) -> None:
        """Finish a task that has read all its input and is needed no longer."""
        if not task.alive or not task.ended or task.finished:
            return
        if task not in self.ending:
            self.ending.append(task)
        if not self._is_drained(task) or self._has_to_record(task) or self._has_to_commit(task):
            return
        task.finished = True
        self.ending.remove(task)
        self.log.add(task.id, FINISH)
        for lane in task.outputs.values():
            self._finish_if_done(self.tasks[lane.channel.target])

    def _is_drained(self, task: FlinkTask) -> bool:
        """Whether those before it have finished, and its last outputs have been taken."""
        senders = (self.tasks[lane.channel.source] for lane in task.inputs)
        outputs = task.outputs.values()
        return all(sender.finished for sender in senders) and all(out.is_empty for out in outputs)

    def _has_to_record(self, task: FlinkTask) -> bool:
        """Whether a checkpoint under way still needs the task's state."""
        return any(
            task.id in pending.waiting and pending.cid not in task.recorded
            for pending in self.checkpoints.state.pending.values()
        )

    def _has_to_commit(self, task: FlinkTask) -> bool:
        """Whether no complete checkpoint holds all that a two-phase sink has written."""
        if task.tx is None or not self.checkpoints.are_taken:
            return False
        return task.final_cid is None or task.final_cid > task.last_complete
