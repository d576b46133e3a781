"""The marker rules of the recorder: what holds in every run, by Cutline's own judge."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.restore import restore
from snapshots.recorder import (
    AnyOrderRules,
    Complete,
    FifoRules,
    RecordChannel,
    RecordState,
    SendMarker,
)
from tests.builders import some_topologies
from tests.domain.simulators import test_chandy_lamport, test_lai_yang
from tests.effort import examples
from tests.recorder.judged import assembly_of
from tests.recorder.systems import RULES, START, System

SNAPSHOTS = {
    20: (("p1", "s1"),),
    24: (("p2", "s2"), ("p1", "s2")),
    28: (("p2", "s1"), ("p1", "s3")),
    90: (("p2", "s4"),),
}
ALL = {"s1", "s2", "s3", "s4"}
ALWAYS = test_chandy_lamport.ALWAYS | test_lai_yang.ALWAYS  # as in the domain


def a_run(order, size, seed):
    system = System(order, size, seed)
    system.run(150, SNAPSHOTS)
    system.drain()
    return system


@pytest.mark.parametrize("order", RULES)
@settings(max_examples=examples(120), deadline=None)
@given(size=st.integers(2, 7), seed=st.integers(0, 2**32))
def test_every_snapshot_is_consistent_and_holds_all_the_money(order, size, seed):
    system = a_run(order, size, seed)
    assembly = assembly_of(system.text())
    assert assembly.defects == ()
    reports = judge(assembly.recording)
    assert {report.snapshot for report in reports} == ALL
    for report in reports:
        assert [name for name, holds in ALWAYS.items() if not holds(report)] == []
        assert report.totals.total == size * START
        assert restore(assembly.recording, report.snapshot).equal
        assert all(check.holds for check in reorder(assembly.recording, report).checks)
    assert system.complete == {key: set(system.rules) for key in ALL}


@pytest.mark.parametrize("order", RULES)
@settings(max_examples=examples(60), deadline=None)
@given(topology=st.integers(2, 8).flatmap(some_topologies), seed=st.integers(0, 2**32))
def test_on_any_topology_nothing_but_an_unreached_process_is_ever_wrong(order, topology, seed):
    system = System(order, len(topology.processes), seed, topology)
    first, second = list(system.rules)[:2]
    system.run(150, {20: ((first, "s1"),), 28: ((first, "s2"), (second, "s2"))})
    system.drain()
    for report in system.reports().values():
        assert report.counts.keys() <= {"consistent", "incomplete"}


SOMETIMES = {
    "several messages are in a channel": lambda reports: any(
        len(messages) > 1 for r in reports for messages in r.in_flight.values()
    ),
    "two snapshots are recorded in another order at some process": lambda reports: any(
        a.positions[p] < b.positions[p] and a.positions[q] > b.positions[q]
        for a in reports
        for b in reports
        for p in a.positions
        for q in a.positions
    ),
    "a snapshot has several initiators": lambda reports: any(
        len(r.initiators) > 1 for r in reports
    ),
}


@pytest.mark.parametrize("order", RULES)
def test_the_runs_are_not_trivial(order):
    runs = [list(a_run(order, 5, seed).reports().values()) for seed in range(20)]
    for name, happens in SOMETIMES.items():
        assert any(happens(run) for run in runs), f"never: {name}"


@pytest.mark.parametrize("order", RULES)
@settings(max_examples=examples(80), deadline=None)
@given(size=st.integers(2, 6), seed=st.integers(0, 2**32), failed_at=st.integers(0, 60))
def test_what_is_complete_although_a_process_failed_is_right(order, size, seed, failed_at):
    system = System(order, size, seed)
    system.run(failed_at, SNAPSHOTS)
    system.fail("p2")
    system.run(100, {10: (("p1", "s5"),)})
    system.drain()
    for name, report in system.reports().items():
        assert report.counts.keys() <= {"consistent", "incomplete"}
        # A red message tells what the marker would, so a marker may still be on its way to the
        # process that failed, and the judge misses it.
        if system.complete.get(name) == set(system.rules) and order == "fifo":
            assert report.verdict == "consistent"
    assert system.complete.get("s5", set()) != set(system.rules)


@pytest.mark.parametrize("order", RULES)
@settings(max_examples=examples(80), deadline=None)
@given(size=st.integers(2, 6), seed=st.integers(0, 2**32), given_up_at=st.integers(20, 60))
def test_late_markers_of_a_snapshot_that_was_given_up_have_no_effect(
    order, size, seed, given_up_at
):
    system = System(order, size, seed)
    system.run(given_up_at, {given_up_at - 5: (("p1", "s1"),), given_up_at - 2: (("p2", "s2"),)})
    system.give_up("s1")
    recorded = [line for line in system.lines if line.get("snapshot") == "s1"]
    system.run(60, {5: (("p1", "s1"), ("p1", "s3"))})
    system.drain()
    later = [line for line in system.lines if line.get("snapshot") == "s1"][len(recorded) :]
    assert {line["kind"] for line in later} <= {"marker_receive"}
    assert all(rules.under_way == () for rules in system.rules.values())
    reports = system.reports()
    assert {reports[name].verdict for name in ("s2", "s3")} == {"consistent"}


@pytest.mark.parametrize("order", RULES)
@settings(max_examples=examples(80), deadline=None)
@given(size=st.integers(2, 6), seed=st.integers(0, 2**32), steps=st.integers(1, 20))
def test_what_others_record_while_a_snapshot_is_given_up_is_right(order, size, seed, steps):
    system = System(order, size, seed)
    system.run(40, {37: (("p1", "s1"), ("p2", "s1"))})
    system.give_up("s1", steps)
    system.drain()
    for report in system.reports().values():
        assert report.counts.keys() <= {"consistent", "incomplete"}


def test_an_initiator_records_and_then_sends_a_marker_on_every_outgoing_channel():
    effects = FifoRules(["b->a"], ["a->b", "a->c"]).begin_snapshot("s")
    assert effects == [RecordState("s"), SendMarker("a->b", "s"), SendMarker("a->c", "s")]


def test_a_marker_closes_its_channel_with_what_came_since():
    rules = FifoRules(["b->a", "c->a"], [])
    rules.on_receive("b->a", "m1")
    rules.begin_snapshot("s")
    rules.on_receive("b->a", "m2")
    assert rules.on_marker("b->a", "s") == [RecordChannel("s", "b->a", ("m2",))]
    rules.on_receive("b->a", "m3")
    assert rules.on_marker("c->a", "s") == [RecordChannel("s", "c->a", ()), Complete("s")]


def test_a_red_message_makes_a_white_process_record_before_it_receives():
    sender, receiver = AnyOrderRules([], ["a->b"]), AnyOrderRules(["a->b"], [])
    white = sender.on_send("a->b")
    assert sender.begin_snapshot("s") == [
        RecordState("s"),
        SendMarker("a->b", "s", 1),
        Complete("s"),
    ]
    assert receiver.on_receive("a->b", "red", sender.on_send("a->b")) == [RecordState("s")]
    effects = receiver.on_receive("a->b", "white", white)
    assert effects == [RecordChannel("s", "a->b", ("white",)), Complete("s")]
    assert receiver.on_marker("a->b", "s", 1) == []


def test_messages_carry_a_colour_until_the_snapshot_is_forgotten():
    rules = AnyOrderRules([], ["a->b"])
    rules.begin_snapshot("s")
    assert rules.on_send("a->b") == (("s", 0),)
    rules.give_up("s")
    assert rules.on_send("a->b") == (("s", 0),)
    rules.forget("s")
    assert rules.on_send("a->b") == ()


@pytest.mark.parametrize("order", RULES)
def test_a_channel_that_a_process_does_not_have_is_refused(order):
    rules = RULES[order](["b->a"], ["a->b"])
    for step in (lambda: rules.on_receive("a->b", "m"), lambda: rules.on_marker("a->b", "s", 0)):
        with pytest.raises(ValueError, match="a->b is not an incoming channel .* It has b->a"):
            step()
    with pytest.raises(ValueError, match="b->a is not an outgoing channel"):
        rules.on_send("b->a")


def test_a_marker_without_a_count_is_refused_where_channels_do_not_keep_order():
    with pytest.raises(ValueError, match="no count"):
        AnyOrderRules(["b->a"], []).on_marker("b->a", "s")
