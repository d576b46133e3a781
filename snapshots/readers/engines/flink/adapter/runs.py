"""The runs of an upload: the subtasks of a job, as long as its parallelism stays the same.

A checkpoint of another parallelism is of another run, for its subtasks are others. Without the
REST API's plan the vertices are the operators, and no edge is known.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from snapshots.domain.dataflow_logs import dataflow as flow
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.rest.job_graph import STORED_IN_FLIGHT, Input, JobGraph, Vertex
from snapshots.readers.engines.flink.upload import FlinkJob

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


@dataclass(frozen=True, slots=True)
class Link:
    """A channel of an edge: subtask numbers at both ends."""

    channel: Channel
    edge: Input
    target: str
    source_subtask: int
    target_subtask: int


@dataclass(frozen=True)
class Run:
    """number: from 1. names: of its vertices, by id, unique in the upload. links: all that are
    known. knows_edges: whether these are all there are. is_cut: whether there are too many
    subtasks, so that none is shown. scope: None where the upload is of one run."""

    number: int
    job: FlinkJob
    graph: JobGraph
    places: tuple[Place, ...]
    names: dict[str, str]
    links: tuple[Link, ...]
    knows_edges: bool
    is_cut: bool
    coordinator: ProcessId
    scope: str | None

    def process(self, vertex: str, subtask: int) -> ProcessId:
        """Its name is that of no process where there are too many subtasks to be shown."""
        name = self.names.get(vertex, f"vertex {vertex[:8]}")
        return ProcessId(f"{name}[{subtask}]")

    def subtasks(self) -> Iterator[tuple[str, int]]:
        """Vertex id and number, vertex by vertex."""
        for vertex in self.graph.vertices:
            for subtask in range(vertex.parallelism):
                yield vertex.id, subtask

    def processes(self) -> list[Process]:
        names = [self.process(*subtask) for subtask in self.subtasks()]
        return [Process(name, None, self.scope) for name in (*names, self.coordinator)]

    @cached_property
    def incoming(self) -> dict[tuple[str, int], list[Link]]:
        found: dict[tuple[str, int], list[Link]] = {}
        for link in self.links:
            found.setdefault((link.target, link.target_subtask), []).append(link)
        return found

    @cached_property
    def outgoing(self) -> dict[tuple[str, int], list[Link]]:
        found: dict[tuple[str, int], list[Link]] = {}
        for link in self.links:
            found.setdefault((link.edge.source, link.source_subtask), []).append(link)
        return found

    @cached_property
    def dataflow(self) -> Dataflow | None:
        """None where not all edges are known, or it cannot be one, as with cycles."""
        if not self.knows_edges:
            return None
        try:
            return Dataflow(tuple(map(self._vertex, self.graph.vertices)), self._edges())
        except DataflowRefused:
            return None

    def _vertex(self, vertex: Vertex) -> flow.Vertex:
        feeds = {edge.source for _, edge in self.graph.edges()}
        kind = flow.OPERATOR if vertex.id in feeds else flow.SINK
        return flow.Vertex(
            self.names[vertex.id],
            kind if vertex.inputs else flow.SOURCE,
            vertex.parallelism,
            max(vertex.max_parallelism or _USUAL_MAX_PARALLELISM, vertex.parallelism),
        )

    def _edges(self) -> tuple[flow.Edge, ...]:
        """One for each pair of vertices: of several edges the first."""
        found = {}
        for target, edge in self.graph.edges():
            source = self.graph.vertex_by_id[edge.source]
            exchange = _EXCHANGES[edge.ship]
            if exchange == flow.FORWARD and source.parallelism != target.parallelism:
                exchange = flow.REBALANCE
            ends = self.names[source.id], self.names[target.id]
            found.setdefault(ends, flow.Edge(*ends, exchange))
        return tuple(found.values())

    def vertex_of(self, place: Place, operator: str) -> str | None:
        """The vertex that an operator of the place's checkpoint runs in; None: not known."""
        vertices = place.stored.vertices if place.stored is not None else None
        vertex = operator if vertices is None else vertices.get(operator, operator)
        return vertex if vertex in self.names else None

    @cached_property
    def snapshots(self) -> dict[int, str]:
        """The snapshot's id of each place, by its number."""
        found: dict[int, str] = {}
        for place in self.places:
            name = f"{place.id}" if self.number == 1 else f"{place.id} (run {self.number})"
            if name in found.values():
                name += f" in {_label(place.stored.folder, 'the root')}, place {place.number}"
            found[place.number] = name
        return found


def runs_of(places: Iterable[Place]) -> tuple[Run, ...]:
    """In the order of their first checkpoints; jobs without any have none."""
    groups: dict[tuple, tuple[FlinkJob, JobGraph, list[Place]]] = {}
    for place in places:
        graph = _graph(place)
        key = (id(place.job), tuple((one.id, one.parallelism) for one in graph.vertices))
        groups.setdefault(key, (place.job, graph, []))[2].append(place)
    return tuple(_Making(len(groups)).runs(groups.values()))


def _graph(place: Place) -> JobGraph:
    """With the parallelism that the checkpoint had."""
    rest = place.job.rest
    if rest is not None and rest.graph is not None:
        known = _parallelism(place)
        vertices = (
            replace(one, parallelism=known.get(one.id, one.parallelism or 1))
            for one in _in_order(rest.graph)
        )
        return JobGraph(tuple(vertices))
    operators = place.stored.metadata.operators if place.has_files else ()
    if place.rest is not None and place.rest.vertices:
        names = {one.id: one.name or one.uid for one in operators}
        known = _parallelism(place)
        vertices = (
            Vertex(one.vertex, names.get(one.vertex) or "", (), known.get(one.vertex, 1), None, ())
            for one in place.rest.vertices
        )
    else:
        vertices = (
            Vertex(one.id, one.name or one.uid or "", (), one.parallelism, one.max_parallelism, ())
            for one in operators
        )
    return JobGraph(tuple(vertices))


def _in_order(graph: JobGraph) -> list[Vertex]:
    """Each after those it takes from; at the end those on or behind a cycle."""
    feeds: dict[str, list[str]] = defaultdict(list)
    waiting = Counter()
    for target, edge in graph.edges():
        if edge.source in graph.vertex_by_id:
            feeds[edge.source].append(target.id)
            waiting[target.id] += 1
    ready = [one.id for one in graph.vertices if not waiting[one.id]]
    for vertex in ready:
        for target in feeds[vertex]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    left = [one.id for one in graph.vertices if waiting[one.id]]
    return [graph.vertex_by_id[vertex] for vertex in (*ready, *left)]


def _parallelism(place: Place) -> dict[str, int]:
    """By vertex, as far as the checkpoint itself says it."""
    found = {}
    for one in place.rest.vertices if place.rest is not None else ():
        told = max((subtask.index + 1 for subtask in one.subtasks), default=0)
        if count := max(one.totals.subtasks or 0, told):
            found[one.vertex] = count
    for one in place.stored.metadata.operators if place.has_files else ():
        found[one.id] = one.parallelism
    return found


class _Making:
    """Names are given, and subtasks and channels counted, over all runs."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: set[str] = set()
        self._subtasks_left = MOST_SUBTASKS
        self._channels_left = MOST_CHANNELS

    def runs(self, groups: Iterable[tuple[FlinkJob, JobGraph, list[Place]]]) -> Iterator[Run]:
        several = self._count > 1
        for number, (job, graph, own) in enumerate(groups, 1):
            subtasks = sum(vertex.parallelism for vertex in graph.vertices)
            if is_cut := subtasks > self._subtasks_left:
                graph, subtasks = JobGraph(()), 0
            self._subtasks_left -= subtasks
            names = self._names(graph, number)
            links = self._links(graph, names, any(map(_may_overtake, own)))
            told = {(link.edge.source, link.target, link.edge.gate) for link in links}
            edges = {(edge.source, target.id, edge.gate) for target, edge in graph.edges()}
            has_plan = job.rest is not None and job.rest.graph is not None
            yield Run(
                number,
                job,
                graph,
                tuple(own),
                names,
                links,
                has_plan and bool(names) and told == edges,
                is_cut,
                ProcessId(f"coordinator {number}" if several else "coordinator"),
                f"run {number}" if several else None,
            )

    def _names(self, graph: JobGraph, run: int) -> dict[str, str]:
        names = {}
        for vertex in graph.vertices:
            label = _label(vertex.name, f"operator {vertex.id[:8]}")
            if label.startswith("coordinator"):
                label = f"task {label}"
            if run > 1:
                label += f" (run {run})"
            name, copy = label, 1
            while name in self._taken:
                copy += 1
                name = f"{label} {copy}"
            self._taken.add(name)
            names[vertex.id] = name
        return names

    def _links(self, graph: JobGraph, names: dict[str, str], overtaking: bool) -> tuple[Link, ...]:
        edges = [(t, e) for t, e in graph.edges() if e.source in names and e.ship in _EXCHANGES]
        count = sum(graph.vertex_by_id[e.source].parallelism * t.parallelism for t, e in edges)
        if count > self._channels_left:
            return ()
        self._channels_left -= count
        found: dict[ChannelId, Link] = {}
        for target, edge in edges:
            may = overtaking and edge.ship in STORED_IN_FLIGHT
            for link in _of_edge(graph.vertex_by_id[edge.source], target, edge, names, may):
                if link.channel.id in found:
                    channel = replace(link.channel, id=f"{link.channel.id} (gate {edge.gate})")
                    link = replace(link, channel=channel)
                found[link.channel.id] = link
        return tuple(found.values())


def _may_overtake(place: Place) -> bool:
    if place.rest is not None and (place.rest.kind or "").startswith("UNALIGNED"):
        return True
    return place.has_files and any(
        subtask.inputs or subtask.outputs
        for operator in place.stored.metadata.operators
        for subtask in operator.subtasks
    )


def _of_edge(
    source: Vertex, target: Vertex, edge: Input, names: dict[str, str], overtaking: bool
) -> Iterator[Link]:
    for to in range(target.parallelism):
        for one in _senders(edge.ship, source.parallelism, target.parallelism, to):
            ends = f"{names[source.id]}[{one}]", f"{names[target.id]}[{to}]"
            channel = Channel(ChannelId("->".join(ends)), *ends, overtaking=overtaking)
            yield Link(channel, edge, target.id, one, to)


def _senders(ship: str, sources: int, targets: int, target: int) -> range:
    """Source: Flink, VertexInputInfoComputationUtils.computeVertexInputInfoForPointwise."""
    if ship not in _POINTWISE:
        return range(sources)
    first = target * sources // targets
    return range(first, max((target + 1) * sources // targets, first + 1))


def _label(text: str, otherwise: str) -> str:
    kept = "".join(one if one.isprintable() else " " for one in text).strip()
    return (kept if len(kept) <= _LONGEST else f"{kept[: _LONGEST - 1]}…") or otherwise
