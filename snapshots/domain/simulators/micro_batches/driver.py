"""The driver of a simulated micro-batch query: carries out what it decides, and logs it.

The decisions are the step functions in `protocols/spark_epochs.py`. The start of a task is left to
the run: ``RunTask`` is an effect of the steps here, too.
"""

from types import ModuleType

from snapshots.domain.dataflow_logs.dataflow import PLAIN, SINK, SOURCE
from snapshots.domain.dataflow_logs.kinds import BATCH_COMMIT, BATCH_PLAN, FINISH, SINK_WRITE
from snapshots.domain.model.recording import RECORD_CHANNEL, RECORD_STATE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.coordinator import CoordinatorProcess
from snapshots.domain.simulators.dataflows.functions import Split
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.micro_batches.tasks import BatchSink, SparkMachine, SparkTask
from snapshots.domain.simulators.protocols import spark_epochs
from snapshots.domain.simulators.protocols.spark_epochs import Batch

DRIVER = ProcessId("coordinator")


class Driver(CoordinatorProcess):
    """The driver's state, the sinks that it delivers to, and its events.

    ``alive`` means that the query runs. ``is_done`` means that all has been read.
    """

    def __init__(self, machine: SparkMachine, steps: ModuleType) -> None:
        super().__init__(machine, DRIVER)
        self.settings = machine.plan.batches
        self.steps = steps
        self.tasks: list[SparkTask] = list(machine.tasks.values())
        sources = (task for task in self.tasks if task.vertex.kind == SOURCE)
        self.splits = {task.id: Split(task.vertex, task.id) for task in sources}
        sinks = (vertex for vertex in machine.dataflow.vertices if vertex.kind == SINK)
        self.sinks = {vertex.id: BatchSink(vertex) for vertex in sinks}
        before = {
            task.id: frozenset(lane.channel.source for lane in task.inputs) for task in self.tasks
        }
        self.state = steps.start(self.settings, before, tuple(self.splits))
        self.is_done = False
        self.last_trigger = 0

    # --- what happens at the driver --------------------------------------------------------------

    def plan_trigger(self, delay: int) -> None:
        """Look for new records after the delay."""
        self.machine.later(self, delay, self._trigger)

    def _trigger(self) -> Effects:
        self.last_trigger = self.machine.queue.now
        reach = {split: self._reach(split) for split in self.splits}
        yield from self._act(self.steps.on_trigger(self.state, reach))
        if self.state.batch is None:
            self._wait_for_records(reach)

    def _reach(self, name: ProcessId) -> int:
        """Return the offset behind the split's last record that is there."""
        split, offset, now = self.splits[name], self.state.ends[name], self.machine.queue.now
        while offset <= split.vertex.records and split.available_at(offset) <= now:
            offset += 1
        return offset

    def _wait_for_records(self, reach: dict[ProcessId, int]) -> None:
        coming = [
            split.available_at(reach[name])
            for name, split in self.splits.items()
            if reach[name] <= split.vertex.records
        ]
        if coming:
            wait = min(coming) - self.machine.queue.now
            self.plan_trigger(max(self.settings.interval, wait))
            return
        self.is_done = True
        for task in self.tasks:
            self.machine.log.add(task.id, FINISH)

    def on_task_end(self, task: ProcessId) -> Effects:
        """Note that a task has done its part of the batch."""
        return self._act(self.steps.on_task_end(self.state, task))

    def on_task_failure(self, task: ProcessId) -> spark_epochs.Effect:
        """Note that a task has died; return whether it runs again or the query fails."""
        self.state, (decision,) = self.steps.on_task_failure(self.state, task)
        return decision

    def on_restart(self) -> Effects:
        """Go on with the batch that was not committed, or look for new records."""
        yield from self._act(self.steps.on_restart(self.state))
        if self.state.batch is None:
            yield from self._trigger()

    def _on_delivered(self) -> Effects:
        ends = {split: end for split, (_, end) in self.state.under_way.ranges.items()}
        splits = self.splits.items()
        times = (split.available_at(ends[name] - 1) for name, split in splits if ends[name] > 1)
        return self._act(self.steps.on_delivered(self.state, max(times, default=0)))

    # --- what the driver decides -----------------------------------------------------------------

    def _act(self, step: spark_epochs.Step) -> Effects:
        self.state, decisions = step
        for decision in decisions:
            match decision:
                case spark_epochs.Plan(batch):
                    self._log_plan(batch)
                case spark_epochs.RunTask():
                    yield decision
                case spark_epochs.Deliver(batch):
                    self._deliver(batch)
                case spark_epochs.Commit(batch, next_watermark):
                    self._commit(batch, next_watermark)

    def _log_plan(self, batch: Batch) -> None:
        extra = {
            "batch": batch.id,
            "attempt": batch.attempt,
            "ranges": {split: list(range_) for split, range_ in batch.ranges.items()},
            "watermark": batch.watermark,
        }
        self.log(BATCH_PLAN, extra, snapshot=str(batch.id))
        if batch.attempt == 1:
            self.record(batch.id)

    def _deliver(self, batch: Batch) -> None:
        for name, sink in self.sinks.items():
            own = [task for task in self.tasks if task.vertex is sink.vertex]
            written = [record for task in own for record in task.written]
            is_new = sink.deliver(batch.id, written)
            extra = {
                "batch": batch.id,
                "attempt": batch.attempt,
                "sink": name,
                "records": len(written),
                "skipped": (sink.vertex.sink != PLAIN and not is_new) or None,
            }
            self.log(SINK_WRITE, extra, snapshot=str(batch.id))
            for task in own:
                self._list_files(task, batch, is_new)
        self.machine.later(self, self.machine.plan.commit_time, self._on_delivered)

    def _list_files(self, task: SparkTask, batch: Batch, is_new: bool) -> None:
        """Enter the task's files in the manifest, which lists those of a batch only once."""
        if is_new:
            self.machine.committing.commit(task, batch.id)
        else:
            self.machine.committing.recover(task, (), None)

    def _commit(self, batch: Batch, next_watermark: int) -> None:
        extra = {"batch": batch.id, "attempt": batch.attempt, "next_watermark": next_watermark}
        self.complete(batch.id, BATCH_COMMIT, extra)
        for task in self.tasks:
            self._record_task(task, batch)
        wait = self.last_trigger + self.settings.interval - self.machine.queue.now
        self.plan_trigger(max(0, wait))

    def _record_task(self, task: SparkTask, batch: Batch) -> None:
        """Record the task and its empty channels, between this batch and the next."""
        log, snapshot = self.machine.log, str(batch.id)
        for lane in task.inputs:
            log.add(task.id, RECORD_CHANNEL, channel=lane.id, snapshot=snapshot, messages=())
            lane.sent.clear()
        extra = {"version": batch.id + 1}
        log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)
        task.versions.pop(batch.id, None)
        task.written = []
