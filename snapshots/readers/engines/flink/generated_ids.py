"""The ids that Flink gives to operators without a uid.

Source: Flink, StreamGraphHasherV2. An id follows from the number of operators that got theirs
before, from how many operators are chained right behind this one, and from the ids of its inputs.
Operators get their ids breadth first, from the sources on.
"""

import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import mmh3

MOST_TRIED = 256  # ways to connect the vertices of a plan


@dataclass(frozen=True, slots=True)
class Node:
    """An operator in the graph of a job.

    Attributes:
        inputs: the places of the operators that it reads from, in the order of its inputs.
        chained: how many operators are chained right behind it.
        id: the id if somebody told it; None if only Flink's rule gives it.
    """

    inputs: tuple[int, ...] = ()
    chained: int = 0
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """The ids of a graph.

    Attributes:
        ids: the id of each node: the one that was told, else the generated one.
        agreeing: the nodes whose told id is the one that Flink generates.
    """

    ids: tuple[str, ...]
    agreeing: frozenset[int]

    def proven(self, nodes: Sequence[Node]) -> frozenset[int]:
        """Return the nodes whose id is certain, because a told id was generated from it."""
        certain: set[int] = set()
        reached = [place for node in self.agreeing for place in nodes[node].inputs]
        while reached:
            place = reached.pop()
            if place not in certain:
                certain.add(place)
                reached += nodes[place].inputs if nodes[place].id is None else ()
        return frozenset(certain)


def generated(nodes: Sequence[Node]) -> Numbered | None:
    """Number a graph; sources and outputs count in the order of ``nodes``. None for a cycle."""
    ids: dict[int, bytes] = {}
    agreeing: set[int] = set()
    for place in _breadth_first(nodes, ids):
        node = nodes[place]
        own = _id(len(ids), node.chained, [ids[each] for each in node.inputs])
        ids[place] = own if node.id is None else bytes.fromhex(node.id)
        if node.id is not None and ids[place] == own:
            agreeing.add(place)
    if len(ids) < len(nodes):
        return None
    return Numbered(tuple(ids[place].hex() for place in range(len(nodes))), frozenset(agreeing))


def best_connected(
    nodes: Sequence[Node], choices: Mapping[int, Sequence[tuple[int, ...]]]
) -> tuple[Sequence[Node], Numbered] | None:
    """Return the graph in which most told ids are the generated ones.

    Args:
        choices: for nodes whose inputs are not told, the inputs that each may have.
    """
    best = None
    for inputs in islice(product(*choices.values()), MOST_TRIED):
        graph = list(nodes)
        for place, chosen in zip(choices, inputs, strict=True):
            graph[place] = Node(chosen, nodes[place].chained, nodes[place].id)
        numbered = generated(graph)
        if numbered and (best is None or len(numbered.agreeing) > len(best[1].agreeing)):
            best = graph, numbered
    return best


def _breadth_first(nodes: Sequence[Node], numbered: Mapping[int, bytes]) -> Iterator[int]:
    """Yield the nodes in Flink's order; ``numbered`` has those that got their id."""
    outputs: list[list[int]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        for each in node.inputs:
            outputs[each].append(place)
    queue = deque(place for place, node in enumerate(nodes) if not node.inputs)
    seen = set(queue)
    while queue:
        place = queue.popleft()
        if any(each not in numbered for each in nodes[place].inputs):
            seen.discard(place)  # it comes again behind its other inputs
            continue
        yield place
        for each in outputs[place]:
            if each not in seen:
                seen.add(each)
                queue.append(each)


def _id(number: int, chained: int, inputs: Sequence[bytes]) -> bytes:
    digest = mmh3.mmh3_x64_128_digest(struct.pack("<i", number) * (1 + chained))
    for other in inputs:
        digest = bytes((each * 37 & 255) ^ old for each, old in zip(digest, other, strict=True))
    return digest
