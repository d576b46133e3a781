"""Find the layers of a directed graph, such as a dataflow: each vertex behind all that lead to it.

A graph with a cycle has layers, too: those of what is not on the cycle, and of the ways that lead
to it. Edges whose ends are no vertices count for nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

Name = TypeVar("Name", bound=str)


class Link(NamedTuple):
    """An edge, with a key that no other edge has, from one vertex to another."""

    key: str
    source: str
    target: str


class Item(NamedTuple):
    """What stands in a layer: a vertex, or an edge that passes the layer."""

    key: str
    is_passage: bool = False
    layer: int = 0


def depths(vertices: Sequence[str], links: Iterable[Link]) -> dict[str, int]:
    """Return the length of the longest path from a source to each vertex."""
    depth = dict.fromkeys(vertices, 0)
    waiting = dict.fromkeys(vertices, 0)
    behind: dict[str, list[str]] = defaultdict(list)
    for _, source, target in links:
        if source in depth and target in depth:
            behind[source].append(target)
            waiting[target] += 1
    ready = [key for key in vertices if not waiting[key]]
    for key in ready:  # grows
        for target in behind[key]:
            depth[target] = max(depth[target], depth[key] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return depth


def layers(depth: dict[str, int]) -> list[list[str]]:
    """Return the vertices of each layer, in the order of the vertices."""
    found: dict[int, list[str]] = defaultdict(list)
    for key, layer in depth.items():
        found[layer].append(key)
    return [found[layer] for layer in sorted(found)]


def components(
    names: Iterable[Name], links: Iterable[tuple[Name, Name]]
) -> tuple[tuple[Name, ...], ...]:
    """Return the connected components, each and all in the order of the names."""
    parent = {name: name for name in names}

    def root(name: Name) -> Name:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for source, target in links:
        parent[root(target)] = root(source)
    groups: dict[Name, list[Name]] = {}
    for name in parent:
        groups.setdefault(root(name), []).append(name)
    return tuple(map(tuple, groups.values()))


def pipelines(vertices: Sequence[str], links: Iterable[Link]) -> list[list[str]]:
    """Return the vertices of each connected component, all in the order of the vertices."""
    known = set(vertices)
    ends = ((source, target) for _, source, target in links if {source, target} <= known)
    return [list(each) for each in components(vertices, ends)]


def passages(keys: Sequence[str], links: Iterable[Link], depth: dict[str, int]) -> list[list[Item]]:
    """Return the layers of one pipeline, sorted so that fewer edges cross.

    Args:
        keys: of the vertices of the pipeline.
        links: all edges of the graph.
        depth: what ``depths`` says of the graph.
    """
    rows: dict[int, list[Item]] = defaultdict(list)
    before: dict[Item, list[Item]] = defaultdict(list)
    own = set(keys)
    for key in keys:
        rows[depth[key]].append(Item(key))
    for edge, source, target in links:
        if source not in own or target not in own:
            continue
        last = Item(source)
        for layer in range(depth[source] + 1, depth[target]):
            passage = Item(edge, True, layer)
            rows[layer].append(passage)
            before[passage].append(last)
            last = passage
        before[Item(target)].append(last)
    return _untangled([rows[layer] for layer in sorted(rows)], before)


def _untangled(rows: list[list[Item]], before: dict[Item, list[Item]]) -> list[list[Item]]:
    """Sort each row by the mean place of the items that lead to it."""
    place: dict[Item, float] = {}
    found = []
    for row in rows:
        goal = {}
        for order, item in enumerate(row):
            places = [place[one] for one in before[item] if one in place]
            goal[item] = sum(places) / len(places) if places else order / len(row)
        ordered = sorted(row, key=goal.__getitem__)
        place |= {item: (order + 0.5) / len(row) for order, item in enumerate(ordered)}
        found.append(ordered)
    return found
