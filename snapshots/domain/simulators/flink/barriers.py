"""Barriers at the tasks of a simulated Flink job: carries out what the tasks decide, and logs it.

The decisions are the step functions in `protocols/flink_task.py` and `flink_tracker.py`.
"""

from collections.abc import Generator
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_ABORT,
    ANNOUNCE,
    CANCEL_IN,
    CANCEL_OUT,
    CP_DECLINE,
    CP_NOTIFIED,
    SWITCH_UNALIGNED,
)
from snapshots.domain.model.recording import MARKER_RECEIVE
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.lanes import CANCEL, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.flink.snapshots import CHANNELS, Snapshots
from snapshots.domain.simulators.flink.tasks import FlinkMachine, FlinkTask
from snapshots.domain.simulators.protocols import flink_task as aligning
from snapshots.domain.simulators.protocols.flink_coordinator import ABORTED, COMPLETE, DECLINED
from snapshots.domain.simulators.protocols.flink_task import Barrier


@dataclass(frozen=True, slots=True)
class MayFinish:
    """Let the task finish if nothing is left to do for it."""

    task: FlinkTask


class Barriers:
    """Handles barriers, cancellations, ends of channels and the coordinator's messages."""

    def __init__(self, machine: FlinkMachine, snapshots: Snapshots, alignments: Alignments) -> None:
        self.machine = machine
        self.log = machine.log
        self.snapshots = snapshots
        self.alignments = alignments

    # --- what comes on channels ------------------------------------------------------------------

    def on_arrival(self, task: FlinkTask, lane: Lane, item: Item) -> None:
        """Note a barrier in the receiver's buffer: one that overtakes does not wait there."""
        if item.stands_for_end:
            return
        if item.priority:
            self.machine.post(task, self._take_jumped, task, lane, item)
        elif item.barrier.switch_at is not None and lane.channel.overtaking:
            snapshot = str(item.barrier.cid)
            self.log.add(task.id, ANNOUNCE, channel=lane.id, snapshot=snapshot)
            self.machine.post(task, self._announced, task, item.barrier)

    def _take_jumped(self, task: FlinkTask, lane: Lane, item: Item) -> Effects:
        lane.jumped.remove(item)
        return self.on_barrier(task, lane, item)

    def on_barrier(self, task: FlinkTask, lane: Lane, item: Item) -> Effects:
        """Handle a barrier that reached the head of its channel or overtook what lay before it.

        A barrier that stands for the end of a channel is only logged, because it was counted when
        the task took the end.
        """
        cid = item.barrier.cid
        extra = {"priority": item.priority or None, "end": item.stands_for_end or None}
        self.log.add(task.id, MARKER_RECEIVE, extra, channel=lane.id, snapshot=str(cid))
        if item.stands_for_end:
            return
        task.barriers[lane.id, cid] = item
        task.first_barrier.setdefault(cid, self.log.now)
        step = task.steps.on_barrier(task.handler, lane.id, item.barrier, overtaking=item.priority)
        yield from self._follow_from(task, lane, step)

    def on_cancel(self, task: FlinkTask, lane: Lane, cid: int) -> Effects:
        """Handle the sender's message that a checkpoint is cancelled."""
        self.log.add(task.id, CANCEL_IN, channel=lane.id, snapshot=str(cid))
        yield from self._follow_from(task, lane, task.steps.on_cancel(task.handler, cid))

    def on_end(self, task: FlinkTask, lane: Lane) -> Effects:
        """Handle the sender's message that nothing more will come on its channel."""
        yield from self._follow_from(task, lane, task.steps.on_end(task.handler, lane.id))

    def _follow_from(self, task: FlinkTask, lane: Lane, step: aligning.Step) -> Effects:
        """Carry out a step; the channel may have been the last for which its sender waited."""
        yield from self._follow(task, step)
        yield MayFinish(self.machine.tasks[lane.channel.source])

    # --- what comes from the coordinator and from timers -----------------------------------------

    def on_trigger(self, task: FlinkTask, barrier: Barrier) -> Effects:
        """Begin a checkpoint that the coordinator has triggered."""
        return self._follow(task, task.steps.on_trigger(task.handler, barrier))

    def on_notice(self, task: FlinkTask, cid: int, what: str) -> Effects:
        """Take note of what has become of a checkpoint."""
        self.log.add(task.id, CP_NOTIFIED, {"what": what}, snapshot=str(cid))
        if what == ABORTED:
            yield from self._follow(task, task.steps.on_aborted(task.handler, cid))
        elif what == COMPLETE:
            self._complete(task, cid)
            yield MayFinish(task)

    def _complete(self, task: FlinkTask, cid: int) -> None:
        if cid in task.files:
            task.base = task.files[cid]
            task.files = {other: held for other, held in task.files.items() if other > cid}
        self.machine.committing.commit(task, cid)
        task.last_complete = cid

    def _announced(self, task: FlinkTask, barrier: Barrier) -> Effects:
        return self._follow(task, task.steps.on_announcement(task.handler, barrier))

    def _timed_out(self, task: FlinkTask, cid: int) -> Effects:
        return self._follow(task, task.steps.on_timeout(task.handler, cid))

    # --- what the task decides -------------------------------------------------------------------

    def _follow(self, task: FlinkTask, step: aligning.Step) -> Effects:
        """Carry out a step; channels stay blocked while the state is copied."""
        task.handler, decisions = step
        copied = False
        unblock = []
        for decision in decisions:
            if isinstance(decision, aligning.Snapshot):
                copied = yield from self._snapshot(task, decision)
            elif isinstance(decision, aligning.Unblock) and copied:
                unblock.append(decision)
            else:
                yield from self._do(task, decision)
        yield MayFinish(task)
        if copied:
            self.machine.occupy(task, self.machine.plan.sync_time, self._copied, task, unblock)

    def _snapshot(
        self, task: FlinkTask, decision: aligning.Snapshot
    ) -> Generator[object, None, bool]:
        """Take a snapshot unless the task declines; return whether it was taken."""
        cid = decision.barrier.cid
        if (cid, task.id) not in self.machine.plan.declines:
            self.snapshots.take(task, decision)
            return True
        yield from self._do(task, aligning.Decline(cid, DECLINED))
        yield from self._do(task, aligning.SendCancel(cid))
        return False

    def _copied(self, task: FlinkTask, unblock: list[aligning.Unblock]) -> None:
        for effect in unblock:
            self.alignments.unblock(task, effect.channel, effect.cid)

    def _do(self, task: FlinkTask, decision: aligning.Effect) -> Effects:
        assert not isinstance(decision, aligning.Snapshot)  # ``_follow`` takes snapshots
        cid = decision.cid
        match decision:
            case aligning.Block(channel):
                self.alignments.block(task, channel, cid)
            case aligning.Unblock(channel):
                self.alignments.unblock(task, channel, cid)
            case aligning.RecordChannel(channel):
                self.snapshots.record_channel(task, task.lane(channel), cid)
            case aligning.AlignEnd():
                self.alignments.end(task, cid)
                yield from self.snapshots.arrived(task, cid, CHANNELS)
            case aligning.AlignAbort(reason=reason):
                self.log.add(task.id, ALIGN_ABORT, {"reason": reason}, snapshot=str(cid))
                self.snapshots.forget(task, cid)
            case aligning.SwitchUnaligned():
                self.log.add(task.id, SWITCH_UNALIGNED, snapshot=str(cid))
                self._hurry_inputs(task, cid)
            case aligning.SwitchAt(at=at):
                wait = max(0, at - self.log.now)
                post = self.machine.post
                self.machine.later(task, wait, post, task, self._timed_out, task, cid)
            case aligning.SendCancel():
                for lane in task.outputs.values():
                    self.log.add(task.id, CANCEL_OUT, channel=lane.id, snapshot=str(cid))
                    lane.put(Item(CANCEL, cid=cid))
            case aligning.Decline(reason=reason):
                self.log.add(task.id, CP_DECLINE, {"reason": reason}, snapshot=str(cid))
                yield decision

    def _hurry_inputs(self, task: FlinkTask, cid: int) -> None:
        for lane in task.inputs:
            item = lane.pull(cid) if lane.channel.overtaking else None
            if item is not None:
                task.mail.append((self._take_jumped, (task, lane, item)))
