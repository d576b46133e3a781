"""A dataflow as SeaTunnel runs it: sources have an enumerator, two-phase sinks a committer.

The writers of some two-phase sinks commit by themselves, and these sinks have no committer.
``writer_commits`` lists them.
"""

from collections.abc import Collection, Iterator

from snapshots.domain.dataflow_logs.dataflow import (
    SINK,
    SOURCE,
    TWO_PHASE,
    Dataflow,
    Subtask,
    Vertex,
)
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology


def enumerator_of(vertex: str) -> ProcessId:
    """Return the process that hands out the splits of a source."""
    return ProcessId(f"{vertex}.enumerator")


def committer_of(vertex: str) -> ProcessId:
    """Return the process that commits what the writers of a sink have pre-committed."""
    return ProcessId(f"{vertex}.committer")


def is_two_phase(vertex: Vertex) -> bool:
    """Return whether the vertex is a sink with transactions."""
    return vertex.kind == SINK and vertex.sink == TWO_PHASE


def has_committer(vertex: Vertex, writer_commits: Collection[str]) -> bool:
    """Return whether the vertex is a sink whose transactions a committer commits."""
    return is_two_phase(vertex) and vertex.id not in writer_commits


def subtasks_of(vertex: Vertex) -> tuple[ProcessId, ...]:
    """Return the processes of the parallel instances of a vertex."""
    return tuple(ProcessId(f"{vertex.id}[{index}]") for index in range(vertex.parallelism))


def processes_of(vertex: Vertex, writer_commits: Collection[str]) -> tuple[ProcessId, ...]:
    """Return all processes of a vertex: an enumerator comes first, a committer last."""
    before = (enumerator_of(vertex.id),) if vertex.kind == SOURCE else ()
    behind = (committer_of(vertex.id),) if has_committer(vertex, writer_commits) else ()
    return (*before, *subtasks_of(vertex), *behind)


def channel_between(source: ProcessId, target: ProcessId) -> ChannelId:
    """Return the channel from one process to another."""
    return ChannelId(f"{source}->{target}")


def expand(dataflow: Dataflow, writer_commits: Collection[str] = ()) -> Topology:
    """Return the processes and channels of a dataflow.

    Splits go from enumerator to reader, commit information from writer to committer. If there are
    several pipelines, each is a scope with the name of its coordinator.
    """
    ends = []
    for vertex in dataflow.vertices:
        if vertex.kind == SOURCE:
            ends += [(enumerator_of(vertex.id), reader) for reader in subtasks_of(vertex)]
    for edge in dataflow.edges:
        for source in range(dataflow.vertex_by_id[edge.source].parallelism):
            for target in dataflow.targets(edge, source):
                ends.append((Subtask(edge.source, source).id, Subtask(edge.target, target).id))
    for vertex in dataflow.vertices:
        if has_committer(vertex, writer_commits):
            ends += [(writer, committer_of(vertex.id)) for writer in subtasks_of(vertex)]
    return Topology(
        tuple(_processes(dataflow, writer_commits)),
        tuple(Channel(channel_between(source, target), source, target) for source, target in ends),
    )


def _processes(dataflow: Dataflow, writer_commits: Collection[str]) -> Iterator[Process]:
    coordinators = dataflow.coordinators()
    alone = len(coordinators) == 1
    scope_of = {
        vertex: None if alone else coordinator
        for vertices, coordinator in zip(dataflow.pipelines, coordinators, strict=True)
        for vertex in vertices
    }
    for vertex in dataflow.vertices:
        for name in processes_of(vertex, writer_commits):
            yield Process(name, scope=scope_of[vertex.id])
    for name in coordinators:
        yield Process(name, scope=None if alone else name)
