"""Tasks that align barriers: what engines with barriers log and count in the same way."""

from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.dataflow_logs.kinds import ALIGN_END, BLOCK, UNBLOCK
from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import State
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.dataflows.tasks import EventLog, Task


@dataclass(eq=False, kw_only=True)
class AligningTask(Task[Lane]):
    """A task that follows barriers by step functions.

    ``steps`` are the functions, ``handler`` is their state. ``ended`` means that all input has been
    read, ``finished`` that the task takes part in no further checkpoint. ``first_barrier`` gives
    the time of each checkpoint's first barrier, ``blocked_since`` the checkpoint and the time since
    which an input is blocked.
    """

    steps: Any
    handler: Any = None
    ended: bool = False
    finished: bool = False
    first_barrier: dict[int, int] = field(default_factory=dict)
    blocked_since: dict[ChannelId, tuple[int, int]] = field(default_factory=dict)

    def start_handler(self) -> Any:
        """Return the handler of a task that has seen no barrier."""
        return self.steps.start(tuple(lane.id for lane in self.inputs))

    def reset(self, state: State) -> None:
        """Put the task in the condition of one that was just deployed."""
        super().reset(state)
        self.handler = self.start_handler()
        self.ended = self.finished = False
        self.first_barrier.clear()
        self.blocked_since.clear()


@dataclass(eq=False)
class Alignments:
    """Blocks channels and ends alignments, with their events and counts.

    ``is_buffering``: a task takes what arrives on blocked channels into a buffer of its own, and
    processes that first when they are open again.
    """

    log: EventLog
    counted: Counted
    is_buffering: bool = False

    def block(self, task: AligningTask, channel: ChannelId, cid: int) -> None:
        """Take nothing from the channel until ``unblock``."""
        task.lane(channel).block(self.is_buffering)
        task.blocked_since[channel] = (cid, self.log.now)
        self.log.add(task.id, BLOCK, channel=channel, snapshot=str(cid))

    def unblock(self, task: AligningTask, channel: ChannelId, cid: int) -> None:
        """Take from the channel again."""
        buffered = task.lane(channel).unblock()
        self._count_blocked(task, channel)
        extra = {"buffered": buffered if self.is_buffering else None}
        self.log.add(task.id, UNBLOCK, extra, channel=channel, snapshot=str(cid))
        if buffered:
            self.counted.buffered[channel, cid] = buffered

    def end(self, task: AligningTask, cid: int) -> None:
        """Note that the checkpoint's last barrier has come."""
        self.log.add(task.id, ALIGN_END, snapshot=str(cid))
        first = task.first_barrier.get(cid, self.log.now)
        self.counted.alignment[task.id, cid] = self.log.now - first

    def stop(self, task: AligningTask) -> None:
        """End the task's attempt; its channels are blocked no longer."""
        task.die()
        for channel in list(task.blocked_since):
            self._count_blocked(task, channel)

    def _count_blocked(self, task: AligningTask, channel: ChannelId) -> None:
        cid, since = task.blocked_since.pop(channel)
        self.counted.blocked.setdefault(channel, []).append((cid, since, self.log.now))
