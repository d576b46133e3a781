"""The order in which records flow through operators, and the ends of the dataflow."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from snapshots.domain.inventory.model import OperatorInventory

Edge = tuple[str, str]  # the sending and the receiving vertex


@dataclass(frozen=True, slots=True)
class Flow:
    """The edges between vertices, as far as the upload tells them.

    Attributes:
        edges: the pairs of vertices between which records are sent; empty if none is known.
    """

    edges: frozenset[Edge] = frozenset()

    @property
    def first(self) -> Set[str]:
        """Return the vertices into which no edge leads."""
        return {source for source, _ in self.edges} - {target for _, target in self.edges}

    @property
    def last(self) -> Set[str]:
        """Return the vertices out of which no edge leads."""
        return {target for _, target in self.edges} - {source for source, _ in self.edges}

    def in_order(self, operators: Sequence[OperatorInventory]) -> tuple[OperatorInventory, ...]:
        """Return the operators in the order of the flow, those of a chain in that of the chain.

        Operators keep their order if no edge is known, or if edges form a loop.
        """
        places = self.places()
        return tuple(
            sorted(
                operators,
                key=lambda operator: (
                    places.get(vertex_name(operator), len(places)),
                    place_in_chain(operator),
                ),
            )
        )

    def places(self) -> Mapping[str, int]:
        """Return the place of each vertex in the flow; nothing if edges form a loop."""
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for source, target in sorted(self.edges):
            sorter.add(target, source)
        try:
            return {vertex: place for place, vertex in enumerate(sorter.static_order())}
        except CycleError:
            return {}


def vertex_name(operator: OperatorInventory) -> str:
    """Return the vertex in which an operator runs; its id if it has no name."""
    return operator.vertex or operator.name or operator.id


def place_in_chain(operator: OperatorInventory) -> int:
    """Return where the operator's name stands in the name of its vertex; 0 if it does not."""
    return max((operator.vertex or "").find(operator.name or "\0"), 0)
