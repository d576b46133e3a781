"""The runs of an upload: the subtasks of a job, as long as its parallelism stays the same.

A checkpoint of another parallelism belongs to another run, since its subtasks are others. Without
the REST API's plan the vertices are the operators, and no edge is known.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from snapshots.domain.dataflow_logs import dataflow as flow
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId
from snapshots.readers.engines.flink.adapter import modes
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.rest.job_graph import STORED_IN_FLIGHT, Input, JobGraph, Vertex
from snapshots.readers.engines.flink.upload import FlinkJob
from snapshots.readers.engines.picture import coordinator, unique

MOST_SUBTASKS = flow.MOST_SUBTASKS  # of all runs
MOST_CHANNELS = 200_000  # of all runs
_LONGEST = 60  # characters of a name
_USUAL_MAX_PARALLELISM = 128  # Flink's, of jobs as small as it fits
_EXCHANGES = {
    "HASH": flow.HASH,
    "BROADCAST": flow.BROADCAST,
    "REBALANCE": flow.REBALANCE,
    "SHUFFLE": flow.REBALANCE,
    "CUSTOM": flow.REBALANCE,
    "GLOBAL": flow.REBALANCE,
    "FORWARD": flow.FORWARD,
    "RESCALE": flow.FORWARD,
}
_POINTWISE = frozenset({"FORWARD", "RESCALE"})

Subtask = tuple[str, int]  # vertex id and number


@dataclass(frozen=True, slots=True)
class Link:
    """A channel of an edge, with the numbers of the subtasks at both ends."""

    channel: Channel
    edge: Input
    target: str
    source_subtask: int
    target_subtask: int

    @property
    def sender(self) -> Subtask:
        """The subtask that sends."""
        return self.edge.source, self.source_subtask

    @property
    def receiver(self) -> Subtask:
        """The subtask that receives."""
        return self.target, self.target_subtask


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        number: its number, from 1.
        names: the names of its vertices by id, unique in the upload.
        links: all channels that are known.
        knows_edges: whether these are all channels there are.
        is_cut: whether it has too many subtasks, so that none is shown.
        scope: the scope of its processes; None where the upload has one run.
    """

    number: int
    job: FlinkJob
    graph: JobGraph
    checkpoints: tuple[FlinkCheckpoint, ...]
    names: dict[str, str]
    links: tuple[Link, ...]
    knows_edges: bool
    is_cut: bool
    coordinator: ProcessId
    scope: str | None

    def process(self, vertex: str, subtask: int) -> ProcessId:
        """Name the process of a subtask, also of one that is not shown."""
        name = self.names.get(vertex, f"vertex {vertex[:8]}")
        return ProcessId(f"{name}[{subtask}]")

    @cached_property
    def widths(self) -> dict[str, int]:
        """The parallelism of each vertex."""
        return {vertex.id: _width(vertex) for vertex in self.graph.vertices}

    @property
    def subtasks(self) -> int:
        """How many subtasks there are."""
        return sum(self.widths.values())

    def processes(self) -> list[Process]:
        """Return the processes vertex by vertex, then the coordinator."""
        names = [self.process(id_, n) for id_, width in self.widths.items() for n in range(width)]
        return [Process(name, None, self.scope) for name in (*names, self.coordinator)]

    @cached_property
    def incoming(self) -> dict[Subtask, list[Link]]:
        """The channels into each subtask."""
        links: dict[Subtask, list[Link]] = {}
        for link in self.links:
            links.setdefault(link.receiver, []).append(link)
        return links

    @cached_property
    def outgoing(self) -> dict[Subtask, list[Link]]:
        """The channels out of each subtask."""
        links: dict[Subtask, list[Link]] = {}
        for link in self.links:
            links.setdefault(link.sender, []).append(link)
        return links

    @cached_property
    def dataflow(self) -> Dataflow | None:
        """The dataflow; None where not all edges are known, or where it is none, as with cycles."""
        if not self.knows_edges:
            return None
        try:
            return Dataflow(tuple(map(self._vertex, self.graph.vertices)), self._edges())
        except DataflowRefused:
            return None

    def _vertex(self, vertex: Vertex) -> flow.Vertex:
        feeds = {edge.source for _, edge in self.graph.edges()}
        kind = flow.OPERATOR if vertex.id in feeds else flow.SINK
        width = _width(vertex)
        return flow.Vertex(
            self.names[vertex.id],
            kind if vertex.inputs else flow.SOURCE,
            width,
            max(vertex.max_parallelism or _USUAL_MAX_PARALLELISM, width),
        )

    def _edges(self) -> tuple[flow.Edge, ...]:
        """Return the first edge of each pair of vertices."""
        edges: dict[tuple[str, str], flow.Edge] = {}
        for target, edge in self.graph.edges():
            exchange = _EXCHANGES[edge.ship]
            if exchange == flow.FORWARD and self.widths[edge.source] != self.widths[target.id]:
                exchange = flow.REBALANCE
            ends = self.names[edge.source], self.names[target.id]
            edges.setdefault(ends, flow.Edge(*ends, exchange))
        return tuple(edges.values())

    def vertex_of(self, checkpoint: FlinkCheckpoint, operator: str) -> str | None:
        """Return the vertex that runs an operator of a checkpoint; None if it is not known."""
        vertices = checkpoint.stored.vertices if checkpoint.stored is not None else None
        vertex = operator if vertices is None else vertices.get(operator, operator)
        return vertex if vertex in self.names else None

    @cached_property
    def snapshots(self) -> dict[int, str]:
        """The name of the snapshot of each checkpoint, by its number."""
        names: dict[int, str] = {}
        for checkpoint in self.checkpoints:
            run = "" if self.number == 1 else f" (run {self.number})"
            name = f"{checkpoint.id}{run}"
            if name in names.values():
                folder = checkpoint.stored.folder if checkpoint.stored is not None else ""
                name += f" in {_label(folder, 'the root')}, place {checkpoint.number}"
            names[checkpoint.number] = name
        return names


def _width(vertex: Vertex) -> int:
    return vertex.parallelism or 0


def runs_of(checkpoints: Iterable[FlinkCheckpoint]) -> tuple[Run, ...]:
    """Return the runs in the order of their first checkpoints; jobs without any have none."""
    groups: dict[tuple, tuple[FlinkJob, JobGraph, list[FlinkCheckpoint]]] = {}
    for checkpoint in checkpoints:
        graph = _graph(checkpoint)
        key = (id(checkpoint.job), tuple((one.id, one.parallelism) for one in graph.vertices))
        groups.setdefault(key, (checkpoint.job, graph, []))[2].append(checkpoint)
    making = _Making(len(groups))
    return tuple(making.run(n, *group) for n, group in enumerate(groups.values(), 1))


def _graph(checkpoint: FlinkCheckpoint) -> JobGraph:
    """Return the graph of the job, with the parallelism that the checkpoint had."""
    rest, known = checkpoint.job.rest, _parallelism(checkpoint)
    operators = checkpoint.operators
    vertices: Iterable[Vertex]
    if rest is not None and rest.graph is not None:
        vertices = (
            replace(one, parallelism=known.get(one.id, one.parallelism or 1))
            for one in _in_order(rest.graph)
        )
    elif checkpoint.vertices:
        names = {one.id: one.name or one.uid for one in operators}
        vertices = (
            Vertex(one.vertex, names.get(one.vertex) or "", (), known.get(one.vertex, 1), None, ())
            for one in checkpoint.vertices
        )
    else:
        vertices = (
            Vertex(one.id, one.name or one.uid or "", (), one.parallelism, one.max_parallelism, ())
            for one in operators
        )
    return JobGraph(tuple(vertices))


def _in_order(graph: JobGraph) -> list[Vertex]:
    """Put each vertex behind those that feed it; those on or behind a cycle come last."""
    feeds: dict[str, list[str]] = defaultdict(list)
    waiting: Counter[str] = Counter()
    for target, edge in graph.edges():
        if edge.source in graph.vertex_by_id:
            feeds[edge.source].append(target.id)
            waiting[target.id] += 1
    ready = [one.id for one in graph.vertices if not waiting[one.id]]
    for vertex in ready:
        for target_id in feeds[vertex]:
            waiting[target_id] -= 1
            if not waiting[target_id]:
                ready.append(target_id)
    left = [one.id for one in graph.vertices if waiting[one.id]]
    return [graph.vertex_by_id[vertex] for vertex in (*ready, *left)]


def _parallelism(checkpoint: FlinkCheckpoint) -> dict[str, int]:
    """Return the parallelism of vertices, as far as the checkpoint itself says it."""
    widths = {}
    for vertex in checkpoint.vertices:
        listed = max((subtask.index + 1 for subtask in vertex.subtasks), default=0)
        if width := max(vertex.totals.subtasks or 0, listed):
            widths[vertex.vertex] = width
    return widths | {operator.id: operator.parallelism for operator in checkpoint.operators}


class _Making:
    """Makes runs; names are unique, and subtasks and channels counted, over all of them."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._taken: set[str] = set()
        self._subtasks_left = MOST_SUBTASKS
        self._channels_left = MOST_CHANNELS

    def run(
        self, number: int, job: FlinkJob, graph: JobGraph, checkpoints: list[FlinkCheckpoint]
    ) -> Run:
        subtasks = sum(map(_width, graph.vertices))
        if is_cut := subtasks > self._subtasks_left:
            graph, subtasks = JobGraph(()), 0
        self._subtasks_left -= subtasks
        names = {vertex.id: self._name(vertex, number) for vertex in graph.vertices}
        links = self._links(graph, names, any(map(_may_overtake, checkpoints)))
        linked = {(link.edge.source, link.target, link.edge.gate) for link in links}
        edges = {(edge.source, target.id, edge.gate) for target, edge in graph.edges()}
        has_plan = job.rest is not None and job.rest.graph is not None
        return Run(
            number,
            job,
            graph,
            tuple(checkpoints),
            names,
            links,
            has_plan and bool(names) and linked == edges,
            is_cut,
            coordinator(number, self._runs),
            f"run {number}" if self._runs > 1 else None,
        )

    def _name(self, vertex: Vertex, run: int) -> str:
        label = _label(vertex.name, f"operator {vertex.id[:8]}")
        if label.startswith("coordinator"):
            label = f"task {label}"
        return unique(f"{label} (run {run})" if run > 1 else label, self._taken, " {}")

    def _links(self, graph: JobGraph, names: dict[str, str], overtaking: bool) -> tuple[Link, ...]:
        edges = [(t, e) for t, e in graph.edges() if e.source in names and e.ship in _EXCHANGES]
        width = {vertex.id: _width(vertex) for vertex in graph.vertices}
        count = sum(width[edge.source] * width[target.id] for target, edge in edges)
        if count > self._channels_left:
            return ()
        self._channels_left -= count
        links: dict[ChannelId, Link] = {}
        for target, edge in edges:
            may = overtaking and edge.ship in STORED_IN_FLIGHT
            for link in _of_edge(graph.vertex_by_id[edge.source], target, edge, names, may):
                if link.channel.id in links:
                    id_ = ChannelId(f"{link.channel.id} (gate {edge.gate})")
                    link = replace(link, channel=replace(link.channel, id=id_))
                links[link.channel.id] = link
        return tuple(links.values())


def _may_overtake(checkpoint: FlinkCheckpoint) -> bool:
    """Tell whether barriers may have overtaken records at a checkpoint."""
    return checkpoint.mode in (modes.UNALIGNED, modes.TIMEOUT)


def _of_edge(
    source: Vertex, target: Vertex, edge: Input, names: dict[str, str], overtaking: bool
) -> Iterator[Link]:
    for receiver in range(_width(target)):
        for sender in _senders(edge.ship, _width(source), _width(target), receiver):
            from_ = ProcessId(f"{names[source.id]}[{sender}]")
            to = ProcessId(f"{names[target.id]}[{receiver}]")
            channel = Channel(ChannelId(f"{from_}->{to}"), from_, to, overtaking=overtaking)
            yield Link(channel, edge, target.id, sender, receiver)


def _senders(ship: str, sources: int, targets: int, target: int) -> range:
    """Return the subtasks that send to one.

    Source: Flink, VertexInputInfoComputationUtils.computeVertexInputInfoForPointwise.
    """
    if ship not in _POINTWISE:
        return range(sources)
    first = target * sources // targets
    return range(first, max((target + 1) * sources // targets, first + 1))


def _label(text: str, otherwise: str) -> str:
    """Return a printable text of at most _LONGEST characters, or ``otherwise`` if it is empty."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return (plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…") or otherwise
