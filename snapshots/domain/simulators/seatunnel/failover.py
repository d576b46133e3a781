"""Failures of a simulated SeaTunnel job: a pipeline is cancelled and restored, the others go on.

If failures are regional, only a part of the pipeline is: ``regions.py`` says which. A failure while
another restart is still to come restarts both parts together.

Splits do not go back to the readers that had them. All go to the enumerator, which hands them out
again, to as many readers as there are now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.dataflow_logs.kinds import SPLIT_RETURNED
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.recovery import Saved, log_crash, restore
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.protocols.seatunnel import EXPIRED, FAILOVER, Restore
from snapshots.domain.simulators.seatunnel.barriers import Barriers
from snapshots.domain.simulators.seatunnel.checkpoints import Pipeline
from snapshots.domain.simulators.seatunnel.regions import PIPELINE, RESTART, with_all_before
from snapshots.domain.simulators.seatunnel.rescaling import rescaled
from snapshots.domain.simulators.seatunnel.splits import Splits
from snapshots.domain.simulators.seatunnel.tasks import (
    ENUMERATOR,
    READER,
    SeaTunnelMachine,
    SeaTunnelTask,
)
from snapshots.domain.simulators.seatunnel.topology import committer_of

States = Mapping[ProcessId, Saved]
"""What a checkpoint holds of every process of a pipeline."""
Owners = dict[str, tuple[ProcessId, int]]
"""The splits by id: each has its reader and the offset that is read next."""


@dataclass(eq=False)
class Failover:
    """Stops pipelines, and restores them from checkpoints and savepoints."""

    machine: SeaTunnelMachine
    splits: Splits
    barriers: Barriers
    alignments: Alignments
    pipelines: Sequence[Pipeline]
    waiting: dict[int, Failure] = field(default_factory=dict)

    def fail(self, process: ProcessId) -> None:
        """Let a task die, unless it is down or its pipeline has ended."""
        task = self.machine.tasks[process]
        pipeline = self.pipelines[task.pipeline]
        if not task.alive or not pipeline.is_running:
            return
        scope, unrepeatable = self._scope(pipeline, task)
        log = self.machine.log
        log_crash(log, process, "injected", task.attempt, scope, unrepeatable)
        self._stop(pipeline, process, scope)

    def fail_pipeline(self, pipeline: Pipeline) -> None:
        """Stop a pipeline of which a checkpoint has timed out, and plan its restart."""
        self._stop(pipeline, None, pipeline.scope)

    def _scope(
        self, pipeline: Pipeline, failed: SeaTunnelTask
    ) -> tuple[tuple[ProcessId, ...], list[str]]:
        """Return who restarts, and the sources among them that cannot give the same again."""
        plan, everything = self.machine.plan, pipeline.scope
        if plan.failover == PIPELINE or not pipeline.may_restart:
            return everything, []
        before = self.waiting.get(pipeline.number)
        down = () if before is None else before.scope
        vertices = {self.machine.tasks[name].vertex.id for name in down} | {failed.vertex.id}
        vertices = with_all_before(self.machine.dataflow, vertices)
        unrepeatable = [name for name in plan.unrepeatable if name in vertices]
        if unrepeatable and plan.on_unrepeatable == RESTART:
            return everything, unrepeatable
        scope = (task.id for task in pipeline.tasks if task.vertex.id in vertices)
        return tuple(scope), unrepeatable

    def _stop(
        self, pipeline: Pipeline, process: ProcessId | None, scope: tuple[ProcessId, ...]
    ) -> None:
        """Stop tasks of a pipeline, and plan their restart unless there were too many.

        Args:
            pipeline: the one that fails.
            process: the task that died; None if a checkpoint has timed out.
            scope: the tasks that restart.
        """
        stopped = set(scope)
        going_on = [task for task in pipeline.tasks if task.id not in stopped]
        for task in pipeline.tasks:
            if task.id in stopped:
                self.alignments.stop(task)
        if going_on and pipeline.state.pending is not None:
            self.barriers.give_up(pipeline.state.pending.cid, going_on)
        reason = EXPIRED if process is None else FAILOVER
        for effect in pipeline.on_failure(reason, frozenset(task.id for task in going_on)):
            if isinstance(effect, Restore):
                now, delay = self.machine.queue.now, self.machine.plan.restart_delay
                failure = Failure(now, process, scope, snapshot=effect.cid)
                self.machine.counted.failures.append(failure)
                self.waiting[pipeline.number] = failure
                self.machine.queue.after(delay, self._restart, pipeline, failure)

    def start_from(self, pipeline: Pipeline, old: Pipeline, before: Dataflow) -> None:
        """Start a pipeline from the savepoint with which an earlier run has ended.

        Args:
            pipeline: the one that starts.
            old: the same pipeline of the earlier run.
            before: the dataflow of the earlier run.
        """
        cid = old.state.to_restore
        assert cid is not None  # the earlier run has ended with a savepoint
        saved = old.barriers.saved[cid]
        states = rescaled(self.machine.dataflow, before, pipeline.tasks, saved)
        self.barriers.schemas[cid] = old.barriers.schemas[cid]
        positions = self._restore(pipeline.tasks, states, owners_of(saved), cid)
        for task in pipeline.tasks:
            if task.role == ENUMERATOR:
                own = self.splits.by_source[task.vertex.id]
                states[task.id] = Saved({"splits": {name: positions[name] for name in own}})
        self.barriers.saved[cid] = states
        pipeline.go_on_from(cid, old.state.next_number)

    def _restart(self, pipeline: Pipeline, failure: Failure) -> Effects:
        if self.waiting[pipeline.number] is not failure:
            return ()  # a later failure restarts these tasks with its own
        del self.waiting[pipeline.number]
        failure.restarted_at = self.machine.queue.now
        cid, scope = failure.snapshot, set(failure.scope)
        states = {} if cid is None else self.barriers.saved[cid]
        tasks = [task for task in pipeline.tasks if task.id in scope]
        positions = self._restore(tasks, states, owners_of(states), cid)
        self.machine.rereading.expect(failure, positions)
        return pipeline.on_restored()

    def _restore(
        self, tasks: Sequence[SeaTunnelTask], states: States, owners: Owners, cid: int | None
    ) -> dict[str, int]:
        """Restore tasks, and return the next offset of each split of theirs.

        Args:
            tasks: the tasks to restore, with all before them.
            states: what the checkpoint holds; a task that is not listed starts afresh.
            owners: the readers that had splits.
            cid: the checkpoint; None starts from the beginning.
        """
        enumerators = [task for task in tasks if task.role == ENUMERATOR]
        for task in tasks:
            self._restore_task(task, states, owners, cid)
            task.taken.go_back(cid)
            task.schema = 1 if cid is None else self.barriers.schemas[cid]
        positions = {
            split: offset for task in enumerators for split, offset in task.state["splits"].items()
        }
        for task in tasks:
            if task.tx is not None:
                pending = states[task.id].pending if task.id in states else ()
                committer = None if task.commits_itself else committer_of(task.vertex.id)
                self.machine.committing.recover(task, pending, cid, committer)
                self.machine.committing.begin(task)
        for task in enumerators:
            self._return_splits(task, owners)
        for task in tasks:
            self.machine.plan_wake(task, 0)
        return positions

    def _restore_task(
        self, task: SeaTunnelTask, states: States, owners: Owners, cid: int | None
    ) -> None:
        state, positions = self.splits.fresh_state(task), None
        if task.role != READER and task.id in states:
            state = states[task.id].state
        if task.role == ENUMERATOR:
            own = self.splits.by_source[task.vertex.id]
            returned = {split: owners[split][1] for split in own if split in owners}
            positions = state["splits"] | returned
            state = {"splits": positions}
        lanes = task.inputs
        restore(self.machine.log, task, state, cid=cid, positions=positions, lanes=lanes)

    def _return_splits(self, enumerator: SeaTunnelTask, owners: Owners) -> None:
        """Hand out at once what readers had; what waited before is handed out when it is time."""
        returned = [split for split in enumerator.state["splits"] if split in owners]
        for split, reader in self.splits.owners(enumerator, returned):
            before, offset = owners[split]
            extra = {"split": split, "from": before, "to": reader, "offset": offset}
            self.machine.log.add(enumerator.id, SPLIT_RETURNED, extra)
            self.splits.hand_out(enumerator, split, reader)


def owners_of(states: States) -> Owners:
    """Return the splits that readers have, in the order of the readers."""
    return {
        split: (process, offset)
        for process, saved in states.items()
        if process.endswith("]")
        for split, offset in saved.state.get("splits", {}).items()
    }
