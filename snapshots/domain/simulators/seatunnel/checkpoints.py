"""Checkpoints of one pipeline: carries out what its coordinator and its tasks decide, and logs it.

The decisions are the step functions in `algorithms/seatunnel.py` and `seatunnel_task.py`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_END,
    BLOCK,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECISION,
    CP_NOTIFIED,
    CP_NOTIFY,
    CP_REQUEST,
    CP_STORED,
    CP_TRIGGER,
    FINISH,
    JOB_FAIL,
    TX_COMMIT,
    TX_PRECOMMIT,
    TX_TIMEOUT,
    UNBLOCK,
)
from snapshots.domain.model.recording import (
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
)
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import text_of
from snapshots.domain.simulators.dataflows.transactions import LOST
from snapshots.domain.simulators.flink.snapshots import Saved
from snapshots.domain.simulators.protocols import seatunnel as coordinating
from snapshots.domain.simulators.protocols import seatunnel_task as passing
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock
from snapshots.domain.simulators.protocols.seatunnel import FINAL, RUNNING, SAVEPOINT, Plan
from snapshots.domain.simulators.protocols.seatunnel_task import Barrier, Take
from snapshots.domain.simulators.seatunnel.tasks import COMMITTER, ENUMERATOR, SeaTunnelTask

if TYPE_CHECKING:
    from snapshots.domain.simulators.seatunnel.run import SeaTunnelRun

PERIODIC = "periodic"


class PipelineCheckpoints:
    """number: 1, 2 …; saved: of each checkpoint, what it holds of a task; epoch: how often the
    pipeline has been restored; is_asked: a request has no answer yet."""

    def __init__(self, run: "SeaTunnelRun", number: int, process: ProcessId) -> None:
        self.run = run
        self.number = number
        self.process = process
        self.settings = run.plan.checkpoints
        self.tasks = [task for task in run.tasks.values() if task.pipeline == number - 1]
        enumerators = tuple(task.id for task in self.tasks if task.role == ENUMERATOR)
        plan = Plan(enumerators, tuple(task.id for task in self.tasks))
        self.state = coordinating.start(self.settings, plan)
        self.saved: dict[int, dict[ProcessId, Saved]] = {}
        self.timer = 0
        self.epoch = 0
        self.is_asked = False

    @property
    def is_running(self) -> bool:
        return self.state.status == RUNNING

    @property
    def is_up(self) -> bool:
        return all(task.alive for task in self.tasks)

    # --- the coordinator -------------------------------------------------------------------------

    def begin(self) -> None:
        if self.settings.interval is not None:
            self._next_periodic(self.settings.interval)
        if self.run.plan.savepoint is not None:
            self.run.queue.at(self.run.plan.savepoint, self._savepoint)

    def _next_periodic(self, after: int) -> None:
        """Replaces the one that was planned."""
        self.timer += 1
        self.run.queue.after(after, self._periodic, self.timer)

    def _periodic(self, timer: int) -> None:
        if timer != self.timer or not self.is_running:
            return
        self._next_periodic(self.settings.interval)
        self._ask(PERIODIC)
        if self.is_up:
            self.act(coordinating.on_timer(self.state, self.run.next_cid))
        else:
            self._decide({"dropped": "tasks not ready"})

    def _savepoint(self) -> None:
        if not self.is_running:
            return
        self._ask(SAVEPOINT)
        if not self.is_up:
            self._decide({"dropped": "tasks not ready"})
            self.run.queue.after(self.settings.retry_wait, self._savepoint)
            return
        self.act(coordinating.on_savepoint(self.state, self.run.next_cid))
        if self.is_asked:
            waits = self.state.wish == SAVEPOINT
            self._decide({"waits": True} if waits else {"dropped": "the pipeline ends"})

    def _ask(self, reason: str) -> None:
        self.is_asked = True
        self._note(CP_REQUEST, {"reason": reason})

    def _decide(self, extra: dict | None = None, **fields: object) -> None:
        self.is_asked = False
        self._note(CP_DECISION, extra, **fields)

    def go_on_from(self, cid: int, number: int, states: dict[ProcessId, Saved]) -> None:
        """As after a savepoint: what a failure goes back to, and how the next one is numbered."""
        self.saved[cid] = states
        self.state = replace(self.state, to_restore=cid, next_number=number)

    def ready_to_close(self, enumerator: ProcessId) -> None:
        self.act(coordinating.on_ready_to_close(self.state, enumerator, self.run.next_cid))

    def restored(self) -> None:
        self.act(coordinating.on_restored(self.state, self.run.next_cid))

    def act(self, step: coordinating.Step) -> None:
        self.state, effects = step
        for effect in effects:
            self._do(effect)

    def _do(self, effect: coordinating.Effect) -> None:
        run = self.run
        match effect:
            case coordinating.RequestAgain(after):
                self._decide({"dropped": "one is under way"})
                self._next_periodic(after)
            case coordinating.Trigger(pending):
                self._trigger(pending)
            case coordinating.Store(cid):
                run.queue.after(run.plan.store_time, self._if_same, self.epoch, self._stored, cid)
            case coordinating.Complete(cid):
                self._complete(cid)
            case coordinating.Notify(cid):
                self._notify(cid)
            case coordinating.Close(_):
                for task in self.tasks:
                    task.finished = True
                    run.log.add(task.id, FINISH)
            case coordinating.FailPipeline(cause):
                scope = [task.id for task in self.tasks]
                self._note(JOB_FAIL, {"cause": cause, "pipeline": self.number, "scope": scope})
                run.failover.fail_pipeline(self, None)
            case coordinating.Drop(cid, reason):
                run.counted.aborted[cid] = reason
                self._note(CP_ABORT, {"reason": reason}, snapshot=str(cid))

    def _trigger(self, pending: coordinating.Pending) -> None:
        run, cid = self.run, pending.cid
        run.next_cid = cid + 1
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
        if not self.is_asked:
            self._ask(pending.type)
        self._decide(snapshot=str(cid))
        self._note(CP_TRIGGER, extra, snapshot=str(cid))
        self._note(RECORD_STATE, snapshot=str(cid), state=self._own_state)
        barrier = Barrier(cid, pending.type)
        for name in plan.enumerators:
            run.tell(run.tasks[name], self._triggered, run.tasks[name], barrier)
        run.queue.after(self.settings.timeout, self._expire, cid)

    def _complete(self, cid: int) -> None:
        self.run.counted.completed.append(cid)
        self._note(CP_COMPLETE, {"retained": [cid]}, snapshot=str(cid))
        self._note(INTERNAL, label="completed", state=self._own_state)

    def _notify(self, cid: int) -> None:
        extra = {"what": "complete", "tasks": list(self.state.plan.tasks)}
        self._note(CP_NOTIFY, extra, snapshot=str(cid))
        for task in self.tasks:
            if task.alive:
                self.run.tell(task, self._notified, task, cid)

    def _stored(self, cid: int) -> None:
        self._note(CP_STORED, snapshot=str(cid))
        self.act(coordinating.on_stored(self.state, cid))

    def _expire(self, cid: int) -> None:
        self.act(coordinating.on_timeout(self.state, cid))

    def _acknowledged(self, cid: int, task: ProcessId) -> None:
        self.act(coordinating.on_ack(self.state, cid, task))

    def _confirmed(self, cid: int, task: ProcessId) -> None:
        self.act(coordinating.on_confirmed(self.state, cid, task, self.run.next_cid))

    def _if_same(self, epoch: int, step, *arguments: object) -> None:
        if self.epoch == epoch:
            step(*arguments)

    def _note(self, kind: str, extra: dict | None = None, **fields: object) -> None:
        self.run.log.add(self.process, kind, extra, **fields)

    @property
    def _own_state(self) -> str:
        return text_of({"completed": self.state.completed})

    # --- what happens at a task ------------------------------------------------------------------

    def _triggered(self, task: SeaTunnelTask, barrier: Barrier) -> None:
        self._carry_out(task, task.steps.on_trigger(task.handler, barrier))

    def on_barrier(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        """A barrier is at the head of its channel."""
        barrier = item.barrier
        extra = {"tx": barrier.info}
        log = self.run.log
        log.add(task.id, MARKER_RECEIVE, extra, channel=lane.id, snapshot=str(barrier.cid))
        task.first_barrier.setdefault(barrier.cid, self.run.queue.now)
        if barrier.info is not None:
            info = task.commit_info.setdefault(barrier.cid, [])
            info.append((lane.channel.source, barrier.info))
        self._carry_out(task, task.steps.on_barrier(task.handler, lane.id, barrier))

    def _carry_out(self, task: SeaTunnelTask, step: passing.Step) -> None:
        """Channels stay blocked while the state is copied."""
        task.handler, effects = step
        taken = None
        later = []
        for effect in effects:
            if isinstance(effect, Take):
                taken = effect.barrier
                self._take(task, taken)
            elif isinstance(effect, Unblock):
                later.append(effect)
            else:
                self._effect(task, effect)
        if taken is not None:
            self.run.occupy(task, self.run.plan.sync_time, self._copied, task, taken.cid, later)

    def _effect(self, task: SeaTunnelTask, effect: passing.Effect) -> None:
        log, cid = self.run.log, effect.cid
        match effect:
            case Block(channel):
                task.lane(channel).blocked = True
                task.blocked_since[channel] = (cid, self.run.queue.now)
                log.add(task.id, BLOCK, channel=channel, snapshot=str(cid))
            case Unblock(channel):
                task.lane(channel).blocked = False
                self.count_blocked(task, channel)
                log.add(task.id, UNBLOCK, channel=channel, snapshot=str(cid))
            case AlignEnd():
                log.add(task.id, ALIGN_END, snapshot=str(cid))
                first = task.first_barrier[cid]
                self.run.counted.alignment[task.id, cid] = self.run.queue.now - first
            case RecordChannel(channel):
                extra = {"in": 0, "out": 0}
                fields = {"channel": channel, "snapshot": str(cid), "messages": ()}
                log.add(task.id, RECORD_CHANNEL, extra, **fields)

    def count_blocked(self, task: SeaTunnelTask, channel: ChannelId) -> None:
        cid, since = task.blocked_since.pop(channel)
        spans = self.run.counted.blocked.setdefault(channel, [])
        spans.append((cid, since, self.run.queue.now))

    def _take(self, task: SeaTunnelTask, barrier: Barrier) -> None:
        """Pre-commit, then the state, then the barrier."""
        run, snapshot = self.run, str(barrier.cid)
        tx = None if task.tx is None else task.tx.precommit(barrier.cid)
        if tx is not None:
            run.log.add(task.id, TX_PRECOMMIT, {"tx": tx}, snapshot=snapshot)
        pending = () if task.tx is None else tuple(task.tx.pending)
        info = task.commit_info.get(barrier.cid, ())
        listed = [name for _, name in info] if task.role == COMMITTER else [tx for tx, _ in pending]
        has_pending = task.role == COMMITTER or task.tx is not None
        extra = {"sync": run.plan.sync_time, "pending": listed if has_pending else None}
        run.log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)
        self.saved.setdefault(barrier.cid, {})[task.id] = Saved(task.state, pending)
        for lane in task.outputs.values():
            sent = Barrier(barrier.cid, barrier.type, tx)
            extra = {"tx": tx}
            run.log.add(task.id, MARKER_SEND, extra, channel=lane.id, snapshot=snapshot)
            lane.put(Item(BARRIER, barrier=sent))
        task.closing = barrier.type in FINAL
        if not task.closing:
            run.begin_transaction(task)

    def _copied(self, task: SeaTunnelTask, cid: int, unblock: list[Unblock]) -> None:
        for effect in unblock:
            self._effect(task, effect)
        self.run.log.add(task.id, CP_ACK, {"state_index": task.index}, snapshot=str(cid))
        self.run.later(task, self.run.plan.control_delay, self._acknowledged, cid, task.id)

    def _notified(self, task: SeaTunnelTask, cid: int) -> None:
        self.run.log.add(task.id, CP_NOTIFIED, {"what": "complete"}, snapshot=str(cid))
        if task.role == COMMITTER:
            for of in sorted(task.commit_info):
                if of <= cid:
                    self._commit(task, task.commit_info.pop(of), of)
        self.run.later(task, self.run.plan.control_delay, self._confirmed, cid, task.id)

    def _commit(self, committer: SeaTunnelTask, info: list, cid: int) -> None:
        for writer in dict.fromkeys(writer for writer, _ in info):
            for tx, status in self.run.tasks[writer].tx.commit(cid, self.run.queue.now):
                self.log_commit(committer, tx, status, TX_COMMIT, cid)

    def log_commit(
        self, committer: SeaTunnelTask, tx: str, status: str, kind: str, cid: int
    ) -> None:
        if status == LOST:
            self.run.log.add(committer.id, TX_TIMEOUT, {"tx": tx})
        else:
            self.run.log.add(committer.id, kind, {"tx": tx}, snapshot=str(cid))
