"""The two marker rules, step by step, and what holds in every run that follows them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.simulators.protocols.chandy_lamport import (
    RecordChannel,
    Recorder,
    RecordState,
    SendMarker,
    begin,
    on_marker,
    on_message,
)
from snapshots.domain.simulators.workloads import Bank, Tokens
from tests.builders import correct_runs, recorded, simulated
from tests.effort import examples


def a_recorder(incoming=("b->a", "c->a"), outgoing=("a->b", "a->c")):
    return Recorder("s1", tuple(incoming), tuple(outgoing))


def test_an_initiator_records_and_then_sends_a_marker_on_every_outgoing_channel():
    recorder, effects = begin(a_recorder())
    assert recorder.has_recorded
    assert effects == (RecordState(), SendMarker("a->b"), SendMarker("a->c"))


def test_the_first_marker_makes_a_process_record_and_finds_its_channel_empty():
    recorder, effects = on_marker(a_recorder(), "b->a")
    assert effects == (
        RecordState(),
        SendMarker("a->b"),
        SendMarker("a->c"),
        RecordChannel("b->a", ()),
    )
    assert not recorder.is_done


def test_a_later_marker_closes_its_channel_with_what_came_since():
    recorder, _ = begin(a_recorder())
    recorder, nothing = on_message(recorder, "b->a", "m1")
    recorder, _ = on_message(recorder, "c->a", "m2")
    recorder, _ = on_message(recorder, "b->a", "m3")
    assert nothing == ()
    recorder, effects = on_marker(recorder, "b->a")
    assert effects == (RecordChannel("b->a", ("m1", "m3")),)


def test_a_message_before_the_recording_belongs_to_no_channel_state():
    recorder, _ = on_message(a_recorder(), "b->a", "m1")
    recorder, _ = begin(recorder)
    assert on_marker(recorder, "b->a")[1] == (RecordChannel("b->a", ()),)


def test_a_message_behind_the_marker_belongs_to_no_channel_state():
    recorder, _ = on_marker(a_recorder(), "b->a")
    assert on_message(recorder, "b->a", "m1") == (recorder, ())


def test_a_second_marker_on_a_closed_channel_changes_nothing():
    recorder, _ = on_marker(a_recorder(), "b->a")
    assert on_marker(recorder, "b->a") == (recorder, ())


def test_a_process_is_done_when_every_incoming_channel_is_closed():
    recorder, _ = on_marker(on_marker(a_recorder(), "b->a")[0], "c->a")
    assert recorder.is_done


def test_a_process_without_incoming_channels_is_done_at_once():
    assert begin(a_recorder(incoming=()))[0].is_done


def test_an_initiator_that_a_marker_reached_first_does_not_record_again():
    recorder, _ = on_marker(a_recorder(), "b->a")
    assert begin(recorder) == (recorder, ())


def test_a_step_leaves_the_recorder_it_was_given_as_it_was():
    before, _ = begin(a_recorder())
    on_message(before, "b->a", "m1")
    on_marker(before, "b->a")
    assert before.arrived == {"b->a": (), "c->a": ()}


ALWAYS = {
    "is whole": lambda r: "incomplete" not in r.counts,
    "is consistent": lambda r: r.verdict == "consistent",
    "recorded what the log recomputes": lambda r: r.recorded_states == r.recomputed_states,
}
SOMETIMES = {
    "a message is in flight": lambda reports: any(any(r.in_flight.values()) for r in reports),
    "several are in flight in one channel": lambda reports: any(
        len(messages) > 1 for r in reports for messages in r.in_flight.values()
    ),
    "two snapshots are under way at once": lambda reports: any(
        a.began_at < b.began_at < a.ended_at for a in reports for b in reports
    ),
    "two are recorded in another order at some process": lambda reports: any(
        a.positions[p] < b.positions[p] and a.positions[q] > b.positions[q]
        for a in reports
        for b in reports
        for p in a.positions
        for q in a.positions
    ),
    "a snapshot has several initiators": lambda reports: any(
        len(r.initiators) > 1 for r in reports
    ),
    "a channel is empty": lambda reports: any(not all(r.in_flight.values()) for r in reports),
}


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from((Bank, Tokens)))
def test_every_snapshot_over_fifo_channels_is_consistent_and_conserves_what_there_is(
    seed, size, workload
):
    log = simulated(
        shapes.random_connected(size, min(2, size - 1), seed),
        workload(),
        seed=seed,
        snapshots=((3_000, ("p1",)), (4_000, ("p2", "p1")), (4_000, (f"p{size}",))),
    )
    for report in judge(recorded(log)):
        assert {name: holds(report) for name, holds in ALWAYS.items()} == dict.fromkeys(
            ALWAYS, True
        )
        assert report.totals.conserved


def test_the_runs_that_these_properties_are_tried_on_are_not_trivial():
    reports = [
        judge(
            recorded(
                simulated(
                    shapes.random_connected(6, 2, seed),
                    seed=seed,
                    snapshots=((3_000, ("p1",)), (4_000, ("p2", "p1")), (4_500, ("p6",))),
                )
            )
        )
        for seed in range(12)
    ]
    for name, happens in SOMETIMES.items():
        assert any(happens(run) for run in reports), f"never: {name}"


@settings(max_examples=examples(40), deadline=None)
@given(correct_runs(max_processes=12))
def test_on_any_topology_nothing_but_an_unreached_process_is_ever_wrong(log):
    for report in judge(recorded(log)):
        assert set(report.counts) <= {"consistent", "incomplete"}
