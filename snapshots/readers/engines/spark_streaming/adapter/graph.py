"""The graph of an upload's queries as processes and channels, as far as checkpoints hold it.

Every partition of a stateful operator is a process. A source is one process, and so is the sink,
since no file says how many tasks read and write. Edges that the checkpoint does not settle are
marked ``inferred``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.dataflow_logs import dataflow as flow
from snapshots.domain.dataflow_logs.dataflow import HASH, OPERATOR, REBALANCE, SINK, SOURCE
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.engines.picture import Edge, Picture, Vertex, coordinator, dataflow, draw
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
    """One query.

    Attributes:
        vertices: by ``source:<id>``, ``op:<id>`` and ``sink``, as the topology names its nodes.
        whole: whether one process stands for all partitions of an operator.
    """

    job: SparkJob
    coordinator: ProcessId
    vertices: dict[str, Vertex]
    whole: bool

    @property
    def sources(self) -> dict[str, ProcessId]:
        """The process of each source, by its id in the offset log."""
        sources = self.job.checkpoint.topology.sources
        return {one.id: self.vertices[f"source:{one.id}"].process(0) for one in sources}

    @property
    def tasks(self) -> Iterator[tuple[int, int, ProcessId]]:
        """Operator, partition and process of each; partition 0 stands for all where ``whole``."""
        for operator in self.job.checkpoint.operators:
            for partition, process in enumerate(self.vertices[f"op:{operator.id}"].processes):
                yield operator.id, partition, process

    @property
    def processes(self) -> list[ProcessId]:
        """All processes but the coordinator."""
        return [process for vertex in self.vertices.values() for process in vertex.processes]

    @property
    def edges(self) -> Iterator[Edge]:
        """The edges of the checkpoint's topology."""
        topology = self.job.checkpoint.topology
        for source, target in topology.edges:
            exchange = REBALANCE if target == topologies.SINK else HASH
            yield Edge(self.vertices[source], self.vertices[target], exchange, topology.assumed)


@dataclass(frozen=True)
class Graph:
    """The graphs of all jobs.

    Attributes:
        dataflow: as JSON; None where there is none.
        notes: what the picture leaves out or assumes, as sentences.
    """

    jobs: tuple[JobGraph, ...]
    picture: Picture
    dataflow: dict[str, object] | None
    notes: tuple[str, ...]


def graph_of(jobs: tuple[SparkJob, ...]) -> Graph:
    """Draw the queries of an upload."""
    widths = [sum(_width(job, one) for one in job.checkpoint.operators) for job in jobs]
    batches = sum(width * len(job.batches) for job, width in zip(jobs, widths, strict=True))
    whole = sum(widths) > MOST_TASKS or batches > MOST_TASK_BATCHES
    graphs = tuple(_job_graph(job, whole, len(jobs)) for job in jobs)
    processes = [
        (name, graph.job.label)
        for graph in graphs
        for name in (*graph.processes, graph.coordinator)
    ]
    picture = draw(processes, (edge for graph in graphs for edge in graph.edges))
    notes = [job.checkpoint.topology.note for job in jobs if job.checkpoint.topology.note]
    notes += [ONE_PROCESS] * whole + [NO_CHANNELS] * picture.left_out
    return Graph(graphs, picture, _dataflow(graphs), tuple(dict.fromkeys(notes)))


def _width(job: SparkJob, operator: Operator) -> int:
    """Return the number of partitions, by what the checkpoint says or by the folders."""
    stores = job.checkpoint.versions.get(operator.id, {}).values()
    highest = max((partition for store in stores for partition in store), default=0)
    return max(operator.used_partitions or 1, highest + 1)


def _job_graph(job: SparkJob, whole: bool, jobs: int) -> JobGraph:
    label = "" if job.label is None else f"{job.label}: "
    widths = {f"op:{one.id}": 1 if whole else _width(job, one) for one in job.checkpoint.operators}
    kinds = {"source": SOURCE, "op": OPERATOR, topologies.SINK: SINK}
    vertices = {
        node: Vertex(f"{label}{name}", kinds[node.partition(":")[0]], widths.get(node, 1))
        for node, name in _names(job).items()
    }
    return JobGraph(job, coordinator(job.number + 1, jobs), vertices, whole)


def _names(job: SparkJob) -> dict[str, str]:
    """Return a plain name of each node, with its id where several would have the same."""
    topology = job.checkpoint.topology
    names = {
        f"source:{source.id}": _plain(f"source {source.id}", f"source {place}")
        for place, source in enumerate(topology.sources, 1)
    }
    for operator in topology.operators:
        fallback = f"operator {operator.id}"
        name = operator.name or operator.reported_name or fallback
        names[f"op:{operator.id}"] = _plain(name, fallback)
    if names:
        names[topologies.SINK] = "sink"
    counts = Counter(names.values())
    return {node: name if counts[name] == 1 else f"{name} ({node})" for node, name in names.items()}


def _plain(name: str, fallback: str) -> str:
    fits = len(name) <= LONGEST_NAME and name.isprintable() and not set(name) & set("[]")
    return name if fits and not name.startswith("coordinator") else fallback


def _dataflow(graphs: tuple[JobGraph, ...]) -> dict[str, object] | None:
    """Return the dataflow as JSON; None where the nodes make none, as without a source."""
    vertices = [vertex for graph in graphs for vertex in graph.vertices.values()]
    edges = [edge for graph in graphs for edge in graph.edges]
    try:
        flow.Dataflow(
            tuple(
                flow.Vertex(one.id, one.kind, one.width, max_parallelism=max(one.width, 1))
                for one in vertices
            ),
            tuple(flow.Edge(one.source.id, one.target.id, one.exchange) for one in edges),
        )
    except flow.DataflowRefused:
        return None
    return dataflow(vertices, edges)
