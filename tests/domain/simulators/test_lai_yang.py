"""Colours instead of order: the steps, and what holds in every run over channels that reorder."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.snapshot_log import SNAPSHOT_KINDS
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND, RECORD_STATE, SEND
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.restore import restore
from snapshots.domain.simulators.algorithms import ALGORITHMS
from snapshots.domain.simulators.protocols import chandy_lamport, lai_yang
from snapshots.domain.simulators.protocols.effects import RecordChannel, RecordState, SendMarker
from snapshots.domain.simulators.workloads import Bank, Tokens
from tests.builders import recorded, simulated, some_topologies
from tests.effort import examples

WAYS = ("b->a", "c->a")


def a_recorder(received=(3, 0), sent=(5, 1)):
    """Return the recorder of a, which got 3 messages from b and sent 5 to b and 1 to c."""
    return lai_yang.start(
        "s1",
        dict(zip(WAYS, received, strict=True)),
        dict(zip(("a->b", "a->c"), sent, strict=True)),
    )


def test_a_process_that_turns_red_sends_the_number_of_its_white_messages():
    recorder, effects = lai_yang.begin(a_recorder())
    assert effects == (RecordState(), SendMarker("a->b", 5), SendMarker("a->c", 1))
    assert lai_yang.begin(recorder) == (recorder, ())


def test_a_channel_is_closed_when_all_announced_white_messages_have_come():
    recorder, _ = lai_yang.begin(a_recorder())
    recorder, nothing = lai_yang.on_message(recorder, "b->a", "m4")
    assert nothing == ()
    recorder, nothing = lai_yang.on_marker(recorder, "b->a", 5)
    assert nothing == ()
    assert (recorder.is_waiting, recorder.is_done) == (True, False)
    recorder, closed = lai_yang.on_message(recorder, "b->a", "m2")
    assert closed == (RecordChannel("b->a", ("m4", "m2")),)
    recorder, closed = lai_yang.on_marker(recorder, "c->a", 0)
    assert closed == (RecordChannel("c->a", ()),)
    assert (recorder.is_waiting, recorder.is_done) == (False, True)


def test_the_first_marker_makes_a_process_record_and_may_close_its_channel_at_once():
    recorder, effects = lai_yang.on_marker(a_recorder(), "b->a", 3)
    assert effects[0] == RecordState()
    assert effects[-1] == RecordChannel("b->a", ())
    assert lai_yang.on_marker(recorder, "b->a", 3) == (recorder, ())


def test_what_comes_before_the_recording_is_counted_and_not_kept():
    recorder, nothing = lai_yang.on_message(a_recorder(), "b->a", "m1")
    assert (nothing, recorder.arrived) == ((), {})


def test_the_log_has_the_colours_of_messages_and_the_counts_of_markers():
    log = simulated(shapes.ring(3), protocol=lai_yang)
    recorded_at = {e.process: e.index for e in log.events if e.kind == RECORD_STATE}
    for event in log.events:
        is_red = event.index > recorded_at[event.process]
        if event.kind == SEND:
            assert event.extra == ('{"red":["s1"]}' if is_red else None)
        elif event.kind == MARKER_SEND:
            before = log.events[: event.line - 2]
            sent = [e for e in before if e.kind == SEND and e.channel == event.channel]
            assert json.loads(event.value) == len(sent)


def one_after_another(size):
    return ((3_000, ("p1",)), (4_000, ("p2", "p1")), (4_100, (f"p{size}",)))


ALWAYS = {
    "is consistent": lambda result: result.counts == {"consistent": 1},
    "adds up": lambda result: result.totals.conserved,
    "has recorded every channel": lambda r: r.recorded_channels.keys() == r.in_flight.keys(),
}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 8),
    st.sampled_from((Bank, Tokens)),
    st.sampled_from((300, 6_000, 30_000)),
    st.booleans(),
)
def test_every_snapshot_is_consistent_whatever_the_order_of_delivery(
    seed, size, workload, delay, drain
):
    topology = shapes.random_connected(size, min(2, size - 1), seed)
    log = simulated(
        shapes.without_order(topology),
        workload(),
        protocol=lai_yang,
        seed=seed,
        mean_delay=delay,
        snapshots=one_after_another(size),
        drain=drain,
    )
    assembly = assemble(*log)
    assert assembly.defects == ()
    reports = judge(assembly.recording)
    assert len(reports) == 3
    for report, (_, starting) in zip(reports, one_after_another(size), strict=True):
        assert set(report.initiators) <= set(starting)
        assert [name for name, holds in ALWAYS.items() if not holds(report)] == []
        assert restore(assembly.recording, report.snapshot).equal
        assert all(check.holds for check in reorder(assembly.recording, report).checks)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(2, 8).flatmap(some_topologies), st.integers(0, 2**32))
def test_on_any_topology_nothing_but_an_unreached_process_is_ever_wrong(topology, seed):
    log = simulated(shapes.without_order(topology), seed=seed, protocol=lai_yang)
    for report in judge(recorded(log)):
        assert set(report.counts) <= {"consistent", "incomplete"}


def runs_over(protocol, seeds=range(12), **options):
    topology = shapes.complete(4)
    return [
        report
        for seed in seeds
        for report in judge(
            recorded(
                simulated(
                    shapes.without_order(topology),
                    seed=seed,
                    protocol=protocol,
                    snapshots=one_after_another(4),
                    **options,
                )
            )
        )
    ]


def test_the_runs_that_this_is_tried_on_are_not_trivial():
    reports = runs_over(lai_yang)
    assert any(len(messages) > 1 for report in reports for messages in report.in_flight.values())
    assert any(len(report.initiators) > 1 for report in reports)


def test_a_red_message_that_is_faster_than_the_marker_makes_its_receiver_record_first():
    topology = shapes.without_order(shapes.complete(4))
    taken = 0
    for seed in range(12):
        log = simulated(topology, seed=seed, mean_delay=30_000, protocol=lai_yang)
        (report,) = judge(recorded(log))
        assert report.initiators == ("p1",)
        red = {(e.channel, e.message) for e in log.events if e.kind == SEND and e.extra}
        for marker in (e for e in log.events if e.kind == MARKER_RECEIVE):
            later = [e for e in log.events[marker.line - 1 :] if e.process == marker.process]
            first = next((e for e in later if e.kind not in SNAPSHOT_KINDS), None)
            if first and first.at == marker.at and (first.channel, first.message) in red:
                assert first.channel == marker.channel
                taken += later[0].kind == RECORD_STATE
    assert taken, "never: a red message was faster than the marker"


def test_the_same_runs_break_chandy_and_lamports_rules():
    assert any("orphan" in report.counts for report in runs_over(chandy_lamport))
    assert any("lost" in report.counts for report in runs_over(chandy_lamport))


def test_over_channels_that_only_claim_to_be_fifo_the_verdict_names_what_overtook():
    topology = shapes.complete(3)
    everywhere = frozenset(channel.id for channel in topology.channels)
    reports = [
        report
        for seed in range(12)
        for report in judge(recorded(simulated(topology, seed=seed, reorder=everywhere)))
    ]
    assert any("fifo-violation" in report.counts for report in reports)
    assert any("orphan" in report.counts for report in reports)
    finding = next(f for r in reports for f in r.findings if f.verdict == "fifo-violation")
    assert finding.other is not None
    assert finding.sent.index < finding.other.sent.index


@pytest.mark.parametrize("channel", ["p1->p2", "p3->p1"])
def test_only_the_chosen_channel_reorders(channel):
    recording = recorded(simulated(shapes.complete(3), reorder=frozenset({channel})))
    overtaken = {
        name
        for name, messages in recording.messages.items()
        if sorted(messages, key=lambda message: message.received_index) != list(messages)
    }
    assert overtaken == {channel}


def test_the_algorithms_have_names():
    assert list(ALGORITHMS) == ["chandy-lamport", "lai-yang"]
