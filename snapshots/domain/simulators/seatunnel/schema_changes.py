"""Changes of the schema in a simulated SeaTunnel job, before which readers stop.

Source: SeaTunnel's Zeta engine, SourceFlowLifeCycle. A reader that meets a change asks for a point
before it and reads nothing until that has ended. Then it sends the change through all channels,
asks for a point after it, and reads on when that has ended. Other readers go on all the time. A
writer changes its table outside, and no restart takes that back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow, DataflowRefused
from snapshots.domain.dataflow_logs.kinds import (
    SCHEMA_APPLY,
    SCHEMA_IN,
    SCHEMA_OUT,
    SCHEMA_RESUME,
    SCHEMA_STOP,
)
from snapshots.domain.simulators.bounds import Positive, check_whole_numbers
from snapshots.domain.simulators.dataflows.counting import SchemaStop
from snapshots.domain.simulators.dataflows.lanes import SCHEMA, Item, Lane
from snapshots.domain.simulators.dataflows.tasks import Effects
from snapshots.domain.simulators.protocols.seatunnel import SCHEMA_AFTER, SCHEMA_BEFORE
from snapshots.domain.simulators.seatunnel.tasks import (
    WRITER,
    SeaTunnelMachine,
    SeaTunnelTask,
)
from snapshots.domain.simulators.seatunnel.topology import subtasks_of


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The columns of the table change after record ``after`` of the split."""

    split: str
    after: Positive


@dataclass(frozen=True, slots=True)
class AskForPoint:
    """Ask the coordinator for a schema-change point, for a reader that stands still."""

    reader: SeaTunnelTask
    point: str


class SchemaChanges:
    """Stops readers at changes, and takes the changes to the writers.

    ``afters`` lists for each split the offsets of the records before its changes, in order. The
    schema of a task is 1, and with each change one more.
    """

    def __init__(self, machine: SeaTunnelMachine, changes: Iterable[SchemaChange]) -> None:
        self.machine = machine
        self.log = machine.log
        self.afters: dict[str, list[int]] = {}
        for change in sorted(changes, key=lambda change: change.after):
            self.afters.setdefault(change.split, []).append(change.after)

    def stop_before(self, reader: SeaTunnelTask, split: str, offset: int) -> bool:
        """Stop the reader if a change comes next in the split; return whether it did."""
        behind = self.afters.get(split, [])[reader.schema - 1 :]
        if not behind or offset <= behind[0]:
            return False
        extra = {"split": split, "offset": offset, "schema": reader.schema + 1}
        self.log.add(reader.id, SCHEMA_STOP, extra)
        self.machine.counted.schema_stops.append(SchemaStop(reader.id, self.log.now))
        self._ask(reader, SCHEMA_BEFORE)
        return True

    def go_on(self, reader: SeaTunnelTask, cid: int) -> None:
        """Send the change on after the first point, and read on after the second."""
        if reader.waits_for == SCHEMA_BEFORE:
            reader.schema += 1
            self._pass_on(reader, cid)
            self._ask(reader, SCHEMA_AFTER)
        else:
            reader.waits_for = None
            self.log.add(reader.id, SCHEMA_RESUME, {"schema": reader.schema}, snapshot=str(cid))
            stops = self.machine.counted.schema_stops
            last = next(stop for stop in reversed(stops) if stop.process == reader.id)
            last.until = self.log.now

    def on_change(self, task: SeaTunnelTask, lane: Lane, item: Item) -> None:
        """Let a task behind the reader follow a change, which every input brings once."""
        assert item.schema is not None  # the item is a change
        self.log.add(task.id, SCHEMA_IN, {"schema": item.schema}, channel=lane.id)
        if item.schema <= task.schema:
            return
        task.schema = item.schema
        if task.role != WRITER:
            self._pass_on(task)
            return
        extra = {"schema": task.schema, "sink": task.vertex.id}
        self.log.add(task.id, SCHEMA_APPLY, extra)
        self.machine.counted.schema_applied[task.id, task.schema] += 1

    def _ask(self, reader: SeaTunnelTask, point: str) -> None:
        reader.waits_for = point
        self.machine.later(reader, 0, self._asked, reader, point)

    def _asked(self, reader: SeaTunnelTask, point: str) -> Effects:
        yield AskForPoint(reader, point)

    def _pass_on(self, task: SeaTunnelTask, cid: int | None = None) -> None:
        snapshot = None if cid is None else str(cid)
        for lane in task.outputs.values():
            extra = {"schema": task.schema}
            self.log.add(task.id, SCHEMA_OUT, extra, channel=lane.id, snapshot=snapshot)
            lane.put(Item(SCHEMA, schema=task.schema))


def check_schema_changes(changes: Iterable[SchemaChange], dataflow: Dataflow) -> None:
    """Refuse changes that no reader can meet. Raises: DataflowRefused, with the field.

    In a pipeline one split at most may change its schema, as one split is the log of changes of a
    database.
    """
    splits = dict(_splits(dataflow))
    split_of: dict[int, str] = {}
    seen = set()
    for index, change in enumerate(changes):
        path = f"schema_changes[{index}]"
        check_whole_numbers(change, path)
        if change.split not in splits:
            raise DataflowRefused(f"{path}.split", f"There is no split {change.split!r}.")
        pipeline, records = splits[change.split]
        if change.after >= records:
            sentence = f"Records follow only up to offset {records - 1:,} of the split."
            raise DataflowRefused(f"{path}.after", sentence)
        if change in seen:
            raise DataflowRefused(path, "The same change is there twice.")
        seen.add(change)
        if split_of.setdefault(pipeline, change.split) != change.split:
            raise DataflowRefused(
                f"{path}.split",
                f"In a pipeline one split changes its schema, here {split_of[pipeline]!r}.",
            )


def _splits(dataflow: Dataflow) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each split with the number of its pipeline and its records."""
    for number, names in enumerate(dataflow.pipelines):
        for name in names:
            vertex = dataflow.vertex_by_id[name]
            if vertex.kind == SOURCE:
                for split in subtasks_of(vertex):
                    yield split, (number, vertex.records)
