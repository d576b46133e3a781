"""The graph of an upload's queries as processes and channels, as far as checkpoints tell it.

A process for each partition of a stateful operator, and for each source; the sink is one process,
and so is a source, since no file says how many tasks read and write. Where the checkpoint does not
settle the edges they are marked ``inferred``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from snapshots.domain.dataflow_logs.dataflow import (
    HASH,
    OPERATOR,
    REBALANCE,
    SINK,
    SOURCE,
    Dataflow,
    DataflowRefused,
    Edge,
    Vertex,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.readers.engines.derived_log import Channels, dataflow
from snapshots.readers.engines.spark_streaming import topology as topologies
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.state.operators import Operator

MOST_TASKS = 5_000
MOST_TASK_BATCHES = 1_000_000  # tasks of all batches together
LONGEST_NAME = 60  # characters of a vertex without the label of its job
ONE_PROCESS = "The partitions of an operator are drawn as one process: all would be too many."
NO_CHANNELS = "Channels between operators are not drawn: there would be too many."


@dataclass(frozen=True)
class JobGraph:
    """vertices: ids by ``source:<id>``, ``op:<id>`` and ``sink``, the topology's names of nodes.

    partitions: of each operator those that are processes; whole: operators that are one process.
    """

    job: SparkJob
    coordinator: ProcessId
    vertices: dict[str, str]
    partitions: dict[int, range]
    whole: bool

    @property
    def sources(self) -> dict[str, ProcessId]:
        """By the source's id in the offset log."""
        nodes = self.job.checkpoint.topology.sources
        return {one.id: self.process(f"source:{one.id}", 0) for one in nodes}

    @property
    def tasks(self) -> Iterator[tuple[int, int, ProcessId]]:
        """Operator, partition, process; partition 0 stands for all where ``whole``."""
        for operator, partitions in self.partitions.items():
            for partition in partitions:
                yield operator, partition, self.process(f"op:{operator}", partition)

    @property
    def sink(self) -> ProcessId | None:
        return self.process(topologies.SINK, 0) if topologies.SINK in self.vertices else None

    @property
    def processes(self) -> list[ProcessId]:
        """All but the coordinator."""
        found = [*self.sources.values(), *(process for _, _, process in self.tasks)]
        return found if self.sink is None else [*found, self.sink]

    def process(self, node: str, index: int) -> ProcessId:
        return ProcessId(f"{self.vertices[node]}[{index}]")


@dataclass(frozen=True)
class Graph:
    """The graphs of all jobs.

    Args:
        dataflow: as JSON; None where there is none.
        inferred: what the header says of the channels that no file settles, None without such.
        notes: what the picture leaves out or assumes.
    """

    jobs: tuple[JobGraph, ...]
    topology: Topology
    dataflow: dict[str, object] | None
    inferred: dict[ChannelId, object] | None
    notes: tuple[str, ...] = field(default=())


def graph_of(jobs: tuple[SparkJob, ...]) -> Graph:
    widths = [sum(_width(job, one) for one in job.checkpoint.operators) for job in jobs]
    batches = sum(width * len(job.batches) for job, width in zip(jobs, widths, strict=True))
    whole = sum(widths) > MOST_TASKS or batches > MOST_TASK_BATCHES
    graphs = tuple(_job_graph(job, whole, len(jobs)) for job in jobs)
    channels = _channels(graphs)
    notes = [job.checkpoint.topology.note for job in jobs if job.checkpoint.topology.note]
    notes += [ONE_PROCESS] * whole + [NO_CHANNELS] * channels.left_out
    processes = (
        (name, graph.job.label)
        for graph in graphs
        for name in (*graph.processes, graph.coordinator)
    )
    return Graph(
        graphs,
        channels.topology(processes),
        _dataflow(graphs),
        channels.about_inferred(),
        tuple(dict.fromkeys(notes)),
    )


def _width(job: SparkJob, operator: Operator) -> int:
    """How many partitions there are, by what is said or by the folders."""
    found = job.checkpoint.versions.get(operator.id, {}).values()
    highest = max((partition for one in found for partition in one), default=0)
    return max(operator.used_partitions or 1, highest + 1)


def _job_graph(job: SparkJob, whole: bool, jobs: int) -> JobGraph:
    names = _names(job)
    if job.label is not None:
        names = {node: f"{job.label}: {name}" for node, name in names.items()}
    partitions = {
        one.id: range(1 if whole else _width(job, one)) for one in job.checkpoint.operators
    }
    coordinator = "coordinator" if jobs == 1 else f"coordinator {job.number + 1}"
    return JobGraph(job, ProcessId(coordinator), names, partitions, whole)


def _names(job: SparkJob) -> dict[str, str]:
    """A plain name of each node, with its id where others have the same."""
    topology = job.checkpoint.topology
    names = {
        f"source:{one.id}": _plain(f"source {one.id}", f"source {place + 1}")
        for place, one in enumerate(topology.sources)
    }
    for one in topology.operators:
        name = one.name or one.reported_name or f"operator {one.id}"
        names[f"op:{one.id}"] = _plain(name, f"operator {one.id}")
    if names:
        names[topologies.SINK] = "sink"
    counts = Counter(names.values())
    return {node: name if counts[name] == 1 else f"{name} ({node})" for node, name in names.items()}


def _plain(name: str, otherwise: str) -> str:
    fits = len(name) <= LONGEST_NAME and name.isprintable() and not set(name) & set("[]")
    return name if fits and not name.startswith("coordinator") else otherwise


def _channels(graphs: tuple[JobGraph, ...]) -> Channels:
    channels = Channels()
    for graph in graphs:
        topology = graph.job.checkpoint.topology
        for edge in topology.edges:
            one, other = (
                [graph.process(node, index) for index in range(_width_of(graph, node))]
                for node in edge
            )
            pairs = product(one, other)
            channels.connect(pairs, len(one) * len(other), inferred=topology.assumed)
    return channels


def _width_of(graph: JobGraph, node: str) -> int:
    kind, _, id = node.partition(":")
    return len(graph.partitions[int(id)]) if kind == "op" else 1


def _dataflow(graphs: tuple[JobGraph, ...]) -> dict[str, object] | None:
    """None where the nodes make no dataflow, as operators without a source."""
    vertices = [_vertex(graph, node) for graph in graphs for node in graph.vertices]
    edges = [
        Edge(graph.vertices[one], graph.vertices[other], _exchange(other))
        for graph in graphs
        for one, other in graph.job.checkpoint.topology.edges
    ]
    try:
        Dataflow(tuple(vertices), tuple(edges))
    except DataflowRefused:
        return None
    return dataflow(
        ((vertex.id, vertex.kind, vertex.parallelism) for vertex in vertices),
        ((edge.source, edge.target, edge.exchange) for edge in edges),
    )


def _vertex(graph: JobGraph, node: str) -> Vertex:
    kind = {"source": SOURCE, "op": OPERATOR}.get(node.partition(":")[0], SINK)
    width = _width_of(graph, node)
    return Vertex(graph.vertices[node], kind, width, max_parallelism=max(width, 1))


def _exchange(target: str) -> str:
    return REBALANCE if target == topologies.SINK else HASH
