"""Checkpoints in a simulated dataflow: carries out what coordinator and tasks decide, and logs it.

The decisions are the step functions in `algorithms/flink_coordinator.py`, `flink_task.py` and
`flink_tracker.py`.
"""

from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_ABORT,
    ALIGN_END,
    ANNOUNCE,
    BLOCK,
    CANCEL_IN,
    CANCEL_OUT,
    CP_ABORT,
    CP_COMPLETE,
    CP_DECISION,
    CP_DECLINE,
    CP_NOTIFIED,
    CP_NOTIFY,
    CP_REQUEST,
    CP_TRIGGER,
    FINISH,
    JOB_FAIL,
    SWITCH_UNALIGNED,
    TX_COMMIT,
    TX_TIMEOUT,
    UNBLOCK,
)
from snapshots.domain.model.recording import INTERNAL, MARKER_RECEIVE, RECORD_STATE
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.simulators.dataflows.lanes import CANCEL, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import SimTask
from snapshots.domain.simulators.dataflows.transactions import LOST
from snapshots.domain.simulators.flink.snapshots import CHANNELS, Snapshots
from snapshots.domain.simulators.protocols import flink_coordinator as coordinating
from snapshots.domain.simulators.protocols import flink_task as aligning
from snapshots.domain.simulators.protocols.flink_coordinator import (
    PERIODIC,
    SAVEPOINT,
    Coordinator,
    Plan,
)
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, Barrier

if TYPE_CHECKING:
    from snapshots.domain.simulators.flink.simulation import Run


class Checkpoints:
    """snapshots: what the tasks recorded. ending: tasks that have read all their input and have not
    finished."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.settings = run.plan.checkpoints
        self.state = Coordinator(self.settings)
        self.snapshots = Snapshots(self)
        self.ending: list[SimTask] = []
        self.timer = 0

    @property
    def are_taken(self) -> bool:
        return self.settings.interval is not None

    @property
    def to_restore(self) -> int | None:
        return self.state.retained[-1] if self.state.retained else None

    # --- the coordinator -------------------------------------------------------------------------

    def begin(self) -> None:
        if self.are_taken:
            self._next_periodic(self.settings.interval)
        for at in self.settings.savepoints:
            self.run.queue.at(at, self._request, SAVEPOINT)

    def _next_periodic(self, at: int) -> None:
        """Replaces the one that was planned."""
        self.timer += 1
        self.run.queue.at(at, self._periodic, self.timer)

    def _periodic(self, timer: int) -> None:
        if timer == self.timer and not self.run.is_done:
            self._next_periodic(self.run.queue.now + self.settings.interval)
            self._request(PERIODIC)

    def _request(self, reason: str) -> None:
        self._note(CP_REQUEST, {"reason": reason})
        plan, refusal = self._plan()
        now = self.run.queue.now
        self._act(coordinating.on_request(self.state, reason, now, plan, refusal))

    def _plan(self) -> tuple[Plan | None, str]:
        tasks = self.run.tasks
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

    def _act(self, step: coordinating.Step) -> None:
        self.state, effects = step
        for effect in effects:
            self._do(effect)
        for task in list(self.ending):
            self.finish_if_done(task)

    def _do(self, effect: coordinating.Effect) -> None:
        match effect:
            case coordinating.Decide(cid, dropped, waits):
                snapshot = None if cid is None else str(cid)
                extra = {"dropped": dropped, "waits": waits or None}
                self._note(CP_DECISION, extra, snapshot=snapshot)
            case coordinating.Trigger(pending):
                self._trigger(pending)
            case coordinating.Complete(cid, retained):
                self._complete(cid, retained)
            case coordinating.Abort(cid, reason):
                self.run.counted.aborted[cid] = reason
                self._note(CP_ABORT, {"reason": reason}, snapshot=str(cid))
            case coordinating.Notify(cid, what, tasks):
                self._notify(cid, what, tasks)
            case coordinating.RequestAgain(at):
                self._next_periodic(at)
            case coordinating.FailJob(cause):
                self._note(JOB_FAIL, {"cause": cause})
                self.run.failover.fail_job(cause)

    def _trigger(self, pending: coordinating.Pending) -> None:
        run, cid, now = self.run, pending.cid, self.run.queue.now
        mode = self.settings.mode_of(pending.savepoint)
        switch_at = now + self.settings.align_timeout if mode == TIMEOUT else None
        barrier = Barrier(cid, mode, switch_at)
        finished = [task for task in run.tasks.values() if task.finished]
        extra = {
            "type": "savepoint" if pending.savepoint else "checkpoint",
            "mode": mode,
            "timeout": self.settings.timeout,
            "align_timeout": self.settings.align_timeout if mode == TIMEOUT else None,
            "to_trigger": list(pending.plan.to_trigger),
            "to_ack": list(pending.plan.to_ack),
            "finished": [task.id for task in finished],
        }
        self._note(CP_TRIGGER, extra, snapshot=str(cid))
        self._note(RECORD_STATE, snapshot=str(cid), state=self._own_state(self.state.completed))
        for task in finished:
            self.snapshots.record_finished(task, barrier)
        for name in pending.plan.to_trigger:
            run.tell(run.tasks[name], self._triggered, run.tasks[name], barrier)
        run.queue.after(self.settings.timeout, self._expire, cid)

    def _complete(self, cid: int, retained: tuple[int, ...]) -> None:
        self.run.counted.completed.append(cid)
        self._note(CP_COMPLETE, {"retained": list(retained)}, snapshot=str(cid))
        self._note(INTERNAL, label="completed", state=self._own_state(self.state.completed))

    def _notify(self, cid: int, what: str, tasks: tuple[ProcessId, ...]) -> None:
        lost = what == coordinating.COMPLETE and cid in self.run.plan.lost_notices
        extra = {"what": what, "tasks": list(tasks), "lost": lost or None}
        self._note(CP_NOTIFY, extra, snapshot=str(cid))
        for task in () if lost else map(self.run.tasks.__getitem__, tasks):
            if task.alive:
                self.run.tell(task, self._notified, task, cid, what)

    def _expire(self, cid: int) -> None:
        self._act(coordinating.on_expiry(self.state, cid, self.run.queue.now))

    def on_ack(self, cid: int, task: ProcessId) -> None:
        self._act(coordinating.on_ack(self.state, cid, task, self.run.queue.now))

    def _declined(self, cid: int, reason: str) -> None:
        self._act(coordinating.on_decline(self.state, cid, reason, self.run.queue.now))

    def give_up_all(self) -> None:
        self._act(coordinating.on_failover(self.state))

    def _note(self, kind: str, extra: dict | None = None, **fields: object) -> None:
        self.run.log.add(self.run.coordinator, kind, extra, **fields)

    def _own_state(self, completed: int) -> str:
        return canonical({"completed": completed})

    # --- what happens at a task ------------------------------------------------------------------

    def on_arrival(self, task: SimTask, lane: Lane, item: Item) -> None:
        """A barrier has come into the receiver's buffer."""
        if item.stands_for_end:
            return
        if item.priority:
            self.run.post(task, self._take_jumped, task, lane, item)
        elif item.barrier.switch_at is not None and lane.channel.overtaking:
            cid = str(item.barrier.cid)
            self.run.log.add(task.id, ANNOUNCE, channel=lane.id, snapshot=cid)
            self.run.post(task, self._announced, task, item.barrier)

    def _take_jumped(self, task: SimTask, lane: Lane, item: Item) -> None:
        lane.jumped.remove(item)
        self.on_barrier(task, lane, item)

    def on_barrier(self, task: SimTask, lane: Lane, item: Item) -> None:
        """A barrier is handled: from the head of its channel, or because it has overtaken. One that
        stands for an end has counted when the end was taken."""
        cid = item.barrier.cid
        extra = {"priority": item.priority or None, "end": item.stands_for_end or None}
        self.run.log.add(task.id, MARKER_RECEIVE, extra, channel=lane.id, snapshot=str(cid))
        if item.stands_for_end:
            return
        task.barriers[lane.id, cid] = item
        task.first_barrier.setdefault(cid, self.run.queue.now)
        step = task.steps.on_barrier(task.handler, lane.id, item.barrier, overtaking=item.priority)
        self._carry_out(task, step)
        self.finish_if_done(self.run.tasks[lane.channel.source])

    def on_cancel(self, task: SimTask, lane: Lane, cid: int) -> None:
        self.run.log.add(task.id, CANCEL_IN, channel=lane.id, snapshot=str(cid))
        self._carry_out(task, task.steps.on_cancel(task.handler, cid))
        self.finish_if_done(self.run.tasks[lane.channel.source])

    def on_end(self, task: SimTask, lane: Lane) -> None:
        self._carry_out(task, task.steps.on_end(task.handler, lane.id))
        self.finish_if_done(self.run.tasks[lane.channel.source])

    def _triggered(self, task: SimTask, barrier: Barrier) -> None:
        self._carry_out(task, task.steps.on_trigger(task.handler, barrier))

    def _announced(self, task: SimTask, barrier: Barrier) -> None:
        self._carry_out(task, task.steps.on_announcement(task.handler, barrier))

    def _timed_out(self, task: SimTask, cid: int) -> None:
        self._carry_out(task, task.steps.on_timeout(task.handler, cid))

    def _carry_out(self, task: SimTask, step: aligning.Step) -> None:
        """Channels stay blocked while the state is copied."""
        task.handler, effects = step
        copied = False
        unblock = []
        for effect in effects:
            if isinstance(effect, aligning.Snapshot):
                copied = self.snapshots.take(task, effect)
            elif isinstance(effect, aligning.Unblock) and copied:
                unblock.append(effect)
            else:
                self._effect(task, effect)
        self.finish_if_done(task)
        if copied:
            self.run.occupy(task, self.run.plan.sync_time, self._copied, task, unblock)

    def _copied(self, task: SimTask, unblock: list[aligning.Unblock]) -> None:
        for effect in unblock:
            self._effect(task, effect)

    def _effect(self, task: SimTask, effect: aligning.Effect) -> None:
        log, cid = self.run.log, effect.cid
        match effect:
            case aligning.Block(channel):
                task.lane(channel).blocked = True
                task.blocked_since[channel] = (cid, self.run.queue.now)
                log.add(task.id, BLOCK, channel=channel, snapshot=str(cid))
            case aligning.Unblock(channel):
                task.lane(channel).blocked = False
                self.count_blocked(task, channel)
                log.add(task.id, UNBLOCK, channel=channel, snapshot=str(cid))
            case aligning.RecordChannel(channel):
                self.snapshots.record_channel(task, task.lane(channel), cid)
            case aligning.AlignEnd():
                log.add(task.id, ALIGN_END, snapshot=str(cid))
                self._aligned(task, cid)
            case aligning.AlignAbort(reason=reason):
                log.add(task.id, ALIGN_ABORT, {"reason": reason}, snapshot=str(cid))
                self.snapshots.forget(task, cid)
            case aligning.SwitchUnaligned():
                log.add(task.id, SWITCH_UNALIGNED, snapshot=str(cid))
                self._hurry_inputs(task, cid)
            case aligning.SwitchAt(at=at):
                wait = max(0, at - self.run.queue.now)
                self.run.later(task, wait, self.run.post, task, self._timed_out, task, cid)
            case aligning.SendCancel():
                self.send_cancel(task, cid)
            case aligning.Decline(reason=reason):
                self.decline(task, cid, reason)

    def _aligned(self, task: SimTask, cid: int) -> None:
        first = task.first_barrier.get(cid, self.run.queue.now)
        self.run.counted.alignment[task.id, cid] = self.run.queue.now - first
        self.snapshots.arrived(task, cid, CHANNELS)

    def _hurry_inputs(self, task: SimTask, cid: int) -> None:
        for lane in task.inputs:
            item = lane.pull(cid) if lane.channel.overtaking else None
            if item is not None:
                task.mail.append((self._take_jumped, (task, lane, item)))

    def send_cancel(self, task: SimTask, cid: int) -> None:
        for lane in task.outputs.values():
            self.run.log.add(task.id, CANCEL_OUT, channel=lane.id, snapshot=str(cid))
            lane.put(Item(CANCEL, cid=cid))

    def decline(self, task: SimTask, cid: int, reason: str) -> None:
        self.run.log.add(task.id, CP_DECLINE, {"reason": reason}, snapshot=str(cid))
        self.run.queue.after(self.run.plan.control_delay, self._declined, cid, reason)

    def count_blocked(self, task: SimTask, channel: ChannelId) -> None:
        cid, since = task.blocked_since.pop(channel)
        spans = self.run.counted.blocked.setdefault(channel, [])
        spans.append((cid, since, self.run.queue.now))

    # --- the coordinator's word ------------------------------------------------------------------

    def _notified(self, task: SimTask, cid: int, what: str) -> None:
        self.run.log.add(task.id, CP_NOTIFIED, {"what": what}, snapshot=str(cid))
        if what == coordinating.ABORTED:
            self._carry_out(task, task.steps.on_aborted(task.handler, cid))
        elif what == coordinating.COMPLETE:
            if cid in task.files:
                task.base = task.files[cid]
                task.files = {other: held for other, held in task.files.items() if other > cid}
            if task.tx is not None:
                for tx, status in task.tx.commit(cid, self.run.queue.now):
                    self.log_commit(task, tx, status, TX_COMMIT, cid)
            task.last_complete = cid
            self.finish_if_done(task)

    def log_commit(self, task: SimTask, tx: str, status: str, kind: str, cid: int) -> None:
        extra = {"tx": tx}
        if status == LOST:
            self.run.log.add(task.id, TX_TIMEOUT, extra)
        else:
            self.run.log.add(task.id, kind, extra, snapshot=str(cid))

    def finish_if_done(self, task: SimTask) -> None:
        """A task that has read all its input still records for the checkpoints under way, and waits
        until those before it have finished and its last outputs have been taken; a two-phase sink
        waits until a checkpoint with all that it has written is complete."""
        if not task.alive or not task.ended or task.finished:
            return
        if task not in self.ending:
            self.ending.append(task)
        tasks = self.run.tasks
        if not all(tasks[lane.channel.source].finished for lane in task.inputs):
            return
        if not all(lane.is_empty for lane in task.outputs.values()):
            return
        for pending in self.state.pending.values():
            if task.id in pending.waiting and pending.cid not in task.recorded:
                return
        committed = task.final_cid is not None and task.final_cid <= task.last_complete
        if task.tx is not None and self.are_taken and not committed:
            return
        task.finished = True
        self.ending.remove(task)
        self.run.log.add(task.id, FINISH)
        for lane in task.outputs.values():
            self.finish_if_done(tasks[lane.channel.target])
