"""The simulator: one seed one run, in order, within its budget."""

from itertools import islice, pairwise

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import (
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    SEND,
)
from snapshots.domain.model.topology import Process, Topology
from snapshots.domain.simulators.algorithms import ALGORITHMS
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.simulation import Simulation
from snapshots.domain.simulators.workloads import WORKLOADS, Bank, Idle, RandomTraffic, Tokens
from tests.builders import recorded, simulated


def kinds(log):
    return [event.kind for event in log.events]


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_simulated_log_has_no_defects(name):
    log = simulated(workload=WORKLOADS[name](), snapshots=((500, ("p1", "p3")), (900, ("p2",))))
    assert assemble(*log).defects == ()


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_seed_gives_one_run_and_another_seed_another(name):
    runs = [simulated(workload=WORKLOADS[name](), seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_the_log_is_written_line_by_line_in_the_order_of_time():
    events = simulated().events
    assert [event.line for event in events] == list(range(2, len(events) + 2))
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_a_run_without_snapshots_has_about_as_many_events_as_asked_for():
    assert len(simulated(snapshots=(), events=1000).events) == pytest.approx(1000, abs=1)


def test_a_drained_run_ends_with_nothing_in_flight():
    log = simulated()
    assert kinds(log).count(SEND) == kinds(log).count(RECEIVE) > 0


def test_a_run_that_is_not_drained_ends_with_its_snapshots_and_leaves_messages_in_flight():
    log = simulated(drain=False, snapshots=((100, ("p1",)),))
    assert kinds(log).count(SEND) > kinds(log).count(RECEIVE)
    assert [report.verdict for report in judge(recorded(log))] == ["consistent"]


def test_a_snapshot_after_the_workload_has_ended_is_still_taken():
    (report,) = judge(recorded(simulated(snapshots=((10**9, ("p2",)),), drain=False)))
    assert (report.began_at, report.verdict) == (10**9, "consistent")


def test_fifo_channels_keep_their_order_and_others_do_not():
    topology = shapes.complete(3)
    assert not overtaken(recorded(simulated(topology)))
    assert overtaken(recorded(simulated(shapes.without_order(topology))))


def overtaken(recording):
    return any(
        earlier.received_index > later.received_index
        for messages in recording.messages.values()
        for earlier, later in pairwise(messages)
    )


def test_the_header_has_the_start_states_of_the_workload():
    given = Topology((Process("p1", "70"), Process("p2"), Process("p3", '"seven"')))
    states = [p.state for p in simulated(given, Bank()).header.topology.processes]
    assert states == ["70", "1000", "1000"]


def test_where_no_process_starts_with_a_token_the_first_one_has_it():
    states = [p.state for p in simulated(workload=Tokens()).header.topology.processes]
    assert states == ["1", "0", "0", "0"]
    given = Topology((Process("p1"), Process("p2", "3")))
    assert [p.state for p in simulated(given, Tokens()).header.topology.processes] == ["0", "3"]


def test_a_bank_never_sends_what_it_does_not_have():
    poor = Topology(tuple(Process(f"p{n}", "1") for n in (1, 2, 3)), shapes.ring(3).channels)
    assert all(int(event.state) >= 0 for event in simulated(poor).events if event.state)


def test_an_idle_system_has_nothing_but_snapshots():
    log = simulated(workload=Idle())
    assert set(kinds(log)) == {"record_state", "marker_send", "marker_receive", "record_channel"}
    assert all(event.messages == () for event in log.events if event.kind == RECORD_CHANNEL)


def test_a_process_without_channels_works_on_its_own():
    log = simulated(shapes.ring(1), RandomTraffic(), snapshots=((50, ("p1",)),), events=20)
    assert set(kinds(log)) == {INTERNAL, "record_state"}


def test_no_process_sends_a_marker_of_a_snapshot_twice_on_a_channel():
    log = simulated(snapshots=((500, ("p1", "p2", "p3", "p4")), (500, ("p4",))))
    markers = [(e.channel, e.snapshot) for e in log.events if e.kind == MARKER_SEND]
    assert len(markers) == len(set(markers)) == 2 * len(log.header.topology.channels)


def test_topologies_have_the_channels_that_their_names_promise():
    assert [channel.id for channel in shapes.ring(3).channels] == ["p1->p2", "p2->p3", "p3->p1"]
    assert len(shapes.complete(5).channels) == 20
    assert len(shapes.random_connected(20, 3.5, seed=1).channels) == 70
    assert [shapes.ring(1).channels, shapes.complete(1).channels] == [(), ()]


def test_the_processes_that_markers_can_reach_are_those_that_record():
    two_rings = shapes.of_links(
        ["a", "b", "c", "d"], [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")]
    )
    for start, reached in (("a", ("a", "b", "c", "d")), ("d", ("c", "d"))):
        assert two_rings.reachable([start]) == reached
        (report,) = judge(recorded(simulated(two_rings, snapshots=((500, (start,)),))))
        assert set(report.positions) == set(reached)
    assert two_rings.reachable([]) == ()


@pytest.mark.parametrize("seed", range(5))
def test_a_random_topology_is_strongly_connected(seed):
    topology = shapes.random_connected(15, 1.2, seed)
    names = [process.id for process in topology.processes]
    assert all(topology.path([a], b) is not None for a in names for b in names)


def test_an_impossible_degree_is_refused():
    with pytest.raises(ValueError, match="between 1 and 3"):
        shapes.random_connected(4, 3.5, seed=1)


def test_events_are_made_when_they_are_consumed():
    endless = Simulation(shapes.ring(3), RandomTraffic(), events=10**12)
    assert len(list(islice(simulate(endless), 100))) == 100


def missing(report):
    return [
        (finding.process, finding.channel, finding.path)
        for finding in report.findings
        if finding.verdict == "incomplete"
    ]


@pytest.mark.parametrize("drain", [True, False])
def test_a_marker_that_stays_in_its_channel_leaves_the_snapshot_incomplete(drain):
    log = simulated(shapes.ring(4), stuck=frozenset({"p2->p3"}), drain=drain)
    assert assemble(*log).defects == ()
    (report,) = judge(recorded(log))
    way = ("p1->p2", "p2->p3")
    assert missing(report) == [
        ("p3", None, way),
        ("p4", None, (*way, "p3->p4")),
        ("p3", "p2->p3", way),
    ]
    assert report.counts.keys() == {"incomplete"}


def test_on_a_fifo_channel_all_that_is_behind_the_marker_stays_too():
    for fifo in (True, False):
        topology = shapes.ring(3)
        if not fifo:
            topology = shapes.without_order(topology)
        recording = recorded(simulated(topology, stuck=frozenset({"p1->p2"})))
        marker = recording.markers["p1->p2"][0]
        behind = [m for m in recording.messages["p1->p2"] if m.sent_index > marker.sent_index]
        assert marker.received_index is None
        assert behind
        assert all((message.received_index is None) == fifo for message in behind)


def test_a_stuck_channel_holds_up_no_other_process():
    log = simulated(shapes.complete(4), stuck=frozenset({"p1->p2"}))
    (report,) = judge(recorded(log))
    assert missing(report) == [("p2", "p1->p2", ("p1->p2",))]
    assert len(log.events) == pytest.approx(300, abs=60)


@pytest.mark.parametrize("protocol", ALGORITHMS.values(), ids=ALGORITHMS)
@pytest.mark.parametrize("drain", [True, False])
def test_a_process_that_never_records_is_named_with_the_way_to_it(protocol, drain):
    topology = shapes.ring(4)
    if protocol.COLOURS_MESSAGES:
        topology = shapes.without_order(topology)
    log = simulated(topology, silent=frozenset({"p3"}), protocol=protocol, drain=drain)
    (report,) = judge(recorded(log))
    way = ("p1->p2", "p2->p3")
    assert [finding[0::2] for finding in missing(report)] == [
        ("p3", way),
        ("p4", (*way, "p3->p4")),
    ]
    heard = [event.process for event in log.events if event.kind == MARKER_RECEIVE]
    assert heard == ["p2", "p3"]
    assert not report.counts.keys() & {"orphan", "state-mismatch"}


def test_a_snapshot_that_only_a_silent_process_begins_leaves_no_trace():
    log = simulated(shapes.ring(3), silent=frozenset({"p1"}))
    assert judge(recorded(log)) == ()


def test_lai_and_yangs_red_messages_replace_a_marker_that_is_stuck():
    topology = shapes.without_order(shapes.complete(3))
    everywhere = frozenset(channel.id for channel in topology.channels)
    log = simulated(topology, stuck=everywhere, protocol=ALGORITHMS["lai-yang"], events=600)
    (report,) = judge(recorded(log))
    assert report.verdict == "consistent"
