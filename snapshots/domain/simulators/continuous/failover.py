"""Failures of a simulated continuous query: no task runs again alone, the query starts again."""

from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.continuous.driver import Driver
from snapshots.domain.simulators.continuous.markers import Markers
from snapshots.domain.simulators.continuous.tasks import ContinuousMachine, ContinuousTask
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.functions import start_state
from snapshots.domain.simulators.dataflows.recovery import log_crash, restore
from snapshots.domain.simulators.dataflows.tasks import Effects


@dataclass(frozen=True, slots=True)
class Deploy:
    """Let a restored task run."""

    task: ContinuousTask


@dataclass(eq=False)
class Failover:
    """Stops and restarts the query."""

    machine: ContinuousMachine
    driver: Driver
    markers: Markers
    alignments: Alignments

    def fail(self, process: ProcessId) -> None:
        """Let a task or the driver die, and the query with it, unless it does not run."""
        machine, tasks = self.machine, self.machine.tasks
        if not self.driver.alive or self.driver.is_done:
            return
        attempt = tasks[process].attempt if process in tasks else self.driver.attempt
        log_crash(machine.log, process, "injected", attempt, tasks)
        if len(machine.counted.failures) >= machine.plan.most_restarts:
            machine.stopped = True
            return
        failure = Failure(machine.queue.now, process, tuple(tasks))
        machine.counted.failures.append(failure)
        self.driver.die()
        for task in tasks.values():
            self.alignments.stop(task)
        machine.queue.after(machine.plan.restart_delay, self._restart, failure)

    def _restart(self, failure: Failure) -> Effects:
        """Restore the newest committed epoch: what was reported after it does not count."""
        machine, epoch = self.machine, self.driver.restorable
        tasks = list(machine.tasks.values())
        failure.snapshot, failure.restarted_at = epoch, machine.queue.now
        self.driver.on_restart()
        for task in tasks:
            self._restore(task, epoch)
        sources = (task for task in tasks if task.vertex.kind == SOURCE)
        machine.rereading.expect(failure, {task.id: task.state["offset"] for task in sources})
        for task in tasks:
            yield Deploy(task)

    def _restore(self, task: ContinuousTask, epoch: int | None) -> None:
        start = start_state(task.vertex)
        state = start if epoch is None else self.markers.state_at(task.id, epoch)
        positions: dict[str, int] | None = None
        if task.vertex.kind == SOURCE:
            positions = {task.id: state["offset"]}
        log = self.machine.log
        restore(log, task, state, cid=epoch, positions=positions, lanes=task.inputs)
        task.epoch = self.driver.state.epoch
        self.machine.committing.recover(task, (), None)
