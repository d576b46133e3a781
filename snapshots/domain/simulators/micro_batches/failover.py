"""Failures of a micro-batch query: a task that runs again, or the whole query.

Either starts from the version that bears the number of the batch under way, with the same ranges.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.dataflow_logs.kinds import RESTART, TX_ABORT
from snapshots.domain.model.recording import CRASH, INTERNAL, RECEIVE, RESTORE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.machine import DISCARDED
from snapshots.domain.simulators.dataflows.tasks import value_text
from snapshots.domain.simulators.micro_batches.tasks import Shuffle, SparkTask
from snapshots.domain.simulators.protocols import spark_epochs
from snapshots.domain.simulators.protocols.spark_epochs import Batch

if TYPE_CHECKING:
    from snapshots.domain.simulators.micro_batches.run import SparkRun

TASK, QUERY = SPARK_FAILOVERS = ("task", "query")


class SparkFailover:
    def __init__(self, run: "SparkRun") -> None:
        self.run = run

    def fail(self, process: ProcessId) -> None:
        if not self.run.is_up or self.run.is_done:
            return
        task = self.run.tasks.get(process)
        if task is None or self.run.plan.failover == QUERY:
            self._fail_query(process, "injected", 0 if task is None else task.attempt)
        elif task.running:
            self._fail_task(task)

    def _fail_task(self, task: SparkTask) -> None:
        self.run.driver, effects = self.run.steps.on_task_failure(self.run.driver, task.id)
        (effect,) = effects
        if isinstance(effect, spark_epochs.FailQuery):
            self._fail_query(task.id, effect.cause, task.attempt)
            return
        if not self._count_failure(task.id, "injected", task.attempt, (task.id,)):
            return
        task.stop()
        task.attempt += 1
        failure = self.run.counted.failures[-1]
        self.run.later(self.run.plan.retry_delay, self._retry, task, effect.batch, failure)

    def _fail_query(self, process: ProcessId, cause: str, attempt: int) -> None:
        if not self._count_failure(process, cause, attempt, tuple(self.run.tasks)):
            return
        self.run.is_up = False
        self.run.epoch += 1
        for task in self.run.tasks.values():
            task.stop()
            task.attempt += 1
        self.run.queue.after(
            self.run.plan.restart_delay, self._restart, self.run.counted.failures[-1]
        )

    def _count_failure(
        self, process: ProcessId, cause: str, attempt: int, scope: tuple[ProcessId, ...]
    ) -> bool:
        """Whether the run goes on."""
        self.run.log.add(process, CRASH, {"cause": cause, "attempt": attempt, "scope": list(scope)})
        if len(self.run.counted.failures) >= self.run.plan.most_restarts:
            self.run.stopped = True
            return False
        self.run.counted.failures.append(Failure(self.run.queue.now, process, scope))
        return True

    def _retry(self, task: SparkTask, batch: Batch, failure: Failure) -> None:
        """From the version of the batch, reading again what those before it have sent."""
        has_read = any(len(item.waiting) < len(item.sent) for item in task.inputs)
        again = task.inputs if has_read else ()
        self._restore(task, batch.id, discard=again)
        for shuffle in again:
            for record in shuffle.sent:
                self.run.work.send(self.run.tasks[shuffle.source], shuffle, record, restored=True)
        self._note_restart(failure, [task])
        self.run.work.launch(task, batch)

    def _restart(self, failure: Failure) -> None:
        self.run.is_up = True
        for task in self.run.tasks.values():
            self._restore(task, self.run.driver.next_batch, discard=task.inputs)
            for shuffle in task.inputs:
                shuffle.sent.clear()
        self._note_restart(failure, list(self.run.tasks.values()))
        self.run.act(self.run.steps.on_restart(self.run.driver))
        if self.run.driver.batch is None:
            self.run.trigger()

    def _restore(self, task: SparkTask, version: int, discard: Iterable[Shuffle]) -> None:
        """version: of the state; the number of the batch that follows the snapshot."""
        task.state = task.versions[version]
        task.versions = {version: task.state}
        positions = {task.id: task.state["offset"]} if task.vertex.kind == SOURCE else None
        extra = {"attempt": task.attempt, "positions": positions}
        if version:
            self.run.log.add(task.id, RESTORE, extra, snapshot=str(version - 1))
        else:
            self.run.log.add(task.id, RESTART, extra)
        for shuffle in discard:
            self._discard(task, shuffle)
        self.run.log.add(task.id, INTERNAL, label="restored", state=task.state_text)
        self.drop_files(task)

    def _note_restart(self, failure: Failure, tasks: list[SparkTask]) -> None:
        failure.restarted_at = self.run.queue.now
        failure.snapshot = self.run.driver.next_batch - 1 if self.run.driver.next_batch else None
        positions = {task.id: task.state["offset"] for task in tasks if task.id in self.run.splits}
        self.run.rereading.expect(failure, positions)

    def _discard(self, task: SparkTask, shuffle: Shuffle) -> None:
        for message, record in shuffle.waiting:
            self.run.log.add(
                task.id,
                RECEIVE,
                {"rid": list(record.rid)},
                channel=shuffle.id,
                message=message,
                value=value_text(record),
                label=DISCARDED,
            )
        shuffle.waiting.clear()

    def drop_files(self, task: SparkTask) -> None:
        if task.tx is not None:
            _, aborted = task.tx.recover([], self.run.queue.now)
            for tx in aborted:
                self.run.log.add(task.id, TX_ABORT, {"tx": tx})
