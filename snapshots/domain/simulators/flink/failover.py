"""Failures of a simulated Flink job: which tasks are restarted, and from what.

Source: Flink, RestartPipelinedRegionFailoverStrategy and RestartAllFailoverStrategy.
"""

from dataclasses import dataclass
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.functions import is_keyed, start_state
from snapshots.domain.simulators.dataflows.lanes import WATERMARK, Item
from snapshots.domain.simulators.dataflows.recovery import Saved, log_crash, restore
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.flink.checkpoints import Checkpoints
from snapshots.domain.simulators.flink.event_time import EventTime, label_of, logged
from snapshots.domain.simulators.flink.rescaling import positions_of
from snapshots.domain.simulators.flink.snapshots import Snapshots
from snapshots.domain.simulators.flink.tasks import FlinkMachine, FlinkTask
from snapshots.domain.simulators.protocols.flink_watermarks import risen

FULL, REGION, PIPELINE = FAILOVERS = ("full", "region", "pipeline")


def scope_of(dataflow: Dataflow, failover: str, failed: ProcessId) -> tuple[ProcessId, ...]:
    """Return the tasks that are restarted, in the order of the vertices.

    Args:
        failover: FULL restarts all tasks, PIPELINE those of the pipeline, and REGION those to which
            channels join the failed one.
        failed: the task that has failed.
    """
    if failover == REGION:
        return next(region for region in dataflow.regions if failed in region)
    everything = dataflow.subtasks
    if failover == PIPELINE:
        vertex = dataflow.subtask_by_id[failed].vertex
        pipeline = next(names for names in dataflow.pipelines if vertex in names)
        everything = tuple(subtask for subtask in everything if subtask.vertex in pipeline)
    return tuple(subtask.id for subtask in everything)


@dataclass(eq=False)
class Failover:
    """Stops and restarts tasks."""

    machine: FlinkMachine
    checkpoints: Checkpoints
    snapshots: Snapshots
    alignments: Alignments
    event_time: EventTime

    def fail(self, process: ProcessId) -> Effects:
        """Let a task die, unless it is down or has finished."""
        machine, task = self.machine, self.machine.tasks[process]
        if not task.alive or task.finished:
            return ()
        scope = scope_of(machine.dataflow, machine.plan.failover, process)
        log_crash(machine.log, process, "injected", task.attempt, scope)
        return self._fail(Failure(machine.queue.now, process, scope))

    def fail_job(self) -> Effects:
        """Start everything again: more checkpoints have failed than are tolerated."""
        tasks = self.machine.tasks
        if not all(task.alive for task in tasks.values()):
            return ()
        return self._fail(Failure(self.machine.queue.now, None, tuple(tasks)))

    def _fail(self, failure: Failure) -> Effects:
        machine = self.machine
        if len(machine.counted.failures) >= machine.plan.most_restarts:
            machine.stopped = True
            return
        machine.counted.failures.append(failure)
        self.event_time.note_failure(failure)
        for name in failure.scope:
            self.alignments.stop(machine.tasks[name])
        yield from self.checkpoints.on_failover()
        machine.queue.after(machine.plan.restart_delay, self._restart, failure)

    def _restart(self, failure: Failure) -> None:
        machine, cid = self.machine, self.checkpoints.to_restore
        failure.snapshot, failure.restarted_at = cid, machine.queue.now
        tasks = [task for task in machine.tasks.values() if task.id in set(failure.scope)]
        self._deploy(tasks, cid)
        positions: dict[str, int] = {}
        for task in tasks:
            if task.vertex.kind == SOURCE:
                positions |= positions_of(task.id, task.state)
        machine.rereading.expect(failure, positions)

    def start_from(self, cid: int) -> None:
        """Deploy all tasks with the state that a checkpoint of an earlier run gives them."""
        self._deploy(list(self.machine.tasks.values()), cid, is_start=True)

    def _deploy(self, tasks: list[FlinkTask], cid: int | None, *, is_start: bool = False) -> None:
        for task in tasks:
            self._restore(task, cid, is_start)
        for task in tasks:
            self._put_back(task, cid)
        for task in tasks:
            self.event_time.begin(task)
            self.machine.plan_wake(task, 0)

    def _restore(self, task: FlinkTask, cid: int | None, is_start: bool) -> None:
        start = Saved(start_state(task.vertex))
        saved = start if cid is None else self.snapshots.saved[cid][task.id]
        positions: dict[str, int] | None = None
        if task.vertex.kind == SOURCE:
            positions = positions_of(task.id, saved.state)
        log, committing = self.machine.log, self.machine.committing
        watermark = self._kept_watermark(task, cid)
        restore(
            log,
            task,
            saved.state,
            cid=cid,
            positions=positions,
            watermark=None if watermark is None else (logged(watermark), label_of(watermark)),
            shared=self._shared(task, saved, cid) if is_start else None,
            lanes=task.inputs,
        )
        if watermark is not None:
            task.valve = risen(task.valve, watermark)
        task.base = {}
        committing.recover(task, saved.pending, cid)
        committing.begin(task)

    def _shared(self, task: FlinkTask, saved: Saved, cid: int | None) -> dict[str, Any]:
        """Return where the share of a task comes from, and what lies on its inputs."""
        contents = {} if cid is None else self.snapshots.channel_states[cid]
        counts = {lane.id: len(contents.get(lane.id, ())) for lane in task.inputs}
        return {
            "from": list(saved.origins or ()),
            "keys": len(saved.state) if is_keyed(task.vertex) else None,
            "in_flight": {name: count for name, count in counts.items() if count} or None,
        }

    def _kept_watermark(self, task: FlinkTask, cid: int | None) -> int | None:
        """Return the smallest watermark in the union of what the vertex keeps as state."""
        saved = {} if cid is None else self.snapshots.saved[cid]
        kept = (
            part.watermark
            for name, part in saved.items()
            if self.machine.tasks[name].vertex is task.vertex
        )
        return min((watermark for watermark in kept if watermark is not None), default=None)

    def _put_back(self, task: FlinkTask, cid: int | None) -> None:
        """Send the checkpoint's channel states before anything new."""
        states = {} if cid is None else self.snapshots.channel_states.get(cid, {})
        for lane in task.outputs.values():
            for item in states.get(lane.id, ()):
                if item.record is None:
                    lane.put(Item(WATERMARK, watermark=item.watermark, is_idle=item.is_idle))
                else:
                    self.machine.send(task, lane, item.record, restored=True)
