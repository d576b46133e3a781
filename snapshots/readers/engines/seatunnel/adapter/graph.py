"""The processes of an upload's pipelines, and the channels where a REST answer has the job's graph.

Every action is a vertex with a process for each subtask, also where the engine fuses several into
one task; the states with index -1 are the source's enumerator's and the sink's committer's. Each
pipeline has a coordinator. Files have no edges. A task vertex whose actions cannot be told gets
processes of its own, which do nothing but acknowledge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from snapshots.domain.dataflow_logs.dataflow import FORWARD, OPERATOR, REBALANCE, SINK, SOURCE
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.readers.engines.derived_log import Channels, dataflow
from snapshots.readers.engines.seatunnel import names
from snapshots.readers.engines.seatunnel.adapter.jobs import Found, Pipeline
from snapshots.readers.engines.seatunnel.adapter.tasks import acknowledging
from snapshots.readers.engines.seatunnel.model import Checkpoint
from snapshots.readers.engines.seatunnel.names import action_name

MOST_TASKS = 5_000
MOST_RECORDS = 2_000_000  # processes times checkpoints
LONGEST_NAME = 70  # characters of a vertex
WHOLE = "The subtasks of an action are drawn as one process: all would be too many."
LEFT_OUT = "Actions are not drawn, only coordinators: all would be too many."
NO_CHANNELS = "Not all channels are drawn: there would be too many."
_KINDS = {names.SOURCE: SOURCE, names.SINK: SINK}
_COORDINATORS = {names.SOURCE: "enumerator", names.SINK: "committer"}


@dataclass(frozen=True)
class Vertex:
    """One action of a pipeline. id: its name, plain and unique in the upload. width: its
    subtasks, of all checkpoints the most."""

    id: str
    role: str | None
    width: int
    has_coordinator: bool

    @property
    def coordinator(self) -> ProcessId:
        return ProcessId(f"{self.id}.{_COORDINATORS.get(self.role, 'state')}")


@dataclass(frozen=True)
class Graph:
    """One pipeline. vertices: by key of the action. tasks: by number of the task vertex those that
    are told of no action, with the most subtasks. whole: a vertex is one process."""

    pipeline: Pipeline
    coordinator: ProcessId
    scope: str | None
    vertices: dict[str | int, Vertex]
    tasks: dict[int | None, Vertex]
    whole: bool

    def subtask(self, key: str | int, index: int) -> ProcessId:
        return self._process(self.vertices[key], index)

    def task(self, number: int | None, index: int) -> ProcessId:
        return self._process(self.tasks[number], index)

    @property
    def processes(self) -> Iterator[ProcessId]:
        """All but the coordinator."""
        for vertex in self.vertices.values():
            if vertex.role == names.SOURCE and vertex.has_coordinator:
                yield vertex.coordinator
            yield from self.subtasks(vertex)
            if vertex.role != names.SOURCE and vertex.has_coordinator:
                yield vertex.coordinator
        for vertex in self.tasks.values():
            yield from self.subtasks(vertex)

    def subtasks(self, vertex: Vertex) -> list[ProcessId]:
        return [self._process(vertex, index) for index in range(self.width(vertex))]

    def width(self, vertex: Vertex) -> int:
        return min(vertex.width, 1) if self.whole else vertex.width

    def _process(self, vertex: Vertex, index: int) -> ProcessId:
        return ProcessId(f"{vertex.id}[{0 if self.whole else index}]")


@dataclass(frozen=True)
class Graphs:
    """The graphs of all pipelines.

    Args:
        dataflow: as JSON; without edges where no file has them.
        inferred: what the header says of channels between subtasks, since a REST answer has only
            the actions; None where there are none.
        notes: what the picture leaves out.
    """

    pipelines: tuple[Graph, ...]
    topology: Topology
    dataflow: dict[str, object]
    inferred: dict[ChannelId, object] | None
    notes: tuple[str, ...] = field(default=())


def graphs_of(found: Found) -> Graphs:
    namer = _Namer()
    with_label = _share_names(found)
    parts = [_vertices(pipeline, namer, with_label) for pipeline in found.pipelines]
    vertices = [vertex for part in parts for own in part for vertex in own.values()]
    times = max((len(pipeline.checkpoints) for pipeline in found.pipelines), default=0)
    wide = sum(vertex.width + vertex.has_coordinator for vertex in vertices)
    whole = wide > MOST_TASKS or wide * times > MOST_RECORDS
    none = whole and (len(vertices) > MOST_TASKS or 2 * len(vertices) * times > MOST_RECORDS)
    notes = [LEFT_OUT] if none else [WHOLE] if whole else []
    graphs = tuple(
        _graph(pipeline, len(found.pipelines), ({}, {}) if none else part, whole)
        for pipeline, part in zip(found.pipelines, parts, strict=True)
    )
    channels = _channels(graphs)
    processes = [
        (name, graph.scope) for graph in graphs for name in (*graph.processes, graph.coordinator)
    ]
    return Graphs(
        graphs,
        channels.topology(processes or [(ProcessId("coordinator"), None)]),
        _dataflow(graphs),
        channels.about_inferred(),
        tuple(notes + [NO_CHANNELS] * channels.left_out),
    )


class _Namer:
    """Gives plain names, no two the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, wanted: str) -> str:
        plain = "".join(c if c.isprintable() else "?" for c in wanted[:LONGEST_NAME]).strip()
        if not plain or plain.startswith("coordinator"):
            plain = f"action {plain}".strip()
        name, number = plain, 1
        while name in self._taken:
            number += 1
            name = f"{plain} ({number})"
        self._taken.add(name)
        return name


def _share_names(found: Found) -> bool:
    """Whether actions of different pipelines have the same name."""
    own = [
        {action_name(action.key).name for item in _checkpoints(one) for action in item.actions}
        for one in found.pipelines
    ]
    return sum(map(len, own)) > len(set().union(*own))


def _vertices(pipeline: Pipeline, namer: _Namer, with_label: bool) -> tuple[dict, dict]:
    """By key of the action, and by number of the task vertex."""
    widths: dict[str | int, int] = {}
    coordinated: set[str | int] = set()
    tasks: dict[int | None, int] = {}
    for checkpoint in _checkpoints(pipeline):
        for action in checkpoint.actions:
            widths[action.key] = max(widths.get(action.key, 0), len(action.subtasks))
            if action.coordinator is not None:
                coordinated.add(action.key)
        if acknowledging(checkpoint) is None:
            for vertex in checkpoint.statistics:
                width = len(vertex.subtasks)
                tasks[vertex.vertex] = max(tasks.get(vertex.vertex, 0), width)
    label = f"{pipeline.label}: " if with_label else ""
    vertices = {}
    for key, width in widths.items():
        name = action_name(key)
        id = namer(f"{label}{name.name}")
        vertices[key] = Vertex(id, name.role, width, key in coordinated)
    return vertices, {
        number: Vertex(namer(f"{label}task {number}"), None, width, False)
        for number, width in tasks.items()
    }


def _checkpoints(pipeline: Pipeline) -> Iterator[Checkpoint]:
    for known in pipeline.checkpoints:
        if known.stored is not None:
            yield known.stored.checkpoint


def _graph(pipeline: Pipeline, pipelines: int, parts: tuple[dict, dict], whole: bool) -> Graph:
    alone = pipelines == 1
    coordinator = ProcessId("coordinator" if alone else f"coordinator {pipeline.place}")
    return Graph(pipeline, coordinator, None if alone else str(coordinator), *parts, whole)


def _channels(graphs: tuple[Graph, ...]) -> Channels:
    channels = Channels()
    for graph in graphs:
        for source, target, exchange in _edges(graph):
            one, other = graph.subtasks(source), graph.subtasks(target)
            forward = exchange == FORWARD
            pairs = zip(one, other, strict=True) if forward else product(one, other)
            wide = len(one) * len(other)
            channels.connect(pairs, len(one) if forward else wide, inferred=wide > 1)
    return channels


def _edges(graph: Graph) -> Iterator[tuple[Vertex, Vertex, str]]:
    """Of the job's graph, between vertices of the files; with the exchange, which is inferred:
    what the engine fuses into one task hands over to its own subtask, a shuffle to all."""
    job, number = graph.pipeline.graph, graph.pipeline.number
    if job is None:
        return
    by_name = {action_name(key).name: vertex for key, vertex in graph.vertices.items()}
    drawn = {item.id: by_name.get(_plain(item.name)) for item in job.vertices}
    for pair in dict.fromkeys(job.edges.get(number, ())):
        source, target = (drawn.get(end) for end in pair)
        if source is None or target is None or source is target:
            continue
        shuffled = names.SHUFFLE in (source.role, target.role)
        fused = source.width == target.width and not shuffled
        yield source, target, FORWARD if fused else REBALANCE


def _plain(name: str | None) -> str:
    """The answer has ``pipeline-1 [Source[0]-Fake]`` where a file has it behind a word more."""
    return action_name(f"ActionStateKey - {name or ''}").name


def _dataflow(graphs: tuple[Graph, ...]) -> dict[str, object]:
    return dataflow(
        (
            (vertex.id, _KINDS.get(vertex.role, OPERATOR), graph.width(vertex))
            for graph in graphs
            for vertex in graph.vertices.values()
        ),
        (
            (source.id, target.id, exchange)
            for graph in graphs
            for source, target, exchange in _edges(graph)
        ),
    )
