"""The splits of a simulated SeaTunnel job: who reads which, and when a source has been read."""

from collections.abc import Collection
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.dataflow_logs.kinds import END
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, Rid, Split, State
from snapshots.domain.simulators.dataflows.lanes import Item, Lane
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.seatunnel.regions import REGION
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChanges
from snapshots.domain.simulators.seatunnel.tasks import SeaTunnelMachine, SeaTunnelTask, fresh_state
from snapshots.domain.simulators.seatunnel.topology import enumerator_of, subtasks_of

ASSIGNMENT = 0
"""The offset in the rid of a split on its way; records count from 1."""


@dataclass(frozen=True, slots=True)
class ReadyToClose:
    """Tell the coordinator that the enumerator's source has been read."""

    enumerator: SeaTunnelTask


class Splits:
    """Hands splits out, and reads them.

    ``by_source`` gives the splits of each source by name, ``source_of`` the source of each split.
    ``last_reader`` is the reader that had a split last. If failures are regional, it has the split
    again after a restart, so that its records take the way that they took before.
    """

    def __init__(
        self, machine: SeaTunnelMachine, written: Dataflow, changes: SchemaChanges
    ) -> None:
        """Make the splits.

        Args:
            machine: the run.
            written: the dataflow as it was when the job first started; it determines the splits.
            changes: stops readers at changes of the schema.
        """
        self.machine = machine
        self.changes = changes
        self.by_source = {
            vertex.id: {name: Split(vertex, name) for name in subtasks_of(vertex)}
            for vertex in written.vertices
            if vertex.kind == SOURCE
        }
        self.source_of: dict[str, str] = {
            split: name for name, own in self.by_source.items() for split in own
        }
        self.is_sticky = machine.plan.failover == REGION
        self.last_reader: dict[str, ProcessId] = {}

    def fresh_state(self, task: SeaTunnelTask) -> State:
        """Return the state with which the job starts."""
        return fresh_state(task.vertex, task.role, self.by_source.get(task.vertex.id, ()))

    # --- the enumerator --------------------------------------------------------------------------

    def next_assignment(self, task: SeaTunnelTask) -> bool:
        """Hand out one split if it is time; return whether there may be more to do."""
        if task.closing or not task.state["splits"]:
            return False
        now = self.machine.queue.now
        if task.next_assignment > now:
            self.machine.plan_wake(task, task.next_assignment - now)
            return False
        first = next(iter(task.state["splits"]))
        ((split, reader),) = self.owners(task, (first,))
        self.hand_out(task, split, reader)
        task.next_assignment = now + self.machine.plan.assign_every
        return True

    def owners(
        self, enumerator: SeaTunnelTask, splits: Collection[str]
    ) -> list[tuple[str, ProcessId]]:
        """Return who is to read each split."""
        fresh = [item for item in splits if not (self.is_sticky and item in self.last_reader)]
        chosen = dict(enumerator.steps.owners(fresh, enumerator.loads))
        return [(item, chosen.get(item) or self.last_reader[item]) for item in splits]

    def hand_out(self, task: SeaTunnelTask, split: str, reader: ProcessId) -> None:
        """Send the split to the reader."""
        splits = dict(task.state["splits"])
        offset = splits.pop(split)
        task.state = {"splits": splits}
        task.loads[reader] += 1
        self.last_reader[split] = reader
        lane = task.outputs[task.vertex.id, self.machine.tasks[reader].index]
        self.machine.send(task, lane, Record(Rid(split, ASSIGNMENT), split, offset))

    # --- readers ---------------------------------------------------------------------------------

    def receive(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        """Let a reader take a split that was handed to it."""
        record = item.record
        assert record is not None  # splits travel as records
        task.state = {"splits": task.state["splits"] | {record.key: record.value}}
        self.machine.log_receive(task, lane, item, record)
        self.note_if_read(task.vertex.id)

    def next_read(self, task: SeaTunnelTask) -> None:
        """Read from the split whose next record was created earliest."""
        splits = self.by_source[task.vertex.id]
        waiting = [
            (splits[split].available_at(offset), offset, split)
            for split, offset in task.state["splits"].items()
            if offset <= task.vertex.records
        ]
        if task.closing or task.waits_for is not None or not waiting:
            return
        available, offset, split = min(waiting)
        if self.changes.stop_before(task, split, offset):
            return
        if available > self.machine.queue.now:
            self.machine.plan_wake(task, available - self.machine.queue.now)
        else:
            self.machine.occupy(task, self.machine.cost_of(task), self._read, task, splits[split])

    def _read(self, task: SeaTunnelTask, split: Split) -> None:
        splits = task.state["splits"]
        offset = splits[split.name]
        self.machine.read(task, split, offset, {"splits": splits | {split.name: offset + 1}})
        self.note_if_read(task.vertex.id)

    # --- the end of a bounded source -------------------------------------------------------------

    def note_if_read(self, source: str) -> None:
        """Let the enumerator close when all splits of the source have been read."""
        enumerator = self.machine.tasks.get(enumerator_of(source))
        if enumerator is None or enumerator.ended or not self._is_read(enumerator):
            return
        enumerator.ended = True
        for reader in enumerator.loads:
            self.machine.tasks[reader].ended = True
            self.machine.log.add(reader, END)
        delay = self.machine.plan.control_delay
        self.machine.later(enumerator, delay, self._ready_to_close, enumerator)

    def _is_read(self, enumerator: SeaTunnelTask) -> bool:
        """Whether readers have all its splits, and have read them."""
        if enumerator.closing or not enumerator.alive:
            return False
        offsets = [
            offset
            for reader in enumerator.loads
            for offset in self.machine.tasks[reader].state["splits"].values()
        ]
        whole = len(offsets) == len(self.by_source[enumerator.vertex.id])
        return whole and all(offset > enumerator.vertex.records for offset in offsets)

    def _ready_to_close(self, enumerator: SeaTunnelTask) -> Effects:
        self.machine.log.add(enumerator.id, END)
        yield ReadyToClose(enumerator)
