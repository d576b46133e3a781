"""The coordinator of a simulated Flink job: carries out what it decides, and logs it.

The decisions are the step functions in `protocols/flink_coordinator.py`. What concerns tasks is
left to the run: ``Trigger``, ``Notify`` and ``FailJob`` are effects of the steps here, too.
"""

from dataclasses import dataclass, replace
from typing import Self

from snapshots.domain.dataflow_logs.kinds import (
    CP_COMPLETE,
    CP_DECISION,
    CP_NOTIFY,
    CP_REQUEST,
    CP_TRIGGER,
    JOB_FAIL,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.coordinator import CoordinatorProcess
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.flink.tasks import FlinkMachine
from snapshots.domain.simulators.protocols import flink_coordinator as coordinating
from snapshots.domain.simulators.protocols.flink_coordinator import (
    PERIODIC,
    SAVEPOINT,
    Coordinator,
    Pending,
    Plan,
)
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, Barrier


@dataclass(frozen=True, slots=True)
class AnyMayFinish:
    """Let every task finish for which nothing is left to do."""


class Checkpoints(CoordinatorProcess):
    """The coordinator's state, its timers, and its events."""

    def __init__(self, machine: FlinkMachine, process: ProcessId) -> None:
        super().__init__(machine, process)
        self.settings = machine.plan.checkpoints
        self.state = Coordinator(self.settings)
        self._start: int | None = None
        self.last_savepoint: int | None = None
        self._savepoints: set[int] = set()

    @property
    def are_taken(self) -> bool:
        """Whether checkpoints are taken at intervals."""
        return self.settings.interval is not None

    @property
    def to_restore(self) -> int | None:
        """The checkpoint from which a failure restores."""
        return self.state.retained[-1] if self.state.retained else self._start

    @property
    def now(self) -> int:
        """The time in us."""
        return self.machine.queue.now

    def go_on_from(self, cid: int, earlier: Self) -> None:
        """Begin with a checkpoint of an earlier run as the one to restore, and number on.

        It is not this run's own (Flink's mode NO_CLAIM), so it is never subsumed.
        """
        self.state = replace(self.state, next_cid=earlier.state.next_cid)
        self._start = cid

    # --- what happens at the coordinator ---------------------------------------------------------

    def begin(self) -> None:
        """Plan the first checkpoint and all savepoints."""
        if self.are_taken:
            self.set_timer(self.settings.interval, self._periodic)
        for at in self.settings.savepoints:
            self.machine.queue.at(at, self._request, SAVEPOINT)

    def _periodic(self) -> Effects:
        if not all(task.finished for task in self.machine.tasks.values()):
            self.set_timer(self.settings.interval, self._periodic)
            yield from self._request(PERIODIC)

    def _request(self, reason: str) -> Effects:
        self.log(CP_REQUEST, {"reason": reason})
        plan, refusal = self._plan()
        yield from self._act(coordinating.on_request(self.state, reason, self.now, plan, refusal))

    def _plan(self) -> tuple[Plan | None, str]:
        """Return who takes part in a checkpoint, or why there can be none."""
        tasks = self.machine.tasks
        if not all(task.alive for task in tasks.values()):
            return None, "tasks not ready"
        running = [task for task in tasks.values() if not task.finished]
        if not running:
            return None, "finished"
        first = (
            task.id
            for task in running
            if all(tasks[lane.channel.source].finished for lane in task.inputs)
        )
        return Plan(tuple(first), tuple(task.id for task in running)), ""

    def on_ack(self, cid: int, task: ProcessId) -> Effects:
        """Take a task's acknowledgement."""
        return self._act(coordinating.on_ack(self.state, cid, task, self.now))

    def on_decline(self, cid: int, reason: str) -> Effects:
        """Take the message of a task that does not take part."""
        return self._act(coordinating.on_decline(self.state, cid, reason, self.now))

    def on_failover(self) -> Effects:
        """Give up what is under way."""
        return self._act(coordinating.on_failover(self.state))

    def _expire(self, cid: int) -> Effects:
        return self._act(coordinating.on_expiry(self.state, cid, self.now))

    # --- what the coordinator decides ------------------------------------------------------------

    def _act(self, step: coordinating.Step) -> Effects:
        self.state, decisions = step
        for decision in decisions:
            yield from self._do(decision)
        yield AnyMayFinish()

    def _do(self, decision: coordinating.Effect) -> Effects:
        match decision:
            case coordinating.Decide(cid, dropped, waits):
                snapshot = None if cid is None else str(cid)
                self.log(
                    CP_DECISION, {"dropped": dropped, "waits": waits or None}, snapshot=snapshot
                )
            case coordinating.Trigger(pending):
                self._log_trigger(pending)
                yield decision
                self.machine.queue.after(self.settings.timeout, self._expire, pending.cid)
            case coordinating.Complete(cid, retained):
                if cid in self._savepoints:
                    self.last_savepoint = cid
                self.complete(cid, CP_COMPLETE, {"retained": list(retained)})
            case coordinating.Abort(cid, reason):
                self.abort(cid, reason)
            case coordinating.Notify(cid, what, tasks):
                lost = what == coordinating.COMPLETE and cid in self.machine.plan.lost_notices
                extra = {"what": what, "tasks": list(tasks), "lost": lost or None}
                self.log(CP_NOTIFY, extra, snapshot=str(cid))
                if not lost:
                    yield decision
            case coordinating.RequestAgain(at):
                self.set_timer(at - self.now, self._periodic)
            case coordinating.FailJob(cause):
                self.log(JOB_FAIL, {"cause": cause})
                yield decision

    def _log_trigger(self, pending: Pending) -> None:
        mode = self.settings.mode_of(pending.savepoint)
        if pending.savepoint:
            self._savepoints.add(pending.cid)
        finished = [task.id for task in self.machine.tasks.values() if task.finished]
        extra = {
            "type": "savepoint" if pending.savepoint else "checkpoint",
            "mode": mode,
            "timeout": self.settings.timeout,
            "align_timeout": self.settings.align_timeout if mode == TIMEOUT else None,
            "to_trigger": list(pending.plan.to_trigger),
            "to_ack": list(pending.plan.to_ack),
            "finished": finished,
        }
        self.log(CP_TRIGGER, extra, snapshot=str(pending.cid))
        self.record(pending.cid)

    def barrier_of(self, pending: Pending) -> Barrier:
        """Return the barrier of a checkpoint that begins now."""
        mode = self.settings.mode_of(pending.savepoint)
        switch_at = self.now + self.settings.align_timeout if mode == TIMEOUT else None
        return Barrier(pending.cid, mode, switch_at)
