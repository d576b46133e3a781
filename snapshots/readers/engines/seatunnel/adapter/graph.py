"""The processes of an upload's pipelines, and the channels where a REST answer has the job's graph.

Every action is a vertex with a process for each subtask, also where the engine fuses several into
one task; the states with index -1 belong to the source's enumerator and the sink's committer. Each
pipeline has a coordinator. Files have no edges. A task vertex of which nobody knows the actions
gets processes of its own, which only acknowledge.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.dataflow import FORWARD, OPERATOR, REBALANCE, SINK, SOURCE
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.engines.picture import (
    Edge,
    Picture,
    Vertex,
    coordinator,
    dataflow,
    draw,
    unique,
)
from snapshots.readers.engines.seatunnel import names
from snapshots.readers.engines.seatunnel.adapter.checkpoints import Pipeline, Pipelines
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
class Action:
    """An action of a pipeline, or a task vertex of which nobody knows the actions.

    Attributes:
        subtasks: the most subtasks that it has in a checkpoint.
    """

    vertex: Vertex
    role: str | None
    subtasks: int
    has_coordinator: bool = False

    @property
    def coordinator(self) -> ProcessId:
        """The process of its enumerator or committer."""
        return ProcessId(f"{self.vertex.id}.{_COORDINATORS.get(self.role or '', 'state')}")

    @property
    def processes(self) -> list[ProcessId]:
        """The processes of the action; an enumerator comes first, a committer last."""
        extra = [self.coordinator] if self.has_coordinator else []
        subtasks = self.vertex.processes
        return extra + subtasks if self.role == names.SOURCE else subtasks + extra


@dataclass(frozen=True)
class Graph:
    """One pipeline.

    Attributes:
        actions: its actions, by key.
        tasks: the task vertices of which nobody knows the actions, by number.
        whole: whether each vertex is one process.
    """

    pipeline: Pipeline
    coordinator: ProcessId
    scope: str | None
    actions: dict[str | int, Action]
    tasks: dict[int | None, Action]
    whole: bool

    @property
    def processes(self) -> Iterator[ProcessId]:
        """All processes but the coordinator."""
        for action in (*self.actions.values(), *self.tasks.values()):
            yield from action.processes

    @property
    def edges(self) -> Iterator[Edge]:
        """The edges of the job's graph between actions of the files.

        The exchange is inferred: a task that the engine fuses hands over to its own subtask, a
        shuffle to all.
        """
        job, number = self.pipeline.graph, self.pipeline.number
        if job is None or number is None:
            return
        by_name = {action_name(key).name: action for key, action in self.actions.items()}
        drawn = {vertex.id: by_name.get(_plain(vertex.name)) for vertex in job.vertices}
        for source_id, target_id in dict.fromkeys(job.edges.get(number, ())):
            source, target = drawn.get(source_id), drawn.get(target_id)
            if source is None or target is None or source is target:
                continue
            shuffled = names.SHUFFLE in (source.role, target.role)
            fused = source.subtasks == target.subtasks and not shuffled
            exchange = FORWARD if fused else REBALANCE
            inferred = source.vertex.width * target.vertex.width > 1
            yield Edge(source.vertex, target.vertex, exchange, inferred)


@dataclass(frozen=True)
class Graphs:
    """The graphs of all pipelines.

    Attributes:
        dataflow: as JSON; it lacks the edges that no file has.
        notes: what the picture leaves out, as sentences.
    """

    pipelines: tuple[Graph, ...]
    picture: Picture
    dataflow: dict[str, object]
    notes: tuple[str, ...]


def graphs_of(upload: Pipelines) -> Graphs:
    """Draw the pipelines of an upload."""
    widths = [_Widths.of(pipeline) for pipeline in upload.pipelines]
    vertices = sum(len(width.actions) + len(width.tasks) for width in widths)
    tasks = sum(width.total for width in widths)
    times = max((len(pipeline.checkpoints) for pipeline in upload.pipelines), default=0)
    whole = tasks > MOST_TASKS or tasks * times > MOST_RECORDS
    none = whole and (vertices > MOST_TASKS or 2 * vertices * times > MOST_RECORDS)
    notes = [LEFT_OUT] if none else [WHOLE] if whole else []
    with_label = _share_names(upload)
    taken: set[str] = set()
    graphs = tuple(
        _graph(pipeline, _Widths() if none else width, whole, with_label, len(widths), taken)
        for pipeline, width in zip(upload.pipelines, widths, strict=True)
    )
    processes = [
        (name, graph.scope) for graph in graphs for name in (*graph.processes, graph.coordinator)
    ]
    edges = [edge for graph in graphs for edge in graph.edges]
    picture = draw(processes or [(coordinator(1, 1), None)], edges)
    drawn = [action.vertex for graph in graphs for action in graph.actions.values()]
    notes += [NO_CHANNELS] * picture.left_out
    return Graphs(graphs, picture, dataflow(drawn, edges), tuple(notes))


class _Widths:
    """How many subtasks the parts of a pipeline have, in the checkpoint that has the most.

    Attributes:
        actions: subtasks by key.
        coordinated: the keys of the actions with an enumerator or a committer.
        tasks: subtasks by number of the task vertex, where nobody knows the actions.
    """

    def __init__(self) -> None:
        self.actions: dict[str | int, int] = {}
        self.coordinated: set[str | int] = set()
        self.tasks: dict[int | None, int] = {}

    @classmethod
    def of(cls, pipeline: Pipeline) -> "_Widths":
        widths = cls()
        for checkpoint in _contents(pipeline):
            for action in checkpoint.actions:
                subtasks = len(action.subtasks)
                widths.actions[action.key] = max(widths.actions.get(action.key, 0), subtasks)
                if action.coordinator is not None:
                    widths.coordinated.add(action.key)
            if acknowledging(checkpoint) is None:
                for task in checkpoint.statistics:
                    subtasks = len(task.subtasks)
                    widths.tasks[task.vertex] = max(widths.tasks.get(task.vertex, 0), subtasks)
        return widths

    @property
    def total(self) -> int:
        return sum((*self.actions.values(), *self.tasks.values())) + len(self.coordinated)


def _contents(pipeline: Pipeline) -> Iterator[Checkpoint]:
    for checkpoint in pipeline.checkpoints:
        if checkpoint.content is not None:
            yield checkpoint.content


def _share_names(upload: Pipelines) -> bool:
    """Tell whether actions of different pipelines have the same name."""
    names_by_pipeline = [
        {action_name(action.key).name for content in _contents(one) for action in content.actions}
        for one in upload.pipelines
    ]
    return sum(map(len, names_by_pipeline)) > len(set().union(*names_by_pipeline))


def _graph(
    pipeline: Pipeline,
    widths: _Widths,
    whole: bool,
    with_label: bool,
    pipelines: int,
    taken: set[str],
) -> Graph:
    label = f"{pipeline.label}: " if with_label else ""

    def vertex(name: str, kind: str, subtasks: int) -> Vertex:
        width = min(subtasks, 1) if whole else subtasks
        return Vertex(unique(_fitting(f"{label}{name}"), taken), kind, width)

    actions: dict[str | int, Action] = {}
    for key, subtasks in widths.actions.items():
        name = action_name(key)
        drawn = vertex(name.name, _KINDS.get(name.role or "", OPERATOR), subtasks)
        actions[key] = Action(drawn, name.role, subtasks, key in widths.coordinated)
    tasks = {
        number: Action(vertex(f"task {number}", OPERATOR, subtasks), None, subtasks)
        for number, subtasks in widths.tasks.items()
    }
    process = coordinator(pipeline.place, pipelines)
    return Graph(pipeline, process, None if pipelines == 1 else str(process), actions, tasks, whole)


def _fitting(name: str) -> str:
    """Return a name that is printable, short, and not that of a coordinator."""
    plain = "".join(c if c.isprintable() else "?" for c in name[:LONGEST_NAME]).strip()
    if not plain or plain.startswith("coordinator"):
        return f"action {plain}".strip()
    return plain


def _plain(name: str | None) -> str:
    """Return the name of an action as files have it: an answer lacks the word before it."""
    return action_name(f"ActionStateKey - {name or ''}").name
