"""Four questions, each answered by itself: the cut, the channels, the states, the rule."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from snapshots.domain.judging.answers import (
    CHANNELS,
    CUT,
    FAILS,
    HOLDS,
    NOT_KNOWN,
    QUESTIONS,
    RULE,
    STATES,
    VERDICTS_OF,
)
from snapshots.domain.judging.findings import CONSISTENT, UNKNOWN, VERDICTS
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND
from snapshots.domain.model.topology import Process, Topology
from snapshots.domain.simulators.script import Log
from tests.builders import a_run, correct_runs, recorded, runs, simulated
from tests.effort import examples

ALL_HOLD = dict.fromkeys(QUESTIONS, HOLDS)


def answered(log, snapshot="s1"):
    (report,) = (item for item in judge(recorded(log)) if item.snapshot == snapshot)
    return {item.question: item for item in report.answers}, report.verdict


def words(log, snapshot="s1"):
    found, verdict = answered(log, snapshot)
    return {question: item.answer for question, item in found.items()}, verdict


def both_record(run):
    return run.record("p", "s1").record("q", "s1")


def closed(run):
    return run.record_channel("p->q", "s1").record_channel("q->p", "s1")


def test_a_correct_protocol_holds_in_all_four():
    (report,) = judge(recorded(simulated()))
    assert {item.question: item.answer for item in report.answers} == ALL_HOLD
    assert [item.not_compared for item in report.answers] == [None] * 4


def test_every_verdict_but_two_speaks_against_one_answer():
    named = [verdict for verdicts in VERDICTS_OF.values() for verdict in verdicts]
    assert sorted(named) == sorted(set(VERDICTS) - {UNKNOWN, CONSISTENT})


def test_states_that_nobody_logged_leave_the_cut_consistent():
    run = closed(both_record(a_run().internal("p", "works", state=None)))
    found, verdict = words(run)
    assert verdict == CONSISTENT
    assert found[CUT] == found[CHANNELS] == HOLDS
    run = a_run().internal("p", "works", state=None).record("p", "s1", state=4)
    answers, verdict = answered(closed(run.record("q", "s1")))
    assert (answers[STATES].answer, verdict) == (NOT_KNOWN, CONSISTENT)
    assert "1 process at the cut" in answers[STATES].sentence


def test_recordings_without_a_state_are_not_known():
    run = closed(a_run().record("p", "s1", state=None).record("q", "s1"))
    answers, _ = answered(run)
    assert answers[STATES].answer == NOT_KNOWN
    assert "which state 1 process recorded" in answers[STATES].sentence


def test_an_orphan_speaks_against_the_cut_alone():
    run = a_run().record("p", "s1").send("p->q", "m1").receive("p->q", "m1").record("q", "s1")
    answers, verdict = answered(closed(run))
    assert (answers[CUT].answer, verdict) == (FAILS, "orphan")
    assert answers[CUT].sentence == "1 message was received inside the cut and sent outside it."
    assert answers[CHANNELS].answer == HOLDS


def test_a_channel_that_is_recorded_wrong_leaves_the_cut_alone():
    run = a_run().send("p->q", "m1").record("p", "s1").record("q", "s1")
    answers, verdict = answered(closed(run))
    assert (answers[CHANNELS].answer, verdict) == (FAILS, "lost")
    assert answers[CUT].answer == HOLDS


def test_messages_in_flight_that_no_record_tells_of_are_not_known():
    run = a_run().send("p->q", "m1").record("p", "s1").record("q", "s1")
    answers, verdict = answered(run)
    assert (answers[CHANNELS].answer, verdict) == (NOT_KNOWN, CONSISTENT)
    assert answers[CHANNELS].sentence.startswith("1 message was in flight where the log does not")


def test_empty_channels_without_a_record_hold_and_say_so():
    answers, _ = answered(both_record(a_run()))
    assert answers[CHANNELS].answer == HOLDS
    assert answers[CHANNELS].not_compared == "The log has no record of any channel."
    answers, _ = answered(both_record(a_run()).record_channel("p->q", "s1"))
    assert "1 channel" in answers[CHANNELS].not_compared


def test_a_receive_without_a_send_leaves_the_cut_unknown():
    run = closed(a_run().receive("p->q", "m7").record("p", "s1").record("q", "s1"))
    answers, verdict = answered(run)
    assert (answers[CUT].answer, verdict) == (NOT_KNOWN, UNKNOWN)
    assert answers[CHANNELS].answer == HOLDS


def test_a_recorded_message_that_is_never_sent_leaves_the_channels_unknown():
    run = both_record(a_run()).record_channel("p->q", "s1", "m9").record_channel("q->p", "s1")
    answers, verdict = answered(run)
    assert (answers[CHANNELS].answer, verdict) == (NOT_KNOWN, UNKNOWN)
    assert answers[CUT].answer == HOLDS


def test_a_process_that_never_recorded_breaks_the_rule_and_hides_the_rest():
    answers, verdict = answered(a_run().record("p", "s1"))
    assert (answers[RULE].answer, verdict) == (FAILS, "incomplete")
    assert [answers[name].answer for name in (CUT, CHANNELS, STATES)] == [NOT_KNOWN] * 3
    assert "1 of 2 processes never recorded" in answers[CUT].sentence


@pytest.mark.parametrize(
    ("times", "said"),
    [((5, 18), "recorded 13 µs apart"), ((0, 0), "recorded 0 µs apart"), ((4, 2_500), "2.5 ms")],
)
def test_rules_that_were_not_checked_are_not_known_and_the_likely_cause_is_said(times, said):
    header, events = closed(both_record(a_run())).log()
    first, second = (place for place, event in enumerate(events) if event.kind == "record_state")
    placed = dict(zip((first, second), times, strict=True))
    timed = [replace(event, at=placed.get(place)) for place, event in enumerate(events)]
    answers, verdict = answered(Log(header, timed))
    assert (answers[RULE].answer, verdict) == (NOT_KNOWN, CONSISTENT)
    assert "no marker" in answers[RULE].sentence
    assert said in answers[RULE].sentence


def test_processes_without_channels_need_no_marker():
    alone = replace(simulated().header, topology=Topology((Process("p"),), ()))
    record = a_run().record("p", "s1").log().events[0]
    (report,) = judge(recorded(Log(alone, (record,))))
    assert {item.question: item.answer for item in report.answers}[RULE] == HOLDS


def test_a_log_without_times_does_not_say_how_far_apart_processes_recorded():
    header, events = closed(both_record(a_run())).log()
    answers, _ = answered(Log(replace(header, time_unit="step"), events))
    assert answers[RULE].answer == NOT_KNOWN
    assert "apart" not in answers[RULE].sentence


def test_nothing_holds_in_a_derived_recording():
    header, events = simulated()
    derived = Log(replace(header, extra={"derived": True}), events)
    (report,) = judge(recorded(derived))
    assert {item.answer for item in report.answers} == {NOT_KNOWN}
    assert report.verdict == UNKNOWN


@settings(max_examples=examples(60), deadline=None)
@given(runs())
def test_the_verdict_follows_from_the_answers(log):
    for report in judge(recorded(log)):
        found = {item.question: item.answer for item in report.answers}
        for question, verdicts in VERDICTS_OF.items():
            assert (found[question] == FAILS) == any(name in report.counts for name in verdicts)
        if report.verdict == CONSISTENT:
            assert found[CUT] == HOLDS
            has_markers = any(event.kind in (MARKER_SEND, MARKER_RECEIVE) for event in log.events)
            assert found[RULE] == HOLDS or not has_markers
            assert found[CHANNELS] != FAILS
        if report.verdict == UNKNOWN:
            assert NOT_KNOWN in (found[CUT], found[CHANNELS])


@settings(max_examples=examples(30), deadline=None)
@given(correct_runs())
def test_correct_runs_break_no_rule_but_that_some_process_cannot_be_reached(log):
    for report in judge(recorded(log)):
        failing = {item.question for item in report.answers if item.answer == FAILS}
        assert failing <= ({RULE} if report.verdict == "incomplete" else set())


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_is_a_sentence(question):
    answers, _ = answered(both_record(a_run()))
    assert answers[question].sentence.endswith(".")
    assert answers[question].sentence[0].isupper() or answers[question].sentence[0].isdigit()
