"""A dataflow: vertices and edges, as one draws it, and the topology of subtasks that it runs as.

Offsets of a source count from 1; each of its subtasks reads one split, which bears its name. What
the records hold, and which way they go, follows from the dataflow alone: every run has the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from snapshots.domain.model.as_json import Absent
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology

SOURCE, OPERATOR, SINK = VERTEX_KINDS = ("source", "operator", "sink")
FORWARD, HASH, BROADCAST, REBALANCE = EXCHANGES = ("forward", "hash", "broadcast", "rebalance")
PLAIN, IDEMPOTENT, TWO_PHASE = SINK_KINDS = ("plain", "idempotent", "two-phase")
FUNCTIONS = ("map", "filter", "flatmap", "count", "sum", "total", "join")
KEYED = frozenset({"count", "sum", "join"})
OVERTAKEN = frozenset({HASH, REBALANCE})
"""Exchanges on which unaligned barriers overtake; on the others they keep their place."""
MOST_SUBTASKS = 10_000
MOST_CHANNELS = 1_000_000
MOST_MAX_PARALLELISM = 32_768
MOST_KEYS = 1_000_000
LONGEST_NAME = 80
LARGEST = 1_000_000_000


class DataflowRefused(Exception):
    """The dataflow cannot be. field: where (``vertices[2].parallelism``, ``edges[0].target``)."""

    permanent = True

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        self.sentence = sentence
        super().__init__(f"{field}: {sentence}")


@dataclass(frozen=True, slots=True)
class Vertex:
    """An operator with its parallel subtasks.

    Attributes:
        cost: how many microseconds a record takes.
        rate: how many records a second are created in each split of a source; 0 where all are there
            from the start.
        records: how many records each split of a source has.
        keys: how many different keys the records of a source have.
        skew: 0 where all keys are equally frequent; the greater, the more frequent the first keys.
        value: the value of every record of a source; None for 1 to 1000, by split and offset.
        function: what an operator does, one of FUNCTIONS.
        sink: what kind of sink it is.
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


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection of two vertices and the rule that distributes records over subtasks."""

    source: str
    target: str
    exchange: str = FORWARD


@dataclass(frozen=True, slots=True)
class Subtask:
    """One parallel instance of a vertex; ``id`` is that of its process."""

    vertex: str
    index: int

    @property
    def id(self) -> ProcessId:
        """Return the id of the process that stands for the subtask."""
        return ProcessId(f"{self.vertex}[{self.index}]")


@dataclass(frozen=True)
class Dataflow:
    """Raises: DataflowRefused, with the field, for one that cannot be."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        for place, vertex in enumerate(self.vertices):
            _check_vertex(vertex, f"vertices[{place}]")
        _check_names(self.vertices)
        self._check_size()
        for place, edge in enumerate(self.edges):
            self._check_edge(edge, f"edges[{place}]")
        self._check_inputs()
        self._check_acyclic()

    @cached_property
    def vertex_by_id(self) -> dict[str, Vertex]:
        """Index the vertices by id."""
        return {vertex.id: vertex for vertex in self.vertices}

    @cached_property
    def subtasks(self) -> tuple[Subtask, ...]:
        """Of all vertices, in their order."""
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
        """The subtasks of the edge's target to which that of its source has a channel."""
        if edge.exchange == FORWARD:
            return range(index, index + 1)
        return range(self.vertex_by_id[edge.target].parallelism)

    def channel(self, edge: Edge, source: int, target: int) -> ChannelId:
        """Return the id of the channel between two subtasks, which are given by index."""
        return ChannelId(f"{edge.source}[{source}]->{edge.target}[{target}]")

    @cached_property
    def pipelines(self) -> tuple[tuple[str, ...], ...]:
        """The connected components: the vertices of each, all in the order of the vertices."""
        links = [(edge.source, edge.target) for edge in self.edges]
        return components([vertex.id for vertex in self.vertices], links)

    @cached_property
    def regions(self) -> tuple[tuple[ProcessId, ...], ...]:
        """The connected components of the subtasks: without an all-to-all exchange, many."""
        links = [(channel.source, channel.target) for channel in self._channels(False)]
        return components([subtask.id for subtask in self.subtasks], links)

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The vertices by their longest way from a source."""
        depth: dict[str, int] = {}
        for vertex in self.in_order:
            before = [depth[edge.source] for edge in self.edges_to(vertex)]
            depth[vertex] = 1 + max(before, default=-1)
        layers: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
        for id_ in self.vertex_by_id:
            layers[depth[id_]].append(id_)
        return tuple(map(tuple, layers))

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The vertices, each after all from which an edge leads to it; without those on or after
        a cycle."""
        waiting = Counter(edge.target for edge in self.edges)
        ready = [vertex.id for vertex in self.vertices if not waiting[vertex.id]]
        for vertex in ready:
            for edge in self.edges_from(vertex):
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        return tuple(ready)

    def coordinators(self, *, one: bool = False) -> tuple[ProcessId, ...]:
        """``coordinator``; where there are several pipelines, one each, unless one does for all."""
        count = 1 if one else len(self.pipelines)
        if count == 1:
            return (ProcessId("coordinator"),)
        return tuple(ProcessId(f"coordinator {number}") for number in range(1, count + 1))

    def expand(self, *, one_coordinator: bool = False, overtaking: bool = False) -> Topology:
        """Subtasks and coordinators as processes. overtaking: unaligned barriers will run."""
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
        """Raises: DataflowRefused, with the field."""
        if not isinstance(document, Mapping):
            raise DataflowRefused("dataflow", "A dataflow is an object with vertices and edges.")
        return cls(_parts(document, "vertices", Vertex), _parts(document, "edges", Edge))

    def _check_size(self) -> None:
        subtasks = 0
        for place, vertex in enumerate(self.vertices):
            subtasks += vertex.parallelism
            if subtasks > MOST_SUBTASKS:
                raise DataflowRefused(
                    f"vertices[{place}].parallelism",
                    f"With these the dataflow has {subtasks:,} subtasks; "
                    f"at most {MOST_SUBTASKS:,} are run here.",
                )

    def _check_edge(self, edge: Edge, path: str) -> None:
        ends = {}
        for end in ("source", "target"):
            name = getattr(edge, end)
            ends[end] = self.vertex_by_id.get(name) if isinstance(name, str) else None
            if ends[end] is None:
                raise DataflowRefused(
                    f"{path}.{end}", f"There is no vertex {getattr(edge, end)!r} for the edge."
                )
        if edge.exchange not in EXCHANGES:
            raise DataflowRefused(f"{path}.exchange", _one_of(edge.exchange, EXCHANGES))
        source, target = ends["source"], ends["target"]
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

    def _check_inputs(self) -> None:
        if not self.vertices:
            raise DataflowRefused("vertices", "A dataflow has at least one vertex.")
        pairs = Counter((edge.source, edge.target) for edge in self.edges)
        for place, edge in enumerate(self.edges):
            if pairs[edge.source, edge.target] > 1:
                raise DataflowRefused(
                    f"edges[{place}]", f"Two edges lead from {edge.source} to {edge.target}."
                )
        if self._channel_count() > MOST_CHANNELS:
            raise DataflowRefused(
                "edges", f"The dataflow has more than {MOST_CHANNELS:,} channels."
            )
        for place, vertex in enumerate(self.vertices):
            inputs = len(self.edges_to(vertex.id))
            if vertex.kind != SOURCE and not inputs:
                raise DataflowRefused(f"vertices[{place}].id", f"No edge leads to {vertex.id}.")
            if vertex.kind == OPERATOR and vertex.function == "join" and inputs != 2:
                raise DataflowRefused(
                    f"vertices[{place}].function",
                    f"A join has two inputs; {vertex.id} has {inputs}.",
                )

    def _channel_count(self) -> int:
        wide = {vertex.id: vertex.parallelism for vertex in self.vertices}
        return sum(
            wide[edge.source] * (1 if edge.exchange == FORWARD else wide[edge.target])
            for edge in self.edges
        )

    def _check_acyclic(self) -> None:
        done = set(self.in_order)
        for place, edge in enumerate(self.edges):
            if edge.source not in done and edge.target not in done:
                raise DataflowRefused(
                    f"edges[{place}]", f"{edge.source} -> {edge.target} lies on a cycle."
                )


def components(
    names: Iterable[str], links: Iterable[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Connected components, each and all in the order of the names."""
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for one, other in links:
        parent[root(other)] = root(one)
    groups: dict[str, list[str]] = {}
    for name in parent:
        groups.setdefault(root(name), []).append(name)
    return tuple(map(tuple, groups.values()))


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
        broken = field in ("rate", "skew")
        _check_number(getattr(vertex, field), least, broken, f"{path}.{field}", largest)
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
    value: object, least: int, broken: bool, path: str, largest: int = LARGEST
) -> None:
    allowed = int | float if broken else int
    is_number = isinstance(value, allowed) and not isinstance(value, bool)
    if not is_number or value != value:
        raise DataflowRefused(path, f"It is a {'' if broken else 'whole '}number, not {value!r}.")
    if not least <= value <= largest:
        raise DataflowRefused(path, f"It lies between {least} and {largest:,}.")


def _check_names(vertices: tuple[Vertex, ...]) -> None:
    seen: set[str] = set()
    for place, vertex in enumerate(vertices):
        if vertex.id in seen:
            raise DataflowRefused(f"vertices[{place}].id", f"{vertex.id!r} stands twice.")
        seen.add(vertex.id)


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    return f"It is one of {', '.join(allowed)}, not {value!r}."


def _parts(document: Mapping[str, Any], name: str, part: type) -> tuple[Any, ...]:
    items = document.get(name, [])
    if not isinstance(items, list):
        raise DataflowRefused(name, "It is a list.")
    known = {field.name for field in fields(part)}
    made = []
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise DataflowRefused(f"{name}[{place}]", "It is an object.")
        for field in item:
            if field not in known:
                raise DataflowRefused(f"{name}[{place}].{field}", "There is no such field.")
        try:
            made.append(part(**item))
        except TypeError:
            missing = "id" if part is Vertex and "id" not in item else "kind"
            missing = (
                missing
                if part is Vertex
                else next(end for end in ("source", "target") if end not in item)
            )
            raise DataflowRefused(f"{name}[{place}].{missing}", "It is missing.") from None
    return tuple(made)
