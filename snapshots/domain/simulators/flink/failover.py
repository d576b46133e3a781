"""Failures of a simulated dataflow: who is restarted, and from what.

Source: Flink, RestartPipelinedRegionFailoverStrategy and RestartAllFailoverStrategy.
"""

from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.dataflow_logs.kinds import RESTART, TX_ABORT, TX_RECOVER_COMMIT
from snapshots.domain.model.recording import CRASH, INTERNAL, RESTORE
from snapshots.domain.model.topology import Channel, ProcessId, Topology
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.functions import start_state
from snapshots.domain.simulators.dataflows.rereading import Rereading
from snapshots.domain.simulators.dataflows.tasks import SimTask

if TYPE_CHECKING:
    from snapshots.domain.simulators.flink.simulation import Run

FULL, REGION, PIPELINE = FAILOVERS = ("full", "region", "pipeline")


def scope_of(dataflow: Dataflow, failover: str, failed: ProcessId) -> tuple[ProcessId, ...]:
    """The tasks that are restarted: all, those of the pipeline, or those of the region (to which
    channels join the failed one), in the order of the vertices."""
    if failover == REGION:
        return next(region for region in dataflow.regions if failed in region)
    everything = dataflow.subtasks
    if failover == PIPELINE:
        vertex = dataflow.subtask_by_id[failed].vertex
        pipeline = next(names for names in dataflow.pipelines if vertex in names)
        everything = [subtask for subtask in everything if subtask.vertex in pipeline]
    return tuple(subtask.id for subtask in everything)


def crossing(topology: Topology, scope: tuple[ProcessId, ...]) -> tuple[Channel, ...]:
    """Channels between the scope and the rest: with one, a restart of the scope alone would lose or
    repeat what lies in it."""
    inside = set(scope)
    return tuple(
        channel
        for channel in topology.channels
        if (channel.source in inside) != (channel.target in inside)
    )


class Failover:
    def __init__(self, run: "Run") -> None:
        self.run = run
        self.rereading = Rereading(run.queue)

    def fail(self, process: ProcessId, cause: str) -> None:
        task = self.run.tasks[process]
        if not task.alive or task.finished:
            return
        scope = scope_of(self.run.dataflow, self.run.plan.failover, process)
        extra = {"cause": cause, "attempt": task.attempt, "scope": list(scope)}
        self.run.log.add(process, CRASH, extra)
        self._fail(Failure(self.run.queue.now, process, scope))

    def fail_job(self, cause: str) -> None:
        """More checkpoints have failed than are tolerated: everything starts again."""
        if not all(task.alive for task in self.run.tasks.values()):
            return
        self._fail(Failure(self.run.queue.now, None, tuple(self.run.tasks)))

    def _fail(self, failure: Failure) -> None:
        run = self.run
        if len(run.counted.failures) >= run.plan.most_restarts:
            run.stopped = True
            return
        run.counted.failures.append(failure)
        for name in failure.scope:
            task = run.tasks[name]
            task.alive = False
            task.attempt += 1
            for channel in list(task.blocked_since):
                run.checkpoints.count_blocked(task, channel)
        run.checkpoints.give_up_all()
        run.queue.after(run.plan.restart_delay, self._restart, failure)

    def _restart(self, failure: Failure) -> None:
        run = self.run
        cid = run.checkpoints.to_restore
        failure.snapshot, failure.restarted_at = cid, run.queue.now
        tasks = [task for task in run.tasks.values() if task.id in set(failure.scope)]
        for task in tasks:
            self._restore(task, cid)
        for task in tasks:
            self._put_back(task, cid)
        sources = (task for task in tasks if task.vertex.kind == SOURCE)
        self.rereading.expect(failure, {task.id: task.state["offset"] for task in sources})
        for task in tasks:
            run.plan_wake(task, 0)

    def _restore(self, task: SimTask, cid: int | None) -> None:
        run = self.run
        saved = None if cid is None else run.checkpoints.snapshots.saved[cid][task.id]
        state = start_state(task.vertex) if saved is None else saved.state
        positions = {task.id: state["offset"]} if task.vertex.kind == SOURCE else None
        extra = {"attempt": task.attempt, "positions": positions}
        if cid is None:
            run.log.add(task.id, RESTART, extra)
        else:
            run.log.add(task.id, RESTORE, extra, snapshot=str(cid))
        for lane in task.inputs:
            run.discard(task, lane)
        task.reset(state)
        task.base = {}
        run.log.add(task.id, INTERNAL, label="restored", state=task.state_text)
        if task.tx is not None:
            pending = [] if saved is None else list(saved.pending)
            self._recover(task, pending)
            run.begin_transaction(task)

    def _recover(self, task: SimTask, pending: list[tuple[str, int]]) -> None:
        run = self.run
        checkpoint_of = dict(pending)
        committed, aborted = task.tx.recover(pending, run.queue.now)
        for tx, status in committed:
            run.checkpoints.log_commit(task, tx, status, TX_RECOVER_COMMIT, checkpoint_of[tx])
        for tx in aborted:
            run.log.add(task.id, TX_ABORT, {"tx": tx})

    def _put_back(self, task: SimTask, cid: int | None) -> None:
        """The channel state of the checkpoint, before anything new."""
        if cid is None:
            return
        states = self.run.checkpoints.snapshots.channel_states.get(cid, {})
        for lane in task.outputs.values():
            for record in states.get(lane.id, ()):
                self.run.send(task, lane, record, restored=True)
