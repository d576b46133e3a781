"""Failures of a SeaTunnel job: a pipeline is cancelled and restored, the others go on.

Splits do not go back to the readers that had them: all go to the enumerator, which hands them out
anew, to as many readers as there are now.
"""

from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.kinds import (
    RESTART,
    SPLIT_RETURNED,
    TX_ABORT,
    TX_RECOVER_COMMIT,
)
from snapshots.domain.model.recording import CRASH, INTERNAL, RESTORE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Failure
from snapshots.domain.simulators.dataflows.rereading import Rereading
from snapshots.domain.simulators.flink.snapshots import Saved
from snapshots.domain.simulators.protocols.seatunnel import (
    EXPIRED,
    FAILOVER,
    Drop,
    GiveUp,
    Restore,
    on_failure,
)
from snapshots.domain.simulators.seatunnel.checkpoints import PipelineCheckpoints
from snapshots.domain.simulators.seatunnel.rescaling import rescaled
from snapshots.domain.simulators.seatunnel.tasks import ENUMERATOR, READER, SeaTunnelTask
from snapshots.domain.simulators.seatunnel.topology import committer_of

if TYPE_CHECKING:
    from snapshots.domain.simulators.seatunnel.run import SeaTunnelRun

States = dict[ProcessId, Saved]
"""What a checkpoint holds of every process of a pipeline."""
Splits = dict[str, tuple[ProcessId, int]]
"""Of each split that a reader had, that reader and the next offset."""


class SeaTunnelFailover:
    def __init__(self, run: "SeaTunnelRun") -> None:
        self.run = run
        self.rereading = Rereading(run.queue)

    def fail(self, process: ProcessId) -> None:
        task = self.run.tasks[process]
        pipeline = self.run.pipeline_of(task)
        if not task.alive or not pipeline.is_running:
            return
        scope = [other.id for other in pipeline.tasks]
        extra = {"cause": "injected", "attempt": task.attempt, "scope": scope}
        self.run.log.add(process, CRASH, extra)
        self.fail_pipeline(pipeline, process)

    def fail_pipeline(self, pipeline: PipelineCheckpoints, process: ProcessId | None) -> None:
        """process: None where its checkpoint has timed out."""
        run = self.run
        for task in pipeline.tasks:
            task.alive = False
            task.attempt += 1
            for channel in list(task.blocked_since):
                pipeline.count_blocked(task, channel)
        pipeline.epoch += 1
        pipeline.state, effects = on_failure(
            pipeline.state, EXPIRED if process is None else FAILOVER
        )
        for effect in effects:
            match effect:
                case Drop():
                    pipeline.act((pipeline.state, (effect,)))
                case Restore(cid):
                    scope = tuple(task.id for task in pipeline.tasks)
                    failure = Failure(run.queue.now, process, scope, snapshot=cid)
                    run.counted.failures.append(failure)
                    run.queue.after(run.plan.restart_delay, self._restart, pipeline, failure)
                case GiveUp():
                    pass

    def start_from(self, before: "SeaTunnelRun") -> None:
        """A new run of the job: each pipeline from the savepoint of the one before."""
        for pipeline, old in zip(self.run.pipelines, before.pipelines, strict=True):
            cid = old.state.to_restore
            saved = old.saved[cid]
            states = rescaled(self.run.dataflow, before.dataflow, pipeline.tasks, saved)
            positions = self._restore(pipeline, states, splits_of(saved), cid)
            for task in pipeline.tasks:
                if task.role == ENUMERATOR:
                    own = self.run.splits[task.vertex.id]
                    states[task.id] = Saved({"splits": {name: positions[name] for name in own}})
            pipeline.go_on_from(cid, old.state.next_number, states)

    def _restart(self, pipeline: PipelineCheckpoints, failure: Failure) -> None:
        failure.restarted_at = self.run.queue.now
        cid = failure.snapshot
        states = None if cid is None else pipeline.saved[cid]
        splits = {} if states is None else splits_of(states)
        positions = self._restore(pipeline, states, splits, cid)
        self.rereading.expect(failure, positions)
        pipeline.restored()

    def _restore(
        self,
        pipeline: PipelineCheckpoints,
        states: States | None,
        splits: Splits,
        cid: int | None,
    ) -> dict[str, int]:
        """The next offset of every split. states: None: from the start."""
        positions: dict[str, int] = {}
        for task in pipeline.tasks:
            saved = None if states is None else states[task.id]
            state = self.run.fresh_state(task) if saved is None else saved.state
            if task.role == ENUMERATOR:
                own = self.run.splits[task.vertex.id]
                returned = {split: splits[split][1] for split in own if split in splits}
                state = {"splits": state["splits"] | returned}
                positions |= state["splits"]
            elif task.role == READER:
                state = self.run.fresh_state(task)
            self._restore_task(task, state, cid)
        for task in pipeline.tasks:
            if task.tx is not None:
                self._recover(task, () if states is None else states[task.id].pending)
                self.run.begin_transaction(task)
        for task in pipeline.tasks:
            if task.role == ENUMERATOR:
                self._return_splits(task, splits)
        for task in pipeline.tasks:
            self.run.plan_wake(task, 0)
        return positions

    def _restore_task(self, task: SeaTunnelTask, state: dict, cid: int | None) -> None:
        run = self.run
        positions = state["splits"] if task.role == ENUMERATOR else None
        extra = {"attempt": task.attempt, "positions": positions}
        if cid is None:
            run.log.add(task.id, RESTART, extra)
        else:
            run.log.add(task.id, RESTORE, extra, snapshot=str(cid))
        for lane in task.inputs:
            run.discard(task, lane)
        task.reset(state)
        run.log.add(task.id, INTERNAL, label="restored", state=task.state_text)

    def _recover(self, writer: SeaTunnelTask, pending: tuple[tuple[str, int], ...]) -> None:
        """The committer commits once more what the checkpoint lists; all else is given up."""
        run, checkpoint_of = self.run, dict(pending)
        committed, aborted = writer.tx.recover(list(pending), run.queue.now)
        committer = run.tasks[committer_of(writer.vertex.id)]
        pipeline = run.pipeline_of(writer)
        for tx, status in committed:
            pipeline.log_commit(committer, tx, status, TX_RECOVER_COMMIT, checkpoint_of[tx])
        for tx in aborted:
            run.log.add(writer.id, TX_ABORT, {"tx": tx})

    def _return_splits(self, enumerator: SeaTunnelTask, splits: Splits) -> None:
        """What readers had is handed out again at once, what waited before, when it is time."""
        returned = [split for split in enumerator.state["splits"] if split in splits]
        for split, reader in self.run.steps.owners(returned, enumerator.loads):
            before, offset = splits[split]
            extra = {"split": split, "from": before, "to": reader, "offset": offset}
            self.run.log.add(enumerator.id, SPLIT_RETURNED, extra)
            self.run.hand_out(enumerator, split, reader)


def splits_of(states: States) -> Splits:
    """Those that readers have, in the order of the readers."""
    return {
        split: (process, offset)
        for process, saved in states.items()
        if process.endswith("]")
        for split, offset in saved.state.get("splits", {}).items()
    }
