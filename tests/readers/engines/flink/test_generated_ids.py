"""The ids that Flink makes for operators without a uid, against those of real job graphs.

The files in generated_ids are graphs with branches that PyFlink 2.1.1 built: the execution plan,
the plan of the REST API, and the ids in the job graph.
"""

import json
from pathlib import Path

import orjson
import pytest

from snapshots.readers.engines.flink.generated_ids import (
    MOST_TRIED,
    Node,
    best_connected,
    generated,
)
from snapshots.readers.engines.flink.new_job import read_new_job
from snapshots.readers.engines.flink.operator_ids import id_of_uid

GRAPHS = Path(__file__).with_name("generated_ids")
NUMBERS, PAIRS, COUNT = (  # a real job: numbers -> to-pair, then by key to count
    "cbc357ccb763df2852fee8c4fc7d55f2",
    "7df19f87deec5680128845fd9a6ca18d",
    "9dd63673dd41ea021b896d5203f3ba7c",
)


def ids(document, **options):
    job = read_new_job(orjson.dumps(document), **options)
    return [operator.id for _, operator in job.operators()]


def plan(*nodes):
    """A plan of vertices: (id, description, id of the vertex before)."""
    return {
        "plan": {
            "nodes": [
                {"id": id_, "description": text, "inputs": [{"id": each, "num": 0}] if each else []}
                for id_, text, each in nodes
            ]
        }
    }


def execution_plan(*ships, widths=(1, 1, 2)):
    nodes = [{"id": 1, "type": "numbers", "parallelism": widths[0]}]
    for number, ship in enumerate(ships, 2):
        inputs = [{"id": number - 1, "ship_strategy": ship, "side": "second"}]
        node = {"id": number, "type": f"n{number}", "parallelism": widths[number - 1]}
        nodes.append(node | {"predecessors": inputs})
    return {"nodes": nodes}


def test_a_chain_of_a_real_job():
    graph = [Node(chained=1), Node((0,)), Node((1,))]
    assert generated(graph).ids == (NUMBERS, PAIRS, COUNT)


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.json")), ids=lambda path: path.stem)
def test_graphs_with_branches(path):
    graph = json.loads(path.read_text())
    assert sorted(ids(graph["execution-plan"], without_uids=True)) == sorted(graph["ids"])
    assert set(ids(graph["execution-plan"])) == {None}
    told = ids(graph["plan"])
    assert set(told) - {None} <= set(graph["ids"])
    assert told.count(None) == {"branches": 3, "query": 5, "sinks": 3}[path.stem]


def test_the_plans_of_real_jobs_never_give_a_wrong_id(shared_data):
    given = 0
    for path in sorted((shared_data / "flink-upgrade").glob("**/plan.json")):
        vertices = json.loads((path.parent / "uids.json").read_text())
        true = {each["operatorId"] for vertex in vertices for each in vertex["operators"]}
        document = json.loads(path.read_text())
        if "plan" in document:
            for without_uids in (False, True):
                found = {id_ for id_ in ids(document, without_uids=without_uids) if id_}
                assert found <= true, path.parent.name
                given += len(found)
    assert given > 100


def test_a_plan_proves_the_id_before_a_generated_one():
    nodes = (NUMBERS, "Source: numbers<br/>+- to-pair<br/>", None), (COUNT, "count<br/>", NUMBERS)
    assert ids(plan(*nodes)) == [NUMBERS, PAIRS, COUNT]


def test_the_end_of_a_chain_may_have_a_uid():
    alone = plan((NUMBERS, "Source: numbers<br/>+- to-pair<br/>", None))
    assert ids(alone) == [NUMBERS, None]
    assert ids(alone, without_uids=True) == [NUMBERS, PAIRS]


def test_a_uid_behind_hides_the_id_before():
    count = id_of_uid("count")
    nodes = (NUMBERS, "Source: numbers<br/>+- to-pair<br/>", None), (count, "count<br/>", NUMBERS)
    for without_uids in (False, True):  # nobody may say that it has none: the plan shows one
        assert ids(plan(*nodes), without_uids=without_uids) == [NUMBERS, None, count]


def test_an_execution_plan_needs_somebody_who_knows():
    document = execution_plan("FORWARD", "HASH")
    assert ids(document) == [None, None, None]
    assert ids(document, without_uids=True) == [NUMBERS, PAIRS, COUNT]


def test_what_is_chained_decides():
    apart = ids(execution_plan("REBALANCE", "HASH"), without_uids=True)
    assert apart[0] != NUMBERS
    assert ids(execution_plan("FORWARD", "HASH", widths=(1, 2, 2)), without_uids=True) == apart


@pytest.mark.parametrize(
    "nodes",
    [
        [{"id": 1, "type": "a", "predecessors": [{"id": 9, "ship_strategy": "HASH"}]}],
        [{"id": 1, "type": "a", "predecessors": [{"id": 1, "ship_strategy": "HASH"}]}],
        [{"id": 1, "type": "a"}, {"id": 1, "type": "b"}],
        [{"id": 1, "type": "a", "predecessors": [{"ship_strategy": "HASH"}]}],
        [{"type": "a", "predecessors": [{}]}],
    ],
)
def test_a_plan_that_is_no_graph_gives_no_ids(nodes):
    assert set(ids({"nodes": nodes}, without_uids=True)) == {None}


def test_not_every_way_is_tried():
    inputs = [(0,)] * MOST_TRIED + [(1,)]
    nodes = [Node(), Node(), Node(id=generated([Node(), Node(), Node((1,))]).ids[2])]
    connected, numbered = best_connected(nodes, {2: inputs})
    assert (connected[2].inputs, numbered.agreeing) == ((0,), frozenset())
    _, numbered = best_connected(nodes, {2: inputs[1:]})
    assert numbered.agreeing == {2}


def test_descriptions_as_trees():
    tree = "Source: a<br/>:- b<br/>:  +- c<br/>+- d<br/>"
    document = plan((NUMBERS, tree, None))
    one_line = plan((NUMBERS, "Source: a -&gt; (b -&gt; c, d)", None))
    found = [
        len([id_ for id_ in ids(each, without_uids=True) if id_]) for each in (document, one_line)
    ]
    assert found == [1, 1]  # the source's id is that of one chained operator, not of two
    two = generated([Node(chained=2), Node((0,), 1), Node((1,)), Node((0,))]).ids
    assert ids(plan((two[0], tree, None)), without_uids=True)[0] == two[0]
    assert None not in ids(plan((two[0], tree, None)), without_uids=True)
