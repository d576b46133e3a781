"""Barriers at the tasks of a simulated SeaTunnel job: carries out what they decide, and logs it.

The decisions are the step functions in `protocols/seatunnel_task.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.events import DISCARDED
from snapshots.domain.dataflow_logs.kinds import CP_ACK, CP_NOTIFIED
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.dataflows.recovery import Saved
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.protocols import seatunnel_task as passing
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock
from snapshots.domain.simulators.protocols.seatunnel import FINAL
from snapshots.domain.simulators.protocols.seatunnel_task import Barrier, Take
from snapshots.domain.simulators.seatunnel.tasks import COMMITTER, SeaTunnelMachine, SeaTunnelTask


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Send the coordinator the task's acknowledgement."""

    cid: int
    task: SeaTunnelTask


@dataclass(frozen=True, slots=True)
class Confirm:
    """Tell the coordinator that the task knows the checkpoint to be complete."""

    cid: int
    task: SeaTunnelTask


class Barriers:
    """Handles barriers and the coordinator's messages.

    ``saved`` is what each checkpoint holds, ``schemas`` the schema that it comes after.
    ``given_up`` are the checkpoints that a failure ended while some tasks went on.
    """

    def __init__(self, machine: SeaTunnelMachine, alignments: Alignments) -> None:
        self.machine = machine
        self.log = machine.log
        self.alignments = alignments
        self.saved: dict[int, dict[ProcessId, Saved]] = {}
        self.schemas: dict[int, int] = {}
        self.given_up: set[int] = set()

    def on_trigger(self, task: SeaTunnelTask, barrier: Barrier) -> None:
        """Begin a checkpoint as the coordinator says, unless it was given up since."""
        if barrier.cid in self.given_up:
            return
        self._follow(task, task.steps.on_trigger(task.handler, barrier))

    def on_barrier(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        """Handle a barrier at the head of its channel; one that was given up changes nothing."""
        barrier = item.barrier
        is_off = barrier.cid in self.given_up
        self.log.add(
            task.id,
            MARKER_RECEIVE,
            {"tx": barrier.info},
            channel=lane.id,
            snapshot=str(barrier.cid),
            label=DISCARDED if is_off else None,
        )
        if barrier.info is not None:
            info = task.commit_info.setdefault(barrier.cid, [])
            info.append((lane.channel.source, barrier.info))
        if is_off:
            return
        task.first_barrier.setdefault(barrier.cid, self.log.now)
        self._follow(task, task.steps.on_barrier(task.handler, lane.id, barrier))

    def give_up(self, cid: int, tasks: Iterable[SeaTunnelTask]) -> None:
        """Let tasks that go on forget a checkpoint: no input waits, and none closes with it."""
        self.given_up.add(cid)
        for task in tasks:
            for channel in task.handler.arrived if task.handler.blocking else ():
                self.alignments.unblock(task, channel, cid)
            task.handler = task.start_handler()
            if task.closing:
                task.closing = False
                self.machine.committing.begin(task)
            self.machine.plan_wake(task, 0)

    def _follow(self, task: SeaTunnelTask, step: passing.Step) -> None:
        """Carry out a step; channels stay blocked while the state is copied."""
        task.handler, decisions = step
        for decision in decisions:
            self._do(task, decision)
        taken = [decision for decision in decisions if isinstance(decision, Take)]
        unblock = [decision for decision in decisions if isinstance(decision, Unblock)]
        if taken:
            cid, duration = taken[-1].barrier.cid, self.machine.plan.sync_time
            self.machine.occupy(task, duration, self._copied, task, cid, unblock)

    def _do(self, task: SeaTunnelTask, decision: passing.Effect) -> None:
        match decision:
            case Block(channel, cid):
                self.alignments.block(task, channel, cid)
            case AlignEnd(cid):
                self.alignments.end(task, cid)
            case RecordChannel(channel, cid):
                extra = {"in": 0, "out": 0}
                fields = {"channel": channel, "snapshot": str(cid), "messages": ()}
                self.log.add(task.id, RECORD_CHANNEL, extra, **fields)
            case Take(barrier):
                self._take(task, barrier)

    def _take(self, task: SeaTunnelTask, barrier: Barrier) -> None:
        """Pre-commit, record the state, and send the barrier on."""
        tx = self.machine.committing.precommit(task, barrier.cid)
        self._record(task, barrier.cid)
        for lane in task.outputs.values():
            extra, snapshot = {"tx": tx}, str(barrier.cid)
            self.log.add(task.id, MARKER_SEND, extra, channel=lane.id, snapshot=snapshot)
            lane.put(Item(BARRIER, barrier=Barrier(barrier.cid, barrier.type, tx)))
        task.closing = barrier.type in FINAL
        if not task.closing:
            self.machine.committing.begin(task)

    def _record(self, task: SeaTunnelTask, cid: int) -> None:
        """Record the state; what a writer has still to commit by itself is no part of it."""
        pending = () if task.tx is None or task.commits_itself else tuple(task.tx.pending)
        listed = None if task.tx is None else [tx for tx, _ in pending]
        if task.role == COMMITTER:
            owners = sorted(owner for owner in task.commit_info if owner <= cid)
            listed = [tx for owner in owners for _, tx in task.commit_info[owner]]
        schema = task.schema if self.machine.plan.schema_changes else None
        extra = {"sync": self.machine.plan.sync_time, "pending": listed, "schema": schema}
        self.log.add(task.id, RECORD_STATE, extra, snapshot=str(cid), state=task.state_text)
        self.saved.setdefault(cid, {})[task.id] = Saved(task.state, pending)
        task.taken.note(cid)
        self.schemas[cid] = max(self.schemas.get(cid, 1), task.schema)

    def _copied(self, task: SeaTunnelTask, cid: int, unblock: list[Unblock]) -> Effects:
        for decision in unblock:
            self.alignments.unblock(task, decision.channel, decision.cid)
        self.log.add(task.id, CP_ACK, {"state_index": task.index}, snapshot=str(cid))
        yield Acknowledge(cid, task)

    def on_notice(self, task: SeaTunnelTask, cid: int) -> Effects:
        """Take note that a checkpoint is complete; who commits does so now."""
        self.log.add(task.id, CP_NOTIFIED, {"what": "complete"}, snapshot=str(cid))
        if task.commits_itself:
            self.machine.committing.commit(task, cid)
        for owner in sorted(task.commit_info):
            if owner <= cid:
                self._commit(task, task.commit_info.pop(owner), owner)
        yield Confirm(cid, task)

    def _commit(
        self, committer: SeaTunnelTask, info: list[tuple[ProcessId, str]], cid: int
    ) -> None:
        for writer in dict.fromkeys(writer for writer, _ in info):
            self.machine.committing.commit(self.machine.tasks[writer], cid, committer.id)
