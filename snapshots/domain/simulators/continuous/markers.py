"""Markers at the tasks of a simulated continuous query: carries out the steps, and logs them.

The decisions are the step functions in `protocols/continuous_task.py`.
"""

from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE
from snapshots.domain.dataflow_logs.kinds import CP_ACK
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.continuous.tasks import ContinuousMachine, ContinuousTask, Marker
from snapshots.domain.simulators.dataflows.aligning import Alignments
from snapshots.domain.simulators.dataflows.functions import State
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.protocols import continuous_task
from snapshots.domain.simulators.protocols.continuous_task import EndTask
from snapshots.domain.simulators.protocols.flink_task import AlignEnd, Block, RecordChannel, Unblock


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the driver that a reader or writer has ended an epoch."""

    epoch: int
    task: ContinuousTask
    offset: int | None = None


class Markers:
    """Ends epochs at the tasks; ``saved`` holds their states at the end of each epoch."""

    def __init__(self, machine: ContinuousMachine, alignments: Alignments) -> None:
        self.machine = machine
        self.log = machine.log
        self.alignments = alignments
        self.saved: dict[int, dict[ProcessId, State]] = {}

    def state_at(self, process: ProcessId, epoch: int) -> State:
        """Return the state that a task recorded at the end of an epoch."""
        return self.saved[epoch][process]

    def on_epoch(self, task: ContinuousTask, epoch: int) -> Effects:
        """End all epochs of a reader before the one that the driver names."""
        while task.epoch < epoch:
            task.epoch += 1
            yield from self._end(task, task.epoch - 1)

    def on_marker(self, task: ContinuousTask, lane: Lane, marker: Marker) -> Effects:
        """Handle a marker at the head of its channel."""
        epoch = marker.cid
        self.log.add(task.id, MARKER_RECEIVE, channel=lane.id, snapshot=str(epoch))
        task.first_barrier.setdefault(epoch, self.log.now)
        step: continuous_task.Step = task.steps.on_marker(task.handler, lane.id, epoch)
        task.handler, decisions = step
        for decision in decisions:
            yield from self._do(task, decision)

    def _do(self, task: ContinuousTask, decision: continuous_task.Effect) -> Effects:
        match decision:
            case Block(channel, epoch):
                self.alignments.block(task, channel, epoch)
            case Unblock(channel, epoch):
                self.alignments.unblock(task, channel, epoch)
            case AlignEnd(epoch):
                self.alignments.end(task, epoch)
            case RecordChannel(channel, epoch):
                fields = {"channel": channel, "snapshot": str(epoch), "messages": ()}
                self.log.add(task.id, RECORD_CHANNEL, {"in": 0, "out": 0}, **fields)
            case EndTask(epoch):
                yield from self._end(task, epoch)

    def _end(self, task: ContinuousTask, epoch: int) -> Effects:
        """Record the task, send the marker on, and report to the driver."""
        snapshot = str(epoch)
        self.machine.committing.precommit(task, epoch)
        self.log.add(task.id, RECORD_STATE, snapshot=snapshot, state=task.state_text)
        self.saved.setdefault(epoch, {})[task.id] = task.state
        for lane in task.outputs.values():
            self.log.add(task.id, MARKER_SEND, channel=lane.id, snapshot=snapshot)
            lane.put(Item(BARRIER, barrier=Marker(epoch)))
        self.machine.committing.begin(task)
        if task.vertex.kind in (SOURCE, SINK):
            self.log.add(task.id, CP_ACK, snapshot=snapshot)
            yield Report(epoch, task, task.state.get("offset"))
