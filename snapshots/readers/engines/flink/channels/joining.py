"""Input halves and output halves of in-flight data -> the channels between subtasks.

For all-to-all edges, input (gate g, channel i) of consumer j and output (partition p,
subpartition j) of producer i are one channel i -> j. Flink says which partition belongs to which
edge only by the order in which the program added the consumers, which no file holds: where a
producer has several, the one order in which all elements are complete is taken, if there is one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations

from snapshots.readers.engines.flink.channels.elements import Elements, split
from snapshots.readers.engines.flink.channels.in_flight import Half
from snapshots.readers.engines.flink.handles import INPUT
from snapshots.readers.engines.flink.rest.job_graph import STORED_IN_FLIGHT, Input, JobGraph, Vertex
from snapshots.readers.formats.cursor import Malformed

MOST_CONSUMERS = 5  # of one vertex, for which every order is tried

_Place = tuple[int, int]  # producer subtask, consumer subtask


@dataclass(frozen=True, slots=True)
class Channel:
    """What was in flight from one subtask to another, the oldest first.

    source, target: subtask numbers. elements: None where they are not complete; problem says why.
    """

    source: int
    target: int
    input: Half | None
    output: Half | None
    elements: Elements | None
    problem: str | None = None

    @property
    def input_bytes(self) -> int:
        return self.input.byte_count if self.input else 0

    def data(self) -> bytes:
        return _joined(self.input, self.output)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the graph (vertex ids) and what its channels hold.

    partition: among the outputs of the source; None where it cannot be told, and then the
    channels have their input halves only.
    """

    source: str
    target: str
    gate: int
    ship: str
    partition: int | None
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A half that belongs to no channel known here. reason: a sentence."""

    half: Half
    reason: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Every half is in a channel of ``edges`` or in ``unjoined``."""

    edges: tuple[Edge, ...]
    unjoined: tuple[Unjoined, ...]


def join(halves: Iterable[Half], graph: JobGraph, vertices: Mapping[str, str]) -> Joined:
    """vertices: operator id -> vertex id, where known."""
    return _Joining(graph, vertices, list(halves)).joined()


def _joined(first: Half | None, second: Half | None) -> bytes:
    return b"".join(half.data() for half in (first, second) if half is not None)


class _Joining:
    """The halves by edge and by partition, and what is found for them."""

    def __init__(self, graph: JobGraph, vertices: Mapping[str, str], halves: list[Half]) -> None:
        self._unjoined: list[Unjoined] = []
        self._inputs: dict[tuple[str, int], dict[_Place, Half]] = defaultdict(dict)
        self._outputs: dict[tuple[str, int], dict[_Place, Half]] = defaultdict(dict)
        self._consumers: dict[str, list[tuple[Vertex, Input]]] = defaultdict(list)
        for target, edge in graph.edges():
            self._consumers[edge.source].append((target, edge))
        for half in halves:
            self._sort_in(half, vertices.get(half.operator))

    def _sort_in(self, half: Half, vertex: str | None) -> None:
        if vertex is None:
            self._leave(half, "It is not known to which vertex its operator belongs.")
            return
        number, other = half.place
        if half.side == INPUT:
            sides, place = self._inputs, (other, half.subtask)
        else:
            sides, place = self._outputs, (half.subtask, other)
        if place in sides[vertex, number]:
            self._leave(half, "Another handle describes the same channel.")
        else:
            sides[vertex, number][place] = half

    def _leave(self, half: Half, reason: str) -> None:
        self._unjoined.append(Unjoined(half, reason))

    def joined(self) -> Joined:
        edges = []
        for source, consumers in self._consumers.items():
            partitions = self._partitions(source, consumers)
            for (target, edge), partition in zip(consumers, partitions, strict=True):
                if edge.ship in STORED_IN_FLIGHT:
                    edges.append(self._edge(target, edge, partition))
        for sides in (self._inputs, self._outputs):
            for halves in sides.values():
                for half in halves.values():
                    self._leave(half, _why(half))
        return Joined(tuple(edges), tuple(self._unjoined))

    def _edge(self, target: Vertex, edge: Input, partition: int | None) -> Edge:
        inputs = self._inputs.pop((target.id, edge.gate), {})
        outputs = {} if partition is None else self._outputs.pop((edge.source, partition), {})
        channels = (
            _channel(place, inputs.get(place), outputs.get(place))
            for place in sorted(inputs.keys() | outputs.keys())
        )
        return Edge(edge.source, target.id, edge.gate, edge.ship, partition, tuple(channels))

    def _partitions(
        self, source: str, consumers: list[tuple[Vertex, Input]]
    ) -> tuple[int | None, ...]:
        """The partition of each consumer, or None for all where it cannot be told."""
        count = len(consumers)
        if count == 1:
            return (0,)
        if count > MOST_CONSUMERS:
            return (None,) * count
        fits = [
            [self._fits(source, partition, *consumer) for partition in range(count)]
            for consumer in consumers
        ]
        orders = [
            order
            for order in permutations(range(count))
            if all(fits[place][partition] for place, partition in enumerate(order))
        ]
        different = {self._where_it_matters(source, consumers, order): order for order in orders}
        return next(iter(different.values())) if len(different) == 1 else (None,) * count

    def _where_it_matters(
        self, source: str, consumers: list[tuple[Vertex, Input]], order: tuple[int, ...]
    ) -> frozenset[tuple[int, int]]:
        """The pairs of consumer and partition where the partition holds bytes."""
        return frozenset(
            (place, partition)
            for place, partition in enumerate(order)
            if any(half.byte_count for half in self._outputs.get((source, partition), {}).values())
        )

    def _fits(self, source: str, partition: int, target: Vertex, edge: Input) -> bool:
        outputs = self._outputs.get((source, partition), {})
        if edge.ship not in STORED_IN_FLIGHT:
            return not outputs
        inputs = self._inputs.get((target.id, edge.gate), {})
        if target.parallelism is not None and any(
            consumer >= target.parallelism for _, consumer in outputs
        ):
            return False
        return all(
            _channel(place, inputs.get(place), outputs.get(place)).problem is None
            for place in inputs.keys() | outputs.keys()
        )


def _channel(place: _Place, first: Half | None, second: Half | None) -> Channel:
    problem = next((half.problem for half in (first, second) if half and half.problem), None)
    elements = None
    if problem is None:
        try:
            elements = split(_joined(first, second))
        except Malformed as malformed:
            problem = f"{malformed}."
    return Channel(*place, first, second, elements, problem)


def _why(half: Half) -> str:
    if half.side == INPUT:
        return "The graph has no all-to-all edge into this gate."
    return "It cannot be told to which edge this partition belongs."
