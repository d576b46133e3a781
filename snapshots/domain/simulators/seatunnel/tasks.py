"""A simulated SeaTunnel job's enumerators, readers, operators, writers and committers."""

from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE, TWO_PHASE, Dataflow, Vertex
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.functions import start_state
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.dataflows.tasks import SimTask, connect
from snapshots.domain.simulators.dataflows.transactions import Transactions
from snapshots.domain.simulators.seatunnel.topology import (
    channel_between,
    committer_of,
    enumerator_of,
    has_committer,
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


@dataclass(eq=False)
class SeaTunnelTask(SimTask):
    """States: an enumerator's ``{"splits": {split: next offset}}`` of those that it has not handed
    out, a reader's the same of those that it reads, a committer's ``{}``.

    closing: a final barrier has passed: nothing more is read or handed out. next_assignment: us.
    loads: of each reader, the splits handed to it. commit_info: of each checkpoint, what the
    writers have pre-committed: (writer, transaction).
    """

    role: str = OPERATOR
    pipeline: int = 0
    closing: bool = False
    next_assignment: int = 0
    loads: dict[ProcessId, int] = field(default_factory=dict)
    commit_info: dict[int, list[tuple[ProcessId, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = fresh_state(self.vertex, self.role, ())
        self._told = (None, "")

    def reset(self, state: dict) -> None:
        super().reset(state)
        self.handler = self.steps.start(
            tuple(lane.id for lane in self.inputs), blocking=self.role != COMMITTER
        )
        self.closing = False
        self.next_assignment = 0
        self.loads = dict.fromkeys(self.loads, 0)
        self.commit_info = {}


def role_of(vertex: Vertex, process: ProcessId) -> str:
    if process == committer_of(vertex.id):
        return COMMITTER
    if vertex.kind == SOURCE:
        return ENUMERATOR if process == enumerator_of(vertex.id) else READER
    return WRITER if vertex.kind == SINK else OPERATOR


def fresh_state(vertex: Vertex, role: str, splits: tuple[str, ...]) -> dict:
    """As a job starts. splits: of the source."""
    if role == ENUMERATOR:
        return {"splits": dict.fromkeys(splits, 1)}
    if role == READER:
        return {"splits": {}}
    return {} if role == COMMITTER else start_state(vertex)


def tasks_of(
    dataflow: Dataflow,
    steps: Any,
    slow: dict[str, float],
    tx_timeout: int | None,
    lanes: dict[ChannelId, Lane],
) -> dict[ProcessId, SeaTunnelTask]:
    """All processes but the coordinators, with their channels; each after those before it."""
    pipeline_of = {name: n for n, names in enumerate(dataflow.pipelines) for name in names}
    tasks: dict[ProcessId, SeaTunnelTask] = {}
    for name in dataflow.in_order:
        vertex = dataflow.vertex_by_id[name]
        for process in processes_of(vertex):
            role = role_of(vertex, process)
            two_phase = role == WRITER and vertex.sink == TWO_PHASE
            single = role in (ENUMERATOR, COMMITTER)
            tasks[process] = SeaTunnelTask(
                id=process,
                vertex=vertex,
                index=-1 if single else subtasks_of(vertex).index(process),
                edges=() if single else dataflow.edges_from(name),
                cost=vertex.cost * slow.get(process, 1),
                steps=steps,
                tx=Transactions(process, tx_timeout) if two_phase else None,
                role=role,
                pipeline=pipeline_of[name],
            )
    connect(dataflow, tasks, lanes)
    for vertex in dataflow.vertices:
        _connect_single(vertex, tasks, lanes)
    return tasks


def _connect_single(
    vertex: Vertex, tasks: dict[ProcessId, SeaTunnelTask], lanes: dict[ChannelId, Lane]
) -> None:
    for index, subtask in enumerate(subtasks_of(vertex)):
        if vertex.kind == SOURCE:
            sender, receiver, key = enumerator_of(vertex.id), subtask, (vertex.id, index)
            tasks[sender].loads[subtask] = 0
        elif has_committer(vertex):
            sender, receiver, key = subtask, committer_of(vertex.id), (committer_of(vertex.id), 0)
        else:
            return
        lane = lanes[channel_between(sender, receiver)]
        tasks[sender].outputs[key] = lane
        tasks[receiver].inputs.append(lane)
        tasks[receiver].ports[lane.id] = 0
