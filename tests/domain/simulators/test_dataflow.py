"""Dataflows as one draws them: what is refused, and which processes and channels they become."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused, Edge, Vertex
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.key_groups import (
    key_group,
    key_group_range,
    owning_subtask,
    stable_hash,
)
from snapshots.domain.simulators.dataflows.functions import (
    Record,
    Rid,
    Split,
    derive,
    emitted,
    expected_rids,
)
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from tests.dataflows import a_sink, a_source, an_operator, word_count


def refusal(*vertices: Vertex, edges: tuple[Edge, ...] = ()) -> str:
    with pytest.raises(DataflowRefused) as caught:
        Dataflow(vertices, edges)
    return caught.value.field


def test_impossible_values_are_refused_at_their_fields():
    source, sink = a_source(), a_sink()
    straight = (Edge("source", "sink"),)
    assert refusal(a_source(parallelism=0), sink, edges=straight) == "vertices[0].parallelism"
    assert refusal(a_source(parallelism=129), sink, edges=straight) == "vertices[0].parallelism"
    assert refusal(source, a_sink(cost=-1), edges=straight) == "vertices[1].cost"
    assert refusal(a_source(rate=float("nan")), sink, edges=straight) == "vertices[0].rate"
    assert refusal(a_source(records="many"), sink, edges=straight) == "vertices[0].records"
    assert refusal(a_source(records=2**63), sink, edges=straight) == "vertices[0].records"
    assert refusal(a_source(rate=10**400), sink, edges=straight) == "vertices[0].rate"
    assert refusal(a_source(keys=1_000_001), sink, edges=straight) == "vertices[0].keys"
    assert refusal(a_source("x" * 81), sink, edges=straight) == "vertices[0].id"
    assert refusal(source, a_sink(sink="leaky"), edges=straight) == "vertices[1].sink"
    assert refusal(source, source) == "vertices[1].id"
    assert refusal() == "vertices"
    assert refusal(source, sink) == "vertices[1].id"
    assert refusal(source, sink, edges=(Edge("source", "nowhere"),)) == "edges[0].target"
    assert refusal(source, sink, edges=(Edge("sink", "source"),)) == "edges[0].source"
    assert refusal(source, sink, edges=straight * 2) == "edges[0]"
    assert refusal(source, a_sink(parallelism=2), edges=straight) == "edges[0].exchange"
    assert refusal(source, sink, edges=(Edge("source", "sink", "fax"),)) == "edges[0].exchange"


def test_a_cycle_is_refused_at_an_edge_on_it():
    vertices = (a_source(), an_operator("a", "map"), an_operator("b", "map"), a_sink())
    edges = (Edge("source", "a"), Edge("a", "b"), Edge("b", "a"), Edge("b", "sink"))
    assert refusal(*vertices, edges=edges) == "edges[1]"


def test_too_many_subtasks_are_refused_before_any_is_made():
    wide = {"parallelism": 30_000, "max_parallelism": 32_768}
    vertices = (a_source(**wide), a_sink(**wide))
    assert refusal(*vertices, edges=(Edge("source", "sink"),)) == "vertices[0].parallelism"


def test_too_many_channels_are_refused_before_any_is_made():
    wide = {"parallelism": 4_000, "max_parallelism": 32_768}
    edges = (Edge("source", "sink", "rebalance"),)
    assert refusal(a_source(**wide), a_sink(**wide), edges=edges) == "edges"


def test_state_by_key_on_several_subtasks_needs_its_input_by_hash():
    vertices = (a_source(parallelism=2), an_operator("count", "count", parallelism=2), a_sink())
    edges = (Edge("source", "count", "rebalance"), Edge("count", "sink", "rebalance"))
    assert refusal(*vertices, edges=edges) == "edges[0].exchange"


def test_a_join_has_two_inputs():
    vertices = (a_source(), an_operator("join", "join"), a_sink())
    edges = (Edge("source", "join", "hash"), Edge("join", "sink"))
    assert refusal(*vertices, edges=edges) == "vertices[1].function"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"mode": "hopeful"}, "checkpoints.mode"),
        ({"interval": 0}, "checkpoints.interval"),
        ({"min_pause": -1}, "checkpoints.min_pause"),
        ({"mode": "unaligned", "max_concurrent": 2}, "checkpoints.max_concurrent"),
        ({"savepoints": (-5,)}, "checkpoints.savepoints"),
    ],
)
def test_impossible_settings_are_refused_at_their_fields(options, field):
    with pytest.raises(DataflowRefused) as caught:
        CheckpointSettings(**options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"mean_delay": -1}, "mean_delay"),
        ({"buffer": 0}, "buffer"),
        ({"failover": "prayer"}, "failover"),
        ({"failures": (FailAt(5, "nobody"),)}, "failures[0].process"),
        ({"failures": (FailAt(-5, "count[0]"),)}, "failures[0].at"),
        ({"slow": {"count[0]": 0.0}}, "slow.count[0]"),
    ],
)
def test_an_impossible_simulation_is_refused_at_its_field(options, field):
    with pytest.raises(DataflowRefused) as caught:
        DataflowSimulation(word_count(), **options)
    assert caught.value.field == field


def test_subtasks_and_a_coordinator_are_processes():
    topology = word_count(2).expand()
    assert [process.id for process in topology.processes] == [
        *("source[0]", "source[1]", "count[0]", "count[1]", "sink[0]", "sink[1]", "coordinator")
    ]
    assert len(topology.channels) == 8
    assert topology.channels[1].id == "source[0]->count[1]"
    assert not any(channel.overtaking for channel in topology.channels)


def test_barriers_overtake_where_the_exchange_is_not_one_to_one_or_to_all():
    edges = (Edge("source", "map"), Edge("map", "sink", "hash"))
    flow = Dataflow((a_source(), an_operator("map", "map"), a_sink()), edges)
    overtaking = [channel.overtaking for channel in flow.expand(overtaking=True).channels]
    assert overtaking == [False, True]


def two_pipelines() -> Dataflow:
    one = word_count(2)
    other = (a_source("clicks", parallelism=2), a_sink("archive", parallelism=2))
    return Dataflow((*one.vertices, *other), (*one.edges, Edge("clicks", "archive")))


def test_pipelines_and_regions_are_found():
    flow = two_pipelines()
    assert flow.pipelines == (("source", "count", "sink"), ("clicks", "archive"))
    assert [len(region) for region in flow.regions] == [6, 2, 2]
    assert flow.regions[1] == ("clicks[0]", "archive[0]")


def test_every_pipeline_has_a_coordinator_unless_there_is_one_for_all():
    names = [process.id for process in two_pipelines().expand().processes]
    assert names[-2:] == ["coordinator 1", "coordinator 2"]
    names = [process.id for process in two_pipelines().expand(one_coordinator=True).processes]
    assert names[-1] == "coordinator"


def test_a_dataflow_comes_back_from_its_json():
    flow = two_pipelines()
    assert Dataflow.from_json(as_json(flow)) == flow


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "dataflow"),
        ({"vertices": 3}, "vertices"),
        ({"vertices": ["a"]}, "vertices[0]"),
        ({"vertices": [{"kind": "source"}]}, "vertices[0].id"),
        ({"vertices": [{"id": "a"}]}, "vertices[0].kind"),
        ({"vertices": [{"id": "a", "kind": "source", "colour": 1}]}, "vertices[0].colour"),
        ({"vertices": [{"id": "a", "kind": []}]}, "vertices[0].kind"),
        ({"vertices": [], "edges": [{"source": "a"}]}, "edges[0].target"),
        ({"vertices": [{"id": "a", "kind": "source"}], "edges": [{"source": [], "target": "a"}]},
         "edges[0].source"),
    ],
)  # fmt: skip
def test_json_that_is_no_dataflow_is_refused_at_its_field(document, field):
    with pytest.raises(DataflowRefused) as caught:
        Dataflow.from_json(document)
    assert caught.value.field == field


@given(st.integers(1, 60), st.integers(0, 300))
def test_key_group_ranges_are_a_partition(parallelism, more):
    groups = parallelism + more
    ranges = [key_group_range(n, parallelism, groups) for n in range(parallelism)]
    assert [group for owned in ranges for group in owned] == list(range(groups))
    for subtask, owned in enumerate(ranges):
        assert {owning_subtask(group, parallelism, groups) for group in owned} == {subtask}


def test_the_hash_of_a_key_is_murmur3():
    assert stable_hash("hello") == 0x248BFA47
    assert stable_hash("hello, world") == 0x149BBB7F
    assert key_group("hello", 128) == 0x248BFA47 % 128


def test_copies_of_a_record_have_rids_of_their_own():
    rid = Rid("source[0]", 7)
    assert derive(rid, 1, 0) == rid
    assert derive(derive(rid, 2, 1), 3, 0) == Rid("source[0]", 7, "1.0")


def test_a_broadcast_reaches_every_subtask_with_a_copy():
    edges = (Edge("source", "sink", "broadcast"),)
    flow = Dataflow((a_source(records=5), a_sink(parallelism=3)), edges)
    sent = emitted(flow, edges, 0, [Record(Rid("source[0]", 1), "k1", 5)])
    assert [(subtask, record.rid.derived) for _, subtask, record in sent] == [
        (0, "0"), (1, "1"), (2, "2"),
    ]  # fmt: skip
    assert len(expected_rids(flow)["sink"]) == 15


def test_skew_makes_the_first_keys_frequent():
    split = Split(a_source(keys=5, skew=2.0), "source[0]")
    counts = Counter(split.record(offset).key for offset in range(1, 500))
    assert counts["k1"] > 3 * counts["k2"] > 3 * counts["k5"]
    steep = Split(a_source(keys=5, skew=1e9), "source[0]")
    assert {steep.record(offset).key for offset in range(1, 50)} == {"k1"}
    even = Split(a_source(keys=5), "source[0]")
    assert min(Counter(even.record(offset).key for offset in range(1, 500)).values()) > 70
