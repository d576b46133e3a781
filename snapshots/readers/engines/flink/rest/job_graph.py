"""The graph of a job in Flink's REST API, and the search for the vertex of an operator."""

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
_TREE = re.compile(r"^(?:[ :] {2})*(?:[+:]- )?")
_INDENT = 3  # letters for each step down in the tree of a description
_MOST_BRANCHED = 20
_LONGEST_UID = 1_000  # characters of a name that is tried as a uid
_ADDED_TO_UID = ("Source: ", "Sink: ")


@dataclass(frozen=True, slots=True)
class Input:
    """An edge into a vertex.

    Attributes:
        source: the id of the vertex that it comes from.
        gate: its number among the vertex's inputs.
        ship: how records are distributed, such as "HASH".
    """

    source: str
    gate: int
    ship: str


@dataclass(frozen=True, slots=True)
class Vertex:
    """A chain of operators.

    Attributes:
        name: the name on Flink's pages.
        members: the names of its operators, in order.
    """

    id: str
    name: str
    members: tuple[str, ...]
    parallelism: int | None
    max_parallelism: int | None
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class JobGraph:
    """The graph of a job.

    Attributes:
        vertices: in the order of the answer, with unique ids.
    """

    vertices: tuple[Vertex, ...]

    @cached_property
    def vertex_by_id(self) -> dict[str, Vertex]:
        return {vertex.id: vertex for vertex in self.vertices}

    def edges(self) -> list[tuple[Vertex, Input]]:
        """Return every edge as its target and its input there."""
        return [(vertex, edge) for vertex in self.vertices for edge in vertex.inputs]


def members(description: str) -> tuple[str, ...]:
    """Return the operators in a vertex's description, ``first<br/>+- second<br/>``.

    Flink up to 1.14 writes ``first -&gt; second -&gt; (third, fourth)``.
    """
    lines = [html.unescape(line).strip() for line in _BREAK.split(description)]
    lines = [line for line in lines if line]
    if len(lines) == 1:
        return tuple(_chained(lines[0]))
    return tuple(_BRANCH.sub("", line) for line in lines)


def preceding(description: str) -> tuple[int, ...] | None:
    """Return for each operator behind the first which one of the description it follows.

    None if the description does not tell: that of Flink up to 1.14 with several branches.
    """
    lines = [html.unescape(line) for line in _BREAK.split(description) if line.strip()]
    if len(lines) == 1:
        count = len(members(description))
        return tuple(range(count - 1)) if len(_split(lines[0], " -> ")) == count else None
    last_at: dict[int, int] = {0: 0}
    before = []
    for place, line in enumerate(lines[1:], 1):
        depth = (len(line) - len(_TREE.sub("", line, count=1))) // _INDENT
        if depth - 1 not in last_at:
            return None
        before.append(last_at[depth - 1])
        last_at[depth] = place
    return tuple(before)


def _chained(text: str, depth: int = 0) -> Iterator[str]:
    """Yield the operators in ``a -> b -> (c, d -> e)``, whose names may have brackets, too."""
    *others, last = _split(text, " -> ")
    yield from others
    if not (others and last.startswith("(") and last.endswith(")") and depth < _MOST_BRANCHED):
        yield last
        return
    for branch in _split(last[1:-1], ", "):
        yield from _chained(branch, depth + 1)


def _split(text: str, mark: str) -> list[str]:
    """Split a text at the marks that stand outside of brackets."""
    parts, begin, open_brackets = [], 0, 0
    for position, letter in enumerate(text):
        open_brackets += (letter in "([{") - (letter in ")]}")
        if open_brackets == 0 and text.startswith(mark, position):
            parts.append(text[begin:position])
            begin = position + len(mark)
    return [*parts, text[begin:]]


def vertices_of(graph: JobGraph, operators: Iterable[Operator]) -> dict[str, str]:
    """Return ids of vertices by ids of operators, for each operator whose vertex is certain.

    A vertex has the id of its first operator. The vertices of other operators follow from a name
    that is unique; from the id that an operator has if its uid is its name; or from being the
    only ones left.
    """
    operators = list(operators)
    assigned = {each.id: each.id for each in operators if each.id in graph.vertex_by_id}
    for vertices in (_by_name(graph), _by_uid(graph)):
        for operator in operators:
            for key in (operator.id, operator.name):
                if operator.id not in assigned and key in vertices:
                    assigned[operator.id] = vertices[key]
    left = [operator for operator in operators if operator.id not in assigned]
    return assigned | _by_elimination(graph, left, assigned)


def _by_name(graph: JobGraph) -> dict[str | None, str]:
    """Return vertices by the names of operators after the first that only one vertex has."""
    by_name: dict[str, set[str]] = defaultdict(set)
    for vertex in graph.vertices:
        for name in (*vertex.members[1:], *members(vertex.name)[1:]):
            by_name[name].add(vertex.id)
    return {name: next(iter(ids)) for name, ids in by_name.items() if len(ids) == 1}


def _by_uid(graph: JobGraph) -> dict[str | None, str]:
    """Return vertices by the ids that their operators have if their uids are their names."""
    return {
        id_of_uid(uid): vertex.id
        for vertex in graph.vertices
        for name in vertex.members[1:]
        if len(name) <= _LONGEST_UID
        for uid in {name, *(name.removeprefix(added) for added in _ADDED_TO_UID)}
    }


def _by_elimination(
    graph: JobGraph, left: list[Operator], assigned: dict[str, str]
) -> dict[str, str]:
    """Assign all of ``left`` to the only vertex with members left, if their number fits."""
    counts = Counter(assigned.values())
    incomplete = [vertex for vertex in graph.vertices if len(vertex.members) > counts[vertex.id]]
    if len(incomplete) != 1 or not left:
        return {}
    (vertex,) = incomplete
    count = counts[vertex.id]
    fits = count > 0 and len(vertex.members) - count == len(left)
    same = all(operator.parallelism == vertex.parallelism for operator in left)
    return {operator.id: vertex.id for operator in left} if fits and same else {}
