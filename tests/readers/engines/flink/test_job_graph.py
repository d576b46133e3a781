"""The members of a vertex, and which vertex an operator of a checkpoint belongs to."""

import pytest

from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from snapshots.readers.engines.flink.rest.job_graph import JobGraph, Vertex, members, vertices_of


def test_the_members_of_a_chain():
    assert members("Source: a<br/>+- b<br/>   +- c<br/>") == ("Source: a", "b", "c")
    assert members("a<br/>:- b<br/>:  +- c<br/>+- d<br/>") == ("a", "b", "c", "d")
    assert members("Source: a -&gt; b") == ("Source: a", "b")
    assert members("a -> (b, c -> (d, e))") == ("a", "b", "c", "d", "e")
    scan, calc = "Scan(table=[[a, b]], fields=[k, v])", "Calc(select=[k -> v, (x)])"
    assert members(f"{scan} -> {calc}") == (scan, calc)
    assert members(f"{scan}<br/>") == (scan,)
    assert len(members("x -> (" * 100 + "y" + ")" * 100)) == 22
    assert members("") == ()


def _operator(id_: str, name: str | None = None, parallelism: int = 2) -> Operator:
    return Operator(id_, name, None, parallelism, 128, None, False, ())


def test_the_vertex_of_an_operator_follows_from_its_name_its_uid_or_elimination():
    graph = JobGraph(
        (
            Vertex("h1", "", ("Source: x", "by name", "Sink: by uid"), 2, None, ()),
            Vertex("h2", "", ("y", "twice"), 2, None, ()),
            Vertex("h3", "", ("z", "twice", "left over"), 1, None, ()),
        )
    )
    operators = [
        _operator("h1"), _operator("h2"), _operator("h3", parallelism=1),
        _operator("1" * 32, "by name"), _operator(id_of_uid("by uid")),
        _operator("2" * 32, "twice"), _operator("3" * 32, "twice", 1), _operator("4" * 32, None, 1),
    ]  # fmt: skip
    assigned = vertices_of(graph, operators)
    assert assigned == {
        "h1": "h1", "h2": "h2", "h3": "h3", "1" * 32: "h1", id_of_uid("by uid"): "h1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("others", "placed"),
    [
        ([_operator("1" * 32, None, 1)], True),
        ([_operator("1" * 32, None, 2)], False),  # not the vertex's parallelism
        ([_operator("1" * 32, None, 1), _operator("2" * 32, None, 1)], False),  # two for one place
    ],
)
def test_elimination_needs_an_operator_that_fits(others, placed):
    graph = JobGraph((Vertex("h", "", ("z", "left over"), 1, None, ()),))
    assigned = vertices_of(graph, [_operator("h", parallelism=1), *others])
    assert assigned == {"h": "h"} | ({"1" * 32: "h"} if placed else {})
    assert vertices_of(graph, others) == {}
