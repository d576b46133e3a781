"""A SeaTunnel job as it runs: who reads which split, who works, and when a source has been read."""

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.dataflow import SOURCE
from snapshots.domain.dataflow_logs.kinds import END, READ, TX_BEGIN
from snapshots.domain.model.recording import RECEIVE, LoggedEvent
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Record, Rid, Split, expected_rids
from snapshots.domain.simulators.dataflows.lanes import BARRIER, Item, Lane
from snapshots.domain.simulators.dataflows.machine import Machine
from snapshots.domain.simulators.dataflows.results import count_results
from snapshots.domain.simulators.dataflows.tasks import value_text
from snapshots.domain.simulators.protocols import seatunnel_task
from snapshots.domain.simulators.protocols.seatunnel import FINISHED, SUSPENDED
from snapshots.domain.simulators.seatunnel.checkpoints import PipelineCheckpoints
from snapshots.domain.simulators.seatunnel.failover import SeaTunnelFailover
from snapshots.domain.simulators.seatunnel.tasks import (
    ENUMERATOR,
    READER,
    SeaTunnelTask,
    fresh_state,
    tasks_of,
)
from snapshots.domain.simulators.seatunnel.topology import enumerator_of, subtasks_of

if TYPE_CHECKING:
    from snapshots.domain.simulators.seatunnel.simulation import SeaTunnelSimulation

ASSIGNMENT = 0
"""The offset in the rid of a split on its way; records count from 1."""


class SeaTunnelRun(Machine):
    """splits: of each source, its splits by name. next_cid: of the next snapshot of any pipeline.

    before: the run whose savepoint this one starts from.
    """

    def __init__(self, simulation: "SeaTunnelSimulation", steps: ModuleType | None = None) -> None:
        super().__init__(simulation, simulation.dataflow, simulation.topology())
        self.steps = steps or seatunnel_task
        slow = dict(simulation.slow)
        self.tasks = tasks_of(self.dataflow, self.steps, slow, simulation.tx_timeout, self.lanes)
        self.before = simulation.before()
        written = (self.before or simulation).dataflow
        self.splits = {
            vertex.id: {name: Split(vertex, name) for name in subtasks_of(vertex)}
            for vertex in written.vertices
            if vertex.kind == SOURCE
        }
        for task in self.tasks.values():
            task.state = self.fresh_state(task)
        if self.before is not None:
            self._take_over(self.before.count())
        self.next_cid = 1 if self.before is None else self.before.next_cid
        self.pipelines = [
            PipelineCheckpoints(self, number, process)
            for number, process in enumerate(self.dataflow.coordinators(), start=1)
        ]
        self.failover = SeaTunnelFailover(self)

    def fresh_state(self, task: SeaTunnelTask) -> dict:
        return fresh_state(task.vertex, task.role, tuple(self.splits.get(task.vertex.id, ())))

    def _take_over(self, earlier: Counted) -> None:
        """What stands in the sinks when the run begins."""
        self.counted.written = {name: list(items) for name, items in earlier.written.items()}
        self.counted.tables = {name: dict(table) for name, table in earlier.tables.items()}

    def events(self) -> Iterator[LoggedEvent]:
        for task in self.tasks.values():
            task.reset(task.state)
        if self.before is None:
            for task in self.tasks.values():
                self.begin_transaction(task)
                self.plan_wake(task, 0)
        else:
            self.failover.start_from(self.before)
        for pipeline in self.pipelines:
            pipeline.begin()
        for failure in self.plan.failures:
            self.queue.at(failure.at, self.failover.fail, failure.process)
        while self.queue and not self.stopped and self.log.lines <= self.plan.most_events:
            self.queue.run_next()
            yield from self.log.fresh
            self.log.fresh.clear()

    def count(self) -> Counted:
        """When all events have been made. What the run before has written counts too; of a job that
        ended with a savepoint, only what it has read can be lost."""
        counted = self.counted
        counted.finished = all(item.state.status == FINISHED for item in self.pipelines)
        committed = {} if self.before is None else self.before.counted.visible
        count_results(self.dataflow, self.tasks, counted, self._expected(), committed)
        return counted

    def _expected(self) -> dict[str, set[Rid]]:
        expected = expected_rids((self.before or self).dataflow)
        if not self.is_suspended:
            return expected
        reached = {
            split: offset
            for task in self.tasks.values()
            if task.role in (ENUMERATOR, READER)
            for split, offset in task.state["splits"].items()
        }
        return {
            name: {rid for rid in rids if rid.offset < reached[rid.split]}
            for name, rids in expected.items()
        }

    @property
    def is_suspended(self) -> bool:
        """Whether every pipeline has ended, one at least with a savepoint."""
        states = {item.state.status for item in self.pipelines}
        return SUSPENDED in states and self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether every pipeline has, with a savepoint or because all had been read."""
        return all(item.state.status in (FINISHED, SUSPENDED) for item in self.pipelines)

    def pipeline_of(self, task: SeaTunnelTask) -> PipelineCheckpoints:
        return self.pipelines[task.pipeline]

    def begin_transaction(self, task: SeaTunnelTask) -> None:
        if task.tx is not None:
            self.log.add(task.id, TX_BEGIN, {"tx": task.tx.begin(self.queue.now)})

    # --- a task at work --------------------------------------------------------------------------

    def next_work(self, task: SeaTunnelTask) -> bool:
        if task.role == ENUMERATOR:
            return self._next_assignment(task)
        if task.role != READER:
            return self.next_item(task)
        lane = task.next_lane()
        if lane is None:
            return self._next_read(task)
        item = lane.take()
        if item.is_record:
            self._receive_split(task, lane, item)
        else:
            self.take_control(task, lane, item)
        return True

    def take_control(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        assert item.kind == BARRIER
        self.pipeline_of(task).on_barrier(task, lane, item)

    # --- splits ----------------------------------------------------------------------------------

    def _next_assignment(self, task: SeaTunnelTask) -> bool:
        """Hands out one split, if it is time."""
        if task.closing or not task.state["splits"]:
            return False
        if task.next_assignment > self.queue.now:
            self.plan_wake(task, task.next_assignment - self.queue.now)
            return False
        first = next(iter(task.state["splits"]))
        ((split, reader),) = self.steps.owners((first,), task.loads)
        self.hand_out(task, split, reader)
        task.next_assignment = self.queue.now + self.plan.assign_every
        return True

    def hand_out(self, task: SeaTunnelTask, split: str, reader: ProcessId) -> None:
        splits = dict(task.state["splits"])
        offset = splits.pop(split)
        task.state = {"splits": splits}
        task.loads[reader] += 1
        lane = task.outputs[task.vertex.id, self.tasks[reader].index]
        self.send(task, lane, Record(Rid(split, ASSIGNMENT), split, offset))

    def _receive_split(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        record = item.record
        task.state = {"splits": task.state["splits"] | {record.key: record.value}}
        self.log.add(
            task.id,
            RECEIVE,
            {"rid": list(record.rid)},
            channel=lane.id,
            message=item.message,
            value=value_text(record),
            state=task.state_text,
        )
        self.note_if_read(task.vertex.id)

    def _next_read(self, task: SeaTunnelTask) -> bool:
        """Of the split whose next record came into being first."""
        if task.closing:
            return False
        known = self.splits[task.vertex.id]
        waiting = [
            (known[split].available_at(offset), offset, split)
            for split, offset in task.state["splits"].items()
            if offset <= task.vertex.records
        ]
        if not waiting:
            return False
        available, _, split = min(waiting)
        if available > self.queue.now:
            self.plan_wake(task, available - self.queue.now)
        else:
            self.occupy(task, self.cost_of(task), self._read, task, split)
        return False

    def _read(self, task: SeaTunnelTask, split: str) -> None:
        offset = task.state["splits"][split]
        record = self.splits[task.vertex.id][split].record(offset)
        task.state = {"splits": task.state["splits"] | {split: offset + 1}}
        extra = {"rid": list(record.rid), "split": split, "offset": offset}
        self.log.add(task.id, READ, extra, value=value_text(record), state=task.state_text)
        self.failover.rereading.note_read(split, offset)
        self.emit(task, [record])
        self.note_if_read(task.vertex.id)

    # --- the end of a bounded source -------------------------------------------------------------

    def note_if_read(self, source: str) -> None:
        """When all splits have been read, the enumerator is ready to close, and says so."""
        enumerator = self.tasks.get(enumerator_of(source))
        if enumerator is None or enumerator.ended or not self._is_read(enumerator):
            return
        enumerator.ended = True
        for reader in enumerator.loads:
            self.tasks[reader].ended = True
            self.log.add(reader, END)
        self.later(enumerator, self.plan.control_delay, self._ready_to_close, enumerator)

    def _is_read(self, enumerator: SeaTunnelTask) -> bool:
        """Whether readers have all its splits, and have read them."""
        if enumerator.closing or not enumerator.alive:
            return False
        offsets = [
            offset
            for reader in enumerator.loads
            for offset in self.tasks[reader].state["splits"].values()
        ]
        whole = len(offsets) == len(self.splits[enumerator.vertex.id])
        return whole and all(offset > enumerator.vertex.records for offset in offsets)

    def _ready_to_close(self, enumerator: SeaTunnelTask) -> None:
        self.log.add(enumerator.id, END)
        pipeline = self.pipeline_of(enumerator)
        self.later(enumerator, self.plan.control_delay, pipeline.ready_to_close, enumerator.id)
