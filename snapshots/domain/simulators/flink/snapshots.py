"""What the tasks of a simulated dataflow record for a checkpoint: state, channels, the upload."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.kinds import CP_ACK, OVERTAKEN_OUT, SNAP_ASYNC, TX_PRECOMMIT
from snapshots.domain.model.recording import MARKER_SEND, RECORD_CHANNEL, RECORD_STATE
from snapshots.domain.simulators.flink.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.flink.tasks import SimTask
from snapshots.domain.simulators.protocols import flink_task as aligning
from snapshots.domain.simulators.protocols.flink_files import uploaded
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, Barrier

if TYPE_CHECKING:
    from snapshots.domain.model.topology import ChannelId, ProcessId
    from snapshots.domain.simulators.flink.checkpoints import Checkpoints
    from snapshots.domain.simulators.flink.functions import Record

UPLOAD, CHANNELS = "upload", "channels"


@dataclass(frozen=True, slots=True)
class Saved:
    """What a checkpoint holds of a task. pending: its pre-committed transactions."""

    state: dict
    pending: tuple[tuple[str, int], ...] = ()


class Snapshots:
    """saved: checkpoint -> task -> what it holds. channel_states: checkpoint -> channel ->
    records."""

    def __init__(self, checkpoints: "Checkpoints") -> None:
        self.checkpoints = checkpoints
        self.run = checkpoints.run
        self.saved: dict[int, dict[ProcessId, Saved]] = {}
        self.channel_states: dict[int, dict[ChannelId, list[Record]]] = {}

    def take(self, task: SimTask, effect: aligning.Snapshot) -> bool:
        """The state now, its upload later. Whether there is a snapshot: the task may decline."""
        run, cid = self.run, effect.barrier.cid
        if (cid, task.id) in run.plan.declines:
            self.checkpoints.decline(task, cid, "declined")
            self.checkpoints.send_cancel(task, cid)
            return False
        self._precommit(task, cid)
        self._send_barriers(task, effect)
        mode = aligning.UNALIGNED if effect.unaligned else effect.barrier.mode
        if mode == TIMEOUT:
            mode = aligning.ALIGNED
        pending = None if task.tx is None else [tx for tx, _ in task.tx.pending]
        extra = {"sync": run.plan.sync_time, "mode": mode, "pending": pending}
        run.log.add(task.id, RECORD_STATE, extra, snapshot=str(cid), state=task.state_text)
        if not task.ended:
            run.begin_transaction(task)
        self._save(task, cid)
        for channel in effect.collecting:
            task.lane(channel).collect(cid)
        task.missing[cid] = {UPLOAD, CHANNELS} if effect.collecting else {UPLOAD}
        files = uploaded(
            task.id,
            cid,
            task.current_versions(),
            task.sizes(),
            task.base if run.plan.incremental else {},
        )
        task.files[cid] = files
        start = run.queue.now + run.plan.sync_time
        upload = run.plan.sync_time + run.plan.async_time
        run.later(task, upload, self._uploaded, task, cid, start)
        return True

    def _precommit(self, task: SimTask, cid: int) -> None:
        tx = None if task.tx is None else task.tx.precommit(cid)
        if tx is not None:
            self.run.log.add(task.id, TX_PRECOMMIT, {"tx": tx}, snapshot=str(cid))

    def _send_barriers(self, task: SimTask, effect: aligning.Snapshot) -> None:
        barrier = effect.barrier
        for lane in task.outputs.values():
            jumps = effect.unaligned and lane.channel.overtaking
            item = Item(BARRIER, barrier=barrier)
            extra = {"priority": jumps or None}
            snapshot = str(barrier.cid)
            self.run.log.add(task.id, MARKER_SEND, extra, channel=lane.id, snapshot=snapshot)
            if jumps:
                lane.put_first(item)
                self._log_overtaken(task, lane, item)
            else:
                lane.put(item)
                if barrier.switch_at is not None and lane.channel.overtaking:
                    wait = max(0, barrier.switch_at - self.run.queue.now)
                    self.run.later(task, wait, self._hurry_output, task, lane, barrier.cid)

    def _hurry_output(self, task: SimTask, lane: Lane, cid: int) -> None:
        """The time for aligning is over, and the barrier still waits in the sender's buffer."""
        item = lane.hurry(cid)
        if item is not None:
            self._log_overtaken(task, lane, item)

    def _log_overtaken(self, task: SimTask, lane: Lane, item: Item) -> None:
        extra = {"count": len(item.overtaken)}
        snapshot = str(item.barrier.cid)
        self.run.log.add(task.id, OVERTAKEN_OUT, extra, channel=lane.id, snapshot=snapshot)

    def _save(self, task: SimTask, cid: int) -> None:
        pending = () if task.tx is None else tuple(task.tx.pending)
        self.saved.setdefault(cid, {})[task.id] = Saved(task.state, pending)
        task.recorded.add(cid)
        if task.ended and task.final_cid is None:
            task.final_cid = cid

    def record_channel(self, task: SimTask, lane: Lane, cid: int) -> None:
        """What was kept up to the barrier, then what the barrier jumped over at the sender."""
        kept = lane.collected.pop(cid, None)
        barrier = task.barriers.get((lane.id, cid))
        if kept is None or barrier is None:
            overtaken = []
            kept = kept or []
        else:
            overtaken = barrier.overtaken
            jumped = {item.order for item in overtaken}
            kept = [
                item for item in kept if item.order < barrier.order and item.order not in jumped
            ]
        self._log_channel(task, lane, cid, kept, overtaken)

    def _log_channel(
        self, task: SimTask, lane: Lane, cid: int, kept: list[Item], overtaken: list[Item]
    ) -> None:
        items = (*kept, *overtaken)
        self.channel_states.setdefault(cid, {})[lane.id] = [item.record for item in items]
        if items:
            self.run.counted.channel_state[lane.id, cid] = (len(kept), len(overtaken))
        self.run.log.add(
            task.id,
            RECORD_CHANNEL,
            {"in": len(kept), "out": len(overtaken)},
            channel=lane.id,
            snapshot=str(cid),
            messages=tuple(item.message for item in items),
        )

    def _uploaded(self, task: SimTask, cid: int, start: int) -> None:
        handles = [held.handle for held in task.files.get(cid, {}).values()]
        new = sum(handle.bytes for handle in handles if not handle.shared)
        extra = {"start": start, "bytes": new, "total": sum(handle.bytes for handle in handles)}
        self.run.log.add(task.id, SNAP_ASYNC, extra, snapshot=str(cid))
        self.arrived(task, cid, UPLOAD)

    def arrived(self, task: SimTask, cid: int, part: str) -> None:
        """UPLOAD or CHANNELS is there; with the last of them the task acknowledges."""
        if cid not in task.missing:
            return
        task.missing[cid].discard(part)
        if task.missing[cid]:
            return
        del task.missing[cid]
        handles = [held.handle.to_json() for held in task.files[cid].values()]
        self.run.log.add(task.id, CP_ACK, {"handles": handles}, snapshot=str(cid))
        self.run.queue.after(self.run.plan.control_delay, self.checkpoints.on_ack, cid, task.id)

    def record_finished(self, task: SimTask, barrier: Barrier) -> None:
        """On behalf of a task that is no more: the end of its channels stands for its barriers."""
        log, cid, snapshot = self.run.log, barrier.cid, str(barrier.cid)
        for lane in task.inputs:
            self._log_channel(task, lane, cid, [], [])
        for lane in task.outputs.values():
            log.add(task.id, MARKER_SEND, {"end": True}, channel=lane.id, snapshot=snapshot)
        extra = {"finished": True}
        log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)
        for lane in task.outputs.values():
            lane.put_behind_end(Item(BARRIER, barrier=barrier, stands_for_end=True))
        self.saved.setdefault(cid, {})[task.id] = Saved(task.state)

    def forget(self, task: SimTask, cid: int) -> None:
        task.missing.pop(cid, None)
        for lane in task.inputs:
            lane.collected.pop(cid, None)
