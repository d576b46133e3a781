"""Operators are listed in the order in which records flow through them."""

from snapshots.domain.inventory.flow import Flow
from snapshots.domain.inventory.model import OperatorInventory

EDGES = frozenset({("Source: a -> map", "join"), ("Source: b", "join"), ("join", "sink")})


def operators(*names, vertex=None):
    return [OperatorInventory(name, name, 1, vertex=vertex) for name in names]


def names(items):
    return [item.name for item in items]


def test_operators_follow_edges_and_chains():
    chained = operators("map", "Source: a", vertex="Source: a -> map")
    mixed = [*operators("sink", "join"), *chained, *operators("Source: b")]
    ordered = names(Flow(EDGES).in_order(mixed))
    assert ordered.index("Source: a") + 1 == ordered.index("map")
    assert ordered[-2:] == ["join", "sink"]
    assert set(ordered) == set(names(mixed))


def test_without_edges_or_in_a_loop_operators_stay_where_they_are():
    mixed = operators("sink", "join")
    assert names(Flow().in_order(mixed)) == ["sink", "join"]
    loop = Flow(frozenset({("join", "sink"), ("sink", "join")}))
    assert names(loop.in_order(mixed)) == ["sink", "join"]


def test_the_ends_of_the_flow():
    flow = Flow(EDGES)
    assert flow.first == {"Source: a -> map", "Source: b"}
    assert flow.last == {"sink"}
    assert (Flow().first, Flow().last) == (set(), set())
