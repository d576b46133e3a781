"""A micro-batch query as it runs: its driver carries out what the step functions decide."""

import random
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, PLAIN, SINK, SOURCE, TWO_PHASE
from snapshots.domain.dataflow_logs.kinds import (
    BATCH_COMMIT,
    BATCH_PLAN,
    FINISH,
    SINK_WRITE,
    TX_COMMIT,
)
from snapshots.domain.model.recording import INTERNAL, RECORD_CHANNEL, RECORD_STATE, LoggedEvent
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Counted, surplus
from snapshots.domain.simulators.dataflows.functions import Split, expected_rids
from snapshots.domain.simulators.dataflows.rereading import Rereading
from snapshots.domain.simulators.dataflows.tasks import EventLog, text_of
from snapshots.domain.simulators.event_queue import EventQueue
from snapshots.domain.simulators.micro_batches.failover import SparkFailover
from snapshots.domain.simulators.micro_batches.tasks import BatchSink, SparkTask, tasks_of
from snapshots.domain.simulators.micro_batches.work import SparkWork
from snapshots.domain.simulators.protocols import spark_epochs
from snapshots.domain.simulators.protocols.spark_epochs import Batch

if TYPE_CHECKING:
    from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation

DRIVER = ProcessId("coordinator")


class SparkRun:
    """The state of a running simulation. is_up: the query runs; epoch: how often it has begun."""

    def __init__(self, simulation: "SparkSimulation", steps: ModuleType | None = None) -> None:
        self.plan = simulation
        self.dataflow = simulation.dataflow
        self.steps = steps or spark_epochs
        self.rng = random.Random(simulation.seed)
        self.queue = EventQueue()
        self.log = EventLog(self.queue)
        self.counted = Counted()
        self.rereading = Rereading(self.queue)
        self.tasks = tasks_of(self.dataflow, simulation.topology(), dict(simulation.slow))
        self.splits = {
            task.id: Split(task.vertex, task.id)
            for task in self.tasks.values()
            if task.vertex.kind == SOURCE
        }
        self.sinks = {
            vertex.id: BatchSink(vertex) for vertex in self.dataflow.vertices if vertex.kind == SINK
        }
        before = {
            task.id: frozenset(shuffle.source for shuffle in task.inputs)
            for task in self.tasks.values()
        }
        self.driver = self.steps.start(simulation.batches, before, tuple(self.splits))
        self.work = SparkWork(self)
        self.failover = SparkFailover(self)
        self.completed = 0
        self.messages = 0
        self.epoch = 0
        self.is_up = True
        self.stopped = self.is_done = False
        self.last_trigger = 0

    def events(self) -> Iterator[LoggedEvent]:
        self.queue.at(0, self._if_up, self.epoch, self.trigger, ())
        for failure in self.plan.failures:
            self.queue.at(failure.at, self.failover.fail, failure.process)
        while self.queue and not self.stopped and self.log.lines <= self.plan.most_events:
            self.queue.run_next()
            yield from self.log.fresh
            self.log.fresh.clear()

    def count(self) -> Counted:
        """When all events have been made."""
        counted, expected = self.counted, expected_rids(self.dataflow)
        counted.finished = self.is_done
        counted.states = {task.id: task.state for task in self.tasks.values()}
        for name, sink in self.sinks.items():
            written = counted.written.setdefault(name, [])
            visible = sink.records
            if sink.vertex.sink == TWO_PHASE:
                own = (task for task in self.tasks.values() if task.vertex is sink.vertex)
                visible = [record for task in own for record in task.tx.committed()]
            counted.visible[name] = visible
            counted.duplicates[name] = surplus(visible)
            counted.rewritten[name] = surplus(written) if sink.vertex.sink == IDEMPOTENT else 0
            counted.lost[name] = len(expected[name] - {record.rid for record in visible})
        return counted

    # --- time ------------------------------------------------------------------------------------

    def later(self, delay: int, step, *arguments: object) -> None:
        """Plans a step of the driver, unless the query dies before."""
        self.queue.after(delay, self._if_up, self.epoch, step, arguments)

    def _if_up(self, epoch: int, step, arguments: tuple) -> None:
        if self.is_up and self.epoch == epoch:
            step(*arguments)

    def task_later(self, task: SparkTask, delay: int, step, *arguments: object) -> None:
        """Plans a step of this attempt of the task."""
        self.queue.after(delay, self._if_same, task, task.deployment, step, arguments)

    def _if_same(self, task: SparkTask, deployment: int, step, arguments: tuple) -> None:
        if task.deployment == deployment:
            step(task, *arguments)

    # --- the driver ------------------------------------------------------------------------------

    def act(self, step: spark_epochs.Step) -> None:
        self.driver, effects = step
        for effect in effects:
            match effect:
                case spark_epochs.Plan(batch):
                    self._write_plan(batch)
                case spark_epochs.RunTask(task, batch):
                    self.work.launch(self.tasks[task], batch)
                case spark_epochs.Deliver(batch):
                    self._deliver(batch)
                case spark_epochs.Commit(batch, next_watermark):
                    self._commit(batch, next_watermark)

    def note(self, kind: str, extra: dict | None = None, **fields: object) -> None:
        self.log.add(DRIVER, kind, extra, **fields)

    @property
    def _own_state(self) -> str:
        return text_of({"completed": self.completed})

    def trigger(self) -> None:
        self.last_trigger = now = self.queue.now
        reach = {split: self._reach(split) for split in self.splits}
        self.act(self.steps.on_trigger(self.driver, reach))
        if self.driver.batch is not None:
            return
        coming = [
            split.available_at(reach[name])
            for name, split in self.splits.items()
            if reach[name] <= split.vertex.records
        ]
        if coming:
            self.later(max(self.plan.batches.interval, min(coming) - now), self.trigger)
        else:
            self._finish()

    def _reach(self, split: str) -> int:
        """The offset behind the last record that is there."""
        records, offset = self.splits[split], self.driver.ends[split]
        while offset <= records.vertex.records and records.available_at(offset) <= self.queue.now:
            offset += 1
        return offset

    def _finish(self) -> None:
        """All has been read."""
        self.is_done = True
        for task in self.tasks.values():
            self.log.add(task.id, FINISH)

    def _write_plan(self, batch: Batch) -> None:
        extra = {
            "batch": batch.id,
            "attempt": batch.attempt,
            "ranges": {split: list(range_) for split, range_ in batch.ranges.items()},
            "watermark": batch.watermark,
        }
        self.note(BATCH_PLAN, extra, snapshot=str(batch.id))
        if batch.attempt == 1:
            self.note(RECORD_STATE, snapshot=str(batch.id), state=self._own_state)

    def _deliver(self, batch: Batch) -> None:
        for name, sink in self.sinks.items():
            own = [task for task in self.tasks.values() if task.vertex is sink.vertex]
            written = [record for task in own for record in task.written]
            is_new = sink.deliver(batch.id, written)
            extra = {
                "batch": batch.id,
                "attempt": batch.attempt,
                "sink": name,
                "records": len(written),
                "skipped": (sink.vertex.sink != PLAIN and not is_new) or None,
            }
            self.note(SINK_WRITE, extra, snapshot=str(batch.id))
            for task in own:
                self._list_files(task, batch, is_new)
        self.later(self.plan.commit_time, self._delivered)

    def _list_files(self, task: SparkTask, batch: Batch, is_new: bool) -> None:
        """In the manifest; those of a batch that is there already are never listed."""
        if task.tx is None:
            return
        if is_new:
            for tx, _ in task.tx.commit(batch.id, self.queue.now):
                self.log.add(task.id, TX_COMMIT, {"tx": tx}, snapshot=str(batch.id))
        else:
            self.failover.drop_files(task)

    def _delivered(self) -> None:
        read = (split for split, (_, end) in self.driver.batch.ranges.items() if end > 1)
        latest = max(
            (
                self.splits[split].available_at(self.driver.batch.ranges[split][1] - 1)
                for split in read
            ),
            default=0,
        )
        self.act(self.steps.on_delivered(self.driver, latest))

    def _commit(self, batch: Batch, next_watermark: int) -> None:
        snapshot = str(batch.id)
        extra = {"batch": batch.id, "attempt": batch.attempt, "next_watermark": next_watermark}
        self.note(BATCH_COMMIT, extra, snapshot=snapshot)
        self.completed += 1
        self.counted.completed.append(batch.id)
        self.note(INTERNAL, label="completed", state=self._own_state)
        version = batch.id + 1
        for task in self.tasks.values():
            for shuffle in task.inputs:
                self.log.add(
                    task.id, RECORD_CHANNEL, channel=shuffle.id, snapshot=snapshot, messages=()
                )
                shuffle.sent.clear()
            extra = {"version": version}
            self.log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)
            task.versions.pop(batch.id, None)
            task.written = []
        wait = self.last_trigger + self.plan.batches.interval - self.queue.now
        self.later(max(0, wait), self.trigger)
