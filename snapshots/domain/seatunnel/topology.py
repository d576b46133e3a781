"""A dataflow as SeaTunnel runs it: sources have an enumerator, two-phase sinks a committer."""

from dataclasses import replace

from snapshots.domain.dataflows.dataflow import SINK, SOURCE, TWO_PHASE, Dataflow, Vertex
from snapshots.domain.script import Log
from snapshots.domain.topology import Channel, ChannelId, Process, ProcessId, Topology


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
    """Splits go from enumerator to reader, commit information from writer to committer."""
    processes = [name for vertex in dataflow.vertices for name in processes_of(vertex)]
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
        tuple(Process(ProcessId(name)) for name in (*processes, *dataflow.coordinators())),
        tuple(
            Channel(channel_between(source, target), ProcessId(source), ProcessId(target))
            for source, target in ends
        ),
    )


def log_of_pipeline(log: Log, dataflow: Dataflow, pipeline: int) -> Log:
    """The same log with nothing but this pipeline and its coordinator: a checkpoint is a snapshot
    of one pipeline, not of the job."""
    kept = {*members(dataflow, pipeline), dataflow.coordinators()[pipeline]}
    topology = log.header.topology
    processes = tuple(process for process in topology.processes if process.id in kept)
    channels = tuple(channel for channel in topology.channels if channel.source in kept)
    events = (event for event in log.events if event.process in kept)
    return Log(
        replace(log.header, topology=Topology(processes, channels)),
        tuple(replace(event, line=line) for line, event in enumerate(events, start=2)),
    )


def members(dataflow: Dataflow, pipeline: int) -> tuple[ProcessId, ...]:
    """The processes of a pipeline (0, 1 …) without its coordinator."""
    names = set(dataflow.pipelines[pipeline])
    return tuple(
        process
        for vertex in dataflow.vertices
        if vertex.id in names
        for process in processes_of(vertex)
    )
