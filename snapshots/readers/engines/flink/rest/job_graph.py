"""The graph of a job as Flink's REST API shows it, and which vertex an operator belongs to."""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.operator_ids import id_of_uid

STORED_IN_FLIGHT = frozenset({"HASH", "REBALANCE", "SHUFFLE", "CUSTOM", "GLOBAL"})

_BREAK = re.compile(r"<br\s*/?>|\n")
_BRANCH = re.compile(r"^[\s:|+\-]*(?:[+:]-\s)?")
_MOST_BRANCHED = 20
_LONGEST_UID = 1_000  # characters of what is tried as one
_ADDED_TO_UID = ("Source: ", "Sink: ")


@dataclass(frozen=True, slots=True)
class Input:
    """An edge into a vertex. source: vertex id. gate: its number there. ship: as "HASH"."""

    source: str
    gate: int
    ship: str


@dataclass(frozen=True, slots=True)
class Vertex:
    """A chain of operators. members: what they are called, the first one first.

    name: as the page of Flink shows it. parallelism, max_parallelism: None where not known.
    """

    id: str
    name: str
    members: tuple[str, ...]
    parallelism: int | None
    max_parallelism: int | None
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class JobGraph:
    """vertices: in the order of the answer, ids unique."""

    vertices: tuple[Vertex, ...]

    @cached_property
    def vertex_by_id(self) -> dict[str, Vertex]:
        return {vertex.id: vertex for vertex in self.vertices}

    def edges(self) -> list[tuple[Vertex, Input]]:
        """Every edge as its target and its input there."""
        return [(vertex, edge) for vertex in self.vertices for edge in vertex.inputs]


def members(description: str) -> tuple[str, ...]:
    """The operators in a vertex's description: ``first<br/>+- second<br/>``; in Flink up to 1.14
    ``first -&gt; second -&gt; (third, fourth)``."""
    lines = [html.unescape(line).strip() for line in _BREAK.split(description)]
    lines = [line for line in lines if line]
    if len(lines) == 1:
        return tuple(_chained(lines[0]))
    return tuple(_BRANCH.sub("", line) for line in lines)


def _chained(text: str, depth: int = 0) -> Iterator[str]:
    """The operators in ``a -> b -> (c, d -> e)``; their names may have brackets, too."""
    *others, last = _split(text, " -> ")
    yield from others
    if not (others and last.startswith("(") and last.endswith(")") and depth < _MOST_BRANCHED):
        yield last
        return
    for branch in _split(last[1:-1], ", "):
        yield from _chained(branch, depth + 1)


def _split(text: str, mark: str) -> list[str]:
    """The parts of ``text`` between the marks that are in no brackets."""
    parts, begin, open_brackets = [], 0, 0
    for place, letter in enumerate(text):
        open_brackets += (letter in "([{") - (letter in ")]}")
        if open_brackets == 0 and text.startswith(mark, place):
            parts.append(text[begin:place])
            begin = place + len(mark)
    return [*parts, text[begin:]]


def vertices_of(graph: JobGraph, operators: Iterable[Operator]) -> dict[str, str]:
    """Operator id -> vertex id, for each operator whose vertex is certain.

    A vertex bears the id of its first operator. The others are known by their name where it is
    the only one of that name; by the id that follows from a uid, taken to be like the name; or
    because only one place is left.
    """
    operators = list(operators)
    found = {one.id: one.id for one in operators if one.id in graph.vertex_by_id}
    for known in (_by_name(graph), _by_uid(graph)):
        for one in operators:
            for key in (one.id, one.name):
                if one.id not in found and key in known:
                    found[one.id] = known[key]
    return found | _by_elimination(graph, [one for one in operators if one.id not in found], found)


def _by_name(graph: JobGraph) -> dict[str, str]:
    """Name of an operator behind the first -> the vertex, where only one has such an operator."""
    places: dict[str, set[str]] = defaultdict(set)
    for vertex in graph.vertices:
        for name in (*vertex.members[1:], *members(vertex.name)[1:]):
            places[name].add(vertex.id)
    return {name: next(iter(ids)) for name, ids in places.items() if len(ids) == 1}


def _by_uid(graph: JobGraph) -> dict[str, str]:
    """The id that an operator of a vertex has if its uid is what it is called -> the vertex."""
    return {
        id_of_uid(uid): vertex.id
        for vertex in graph.vertices
        for name in vertex.members[1:]
        if len(name) <= _LONGEST_UID
        for uid in {name, *(name.removeprefix(added) for added in _ADDED_TO_UID)}
    }


def _by_elimination(graph: JobGraph, left: list[Operator], found: dict[str, str]) -> dict[str, str]:
    """All of ``left`` into the one vertex that has a place for each of them, if there is one."""
    taken = Counter(found.values())
    with_room = [v for v in graph.vertices if len(v.members) > taken[v.id]]
    if len(with_room) != 1 or not left:
        return {}
    (vertex,) = with_room
    fits = len(vertex.members) - taken[vertex.id] == len(left) and taken[vertex.id]
    same = all(one.parallelism == vertex.parallelism for one in left)
    return {one.id: vertex.id for one in left} if fits and same else {}
