"""The layers of a graph: who stands behind whom, and what an edge passes."""

from snapshots.domain.model.layers import Item, Link, depths, layers, passages, pipelines


def links(text: str) -> list[Link]:
    """Return edges that are written as "ab bc"."""
    return [Link(edge, *edge) for edge in text.split()]


def test_a_vertex_stands_behind_the_longest_way_that_leads_to_it():
    depth = depths("oredx", links("oe re ed ce"))
    assert layers(depth) == [["o", "r", "x"], ["e"], ["d"]]
    assert layers(depths("abcd", links("ab bc ac cd"))) == [["a"], ["b"], ["c"], ["d"]]


def test_a_vertex_on_a_cycle_stands_by_the_ways_that_lead_to_the_cycle():
    assert layers(depths("abcd", links("ab bc cb cd"))) == [["a", "c", "d"], ["b"]]


def test_pipelines_are_what_edges_connect_whichever_way_they_lead():
    assert pipelines("axbcy", links("ac bc xy")) == [["a", "b", "c"], ["x", "y"]]


def test_an_edge_stands_in_each_layer_that_it_passes():
    edges = links("ab bc ac")
    rows = passages("abc", edges, depths("abc", edges))
    assert rows == [[Item("a")], [Item("b"), Item("ac", True, 1)], [Item("c")]]


def test_items_are_sorted_by_the_mean_place_of_those_before_them():
    edges = links("ad bc")
    rows = passages("abcd", edges, depths("abcd", edges))
    assert rows == [[Item("a"), Item("b")], [Item("d"), Item("c")]]
