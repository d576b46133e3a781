"""A restored run ends as the original did if the snapshot is right, else shows the difference."""

import pytest
from hypothesis import given, settings

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import RECORD_CHANNEL
from snapshots.domain.replaying.replayed_state import (
    ReplayedStep,
    replay_channel,
    replay_process,
    same_contents,
)
from snapshots.domain.replaying.restore import MOST_DIFFERENCES, NotRestorable, restore
from tests import damage
from tests.builders import a_run, correct_runs, recorded, runs, simulated
from tests.effort import examples


def restored(log, snapshot="s1"):
    return restore(recorded(log), snapshot)


def steps(*states):
    return [ReplayedStep(state, happens=True) for state in states]


@settings(max_examples=examples(50), deadline=None)
@given(correct_runs(max_processes=10))
def test_a_consistent_snapshot_restored_ends_as_the_original_did(log):
    recording = recorded(log)
    for report in judge(recording):
        if report.verdict == "consistent":
            outcome = restore(recording, report.snapshot)
            assert (outcome.equal, outcome.end) == (True, outcome.original_end)


@settings(max_examples=examples(60), deadline=None)
@given(runs(max_processes=8, fifo=True))
def test_lost_duplicated_and_orphaned_messages_always_show_in_a_restore(log):
    recording = recorded(log)
    for report in judge(recording):
        if len(report.positions) == len(recording.topology.processes) and {
            "orphan",
            "lost",
            "duplicated",
        } & set(report.counts):
            assert not restore(recording, report.snapshot).equal


def test_events_inside_the_cut_are_skipped_and_all_others_replayed():
    log = simulated()
    outcome = restored(log)
    inside = sum(judge(recorded(log))[0].positions.values())
    assert (outcome.skipped, outcome.replayed) == (inside, len(log.events) - inside)
    assert 0 < inside < len(log.events)


def test_a_wrong_amount_stays_wrong_to_the_end():
    damaged = damage.wrong_state(simulated())
    outcome = restored(damaged.log)
    first, last = outcome.first_difference, outcome.differences[-1]
    assert (first.process, int(first.found) - int(first.expected)) == (damaged.process, 1)
    assert first.event.index > 0
    assert (last.event, int(last.found) - int(last.expected)) == (None, 1)
    assert outcome.differences_total == 2


def test_a_lost_message_cannot_be_received_and_its_amount_is_missing_at_the_end():
    damaged = damage.lose_recorded_message(simulated())
    outcome = restored(damaged.log)
    first = outcome.first_difference
    value = next(e.value for e in damaged.log.events if e.message == damaged.message)
    assert (first.channel, first.message, first.found) == (damaged.channel, damaged.message, None)
    assert "cannot receive" in first.sentence
    assert int(outcome.differences[-1].expected) - int(outcome.differences[-1].found) == int(value)


def test_a_message_recorded_twice_stays_in_the_channel():
    damaged = damage.duplicate_recorded_message(simulated())
    outcome = restored(damaged.log)
    assert outcome.end.channels == {damaged.channel: (damaged.message,)}
    assert outcome.original_end.channels == {}
    assert outcome.differences[-1].found == f'"{damaged.message}"'


def test_messages_recorded_out_of_order_differ_where_one_stands_before_the_other():
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1").record("q", "s1")
    run.record_channel("p->q", "s1", "m2", "m1").receive("p->q", "m1").receive("p->q", "m2")
    outcome = restored(run)
    assert outcome.differences_total == 1
    assert (outcome.first_difference.message, outcome.first_difference.found) == ("m1", '"m2"')


def test_an_orphan_is_sent_again_and_stays_in_its_channel():
    run = a_run().record("p", "s1").send("p->q", "m1", 1, state=9)
    outcome = restored(run.receive("p->q", "m1", state=6).record("q", "s1"))
    assert outcome.end.channels == {"p->q": ("m1",)}
    assert not outcome.equal


def test_what_the_log_does_not_record_is_restored_from_the_log_and_named():
    log = damage.without(simulated(), RECORD_CHANNEL)
    outcome = restored(log)
    assert outcome.equal
    assert outcome.channels_from_log == tuple(c.id for c in log.header.topology.channels)
    assert outcome.processes_from_log == ()
    bare = restored(a_run().record("p", "s1", state=None).record("q", "s1"))
    assert (bare.processes_from_log, bare.restored.processes) == (("p",), {"p": "10", "q": "5"})


def test_messages_still_in_flight_at_the_end_are_so_after_a_restore():
    run = a_run().send("p->q", "m1", 1).record("p", "s1").record("q", "s1").send("p->q", "m2", 1)
    outcome = restored(run)
    assert outcome.equal
    assert outcome.end.channels == {"p->q": ("m1", "m2")}
    assert outcome.restored.channels == {"p->q": ("m1",)}


def test_differences_are_sorted_by_the_order_of_their_events():
    run = a_run().send("p->q", "m1", 1, state=9).record("p", "s1").record("q", "s1", state=7)
    run.record_channel("p->q", "s1").internal("p", "works").receive("p->q", "m1", state=6)
    outcome = restored(run.internal("q", "works"))
    assert [(d.event and d.event.index, d.message) for d in outcome.differences] == [
        (2, None),
        (2, "m1"),
        (None, None),
    ]


def test_a_snapshot_that_is_not_complete_cannot_be_restored():
    with pytest.raises(NotRestorable, match="q never recorded a state"):
        restored(a_run().record("p", "s1"))


def test_a_snapshot_that_the_log_does_not_name_cannot_be_restored():
    with pytest.raises(NotRestorable, match="no snapshot s9"):
        restored(a_run().record("p", "s1"), "s9")


def test_of_many_differences_the_first_are_kept_and_all_counted():
    run = a_run()
    for n in range(MOST_DIFFERENCES + 20):
        run.send("p->q", f"m{n}", state=None)
    run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1")
    for n in range(MOST_DIFFERENCES + 20):
        run.receive("p->q", f"m{n}")
    outcome = restored(run)
    assert outcome.differences_total >= MOST_DIFFERENCES + 20
    assert len(outcome.differences) == MOST_DIFFERENCES


def test_a_report_as_json_holds_the_first_difference_and_both_ends():
    answer = as_json(restored(damage.wrong_state(simulated()).log))
    assert answer["equal"] is False
    assert answer["first_difference"] == answer["differences"][0]
    assert isinstance(answer["first_difference"]["found"], int)
    assert answer["end"]["processes"].keys() == answer["original_end"]["processes"].keys()
    assert as_json(restored(simulated()))["first_difference"] is None


class TestAChannelReplayed:
    def test_gives_its_messages_in_order_and_keeps_the_rest(self):
        replay = replay_channel(["a", "b", "c"], ["a", "b"], fifo=True)
        assert (replay.missing, replay.overtaking, replay.left) == ((), (), ("c",))

    def test_reports_messages_that_it_does_not_hold(self):
        replay = replay_channel(["b"], ["a", "b"], fifo=True)
        assert (replay.missing, replay.overtaking, replay.left) == ((0,), (), ())

    def test_names_the_message_that_stands_before(self):
        replay = replay_channel(["a", "b"], ["b", "a"], fifo=True)
        assert (replay.missing, replay.overtaking, replay.left) == ((), ((0, "a"),), ())

    def test_gives_them_in_any_order_where_it_is_not_fifo(self):
        replay = replay_channel(["a", "b"], ["b", "a"], fifo=False)
        assert (replay.missing, replay.overtaking, replay.left) == ((), (), ())

    def test_gives_the_first_of_two_with_one_id(self):
        replay = replay_channel(["a", "b", "a"], ["a"], fifo=True)
        assert replay.left == ("b", "a")

    def test_is_compared_in_order_only_where_it_is_fifo(self):
        assert not same_contents(["a", "b"], ["b", "a"], fifo=True)
        assert same_contents(["a", "b"], ["b", "a"], fifo=False)
        assert not same_contents(["a", "a"], ["a"], fifo=False)


class TestAProcessReplayed:
    def test_follows_the_log_where_it_starts_as_the_log_does(self):
        assert replay_process('"A"', '"A"', steps('"B"', '"A"')).end == '"A"'

    def test_carries_a_wrong_number_along(self):
        replay = replay_process("7", "5", steps("6", "9"))
        assert (replay.end, replay.differs_at) == ("11", 0)
        assert (replay.expected, replay.found) == ("5", "7")

    def test_carries_it_along_inside_an_object(self):
        start = '{"balance":7,"name":"x"}', '{"balance":5,"name":"x"}'
        replay = replay_process(*start, steps('{"balance":9,"name":"x"}'))
        assert replay.end == '{"balance":11,"name":"x"}'

    def test_stays_as_it_is_where_a_state_is_no_number(self):
        assert replay_process('"A"', '"B"', steps('"C"', '"D"')).end == '"A"'

    def test_stays_where_more_than_the_number_differs(self):
        start = '{"balance":7,"name":"y"}', '{"balance":5,"name":"x"}'
        replay = replay_process(*start, steps('{"balance":9,"name":"x"}'))
        assert replay.end == start[0]

    def test_carries_a_number_over_states_that_are_not_known(self):
        assert replay_process("7", "5", steps(None, "9")).end == "11"

    def test_ends_not_known_where_the_log_does(self):
        assert replay_process("5", "5", steps("9", None)).end is None

    def test_takes_the_first_state_that_the_log_knows(self):
        replay = replay_process(None, None, steps(None, "9"))
        assert (replay.end, replay.differs_at) == ("9", None)
        assert replay_process("7", None, steps(None, "9")).end == "9"

    def test_leaves_out_what_cannot_happen(self):
        events = [*steps("6"), ReplayedStep("16", happens=False), *steps("17")]
        replay = replay_process("5", "5", events)
        assert (replay.end, replay.differs_at, replay.expected) == ("7", 2, "16")

    def test_is_not_known_after_a_receive_that_cannot_happen_and_has_no_state(self):
        events = [ReplayedStep(None, happens=False), *steps("17")]
        assert replay_process("5", "5", events).end is None

    def test_is_not_known_after_a_receive_that_cannot_happen_behind_an_unknown_state(self):
        events = [*steps(None), ReplayedStep("16", happens=False), *steps("17")]
        assert replay_process("5", "5", events).end is None


def test_an_orphan_is_said_to_be_delivered_twice():
    run = a_run().record("p", "s1").send("p->q", "m1").receive("p->q", "m1").record("q", "s1")
    (difference,) = restore(recorded(run), "s1").differences
    assert difference.sentence.endswith(
        "q received m1 before the snapshot, and p sends it again after it: it is delivered twice."
    )
    run = a_run().record("p", "s1").send("p->q", "m1").send("p->q", "m2")
    run = run.receive("p->q", "m1").receive("p->q", "m2").record("q", "s1")
    (difference,) = restore(recorded(run), "s1").differences
    assert "2 messages before the snapshot, m1 first" in difference.sentence
    lost = a_run().send("p->q", "m1").record("p", "s1").record("q", "s1")
    (difference,) = restore(recorded(lost.record_channel("p->q", "s1")), "s1").differences
    assert "twice" not in difference.sentence
