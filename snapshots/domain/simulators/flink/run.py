"""A run under Flink's checkpoint protocol: what its sources, tasks and parts do together."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.dataflow_logs.kinds import END, FINISH
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Record, Rid, Split, expected_rids
from snapshots.domain.simulators.dataflows.lanes import (
    BARRIER,
    CANCEL,
    WATERMARK,
    Item,
    Lane,
)
from snapshots.domain.simulators.dataflows.lanes import END as END_ITEM
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import Effects, connect
from snapshots.domain.simulators.dataflows.transactions import COMMITTED, OPEN, PRECOMMITTED
from snapshots.domain.simulators.flink.barriers import Barriers, MayFinish
from snapshots.domain.simulators.flink.checkpoints import AnyMayFinish, Checkpoints
from snapshots.domain.simulators.flink.event_time import EventTime
from snapshots.domain.simulators.flink.failover import Failover
from snapshots.domain.simulators.flink.rescaling import Rescaling
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

UNSETTLED = (OPEN, PRECOMMITTED)


@dataclass(frozen=True)
class Earlier:
    """An earlier run that was stopped, and its checkpoint from which another one starts."""

    run: "FlinkRun"
    cid: int


class FlinkRun(StreamMachine[FlinkTask]):
    """The state of a running Flink job; ``ending`` tasks have read all and have not finished."""

    def __init__(
        self,
        plan: Any,
        topology: Topology,
        steps: ModuleType | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        """Make a run that has not begun.

        Args:
            plan: what to simulate.
            topology: of the plan's dataflow.
            steps: the step functions of the tasks, in place of Flink's own.
            earlier: the run from whose checkpoint this one starts.
        """
        super().__init__(plan, topology)
        self.earlier = earlier
        self.first_dataflow: Dataflow = (
            self.dataflow if earlier is None else earlier.run.first_dataflow
        )
        if steps is None:
            steps = flink_tracker if plan.checkpoints.mode == AT_LEAST_ONCE else flink_task
        windows = plan.event_time.windows
        self.tasks = tasks_of(
            self.dataflow, steps, plan.slow, plan.tx_timeout, windows, self.first_dataflow
        )
        self.logs_event_times = plan.event_time.interval is not None
        self.event_time = EventTime(self, plan.event_time)
        connect(self.dataflow, self.tasks, self.lanes)
        alignments = Alignments(self.log, self.counted, plan.checkpoints.buffers)
        self.snapshots = Snapshots(self)
        self.barriers = Barriers(self, self.snapshots, alignments)
        self.checkpoints = Checkpoints(self, self.dataflow.coordinators(one=True)[0])
        self.failover = Failover(
            self, self.checkpoints, self.snapshots, alignments, self.event_time
        )
        self.ending: list[FlinkTask] = []

    def begin(self) -> None:
        """Deploy all tasks, and plan the checkpoints."""
        if self.earlier is not None:
            self._take_over(self.earlier)
            self.failover.start_from(self.earlier.cid)
        else:
            for task in self.tasks.values():
                task.reset(task.state)
                self.committing.begin(task)
                self.event_time.begin(task)
                self.plan_wake(task, 0)
        self.checkpoints.begin()

    def _take_over(self, earlier: Earlier) -> None:
        """Begin with the shares of the checkpoint, and with what the run before left in sinks."""
        run, cid = earlier.run, earlier.cid
        snapshots = run.snapshots
        shares = Rescaling(
            self.dataflow,
            run.dataflow,
            snapshots.saved[cid],
            snapshots.channel_states.get(cid, {}),
        )
        self.snapshots.saved[cid] = shares.shares()
        self.snapshots.channel_states[cid] = shares.channels()
        self.checkpoints.go_on_from(cid, run.checkpoints)
        counted = run.counted
        self.counted.written = {name: list(items) for name, items in counted.written.items()}
        self.counted.tables = {name: dict(table) for name, table in counted.tables.items()}
        self._take_over_transactions(run, cid)

    def _take_over_transactions(self, run: Self, cid: int) -> None:
        """Hand on each transaction that the checkpoint names, and those that are to be aborted."""
        begun = max((task.tx.begun for task in run.tasks.values() if task.tx), default=0)
        owners = {
            name: self.tasks[owner]
            for owner, saved in self.snapshots.saved[cid].items()
            for name, _ in saved.pending
        }
        for former in run.tasks.values():
            for tx in former.tx.all.values() if former.tx is not None else ():
                place = former.index % self.dataflow.vertex_by_id[former.vertex.id].parallelism
                heir = self.tasks[ProcessId(f"{former.vertex.id}[{place}]")]
                owner = owners.get(tx.id, heir if tx.status in UNSETTLED else None)
                if owner is not None and owner.tx is not None:
                    owner.tx.all[tx.id] = tx
        for task in self.tasks.values():
            if task.tx is not None:
                task.tx.begun = begun

    def run_to_savepoint(self) -> int | None:
        """Run until a savepoint is complete, and return it; None if there is none."""
        for _ in self.events():
            if self.checkpoints.last_savepoint is not None:
                break
        return self.checkpoints.last_savepoint

    def run_to_failure(self, at: int) -> int | None:
        """Run until then, and return the newest completed checkpoint.

        The result is None if there is none, or if the run was over by then.
        """
        self.queue.at(at, setattr, self, "stopped", True)
        for _ in self.events():
            pass
        is_over = all(task.finished for task in self.tasks.values())
        return None if is_over else self.checkpoints.to_restore

    def fail(self, process: ProcessId) -> Effects:
        """Let a task die."""
        return self.failover.fail(process)

    def count(self) -> Counted:
        """Return what was counted, after the last event."""
        self.counted.finished = all(task.finished for task in self.tasks.values())
        count_results(
            self.dataflow,
            self.tasks,
            self.counted,
            expected=self._expected(),
            earlier=self._visible_before(),
        )
        return self.counted

    def _visible_before(self) -> dict[str, list[Record]]:
        """Return what earlier runs have committed in transactions that this one has not got."""
        if self.earlier is None:
            return {}
        run = self.earlier.run
        own = {name for task in self.tasks.values() if task.tx for name in task.tx.all}
        visible = run._visible_before()
        for task in run.tasks.values():
            for tx in task.tx.all.values() if task.tx is not None else ():
                if tx.status == COMMITTED and tx.id not in own:
                    visible.setdefault(task.vertex.id, []).extend(tx.records)
        return visible

    def _expected(self) -> dict[str, set[Rid]]:
        """Return what should be visible; of windows, those that have fired at least once."""
        runs: list[FlinkRun] = [self]
        while runs[-1].earlier is not None:
            runs.append(runs[-1].earlier.run)
        fired = {rid[:2] for run in runs for _, rid in run.counted.fired}
        splits = {name for task in self.tasks.values() for name in task.splits}
        return {
            sink: {rid for rid in rids if rid.split in splits or rid[:2] in fired}
            for sink, rids in expected_rids(self.first_dataflow, self.event_time.windows).items()
        }

    # --- a task at work --------------------------------------------------------------------------

    def next_work(self, task: FlinkTask) -> bool:
        """Begin what the task can do now; return whether it took no time and there may be more."""
        return self._next_read(task) if task.vertex.kind == SOURCE else self.next_item(task)

    def _next_read(self, task: FlinkTask) -> bool:
        if task.ended:
            return False
        waiting = task.next_read()
        if waiting is None:
            self._end(task)
            return True
        available, split, offset = waiting
        if available > self.queue.now:
            self.plan_wake(task, available - self.queue.now)
            return False
        self.occupy(task, self.cost_of(task), self._read, task, split, offset)
        return False

    def _read(self, task: FlinkTask, split: Split, offset: int) -> None:
        task.versions[ONLY_GROUP] += 1
        self.event_time.note_read(task, split.event_time(offset))
        self.read(task, split, offset, task.state_after(split, offset))

    def process(self, task: FlinkTask, lane: Any) -> None:
        """Take the record at the head of the channel; a window may drop it because it is late."""
        item = lane.head
        super().process(task, lane)
        if task.is_late:
            assert item is not None  # the caller has seen a record at the head
            assert item.record is not None
            record, task.is_late = item.record, False
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
