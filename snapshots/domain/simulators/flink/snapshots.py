"""What the tasks of a simulated Flink job record for a checkpoint: state, channels, the upload."""

from dataclasses import dataclass

from snapshots.domain.dataflow_logs.kinds import CP_ACK, OVERTAKEN_OUT, SNAP_ASYNC
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import MARKER_SEND, RECORD_CHANNEL, RECORD_STATE
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.dataflows.recovery import Saved
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.flink.event_time import logged
from snapshots.domain.simulators.flink.tasks import FlinkMachine, FlinkTask
from snapshots.domain.simulators.protocols import flink_task as aligning
from snapshots.domain.simulators.protocols.flink_files import uploaded
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, Barrier

UPLOAD, CHANNELS = "upload", "channels"
"""What an acknowledgement waits for."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Send the coordinator the task's acknowledgement."""

    cid: int
    task: ProcessId


class Snapshots:
    """Records snapshots, and keeps what each checkpoint holds.

    saved: checkpoint -> task -> what the checkpoint holds of it.
    channel_states: checkpoint -> channel -> records and watermarks, in order.
    """

    def __init__(self, machine: FlinkMachine) -> None:
        self.machine = machine
        self.plan = machine.plan
        self.log = machine.log
        self.saved: dict[int, dict[ProcessId, Saved]] = {}
        self.channel_states: dict[int, dict[ChannelId, list[Item]]] = {}

    def take(self, task: FlinkTask, effect: aligning.Snapshot) -> None:
        """Record the state now; the upload ends later."""
        cid = effect.barrier.cid
        self.machine.committing.precommit(task, cid)
        self._send_barriers(task, effect)
        self._log_state(task, effect)
        if not task.ended:
            self.machine.committing.begin(task)
        self._save(task, cid)
        for channel in effect.collecting:
            task.lane(channel).collect(cid)
        task.missing[cid] = {UPLOAD, CHANNELS} if effect.collecting else {UPLOAD}
        base = task.base if self.plan.incremental else {}
        versions, sizes = task.current_versions(), task.sizes()
        task.files[cid] = uploaded(task.id, cid, versions, sizes, base)
        start = self.log.now + self.plan.sync_time
        duration = self.plan.sync_time + self.plan.async_time
        self.machine.later(task, duration, self._uploaded, task, cid, start)

    def _send_barriers(self, task: FlinkTask, effect: aligning.Snapshot) -> None:
        for lane in task.outputs.values():
            jumps = effect.unaligned and lane.channel.overtaking
            snapshot = str(effect.barrier.cid)
            extra = {"priority": jumps or None}
            self.log.add(task.id, MARKER_SEND, extra, channel=lane.id, snapshot=snapshot)
            self._put_barrier(task, lane, Item(BARRIER, barrier=effect.barrier), jumps)

    def _put_barrier(self, task: FlinkTask, lane: Lane, item: Item, jumps: bool) -> None:
        if jumps:
            lane.put_first(item)
            self._log_overtaken(task, lane, item)
            return
        lane.put(item)
        switch_at = item.barrier.switch_at
        if switch_at is not None and lane.channel.overtaking:
            wait = max(0, switch_at - self.log.now)
            self.machine.later(task, wait, self._hurry_output, task, lane, item.barrier.cid)

    def _hurry_output(self, task: FlinkTask, lane: Lane, cid: int) -> None:
        """Let a barrier overtake that still waits in the sender's buffer."""
        item = lane.hurry(cid)
        if item is not None:
            self._log_overtaken(task, lane, item)

    def _log_overtaken(self, task: FlinkTask, lane: Lane, item: Item) -> None:
        extra = {"count": _records_of(item.overtaken)}
        snapshot = str(item.barrier.cid)
        self.log.add(task.id, OVERTAKEN_OUT, extra, channel=lane.id, snapshot=snapshot)

    def _log_state(self, task: FlinkTask, effect: aligning.Snapshot) -> None:
        mode = aligning.UNALIGNED if effect.unaligned else effect.barrier.mode
        if mode == TIMEOUT:
            mode = aligning.ALIGNED
        pending = None if task.tx is None else [tx for tx, _ in task.tx.pending]
        extra = {"sync": self.plan.sync_time, "mode": mode, "pending": pending}
        extra["watermark"] = logged(task.valve.watermark)
        snapshot = str(effect.barrier.cid)
        self.log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)

    def _save(self, task: FlinkTask, cid: int) -> None:
        pending = () if task.tx is None else tuple(task.tx.pending)
        kept = task.valve.watermark if self.plan.event_time.keeps(task.vertex) else None
        self.saved.setdefault(cid, {})[task.id] = Saved(task.state, pending, kept)
        task.recorded.add(cid)
        if task.ended and task.final_cid is None:
            task.final_cid = cid

    def record_channel(self, task: FlinkTask, lane: Lane, cid: int) -> None:
        """Record what was kept up to the barrier, then what the barrier overtook at the sender."""
        kept = lane.collected.pop(cid, None)
        barrier = task.barriers.get((lane.id, cid))
        overtaken = []
        if kept is not None and barrier is not None:
            overtaken = barrier.overtaken
            jumped = {item.order for item in overtaken}
            kept = [i for i in kept if i.order < barrier.order and i.order not in jumped]
        self._log_channel(task, lane, cid, kept or [], overtaken)

    def _log_channel(
        self, task: FlinkTask, lane: Lane, cid: int, kept: list[Item], overtaken: list[Item]
    ) -> None:
        items = [*kept, *overtaken]
        self.channel_states.setdefault(cid, {})[lane.id] = items
        records = _records_of(kept), _records_of(overtaken)
        if any(records):
            self.machine.counted.channel_state[lane.id, cid] = records
        watermarks = len(items) - sum(records) or None
        self.log.add(
            task.id,
            RECORD_CHANNEL,
            {"in": records[0], "out": records[1], "watermarks": watermarks},
            channel=lane.id,
            snapshot=str(cid),
            messages=tuple(item.message for item in items if item.is_record),
        )

    def _uploaded(self, task: FlinkTask, cid: int, start: int) -> Effects:
        handles = [held.handle for held in task.files.get(cid, {}).values()]
        new = sum(handle.bytes for handle in handles if not handle.shared)
        extra = {"start": start, "bytes": new, "total": sum(handle.bytes for handle in handles)}
        self.log.add(task.id, SNAP_ASYNC, extra, snapshot=str(cid))
        return self.arrived(task, cid, UPLOAD)

    def arrived(self, task: FlinkTask, cid: int, part: str) -> Effects:
        """Note that UPLOAD or CHANNELS is there; the task acknowledges with the last of them."""
        missing = task.missing.get(cid, set())
        if missing != {part}:
            missing.discard(part)
            return ()
        del task.missing[cid]
        handles = [as_json(held.handle) for held in task.files[cid].values()]
        self.log.add(task.id, CP_ACK, {"handles": handles}, snapshot=str(cid))
        return (Acknowledge(cid, task.id),)

    def record_finished(self, task: FlinkTask, barrier: Barrier) -> None:
        """Record a task that has finished; the ends of its channels stand for its barriers."""
        cid, snapshot = barrier.cid, str(barrier.cid)
        for lane in task.inputs:
            self._log_channel(task, lane, cid, [], [])
        for lane in task.outputs.values():
            self.log.add(task.id, MARKER_SEND, {"end": True}, channel=lane.id, snapshot=snapshot)
        extra = {"finished": True}
        self.log.add(task.id, RECORD_STATE, extra, snapshot=snapshot, state=task.state_text)
        for lane in task.outputs.values():
            lane.put_behind_end(Item(BARRIER, barrier=barrier, stands_for_end=True))
        self.saved.setdefault(cid, {})[task.id] = Saved(task.state)

    def forget(self, task: FlinkTask, cid: int) -> None:
        """Give up the task's part of a checkpoint."""
        task.missing.pop(cid, None)
        for lane in task.inputs:
            lane.collected.pop(cid, None)


def _records_of(items: list[Item]) -> int:
    return sum(item.is_record for item in items)
