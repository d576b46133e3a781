"""Snapshots do not change the computation, whatever the protocol, topology, workload and seed."""

from dataclasses import replace
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import APPLICATION_KINDS, MARKER_SEND, RECORD_STATE
from snapshots.domain.replaying.non_interference import COMPARED, DIFFERENT, compare, of_snapshot
from snapshots.domain.simulators.algorithms import ALGORITHMS
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.protocols.flooding import piece_of
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import WORKLOADS, Bank
from tests.builders import some_topologies
from tests.effort import examples

SPOILED = ("late_markers", "no_markers", "empty_channels")  # by channel
UNRULY = ("early_markers", "late_records", "silent")  # by process


@st.composite
def simulations(draw) -> Simulation:
    """Generate simulations with snapshots, on channels that keep the order and others."""
    topology = draw(some_topologies(draw(st.integers(1, 6))))
    if draw(st.booleans()):
        topology = shapes.without_order(topology)
    names = [process.id for process in topology.processes]
    starts = st.tuples(
        st.integers(0, 30_000), st.lists(st.sampled_from(names), min_size=1, unique=True)
    )
    return Simulation(
        topology,
        WORKLOADS[draw(st.sampled_from(sorted(WORKLOADS)))](),
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(0, 120)),
        snapshots=tuple(
            SnapshotStart(at, tuple(initiators))
            for at, initiators in draw(st.lists(starts, min_size=1, max_size=3))
        ),
        mean_delay=draw(st.sampled_from((300, 9_000))),
        collect=draw(st.booleans()),
    )


def plain(events):
    """Return the events of the computation alone, field by field, with code of the test's own."""
    return [
        tuple(getattr(event, name) for name in COMPARED)
        for event in events
        if event.kind in APPLICATION_KINDS and piece_of(event.value) is None
    ]


def run(simulation: Simulation, name: str = "chandy-lamport"):
    return tuple(simulate(simulation, ALGORITHMS[name]))


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=examples(60), deadline=None)
@given(simulations())
def test_the_computation_is_the_same_with_and_without_snapshots(name, simulation):
    disturbed, alone = run(simulation, name), run(replace(simulation, snapshots=()), name)
    assert plain(disturbed) == plain(alone) == plain(e for e in alone if not of_snapshot(e))
    assert len(plain(alone)) == len(alone)
    comparison = compare(disturbed, alone)
    assert (comparison.equal, comparison.first_difference) == (True, None)
    assert comparison.events == len(alone)


@settings(max_examples=examples(30), deadline=None)
@given(simulations(), st.sampled_from((*SPOILED, *UNRULY)), st.data())
def test_a_broken_rule_spoils_the_snapshot_and_not_the_computation(simulation, fault, data):
    topology = simulation.topology
    items = topology.channels if fault in SPOILED else topology.processes
    chosen = data.draw(st.sets(st.sampled_from([item.id for item in items]))) if items else set()
    broken = replace(simulation, **{fault: frozenset(chosen)})
    assert plain(run(broken)) == plain(run(replace(simulation, snapshots=())))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_correct_snapshots_stay_consistent_on_busy_channels(name):
    for seed in range(4):
        simulation = a_bank(seed=seed, mean_pause=200)
        log = Log(simulation.header("busy"), run(simulation, name))
        assembly = assemble(*log)
        assert assembly.defects == ()
        reports = judge(assembly.recording)
        assert [report.verdict for report in reports] == ["consistent", "consistent"]


def a_bank(**options) -> Simulation:
    starts = (SnapshotStart(4_000, ("p1",)), SnapshotStart(4_500, ("p2", "p3")))
    fields = {"seed": 1, "events": 300, "snapshots": starts, **options}
    return Simulation(shapes.complete(4), Bank(), **fields)


def test_what_the_snapshots_add_is_counted():
    simulation = a_bank()
    comparison = compare(run(simulation), run(replace(simulation, snapshots=())))
    added = comparison.added
    assert (added.markers, added.states, added.channels) == (24, 8, 24)
    assert (added.pieces, added.coloured) == (0, 0)
    assert comparison.sentences[-1] == (
        "The snapshots add 24 markers, 8 recorded process states and 24 recorded channel states."
    )


def test_pieces_and_colours_are_counted_as_added():
    simulation = a_bank(collect=True)
    comparison = compare(run(simulation, "lai-yang"), run(replace(simulation, snapshots=())))
    assert comparison.equal
    assert comparison.added.pieces == 2 * 4 * 12, "each piece passes each channel once"
    assert "96 messages with a piece of a snapshot" in comparison.sentences[-1]
    assert f"the colour of {comparison.added.coloured} messages" in comparison.sentences[-1]


def test_a_run_that_ends_with_its_snapshots_is_the_beginning_of_the_other():
    simulation = a_bank(drain=False)
    alone = run(replace(simulation, snapshots=(), drain=True))
    comparison = compare(run(simulation), alone, ends_early=True)
    assert comparison.equal
    assert comparison.with_snapshots < comparison.without
    assert "ends as soon as they have ended" in comparison.sentences[1]


def test_runs_of_the_first_version_differ_and_the_first_difference_is_named():
    simulation = a_bank(interferes=True)
    disturbed, alone = run(simulation), run(replace(simulation, snapshots=()))
    comparison = compare(disturbed, alone)
    assert not comparison.equal
    pairs = zip_longest(plain(disturbed), plain(alone))
    shared = next(number for number, (ours, other) in enumerate(pairs) if ours != other)
    assert comparison.events == shared
    row = comparison.rows[comparison.first_difference]
    assert row.kind == DIFFERENT
    assert f"The first {shared} events agree" in comparison.sentences[0]
    assert str(row.without) in comparison.sentences[0]


def test_a_marker_that_keeps_a_channel_to_itself_disturbs():
    """Nothing passes a marker that stays in a FIFO channel for ever."""
    simulation = a_bank(stuck=frozenset({"p1->p2"}))
    comparison = compare(run(simulation), run(replace(simulation, snapshots=())))
    assert not comparison.equal


def test_markers_arrive_before_what_was_sent_behind_them():
    simulation = a_bank(mean_pause=100, mean_delay=9_000)
    recording = assemble(simulation.header("busy"), run(simulation)).recording
    for channel, markers in recording.markers.items():
        for marker in markers:
            for message in recording.messages[channel]:
                is_behind = message.sent_index > marker.sent_index
                assert (message.received_index > marker.received_index) == is_behind
    kinds = [event.kind for events in recording.events.values() for event in events]
    assert kinds.count(MARKER_SEND) == 24
    assert kinds.count(RECORD_STATE) == 8
