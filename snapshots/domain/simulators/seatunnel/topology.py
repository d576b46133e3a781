"""A dataflow as SeaTunnel runs it: sources have an enumerator, two-phase sinks a committer."""

from collections.abc import Iterator

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE, TWO_PHASE, Dataflow, Vertex
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology


def enumerator_of(vertex: str) -> ProcessId:
    return ProcessId(f"{vertex}.enumerator")


def committer_of(vertex: str) -> ProcessId:
    return ProcessId(f"{vertex}.committer")


def has_committer(vertex: Vertex) -> bool:
    return vertex.kind == SINK and vertex.sink == TWO_PHASE


def subtasks_of(vertex: Vertex) -> tuple[ProcessId, ...]:
    return tuple(ProcessId(f"{vertex.id}[{index}]") for index in range(vertex.parallelism))


def processes_of(vertex: Vertex) -> tuple[ProcessId, ...]:
    """The enumerator before its readers, the committer behind its writers."""
    before = (enumerator_of(vertex.id),) if vertex.kind == SOURCE else ()
    behind = (committer_of(vertex.id),) if has_committer(vertex) else ()
    return (*before, *subtasks_of(vertex), *behind)


def channel_between(source: ProcessId, target: ProcessId) -> ChannelId:
    return ChannelId(f"{source}->{target}")


def expand(dataflow: Dataflow) -> Topology:
    """Splits go from enumerator to reader, commit information from writer to committer.

    Of several pipelines each is a scope, called as its coordinator.
    """
    ends = []
    for vertex in dataflow.vertices:
        if vertex.kind == SOURCE:
            ends += [(enumerator_of(vertex.id), reader) for reader in subtasks_of(vertex)]
    for edge in dataflow.edges:
        for source in range(dataflow.vertex_by_id[edge.source].parallelism):
            for target in dataflow.targets(edge, source):
                ends.append((f"{edge.source}[{source}]", f"{edge.target}[{target}]"))
    for vertex in dataflow.vertices:
        if has_committer(vertex):
            ends += [(writer, committer_of(vertex.id)) for writer in subtasks_of(vertex)]
    return Topology(
        tuple(_processes(dataflow)),
        tuple(
            Channel(channel_between(source, target), ProcessId(source), ProcessId(target))
            for source, target in ends
        ),
    )


def _processes(dataflow: Dataflow) -> Iterator[Process]:
    coordinators = dataflow.coordinators()
    alone = len(coordinators) == 1
    scope_of = {
        vertex: None if alone else coordinator
        for vertices, coordinator in zip(dataflow.pipelines, coordinators, strict=True)
        for vertex in vertices
    }
    for vertex in dataflow.vertices:
        for name in processes_of(vertex):
            yield Process(name, scope=scope_of[vertex.id])
    for name in coordinators:
        yield Process(name, scope=None if alone else name)


def members(dataflow: Dataflow, pipeline: int) -> tuple[ProcessId, ...]:
    """The processes of a pipeline (0, 1 …) without its coordinator."""
    names = set(dataflow.pipelines[pipeline])
    return tuple(
        process
        for vertex in dataflow.vertices
        if vertex.id in names
        for process in processes_of(vertex)
    )
