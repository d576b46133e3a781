"""A simulated SeaTunnel job's enumerators, readers, operators, writers and committers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE, Dataflow, Vertex
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.aligning import AligningTask
from snapshots.domain.simulators.dataflows.functions import State, start_state
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.tasks import connect, task_fields
from snapshots.domain.simulators.seatunnel.regions import Taken
from snapshots.domain.simulators.seatunnel.topology import (
    channel_between,
    committer_of,
    enumerator_of,
    processes_of,
    subtasks_of,
)

ENUMERATOR, READER, OPERATOR, WRITER, COMMITTER = (
    "enumerator",
    "reader",
    "operator",
    "writer",
    "committer",
)


@dataclass(eq=False, kw_only=True)
class SeaTunnelTask(AligningTask):
    """A process of a pipeline that is not its coordinator.

    An enumerator's state is ``{"splits": {split: next offset}}`` with those that it has not handed
    out, a reader's the same with those that it reads; a committer's is ``{}``.

    pipeline: its index, 0, 1 …
    closing: a final barrier has passed, so that nothing more is read or handed out.
    schema: the number of the schema that its records have.
    waits_for: the type of the schema-change point for which a reader stands still.
    next_assignment: the time of the next one in us.
    loads: for each reader, how many splits it was handed.
    commits_itself: whether this is a writer that commits what it has pre-committed.
    commit_info: for each checkpoint, what the writers have pre-committed: (writer, transaction).
    taken: the records whose effect is in the state; kept where failures are regional.
    """

    role: str
    pipeline: int
    commits_itself: bool = False
    closing: bool = False
    schema: int = 1
    waits_for: str | None = None
    next_assignment: int = 0
    loads: dict[ProcessId, int] = field(default_factory=dict)
    commit_info: dict[int, list[tuple[ProcessId, str]]] = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)

    def start_handler(self) -> Any:
        """Return the handler of a task that has seen no barrier; a committer blocks nobody."""
        inputs = tuple(lane.id for lane in self.inputs)
        return self.steps.start(inputs, blocking=self.role != COMMITTER)

    def reset(self, state: State) -> None:
        """Put the task in the condition of one that was just deployed."""
        super().reset(state)
        self.closing = False
        self.waits_for = None
        self.next_assignment = 0
        self.loads = dict.fromkeys(self.loads, 0)
        self.commit_info = {}


SeaTunnelMachine = StreamMachine[SeaTunnelTask]


def role_of(vertex: Vertex, process: ProcessId) -> str:
    """Return what the process does for its vertex."""
    if process == committer_of(vertex.id):
        return COMMITTER
    if vertex.kind == SOURCE:
        return ENUMERATOR if process == enumerator_of(vertex.id) else READER
    return WRITER if vertex.kind == SINK else OPERATOR


def fresh_state(vertex: Vertex, role: str, splits: Iterable[str]) -> State:
    """Return the state with which a job starts; ``splits`` are those of the source."""
    if role == ENUMERATOR:
        return {"splits": dict.fromkeys(splits, 1)}
    if role == READER:
        return {"splits": {}}
    return {} if role == COMMITTER else start_state(vertex)


def start_states(
    dataflow: Dataflow, writer_commits: Collection[str] = ()
) -> dict[ProcessId, State]:
    """Return the start state of every process but the coordinators."""
    return {
        process: fresh_state(vertex, role_of(vertex, process), subtasks_of(vertex))
        for vertex in dataflow.vertices
        for process in processes_of(vertex, writer_commits)
    }


def tasks_of(
    dataflow: Dataflow,
    steps: ModuleType,
    slow: Mapping[str, float],
    tx_timeout: int | None,
    lanes: Mapping[ChannelId, Lane],
    writer_commits: Collection[str] = (),
) -> dict[ProcessId, SeaTunnelTask]:
    """Return all processes but the coordinators with their channels, in the order of the flow.

    Args:
        steps: the step functions by which the tasks follow barriers.
        slow: how many times longer than others a task takes for a record.
        tx_timeout: us after which a transaction that was not committed is gone.
        lanes: the channels by id.
        writer_commits: the two-phase sinks without a committer.
    """
    pipeline_of = {name: n for n, names in enumerate(dataflow.pipelines) for name in names}
    tasks: dict[ProcessId, SeaTunnelTask] = {}
    for name in dataflow.in_order:
        vertex = dataflow.vertex_by_id[name]
        for process in processes_of(vertex, writer_commits):
            role = role_of(vertex, process)
            is_single = role in (ENUMERATOR, COMMITTER)
            index = -1 if is_single else subtasks_of(vertex).index(process)
            fields = task_fields(dataflow, vertex, index, process, slow, tx_timeout)
            if is_single:
                fields |= {"edges": (), "tx": None}
            state = fresh_state(vertex, role, ())
            tasks[process] = SeaTunnelTask(
                **fields,
                state=state,
                steps=steps,
                role=role,
                pipeline=pipeline_of[name],
                commits_itself=name in writer_commits,
            )
    connect(dataflow, tasks, lanes)
    for vertex in dataflow.vertices:
        _connect_single(vertex, tasks, lanes)
    return tasks


def _connect_single(
    vertex: Vertex, tasks: Mapping[ProcessId, SeaTunnelTask], lanes: Mapping[ChannelId, Lane]
) -> None:
    """Give an enumerator its channels to the readers, and a committer those from the writers."""
    for index, subtask in enumerate(subtasks_of(vertex)):
        if vertex.kind == SOURCE:
            sender, receiver, key = enumerator_of(vertex.id), subtask, (vertex.id, index)
            tasks[sender].loads[subtask] = 0
        elif committer_of(vertex.id) in tasks:
            sender, receiver, key = subtask, committer_of(vertex.id), (committer_of(vertex.id), 0)
        else:
            return
        lane = lanes[channel_between(sender, receiver)]
        tasks[sender].outputs[key] = lane
        tasks[receiver].inputs.append(lane)
        tasks[receiver].ports[lane.id] = 0
