"""Flooding: on a strongly connected graph every process ends with the whole recorded state."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.values import number
from snapshots.domain.replaying.non_interference import of_snapshot
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.restore import restore
from snapshots.domain.simulators.protocols import chandy_lamport, flooding, lai_yang
from snapshots.domain.simulators.protocols.flooding import Collector, Piece, knowledge, on_piece
from snapshots.domain.simulators.workloads import Bank, RandomTraffic, Tokens
from tests.builders import a_run, recorded, simulated
from tests.effort import examples

TWO_AT_ONCE = ((3_000, ("p1",)), (4_000, ("p2", "p1")))


def is_piece(event):
    return event.kind in (SEND, RECEIVE) and flooding.piece_of(event.value) is not None


def test_what_is_new_goes_out_on_every_channel_and_what_is_known_on_none():
    collector, onward = on_piece(Collector(("a->b", "a->c")), "b")
    assert onward == ("a->b", "a->c")
    assert on_piece(collector, "b") == (collector, ())
    collector, onward = on_piece(collector, "a")
    assert collector.known == {"a", "b"}


def test_a_piece_reads_back_and_is_worth_nothing():
    piece = Piece("s1", "p", "900", {"q->p": ("m1", "m2")})
    assert json.loads(piece.value)["piece"] == {
        "snapshot": "s1",
        "process": "p",
        "state": 900,
        "channels": {"q->p": ["m1", "m2"]},
    }
    assert flooding.piece_of(piece.value) == ("s1", "p")
    assert number(piece.value) == 0


@pytest.mark.parametrize(
    "value", [None, "7", '"piece"', '["piece"]', '{"piece":7}', '{"piece":{"snapshot":"s1"}}']
)
def test_no_other_value_is_a_piece(value):
    assert flooding.piece_of(value) is None


def collected_run(seed, size, workload, protocol, drain=True, **options):
    topology = shapes.random_connected(size, min(2, max(1, size - 1)), seed)
    if protocol is lai_yang:
        topology = shapes.without_order(topology)
    options = {"snapshots": TWO_AT_ONCE, "events": 150, **options}
    return simulated(
        topology, workload(), seed=seed, protocol=protocol, collect=True, drain=drain, **options
    )


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 7),
    st.sampled_from((Bank, Tokens, RandomTraffic)),
    st.sampled_from((chandy_lamport, lai_yang)),
    st.booleans(),
)
def test_every_process_learns_the_whole_state_and_nothing_else_changes(
    seed, size, workload, protocol, drain
):
    log = collected_run(seed, size, workload, protocol, drain)
    assembly = assemble(*log)
    assert assembly.defects == ()
    recording = assembly.recording
    for report in judge(recording):
        assert report.verdict == "consistent"
        assert report.totals.conserved is (None if workload is RandomTraffic else True)
        assert restore(recording, report.snapshot).equal
        assert reorder(recording, report).holds
        _check_knowledge(recording, report)
    _check_states(log)


def _check_knowledge(recording, report):
    found = knowledge(recording, report.snapshot)
    for process, events in recording.events.items():
        whole = found.whole(process)
        assert not found.missing(process)
        known = {process}
        for event in events[: whole.index + 1]:
            if event.kind == RECEIVE and flooding.piece_of(event.value):
                piece = json.loads(event.value)["piece"]
                if piece["snapshot"] == report.snapshot:
                    known.add(piece["process"])
                    _check_piece(recording, report, piece)
        assert known == set(recording.events)
        assert whole.at >= max(report.recorded_at.values())


def _check_piece(recording, report, piece):
    incoming = recording.topology.incoming[piece["process"]]
    assert piece["state"] == json.loads(report.recorded_states[piece["process"]])
    assert piece["channels"] == {
        channel.id: list(report.recorded_channels[channel.id]) for channel in incoming
    }


def _check_states(log):
    """Check that a piece does not change the state of its sender or receiver."""
    states = {process.id: process.state for process in log.header.topology.processes}
    for event in log.events:
        if is_piece(event):
            assert event.state == states[event.process]
            assert event.label.startswith("piece of p")
        elif event.kind in (SEND, RECEIVE, "internal"):
            states[event.process] = event.state


def test_each_piece_passes_each_channel_once():
    log = collected_run(3, 5, Bank, chandy_lamport)
    sends = [e for e in log.events if is_piece(e) and e.kind == SEND]
    assert len({(e.channel, e.message) for e in sends}) == len(sends) == 2 * 5 * 10


def test_flooding_takes_nothing_from_the_workload():
    log = collected_run(3, 5, Bank, chandy_lamport, events=400, snapshots=((3_000, ("p1",)),))
    others = [event for event in log.events if not of_snapshot(event)]
    assert len(others) == pytest.approx(400, abs=1)


def test_sometimes_a_piece_is_in_flight_in_another_snapshot():
    topology = shapes.complete(4)
    snapshots = [(at, ("p1",)) for at in range(3_000, 60_000, 4_000)]
    log = simulated(topology, snapshots=snapshots, collect=True)
    recording = recorded(log)
    reports = judge(recording)
    assert all(report.verdict == "consistent" and report.totals.conserved for report in reports)
    assert any(
        flooding.piece_of(recording.messages[channel][ordinal].value)
        for report in reports
        for channel, ordinals in report.in_flight.items()
        for ordinal in ordinals
    )


def test_pieces_do_not_arrive_where_no_path_leads_back():
    a_line = shapes.of_links(["p1", "p2", "p3"], [("p1", "p2"), ("p2", "p3")])
    found = knowledge(recorded(simulated(a_line, collect=True)), "s1")
    assert {process: found.missing(process) for process in found.learned} == {
        "p1": ("p2", "p3"),
        "p2": ("p3",),
        "p3": (),
    }
    shown = found.to_json()["processes"]
    assert shown["p1"]["whole"] is None
    assert shown["p1"]["missing"] == ["p2", "p3"]
    assert shown["p3"]["whole"]["process"] == "p3"
    assert shown["p3"]["pieces"].keys() == {"p1", "p2", "p3"}


def test_a_process_whose_channel_was_never_closed_has_no_piece_of_its_own():
    recording = recorded(a_run().record("p", "s1").record("q", "s1").record_channel("p->q", "s1"))
    found = knowledge(recording, "s1")
    assert (found.missing("p"), found.missing("q")) == (("p", "q"), ("p",))
