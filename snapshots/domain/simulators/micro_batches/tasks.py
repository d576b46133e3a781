"""A subtask of a simulated micro-batch query, its channels, and the sinks that batches go to."""

from collections import deque
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.dataflow import (
    IDEMPOTENT,
    SINK,
    TWO_PHASE,
    Dataflow,
    Edge,
    Vertex,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.domain.simulators.dataflows.functions import Record, start_state
from snapshots.domain.simulators.dataflows.tasks import text_of
from snapshots.domain.simulators.dataflows.transactions import Transactions


@dataclass(eq=False)
class Shuffle:
    """A channel: waiting: (message, record) not yet processed; sent: all records of the batch, for
    a task that has to read them again."""

    id: ChannelId
    source: ProcessId
    port: int
    waiting: deque[tuple[str, Record]] = field(default_factory=deque)
    sent: list[Record] = field(default_factory=list)


@dataclass(eq=False)
class SparkTask:
    """versions: the state by version: the one that bears the number of the batch under way, from
    which its tasks start, and the next, when written. deployment: grows with each start of an
    attempt or of the query: what an earlier one planned does not happen. attempt: of the query and
    of the task, as its restarts are counted. running: it works for the batch. made: what it will
    send when it ends; written: what it has given to its sink in this attempt.
    """

    id: ProcessId
    vertex: Vertex
    index: int
    edges: tuple[Edge, ...]
    cost: float
    tx: Transactions | None
    inputs: list[Shuffle] = field(default_factory=list)
    outputs: dict[tuple[str, int], Shuffle] = field(default_factory=dict)
    state: dict = field(default_factory=dict)
    versions: dict[int, dict] = field(default_factory=dict)
    deployment: int = 0
    attempt: int = 0
    running: bool = False
    made: list[Record] = field(default_factory=list)
    written: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = start_state(self.vertex)
        self.versions = {0: self.state}

    @property
    def state_text(self) -> str:
        return text_of(self.state)

    def stop(self) -> None:
        """It dies: what it has made is gone."""
        self.deployment += 1
        self.running = False
        self.made, self.written = [], []


def tasks_of(
    dataflow: Dataflow, topology: Topology, slow: dict[str, float]
) -> dict[ProcessId, SparkTask]:
    """All subtasks with their channels, those of each vertex after those before it."""
    tasks = {}
    for name in dataflow.in_order:
        vertex = dataflow.vertex_by_id[name]
        for index in range(vertex.parallelism):
            id_ = ProcessId(f"{name}[{index}]")
            files = vertex.kind == SINK and vertex.sink == TWO_PHASE
            cost, tx = vertex.cost * slow.get(id_, 1), Transactions(id_) if files else None
            tasks[id_] = SparkTask(id_, vertex, index, dataflow.edges_from(name), cost, tx)
    for edge in dataflow.edges:
        port = dataflow.edges_to(edge.target).index(edge)
        for source in range(dataflow.vertex_by_id[edge.source].parallelism):
            for target in dataflow.targets(edge, source):
                channel = topology.channel_by_id[dataflow.channel(edge, source, target)]
                shuffle = Shuffle(channel.id, channel.source, port)
                tasks[channel.source].outputs[edge.target, target] = shuffle
                tasks[channel.target].inputs.append(shuffle)
    return tasks


@dataclass
class BatchSink:
    """What a sink holds outside, whatever becomes of the query.

    Plain: every write, at once. Idempotent: a batch is taken over as a whole, under its number; one
    that is there is not written again. Two-phase: files, of which those count that the manifest
    lists; a batch is entered there once.
    """

    vertex: Vertex
    batches: set[int] = field(default_factory=set)
    records: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        if self.vertex.sink not in (IDEMPOTENT, TWO_PHASE):
            self.records.append(record)

    def skips(self, batch: int) -> bool:
        """Whether nothing of the batch is written, because it is there."""
        return self.vertex.sink == IDEMPOTENT and batch in self.batches

    def deliver(self, batch: int, written: list[Record]) -> bool:
        """Whether the batch was new."""
        if batch in self.batches:
            return False
        self.batches.add(batch)
        if self.vertex.sink == IDEMPOTENT:
            self.records += written
        return True
