"""Join input halves and output halves of in-flight data into the channels between subtasks.

On an all-to-all edge, input (gate g, channel i) of consumer j and output (partition p,
subpartition j) of producer i are one channel i -> j. The partition of an edge follows from the
order in which the program added the consumers, and no file holds that order. If a producer has
several consumers, the order is taken in which all elements are complete, if exactly one is.
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

MOST_CONSUMERS = 5  # of one vertex; every order of them is tried

_Ends = tuple[int, int]  # producer subtask, consumer subtask


@dataclass(frozen=True, slots=True)
class Channel:
    """The data in flight from one subtask to another.

    Attributes:
        source: the number of the sending subtask.
        target: the number of the receiving subtask.
        elements: the oldest element first; None if they are not complete.
        problem: why the elements are not complete, as a sentence.
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
    """An edge of the graph with its channels. Source and target are ids of vertices.

    Attributes:
        partition: the partition of the source's outputs; None if it is unknown, and then the
            channels have only their input halves.
    """

    source: str
    target: str
    gate: int
    ship: str
    partition: int | None
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A half whose channel is unknown.

    Attributes:
        reason: a sentence.
    """

    half: Half
    reason: str


@dataclass(frozen=True, slots=True)
class Joined:
    """All halves: each is in a channel of an edge, or unjoined."""

    edges: tuple[Edge, ...]
    unjoined: tuple[Unjoined, ...]


def join(halves: Iterable[Half], graph: JobGraph, vertices: Mapping[str, str]) -> Joined:
    """Join halves; ``vertices`` maps ids of operators to ids of vertices, as far as known."""
    return _Joining(graph, vertices, halves).joined()


def _joined(first: Half | None, second: Half | None) -> bytes:
    return b"".join(half.data() for half in (first, second) if half is not None)


class _Joining:
    """The halves that are not joined yet, by vertex and gate or partition."""

    def __init__(
        self, graph: JobGraph, vertices: Mapping[str, str], halves: Iterable[Half]
    ) -> None:
        self._unjoined: list[Unjoined] = []
        self._inputs: dict[tuple[str, int], dict[_Ends, Half]] = defaultdict(dict)
        self._outputs: dict[tuple[str, int], dict[_Ends, Half]] = defaultdict(dict)
        self._consumers: dict[str, list[tuple[Vertex, Input]]] = defaultdict(list)
        for target, edge in graph.edges():
            self._consumers[edge.source].append((target, edge))
        for half in halves:
            self._sort_in(half, vertices.get(half.operator))

    def _sort_in(self, half: Half, vertex: str | None) -> None:
        if vertex is None:
            self._leave(half, "It is unknown to which vertex its operator belongs.")
            return
        number, peer = half.place
        if half.side == INPUT:
            halves, ends = self._inputs[vertex, number], (peer, half.subtask)
        else:
            halves, ends = self._outputs[vertex, number], (half.subtask, peer)
        if ends in halves:
            self._leave(half, "Another handle describes the same channel.")
        else:
            halves[ends] = half

    def _leave(self, half: Half, reason: str) -> None:
        self._unjoined.append(Unjoined(half, reason))

    def joined(self) -> Joined:
        edges = []
        for source, consumers in self._consumers.items():
            partitions = self._partitions(source, consumers)
            for (target, edge), partition in zip(consumers, partitions, strict=True):
                if edge.ship in STORED_IN_FLIGHT:
                    edges.append(self._edge(target, edge, partition))
        for halves in (*self._inputs.values(), *self._outputs.values()):
            for half in halves.values():
                self._leave(half, _why(half))
        return Joined(tuple(edges), tuple(self._unjoined))

    def _edge(self, target: Vertex, edge: Input, partition: int | None) -> Edge:
        inputs = self._inputs.pop((target.id, edge.gate), {})
        outputs = {} if partition is None else self._outputs.pop((edge.source, partition), {})
        channels = (
            _channel(ends, inputs.get(ends), outputs.get(ends))
            for ends in sorted(inputs.keys() | outputs.keys())
        )
        return Edge(edge.source, target.id, edge.gate, edge.ship, partition, tuple(channels))

    def _partitions(
        self, source: str, consumers: list[tuple[Vertex, Input]]
    ) -> tuple[int | None, ...]:
        """Return the partition of each consumer, or None for all if it is unknown."""
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
            if all(fits[consumer][partition] for consumer, partition in enumerate(order))
        ]
        distinct = {self._used_pairs(source, order): order for order in orders}
        return next(iter(distinct.values())) if len(distinct) == 1 else (None,) * count

    def _used_pairs(self, source: str, order: tuple[int, ...]) -> frozenset[tuple[int, int]]:
        """Return the pairs of consumer and partition whose partition holds bytes."""
        return frozenset(
            (consumer, partition)
            for consumer, partition in enumerate(order)
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
            _channel(ends, inputs.get(ends), outputs.get(ends)).problem is None
            for ends in inputs.keys() | outputs.keys()
        )


def _channel(ends: _Ends, first: Half | None, second: Half | None) -> Channel:
    problem = next((half.problem for half in (first, second) if half and half.problem), None)
    elements = None
    if problem is None:
        try:
            elements = split(_joined(first, second))
        except Malformed as malformed:
            problem = f"{malformed}."
    return Channel(*ends, first, second, elements, problem)


def _why(half: Half) -> str:
    if half.side == INPUT:
        return "The graph has no all-to-all edge into this gate."
    return "It is unknown to which edge this partition belongs."
