"""A dataflow: vertices and edges, as one draws it, and the topology of subtasks that it runs as.

Offsets of a source count from 1. Each subtask of a source reads one split, which bears the name of
the subtask. The dataflow alone decides what the records hold and which way they go, so that every
run of it has the same records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any

from snapshots.domain.model.as_json import Absent
from snapshots.domain.model.layers import components
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology

SOURCE, OPERATOR, SINK = VERTEX_KINDS = ("source", "operator", "sink")
FORWARD, HASH, BROADCAST, REBALANCE = EXCHANGES = ("forward", "hash", "broadcast", "rebalance")
PLAIN, IDEMPOTENT, TWO_PHASE = SINK_KINDS = ("plain", "idempotent", "two-phase")
WINDOW = "window"
FUNCTIONS = ("map", "filter", "flatmap", "count", "sum", "total", "join", WINDOW)
KEYED = frozenset({"count", "sum", "join", WINDOW})
OVERTAKEN = frozenset({HASH, REBALANCE})
"""Exchanges on which unaligned barriers overtake records; on the others they keep their place."""
MOST_SUBTASKS = 10_000
MOST_CHANNELS = 1_000_000
MOST_MAX_PARALLELISM = 32_768
MOST_KEYS = 1_000_000
LONGEST_NAME = 80
LARGEST = 1_000_000_000


class DataflowRefused(Exception):
    """The dataflow is invalid. ``field`` says where, such as ``vertices[2].parallelism``."""

    permanent = True

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        self.sentence = sentence
        super().__init__(f"{field}: {sentence}")


@dataclass(frozen=True, slots=True)
class Vertex:
    """An operator with its parallel subtasks.

    Attributes:
        kind: one of VERTEX_KINDS.
        max_parallelism: how many key groups the keyed state has.
        cost: how many microseconds a record takes.
        rate: how many records a second are created in each split of a source; 0 if all are there
            from the start.
        records: how many records each split of a source has.
        keys: how many different keys the records of a source have.
        skew: 0 if all keys are equally frequent; the greater, the more frequent are the first keys.
        value: the value of every record of a source. None for values from 1 to 1000 that depend on
            split and offset.
        function: what an operator does, one of FUNCTIONS.
        sink: what kind of sink it is, one of SINK_KINDS.
    """

    id: str
    kind: str
    parallelism: int = 1
    max_parallelism: int = 128
    cost: int = 100
    rate: float = 1000.0
    records: int = 100
    keys: int = 8
    skew: float = 0.0
    value: Absent[int] = None
    function: str = "map"
    sink: str = PLAIN

    @property
    def is_window(self) -> bool:
        """Tell whether the vertex sums up windows of event time."""
        return self.kind == OPERATOR and self.function == WINDOW


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection of two vertices and the rule that distributes records over subtasks."""

    source: str
    target: str
    exchange: str = FORWARD


@dataclass(frozen=True, slots=True)
class Subtask:
    """One parallel instance of a vertex."""

    vertex: str
    index: int

    @property
    def id(self) -> ProcessId:
        """Return the id of the process that stands for the subtask."""
        return ProcessId(f"{self.vertex}[{self.index}]")


@dataclass(frozen=True)
class Dataflow:
    """Vertices and the edges between them.

    Raises: DataflowRefused, with the field, if they are no valid dataflow.
    """

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        for index, vertex in enumerate(self.vertices):
            _check_vertex(vertex, f"vertices[{index}]")
        _check_names(self.vertices)
        self._check_size()
        for index, edge in enumerate(self.edges):
            self._check_edge(edge, f"edges[{index}]")
        self._check_inputs()
        self._check_acyclic()

    @cached_property
    def vertex_by_id(self) -> dict[str, Vertex]:
        """Index the vertices by id."""
        return {vertex.id: vertex for vertex in self.vertices}

    @cached_property
    def subtasks(self) -> tuple[Subtask, ...]:
        """List the subtasks of all vertices, in the order of the vertices."""
        return tuple(
            Subtask(vertex.id, index)
            for vertex in self.vertices
            for index in range(vertex.parallelism)
        )

    @cached_property
    def subtask_by_id(self) -> dict[ProcessId, Subtask]:
        """Index the subtasks by the process that stands for each."""
        return {subtask.id: subtask for subtask in self.subtasks}

    def edges_from(self, vertex: str) -> tuple[Edge, ...]:
        """Return the edges that leave a vertex."""
        return tuple(edge for edge in self.edges if edge.source == vertex)

    def edges_to(self, vertex: str) -> tuple[Edge, ...]:
        """Return the edges that enter a vertex."""
        return tuple(edge for edge in self.edges if edge.target == vertex)

    def targets(self, edge: Edge, index: int) -> range:
        """Return the target subtasks to which a source subtask has a channel, by index."""
        if edge.exchange == FORWARD:
            return range(index, index + 1)
        return range(self.vertex_by_id[edge.target].parallelism)

    def channel(self, edge: Edge, source: int, target: int) -> ChannelId:
        """Return the id of the channel between two subtasks, which are given by index."""
        return ChannelId(f"{edge.source}[{source}]->{edge.target}[{target}]")

    @cached_property
    def pipelines(self) -> tuple[tuple[str, ...], ...]:
        """The connected components of the vertices, all in the order of the vertices."""
        links = [(edge.source, edge.target) for edge in self.edges]
        return components([vertex.id for vertex in self.vertices], links)

    @cached_property
    def regions(self) -> tuple[tuple[ProcessId, ...], ...]:
        """The connected components of the subtasks; there are many if no exchange is all-to-all."""
        links = [(channel.source, channel.target) for channel in self._channels(False)]
        return components([subtask.id for subtask in self.subtasks], links)

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The vertices in topological order, without those that are on or behind a cycle."""
        waiting = Counter(edge.target for edge in self.edges)
        ready = [vertex.id for vertex in self.vertices if not waiting[vertex.id]]
        for vertex in ready:
            for edge in self.edges_from(vertex):
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        return tuple(ready)

    def coordinators(self, *, one: bool = False) -> tuple[ProcessId, ...]:
        """Return ``coordinator``, or a numbered one for each of several pipelines unless ``one`` is
        set.
        """
        count = 1 if one else len(self.pipelines)
        if count == 1:
            return (ProcessId("coordinator"),)
        return tuple(ProcessId(f"coordinator {number}") for number in range(1, count + 1))

    def expand(self, *, one_coordinator: bool = False, overtaking: bool = False) -> Topology:
        """Return the topology of subtasks and coordinators.

        ``overtaking``: unaligned barriers will run.
        """
        names = [subtask.id for subtask in self.subtasks]
        names += self.coordinators(one=one_coordinator)
        return Topology(tuple(Process(name) for name in names), tuple(self._channels(overtaking)))

    def _channels(self, overtaking: bool) -> Iterable[Channel]:
        for edge in self.edges:
            for source in range(self.vertex_by_id[edge.source].parallelism):
                for target in self.targets(edge, source):
                    yield Channel(
                        self.channel(edge, source, target),
                        Subtask(edge.source, source).id,
                        Subtask(edge.target, target).id,
                        overtaking=overtaking and edge.exchange in OVERTAKEN,
                    )

    @classmethod
    def from_json(cls, document: object) -> "Dataflow":
        """Return the dataflow of a JSON document. Raises: DataflowRefused, with the field."""
        if not isinstance(document, Mapping):
            raise DataflowRefused("dataflow", "A dataflow is an object with vertices and edges.")
        return cls(_parts(document, "vertices", Vertex), _parts(document, "edges", Edge))

    def _check_size(self) -> None:
        subtasks = 0
        for index, vertex in enumerate(self.vertices):
            subtasks += vertex.parallelism
            if subtasks > MOST_SUBTASKS:
                raise DataflowRefused(
                    f"vertices[{index}].parallelism",
                    f"With this vertex the dataflow has {subtasks:,} subtasks; "
                    f"at most {MOST_SUBTASKS:,} are run here.",
                )

    def _check_edge(self, edge: Edge, path: str) -> None:
        source, target = (
            self._end(edge.source, f"{path}.source"),
            self._end(edge.target, f"{path}.target"),
        )
        if edge.exchange not in EXCHANGES:
            raise DataflowRefused(f"{path}.exchange", _one_of(edge.exchange, EXCHANGES))
        if source.kind == SINK:
            raise DataflowRefused(f"{path}.source", "Nothing flows out of a sink.")
        if target.kind == SOURCE:
            raise DataflowRefused(f"{path}.target", "Nothing flows into a source.")
        if edge.exchange == FORWARD and source.parallelism != target.parallelism:
            raise DataflowRefused(
                f"{path}.exchange",
                f"A forward edge joins subtasks one to one, but {source.id} has "
                f"{source.parallelism} and {target.id} {target.parallelism}.",
            )
        keyed = target.kind == OPERATOR and target.function in KEYED
        if keyed and target.parallelism > 1 and edge.exchange != HASH:
            raise DataflowRefused(
                f"{path}.exchange",
                f"{target.id} keeps state by key on several subtasks: its input must be "
                "exchanged by hash, or a key's state would lie in two places.",
            )

    def _end(self, name: object, path: str) -> Vertex:
        vertex = self.vertex_by_id.get(name) if isinstance(name, str) else None
        if vertex is None:
            raise DataflowRefused(path, f"There is no vertex {name!r} for the edge.")
        return vertex

    def _check_inputs(self) -> None:
        if not self.vertices:
            raise DataflowRefused("vertices", "A dataflow has at least one vertex.")
        pairs = Counter((edge.source, edge.target) for edge in self.edges)
        for index, edge in enumerate(self.edges):
            if pairs[edge.source, edge.target] > 1:
                raise DataflowRefused(
                    f"edges[{index}]", f"Two edges lead from {edge.source} to {edge.target}."
                )
        if self._channel_count() > MOST_CHANNELS:
            raise DataflowRefused(
                "edges", f"The dataflow has more than {MOST_CHANNELS:,} channels."
            )
        for index, vertex in enumerate(self.vertices):
            inputs = len(self.edges_to(vertex.id))
            if vertex.kind != SOURCE and not inputs:
                raise DataflowRefused(f"vertices[{index}].id", f"No edge leads to {vertex.id}.")
            if vertex.kind == OPERATOR and vertex.function == "join" and inputs != 2:
                raise DataflowRefused(
                    f"vertices[{index}].function",
                    f"A join has two inputs; {vertex.id} has {inputs}.",
                )

    def _channel_count(self) -> int:
        width = {vertex.id: vertex.parallelism for vertex in self.vertices}
        return sum(
            width[edge.source] * (1 if edge.exchange == FORWARD else width[edge.target])
            for edge in self.edges
        )

    def _check_acyclic(self) -> None:
        acyclic = set(self.in_order)
        for index, edge in enumerate(self.edges):
            if edge.source not in acyclic and edge.target not in acyclic:
                raise DataflowRefused(
                    f"edges[{index}]", f"{edge.source} -> {edge.target} lies on a cycle."
                )


_LEAST = {
    "parallelism": 1,
    "max_parallelism": 1,
    "cost": 0,
    "records": 0,
    "keys": 1,
    "rate": 0,
    "skew": 0,
}


def _check_vertex(vertex: Vertex, path: str) -> None:
    if not isinstance(vertex.id, str) or not 1 <= len(vertex.id) <= LONGEST_NAME:
        raise DataflowRefused(f"{path}.id", f"A name has 1 to {LONGEST_NAME} characters.")
    for field, allowed in (("kind", VERTEX_KINDS), ("function", FUNCTIONS), ("sink", SINK_KINDS)):
        if getattr(vertex, field) not in allowed:
            raise DataflowRefused(f"{path}.{field}", _one_of(getattr(vertex, field), allowed))
    for field, least in _LEAST.items():
        largest = MOST_KEYS if field == "keys" else LARGEST
        fractional = field in ("rate", "skew")
        _check_number(getattr(vertex, field), least, fractional, f"{path}.{field}", largest)
    if vertex.value is not None:
        _check_number(vertex.value, 0, False, f"{path}.value")
    if vertex.max_parallelism > MOST_MAX_PARALLELISM:
        raise DataflowRefused(
            f"{path}.max_parallelism", f"It is at most {MOST_MAX_PARALLELISM:,}, as in Flink."
        )
    if vertex.parallelism > vertex.max_parallelism:
        raise DataflowRefused(
            f"{path}.parallelism",
            f"{vertex.parallelism} subtasks cannot share {vertex.max_parallelism} key groups "
            "(max_parallelism).",
        )


def _check_number(
    value: object, least: int, fractional: bool, path: str, largest: int = LARGEST
) -> None:
    allowed = int | float if fractional else int
    if not isinstance(value, allowed) or isinstance(value, bool) or value != value:
        raise DataflowRefused(
            path, f"It is a {'' if fractional else 'whole '}number, not {value!r}."
        )
    if not least <= value <= largest:
        raise DataflowRefused(path, f"It lies between {least} and {largest:,}.")


def _check_names(vertices: tuple[Vertex, ...]) -> None:
    seen: set[str] = set()
    for index, vertex in enumerate(vertices):
        if vertex.id in seen:
            raise DataflowRefused(
                f"vertices[{index}].id", f"Two vertices are called {vertex.id!r}."
            )
        seen.add(vertex.id)


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    return f"It is one of {', '.join(allowed)}, not {value!r}."


def _parts(document: Mapping[str, Any], name: str, part: type) -> tuple[Any, ...]:
    items = document.get(name, [])
    if not isinstance(items, list):
        raise DataflowRefused(name, "It is a list.")
    allowed = {field.name for field in fields(part)}
    required = [field.name for field in fields(part) if field.default is MISSING]
    parts = []
    for index, item in enumerate(items):
        path = f"{name}[{index}]"
        if not isinstance(item, Mapping):
            raise DataflowRefused(path, "It is an object.")
        for field in item:
            if field not in allowed:
                raise DataflowRefused(f"{path}.{field}", "There is no such field.")
        for field in required:
            if field not in item:
                raise DataflowRefused(f"{path}.{field}", "It is missing.")
        parts.append(part(**item))
    return tuple(parts)
