"""A subtask of a simulated micro-batch query, its channels, and the sinks that batches go to."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, PLAIN, Dataflow, Vertex
from snapshots.domain.model.topology import Channel, ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, State, start_state
from snapshots.domain.simulators.dataflows.lanes import Item
from snapshots.domain.simulators.dataflows.machine import Machine
from snapshots.domain.simulators.dataflows.tasks import Task, subtasks_in_order, task_fields
from snapshots.domain.simulators.protocols.spark_epochs import Batch


class Shuffle:
    """A channel without a wire, of any size.

    ``input`` holds what is not processed, ``sent`` all records of the batch, for a task that has to
    read them again.
    """

    has_room, blocked = True, False

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.id = channel.id
        self.input: deque[Item] = deque()
        self.sent: list[Record] = []

    def put(self, item: Item) -> None:
        """Send a record."""
        assert item.record is not None  # nothing else travels here
        self.input.append(item)
        self.sent.append(item.record)

    def take(self) -> Item:
        """Remove the first record, which has been processed."""
        return self.input.popleft()

    def clear(self) -> list[Item]:
        """Return all that was not processed, and forget the batch."""
        items = list(self.input)
        self.input.clear()
        self.sent.clear()
        return items


@dataclass(eq=False, kw_only=True)
class SparkTask(Task[Shuffle]):
    """A subtask with its part of the batch under way.

    versions: the state by version. The tasks of a batch start from the version that bears the
        batch's number, and write the next one.
    batch: what the task works for; None if it does not run.
    made: what the task sends when it ends.
    written: what this attempt has given to its sink.
    """

    versions: dict[int, State]
    batch: Batch | None = None
    made: list[Record] = field(default_factory=list)
    written: list[Record] = field(default_factory=list)

    @property
    def current(self) -> Batch:
        """The batch that the task works for; it must run."""
        assert self.batch is not None
        return self.batch

    def die(self) -> None:
        """End this attempt; what it has made is gone."""
        super().die()
        self.batch = None
        self.made, self.written = [], []


SparkMachine = Machine[SparkTask, Shuffle]


def tasks_of(dataflow: Dataflow, slow: Mapping[str, float]) -> dict[ProcessId, SparkTask]:
    """Return all subtasks without their channels, those of each vertex after those before it.

    Args:
        slow: how many times longer than others a task takes for a record.
    """
    tasks = {}
    for vertex, index, id_ in subtasks_in_order(dataflow):
        fields = task_fields(dataflow, vertex, index, id_, slow)
        state = start_state(vertex)
        tasks[id_] = SparkTask(**fields, state=state, versions={0: state})
    return tasks


@dataclass
class BatchSink:
    """What a sink holds outside; it survives failures of the query.

    A plain sink takes every write at once. An idempotent one takes over a batch as a whole under
    its number, and none twice. A two-phase one writes files. Those count that the manifest lists,
    and a batch is entered there once.
    """

    vertex: Vertex
    batches: set[int] = field(default_factory=set)
    records: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        """Take a single write."""
        if self.vertex.sink == PLAIN:
            self.records.append(record)

    def skips(self, batch: int) -> bool:
        """Return whether nothing of the batch is written, because it is there."""
        return self.vertex.sink == IDEMPOTENT and batch in self.batches

    def deliver(self, batch: int, written: list[Record]) -> bool:
        """Take over what was written for a batch; return whether the batch was new."""
        if batch in self.batches:
            return False
        self.batches.add(batch)
        if self.vertex.sink == IDEMPOTENT:
            self.records += written
        return True
