"""The coordinator of a simulated SeaTunnel pipeline: carries out what it decides, and logs it.

The decisions are the step functions in `protocols/seatunnel.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from snapshots.domain.dataflow_logs.kinds import (
    CP_COMPLETE,
    CP_DECISION,
    CP_NOTIFY,
    CP_REQUEST,
    CP_STORED,
    CP_TRIGGER,
    END,
    FINISH,
    JOB_FAIL,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.coordinator import CoordinatorProcess
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.protocols import seatunnel as coordinating
from snapshots.domain.simulators.protocols.seatunnel import (
    FINAL,
    FINISHED,
    RUNNING,
    SAVEPOINT,
    Plan,
)
from snapshots.domain.simulators.protocols.seatunnel_task import Barrier
from snapshots.domain.simulators.seatunnel.barriers import Barriers
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChanges
from snapshots.domain.simulators.seatunnel.tasks import ENUMERATOR, READER, SeaTunnelMachine

PERIODIC = "periodic"


@dataclass
class Numbering:
    """The number of the next snapshot of any pipeline."""

    next_cid: int = 1


@dataclass(frozen=True, slots=True)
class FailPipeline:
    """Cancel and restore a pipeline, because one of its checkpoints has timed out."""

    pipeline: "Pipeline"


class Pipeline(CoordinatorProcess):
    """A pipeline's coordinator: its state, its timers, and its events.

    ``alive`` means that the tasks of the pipeline run. ``is_asked`` means that a request has no
    answer yet.
    """

    def __init__(
        self,
        machine: SeaTunnelMachine,
        barriers: Barriers,
        changes: SchemaChanges,
        numbering: Numbering,
        index: int,
    ) -> None:
        """Make the coordinator of a pipeline.

        Args:
            machine: the run.
            barriers: handles what the coordinator sends to tasks.
            changes: stops readers at changes of the schema.
            numbering: shared by all pipelines.
            index: of the pipeline, 0, 1 …
        """
        super().__init__(machine, machine.dataflow.coordinators()[index])
        self.barriers = barriers
        self.changes = changes
        self.numbering = numbering
        self.number = index + 1
        self.settings = machine.plan.checkpoints
        self.tasks = [task for task in machine.tasks.values() if task.pipeline == index]
        enumerators = tuple(task.id for task in self.tasks if task.role == ENUMERATOR)
        plan = Plan(enumerators, tuple(task.id for task in self.tasks))
        self.state = coordinating.start(self.settings, plan)
        self.is_asked = False

    @property
    def is_running(self) -> bool:
        """Whether the pipeline has neither ended nor failed for good."""
        return self.state.status == RUNNING

    @property
    def scope(self) -> tuple[ProcessId, ...]:
        """All tasks of the pipeline."""
        return tuple(task.id for task in self.tasks)

    # --- what happens at the coordinator ---------------------------------------------------------

    def begin(self) -> None:
        """Plan the first checkpoint, and the savepoint with which the job ends."""
        if self.settings.interval is not None:
            self.set_timer(self.settings.interval, self._periodic)
        if self.machine.plan.savepoint is not None:
            self.machine.queue.at(self.machine.plan.savepoint, self._savepoint)

    def go_on_from(self, cid: int, next_number: int) -> None:
        """Continue after a savepoint.

        Args:
            cid: the savepoint, to which a failure goes back.
            next_number: of the pipeline's next checkpoint.
        """
        self.state = replace(self.state, to_restore=cid, next_number=next_number)

    def _periodic(self) -> Effects:
        if not self.is_running:
            return
        self.set_timer(self.settings.interval, self._periodic)
        self._ask(PERIODIC)
        if self.alive:
            yield from self._act(coordinating.on_timer(self.state, self.numbering.next_cid))
        else:
            self._decide({"dropped": "tasks not ready"})

    def _savepoint(self) -> Effects:
        if not self.is_running:
            return
        self._ask(SAVEPOINT)
        if not self.alive:
            self._decide({"dropped": "tasks not ready"})
            self.machine.queue.after(self.settings.retry_wait, self._savepoint)
            return
        yield from self._act(coordinating.on_savepoint(self.state, self.numbering.next_cid))
        if self.is_asked:
            waits = self.state.wish == SAVEPOINT
            self._decide({"waits": True} if waits else {"dropped": "the pipeline ends"})

    def on_schema_change(self, point: str) -> Effects:
        """Take the schema-change point that a reader asks for."""
        step = coordinating.on_schema_change(self.state, point, self.numbering.next_cid)
        return self._act(step)

    def ready_to_close(self, enumerator: ProcessId) -> Effects:
        """Note that a source has been read."""
        step = coordinating.on_ready_to_close(self.state, enumerator, self.numbering.next_cid)
        return self._act(step)

    def on_ack(self, cid: int, task: ProcessId) -> Effects:
        """Take a task's acknowledgement."""
        return self._act(coordinating.on_ack(self.state, cid, task))

    def on_confirmed(self, cid: int, task: ProcessId) -> Effects:
        """Note that a task knows the checkpoint to be complete."""
        next_cid = self.numbering.next_cid
        return self._act(coordinating.on_confirmed(self.state, cid, task, next_cid))

    @property
    def may_restart(self) -> bool:
        """Whether the next failure is followed by a restart."""
        return self.state.restores < self.settings.retries

    def on_failure(self, reason: str, going_on: frozenset[ProcessId]) -> Effects:
        """Note that all tasks but ``going_on`` are down; an effect may be ``Restore``."""
        self.die()
        return self._act(coordinating.on_failure(self.state, reason, going_on))

    def on_restored(self) -> Effects:
        """Note that all tasks run again."""
        self.alive = True
        return self._act(coordinating.on_restored(self.state, self.numbering.next_cid))

    def _stored(self, cid: int) -> Effects:
        self.log(CP_STORED, snapshot=str(cid))
        return self._act(coordinating.on_stored(self.state, cid))

    def _expire(self, cid: int) -> Effects:
        return self._act(coordinating.on_timeout(self.state, cid))

    # --- what the coordinator decides ------------------------------------------------------------

    def _act(self, step: coordinating.Step) -> Effects:
        self.state, decisions = step
        for decision in decisions:
            yield from self._do(decision)

    def _do(self, decision: coordinating.Effect) -> Effects:
        machine = self.machine
        match decision:
            case coordinating.RequestAgain(after, reason):
                self._decide({"dropped": reason})
                self.set_timer(after, self._periodic)
            case coordinating.Trigger(pending):
                self._trigger(pending)
            case coordinating.Store(cid):
                machine.later(self, machine.plan.store_time, self._stored, cid)
            case coordinating.Complete(cid):
                self.complete(cid, CP_COMPLETE, {"retained": [cid]})
            case coordinating.Notify(cid):
                self._notify(cid)
            case coordinating.End(cid):
                self._end(cid)
            case coordinating.Close(status):
                self._close(has_read_all=status == FINISHED)
            case coordinating.FailPipeline(cause):
                extra = {"cause": cause, "pipeline": self.number, "scope": list(self.scope)}
                self.log(JOB_FAIL, extra)
                yield FailPipeline(self)
            case coordinating.Drop(cid, reason):
                self.abort(cid, reason)
            case coordinating.Restore():
                yield decision

    def _end(self, cid: int) -> None:
        """Let the reader go on that waits for the point."""
        for task in self.tasks:
            if task.waits_for is not None:
                self.machine.tell(task, self.changes.go_on, task, cid)

    def _close(self, *, has_read_all: bool) -> None:
        """Close all tasks; readers and enumerators have logged their ends before."""
        for task in self.tasks:
            task.finished = True
            if has_read_all and task.role not in (ENUMERATOR, READER):
                self.machine.log.add(task.id, END)
            self.machine.log.add(task.id, FINISH)

    def _trigger(self, pending: coordinating.Pending) -> None:
        self.numbering.next_cid = pending.cid + 1
        if not self.is_asked:
            self._ask(pending.type)
        self._decide(snapshot=str(pending.cid))
        self._log_trigger(pending)
        barrier = Barrier(pending.cid, pending.type)
        for task in self.tasks:
            if task.role == ENUMERATOR:
                self.machine.tell(task, self.barriers.on_trigger, task, barrier)
        self.machine.queue.after(self.settings.timeout, self._expire, pending.cid)

    def _log_trigger(self, pending: coordinating.Pending) -> None:
        plan = self.state.plan
        extra = {
            "type": pending.type,
            "mode": "aligned",
            "pipeline": self.number,
            "checkpoint": str(pending.number),
            "timeout": self.settings.timeout,
            "to_trigger": list(plan.enumerators),
            "to_ack": list(plan.tasks),
            "prepare_close": list(plan.tasks) if pending.type in FINAL else None,
        }
        self.log(CP_TRIGGER, extra, snapshot=str(pending.cid))
        self.record(pending.cid)

    def _notify(self, cid: int) -> None:
        extra = {"what": "complete", "tasks": list(self.scope)}
        self.log(CP_NOTIFY, extra, snapshot=str(cid))
        for task in self.tasks:
            if task.alive:
                self.machine.tell(task, self.barriers.on_notice, task, cid)

    def _ask(self, reason: str) -> None:
        self.is_asked = True
        self.log(CP_REQUEST, {"reason": reason})

    def _decide(self, extra: Mapping[str, Any] | None = None, **fields: Any) -> None:
        self.is_asked = False
        self.log(CP_DECISION, extra, **fields)
