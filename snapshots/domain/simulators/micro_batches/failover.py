"""Failures of a simulated micro-batch query: a task runs again, or the whole query does.

Either starts from the version that bears the number of the batch under way, with the same ranges.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.recovery import log_crash, restore
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.micro_batches.driver import Driver
from snapshots.domain.simulators.micro_batches.tasks import Shuffle, SparkMachine, SparkTask
from snapshots.domain.simulators.protocols.spark_epochs import Batch, FailQuery, RunTask

TASK, QUERY = SPARK_FAILOVERS = ("task", "query")


@dataclass(eq=False)
class Failover:
    """Stops and restarts tasks, and the query."""

    machine: SparkMachine
    driver: Driver

    def fail(self, process: ProcessId) -> None:
        """Let a task or the driver die, unless it does not run."""
        if not self.driver.alive or self.driver.is_done:
            return
        task = self.machine.tasks.get(process)
        if task is None or self.machine.plan.failover == QUERY:
            self._fail_query(process, "injected", 0 if task is None else task.attempt)
        elif task.batch is not None:
            self._fail_task(task)

    def _fail_task(self, task: SparkTask) -> None:
        decision = self.driver.on_task_failure(task.id)
        if isinstance(decision, FailQuery):
            self._fail_query(task.id, decision.cause, task.attempt)
            return
        failure = self._count_failure(task.id, "injected", task.attempt, (task.id,))
        if failure is not None:
            task.die()
            delay = self.machine.plan.retry_delay
            self.machine.later(self.driver, delay, self._retry, task, decision.batch, failure)

    def _fail_query(self, process: ProcessId, cause: str, attempt: int) -> None:
        failure = self._count_failure(process, cause, attempt, tuple(self.machine.tasks))
        if failure is not None:
            self.driver.die()
            for task in self.machine.tasks.values():
                task.die()
            self.machine.queue.after(self.machine.plan.restart_delay, self._restart, failure)

    def _count_failure(
        self, process: ProcessId, cause: str, attempt: int, scope: tuple[ProcessId, ...]
    ) -> Failure | None:
        """Log and count a failure; return None if it is one too many, which ends the run."""
        machine = self.machine
        log_crash(machine.log, process, cause, attempt, scope)
        if len(machine.counted.failures) >= machine.plan.most_restarts:
            machine.stopped = True
            return None
        failure = Failure(machine.queue.now, process, scope)
        machine.counted.failures.append(failure)
        return failure

    def _retry(self, task: SparkTask, batch: Batch, failure: Failure) -> Effects:
        """Run the task again; if it had read anything, all that was sent to it is sent again."""
        has_read = any(len(lane.input) < len(lane.sent) for lane in task.inputs)
        again = [(lane, tuple(lane.sent)) for lane in task.inputs if has_read]
        self._restore(task, batch.id, [lane for lane, _ in again])
        for lane, records in again:
            sender = self.machine.tasks[lane.channel.source]
            for record in records:
                self.machine.send(sender, lane, record, restored=True)
        self._note_restart(failure, [task])
        yield RunTask(task.id, batch, again=True)

    def _restart(self, failure: Failure) -> Effects:
        self.driver.alive = True
        tasks = list(self.machine.tasks.values())
        for task in tasks:
            self._restore(task, self.driver.state.next_batch, task.inputs)
        self._note_restart(failure, tasks)
        return self.driver.on_restart()

    def _restore(self, task: SparkTask, version: int, lanes: Iterable[Shuffle]) -> None:
        """Restore a version of the state: the number of the batch that follows its snapshot."""
        state = task.versions[version]
        task.versions = {version: state}
        positions: dict[str, int] | None = None
        if task.vertex.kind == SOURCE:
            positions = {task.id: state["offset"]}
        cid = version - 1 if version else None
        restore(self.machine.log, task, state, cid=cid, positions=positions, lanes=lanes)
        self.machine.committing.recover(task, (), None)

    def _note_restart(self, failure: Failure, tasks: list[SparkTask]) -> None:
        next_batch = self.driver.state.next_batch
        failure.restarted_at = self.machine.queue.now
        failure.snapshot = next_batch - 1 if next_batch else None
        sources = (task for task in tasks if task.vertex.kind == SOURCE)
        positions: dict[str, int] = {task.id: task.state["offset"] for task in sources}
        self.machine.rereading.expect(failure, positions)
