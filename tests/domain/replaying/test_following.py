"""A restored run is followed beat by beat beside the original, and says where it goes wrong."""

from collections import Counter

import pytest
from hypothesis import given, settings

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.replaying.following import follow
from snapshots.domain.replaying.incarnations import before_going_back
from snapshots.domain.replaying.restore import NotRestorable, restoring
from snapshots.domain.replaying.restored_course import course_of
from snapshots.domain.replaying.restored_run import CHANNELS, GOING_ON, STATES
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Script
from tests import damage
from tests.builders import correct_runs, recorded, runs, simulated
from tests.domain.judging.restored import after_a_restore
from tests.effort import examples


def followed(log, snapshot="s1"):
    return follow(course_of(restoring(recorded(log), snapshot)))


def both(recording):
    """Return the report of the reference and the run, for each snapshot that can be restored."""
    for report in judge(recording):
        try:
            under_way = restoring(recording, report.snapshot)
        except NotRestorable:
            continue
        yield report, under_way.report(), follow(course_of(under_way))


def ids(contents):
    return {channel: tuple(item.id for item in held) for channel, held in contents.items()}


def steps_of(run):
    return [run.step(place) for place in range(run.end + 1)]


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=8))
def test_both_ends_are_those_of_the_reference(log):
    for _, outcome, run in both(recorded(log)):
        assert ids(run.restored.contents(run.cut)) == dict(outcome.restored.channels)
        assert ids(run.restored.contents(run.end)) == dict(outcome.end.channels)
        original = ids(run.original.contents(run.end))
        expected = outcome.original_end.channels
        assert {name: Counter(held) for name, held in original.items()} == {
            name: Counter(held) for name, held in expected.items()
        }
        for side, end in ((run.restored, outcome.end), (run.original, outcome.original_end)):
            states = {name: side.state(name, run.end) for name in side.states}
            assert {name: each for name, each in states.items() if each is not None} == dict(
                end.processes
            )


@settings(max_examples=examples(40), deadline=None)
@given(correct_runs(max_processes=8))
def test_a_consistent_snapshot_goes_on_alike_at_every_place(log):
    for report, outcome, run in both(recorded(log)):
        if report.verdict != "consistent":
            continue
        assert (outcome.equal, run.faults) == (True, ())
        for place in range(run.cut, run.end + 1):
            assert ids(run.restored.contents(place)) == ids(run.original.contents(place))
            for name in run.original.states:
                assert run.restored.state(name, place) == run.original.state(name, place)
            assert run.restored.total(place) == run.original.total(place)


@settings(max_examples=examples(60), deadline=None)
@given(runs(max_processes=8))
def test_a_run_that_ends_otherwise_has_a_fault_and_its_channels_differ_from_its_place_on(log):
    for _, outcome, run in both(recorded(log)):
        if outcome.differences_total:
            assert run.faults
        for fault in run.faults:
            assert run.beat(fault.place) in (STATES, CHANNELS, GOING_ON)


def test_the_beats_of_two_banks_lead_to_the_same_end():
    run = followed(two_banks())
    steps = steps_of(run)
    assert [step.beat for step in steps] == [1, 2, 2, 3, 3, 3] + [4] * (run.end - run.cut)
    assert [step.beat for step in steps] == [run.beat(place) for place in range(run.end + 1)]
    assert run.beats[:3] == (0, 2, 5)
    texts = [step.sentence for step in steps[:6]]
    assert texts[0] == (
        "The system is emptied: 2 processes have no state, and 2 channels hold nothing."
    )
    assert texts[1] == "A gets the state 9,000, which it recorded."
    assert texts[4] == (
        "m3 (2,000) is put back in channel B->A. Channel B->A is filled with m2 (1,000) and m3 "
        "(2,000)."
    )
    assert not run.restored.has_state("A", 0)
    assert run.restored.has_state("A", 1)
    assert not run.restored.has_state("B", 1)
    assert run.conserved == 15_000
    sums = {run.restored.total(place) for place in range(run.cut, run.end + 1)}
    assert sums == {15_000}
    assert run.restored.state("A", run.end) == run.original.state("A", run.end) == "11500"


@pytest.mark.parametrize(
    ("damaged", "kind", "beat", "words"),
    [
        (damage.wrong_state, "state-mismatch", STATES, "but its state at the cut was"),
        (damage.lose_recorded_message, "lost", CHANNELS, "it is lost"),
        (damage.duplicate_recorded_message, "duplicated", CHANNELS, "a second time"),
        (damage.record_late, "orphan", GOING_ON, "before the cut, and its state counts it"),
    ],
)
def test_each_fault_shows_first_at_its_beat(damaged, kind, beat, words):
    run = followed(damaged(simulated()).log)
    first = next(fault for fault in run.faults if fault.kind == kind)
    assert run.beat(first.place) == beat
    assert words in first.sentence


def test_an_orphan_alone_goes_wrong_only_when_its_sender_sends_it_again():
    log = (
        Script("orphan", {"A": 10, "B": 0}, ["A->B"])
        .record("A", "s1", at=1)
        .send("A->B", "m1", 4, state=6, at=2)
        .receive("A->B", "m1", state=4, at=3)
        .record("B", "s1", at=4)
        .record_channel("A->B", "s1", at=5)
        .internal("B", "closes", at=6)
        .log()
    )
    run = followed(log)
    (fault,) = run.faults
    assert (fault.kind, fault.place, run.beat(fault.place)) == ("orphan", run.cut + 1, GOING_ON)
    assert fault.sentence == (
        "A sends m1 (4) on A->B again: B had received it before the cut, and its state counts it. "
        "It gets it a second time."
    )
    assert (run.conserved, run.restored.total(run.end)) == (10, 14)


def test_a_lost_amount_is_missing_from_the_sum_from_its_beat_on():
    damaged = damage.lose_recorded_message(simulated())
    run = followed(damaged.log)
    value = next(int(e.value) for e in damaged.log.events if e.message == damaged.message)
    assert run.conserved == run.original.total(run.end)
    assert run.conserved - run.restored.total(run.cut) == value
    assert run.conserved - run.restored.total(run.end) == value


def test_an_orphan_is_in_the_channel_of_the_restored_run_and_in_none_of_the_original():
    damaged = damage.record_late(simulated())
    run = followed(damaged.log)
    fault = next(fault for fault in run.faults if fault.kind == "orphan")
    own = next(step for step in steps_of(run) if step.event and step.event.message == fault.message)
    assert own.event.kind == SEND
    assert fault.message in ids(run.restored.contents(run.end))[fault.channel]
    assert fault.message not in ids(run.original.contents(run.end)).get(fault.channel, ())


def test_a_receive_without_its_message_does_not_happen():
    damaged = damage.lose_recorded_message(simulated())
    run = followed(damaged.log)
    step = next(step for step in steps_of(run) if not step.happens)
    assert (step.event.kind, step.event.message) == (RECEIVE, damaged.message)
    assert "cannot receive" in step.sentence


def test_a_run_is_followed_until_its_system_goes_back():
    recording = recorded(after_a_restore())
    with pytest.raises(NotRestorable):
        restoring(recording, "s1")
    log, back = before_going_back(recording, "s1")
    under_way = restoring(log, "s1")
    run = follow(course_of(under_way))
    assert (back.epoch, back.snapshot) == (1, "s1")
    assert (under_way.report().equal, run.faults) == (True, ())
    assert [run.restored.state(name, run.end) for name in "pq"] == ["5", "7"]
    assert ids(run.restored.contents(run.end)) == {"p->q": ("m2",), "q->p": ("m3",)}
    assert ids(run.original.contents(run.end)) == {"p->q": ("m2",), "q->p": ("m3",)}


def test_a_snapshot_after_the_restore_is_followed_to_the_end_of_the_log():
    recording = recorded(after_a_restore())
    assert before_going_back(recording, "s2") == (recording, None)
