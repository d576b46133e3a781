"""Order the vertices of a job from its sources to its sinks."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from snapshots.domain.front.model import PolledEdge, PolledVertex


def from_the_sources(
    vertices: Sequence[PolledVertex], edges: Sequence[PolledEdge]
) -> tuple[PolledVertex, ...]:
    """Return the vertices so that each follows all that send to it; as they are in a cycle."""
    by_id = {vertex.id: vertex for vertex in vertices}
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(sorted(by_id), ()))
    for edge in edges:
        if edge.source in by_id and edge.target in by_id:
            sorter.add(edge.target, edge.source)
    try:
        return tuple(by_id[id_] for id_ in sorter.static_order())
    except CycleError:
        return tuple(vertices)
