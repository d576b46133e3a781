"""Every verdict is provoked by a run with its fault, and has the right witness."""

import pytest

from snapshots.domain.judging.findings import MOST_WITNESSES, VERDICTS, Finding, Findings, Place
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.judging.witnesses import RECEIVING_RULE, SENDING_RULE
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
)
from tests import damage
from tests.builders import a_run, recorded, simulated

SEEDS = range(1, 6)


def judged(log, snapshot="s1"):
    return next(report for report in judge(recorded(log)) if report.snapshot == snapshot)


def of(report, verdict):
    return [finding for finding in report.findings if finding.verdict == verdict]


def only(report, verdict):
    (finding,) = of(report, verdict)
    return finding


def pair(finding):
    return finding.channel, finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_the_runs_that_are_damaged_here_are_consistent_before(seed):
    assert judged(simulated(seed=seed)).counts == {"consistent": 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_message_missing_from_a_recorded_channel_is_lost(seed):
    damaged = damage.lose_recorded_message(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    assert report.counts == {"lost": 1}
    assert pair(only(report, "lost")) == (damaged.channel, damaged.message)
    assert report.totals.conserved is False


@pytest.mark.parametrize("seed", SEEDS)
def test_a_message_recorded_twice_is_duplicated(seed):
    damaged = damage.duplicate_recorded_message(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    assert report.counts == {"duplicated": 1}
    assert pair(only(report, "duplicated")) == (damaged.channel, damaged.message)
    assert "more often than it is in flight" in only(report, "duplicated").sentence


def test_a_marker_that_arrived_is_not_said_never_to_have_been_sent():
    run = a_run().record("p", "s1").receive_marker("p->q", "s1").record("q", "s1")
    (report,) = judge(recorded(run))
    sentences = [item.sentence for item in report.findings if item.channel == "p->q"]
    assert sentences == [
        "p recorded its state for s1, but the log holds no marker that it sent on p->q."
    ]


def test_an_id_in_flight_twice_and_recorded_three_times_is_recorded_more_often():
    run = a_run().send("p->q", "m", 1).send("p->q", "m", 2).record("p", "s1").record("q", "s1")
    (report,) = judge(recorded(run.record_channel("p->q", "s1", "m", "m", "m")))
    (found,) = report.findings
    assert found.sentence.startswith("Duplicated: m (1) is recorded on p->q more often than it is")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wrong_recorded_state_is_a_mismatch_with_both_states(seed):
    damaged = damage.wrong_state(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    finding = only(report, "state-mismatch")
    assert report.counts == {"state-mismatch": 1}
    assert finding.process == damaged.process
    assert int(finding.recorded) == int(finding.recomputed) + 1
    assert finding.event.index == report.positions[damaged.process]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_marker_sent_late_breaks_the_sending_rule(seed):
    damaged = damage.marker_sent_late(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    finding = only(report, "marker-rule")
    assert report.counts == {"duplicated": 1, "marker-rule": 1}
    assert (*pair(finding), finding.rule) == (damaged.channel, damaged.message, SENDING_RULE)
    assert finding.sent.index > report.positions[finding.sent.process]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_process_that_records_late_leaves_an_orphan(seed):
    damaged = damage.record_late(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    assert report.verdict == "orphan"
    assert (damaged.channel, damaged.message) in map(pair, of(report, "orphan"))
    broken = {(*pair(finding), finding.rule) for finding in of(report, "marker-rule")}
    assert (damaged.channel, damaged.message, RECEIVING_RULE) in broken


@pytest.mark.parametrize("seed", SEEDS)
def test_a_message_that_overtakes_is_named_with_the_one_it_overtook(seed):
    damaged = damage.overtake(simulated(seed=seed))
    report = judged(damaged.log, damaged.snapshot)
    finding = only(report, "fifo-violation")
    assert report.counts == {"fifo-violation": 1}
    assert (*pair(finding), finding.other.message) == (
        damaged.channel,
        damaged.message,
        damaged.other,
    )
    assert finding.sent.index < finding.other.sent.index
    assert finding.received.index > finding.other.received.index


def test_a_marker_never_sent_leaves_the_snapshot_incomplete_from_there_on():
    log = simulated(shapes.ring(4), protocol=damage.never_sending("p2->p3", "s1"))
    report = judged(log)
    processes = [finding.process for finding in of(report, "incomplete") if not finding.channel]
    (channel,) = [finding for finding in of(report, "incomplete") if finding.channel]
    assert report.verdict == "incomplete"
    assert processes == ["p3", "p4"]
    assert (channel.channel, channel.path) == ("p2->p3", ("p1->p2", "p2->p3"))
    assert of(report, "incomplete")[1].path == ("p1->p2", "p2->p3", "p3->p4")


def test_a_marker_never_sent_is_reported_even_if_every_process_recorded():
    report = judged(simulated(protocol=damage.never_sending("p1->p2", "s1")))
    assert report.counts == {"incomplete": 1}
    assert only(report, "incomplete").channel == "p1->p2"
    assert len(report.positions) == 4


def test_in_an_incomplete_snapshot_the_channels_between_recorded_processes_are_judged():
    run = a_run({"p": 1, "q": 2, "r": 3}, ["p->q", "q->r"])
    run.send("p->q", "m1", 1, state=0).record("p", "s1").record("q", "s1")
    report = judged(run.record_channel("p->q", "s1"))
    assert set(report.counts) == {"lost", "incomplete"}
    assert report.in_flight == {"p->q": (0,)}
    assert (report.totals.processes, report.totals.channels) == (None, None)


def test_a_marker_that_never_arrived_leaves_its_channel_open():
    log = simulated()
    last = max(event.line for event in log.events if event.kind == MARKER_RECEIVE)
    report = judged(damage.unfinished(log, last - 2))
    finding = only(report, "incomplete")
    assert finding.channel == log.events[last - 2].channel
    assert (finding.path[-1], finding.received) == (finding.channel, None)


def test_a_process_that_no_path_leads_to_is_named_without_a_path():
    report = judged(a_run(channels=["q->p"]).record("p", "s1"))
    assert (only(report, "incomplete").process, only(report, "incomplete").path) == ("q", None)
    assert "No path" in only(report, "incomplete").sentence


def test_a_recorded_message_that_was_received_before_would_count_twice():
    run = a_run().send("p->q", "m1", 1, state=9).receive("p->q", "m1", state=6)
    report = judged(run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m1"))
    assert report.counts == {"duplicated": 1}
    assert "q had received it" in only(report, "duplicated").sentence


def test_a_recorded_message_that_was_not_sent_yet_would_be_sent_again():
    run = a_run().record("p", "s1").record("q", "s1").send("p->q", "m1", 1, state=9)
    report = judged(run.record_channel("p->q", "s1", "m1").receive("p->q", "m1", state=6))
    assert report.counts == {"duplicated": 1}
    assert "p sent it after" in only(report, "duplicated").sentence


def test_a_recorded_message_that_the_log_never_sends_is_not_known():
    run = a_run().record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m9")
    assert pair(only(judged(run), "unknown")) == ("p->q", "m9")


def test_a_recorded_channel_in_another_order_than_sent_names_both_messages():
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1").record("q", "s1")
    finding = only(judged(run.record_channel("p->q", "s1", "m2", "m1")), "fifo-violation")
    assert (finding.message, finding.other.message) == ("m1", "m2")


def test_the_recorded_order_does_not_matter_on_a_channel_that_is_not_fifo():
    run = a_run(fifo=False).send("p->q", "m1", 1).send("p->q", "m2", 2)
    run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m2", "m1")
    assert judged(run).verdict == "consistent"


def test_overtaking_is_found_without_any_channel_record():
    damaged = damage.overtake(simulated())
    report = judged(damage.without(damaged.log, RECORD_CHANNEL), damaged.snapshot)
    assert report.counts == {"fifo-violation": 1}
    assert pair(only(report, "fifo-violation")) == (damaged.channel, damaged.message)


def test_a_message_in_flight_is_named_with_the_one_that_overtook_it_and_arrived_inside():
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1")
    run.receive("p->q", "m2").record("q", "s1").receive("p->q", "m1")
    finding = only(judged(run), "fifo-violation")
    assert (finding.message, finding.other.message) == ("m1", "m2")


def test_a_message_that_overtakes_the_marker_is_named_with_the_marker():
    run = a_run().record("p", "s1").send_marker("p->q", "s1").send("p->q", "m1", 1)
    run.receive("p->q", "m1").receive_marker("p->q", "s1").record("q", "s1")
    report = judged(run.record_channel("p->q", "s1"))
    finding = only(report, "fifo-violation")
    assert report.verdict == "orphan"
    assert (finding.message, finding.other.message) == (None, "m1")
    assert "m1 (1) was received before the marker of s1" in finding.sentence


def test_a_message_that_vanished_on_a_fifo_channel_was_overtaken():
    run = a_run().send("p->q", "m1", 1).record("p", "s1").send_marker("p->q", "s1")
    run.receive_marker("p->q", "s1").record("q", "s1").record_channel("p->q", "s1")
    finding = only(judged(run), "fifo-violation")
    assert (finding.message, finding.received) == ("m1", None)
    assert finding.other.snapshot == "s1"


def test_overtaking_outside_of_the_channel_states_of_a_snapshot_is_no_fault_of_it():
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2)
    run.receive("p->q", "m2").receive("p->q", "m1").record("p", "s1").record("q", "s1")
    assert judged(run).verdict == "consistent"


def test_a_message_between_the_marker_and_the_recording_breaks_the_sending_rule():
    run = a_run().send_marker("p->q", "s1").send("p->q", "m1", 1).record("p", "s1")
    run.receive_marker("p->q", "s1").record("q", "s1").record_channel("p->q", "s1")
    report = judged(run.receive("p->q", "m1"))
    finding = only(report, "marker-rule")
    assert (finding.message, finding.rule) == ("m1", SENDING_RULE)
    assert pair(only(report, "lost")) == ("p->q", "m1")


def test_a_recorded_state_beside_a_state_that_the_log_does_not_hold_is_not_compared():
    run = a_run().internal("p", "works", state=None).record("p", "s1", state=4).record("q", "s1")
    report = judged(run)
    assert report.counts == {"consistent": 1}
    assert report.recorded_states["p"] == "4"
    assert report.recomputed_states == {"q": "5"}


def test_a_recorded_state_that_is_not_given_is_not_compared():
    assert judged(a_run().record("p", "s1", state=None).record("q", "s1")).verdict == "consistent"


def test_a_stray_receive_inside_the_cut_makes_it_unknown_and_outside_does_not():
    inside = a_run().receive("p->q", "m7").record("p", "s1").record("q", "s1")
    outside = a_run().record("p", "s1").record("q", "s1").receive("p->q", "m7")
    assert pair(only(judged(inside), "unknown")) == ("p->q", "m7")
    assert judged(outside).verdict == "consistent"


def test_a_marker_that_nobody_sent_hides_no_message():
    run = a_run().receive_marker("p->q", "s1").record("q", "s1").record("p", "s1")
    report = judged(run)
    assert "unknown" not in report.counts
    assert report.initiators == ("p",)


def test_a_message_received_twice_makes_later_snapshots_unknown():
    run = a_run().send("p->q", "m1", 1).receive("p->q", "m1").receive("p->q", "m1")
    assert judged(run.record("p", "s1").record("q", "s1")).counts == {"unknown": 1}


def test_an_id_sent_twice_stands_for_two_messages():
    run = a_run().send("p->q", "m1", 1).send("p->q", "m1", 2).record("p", "s1").record("q", "s1")
    whole = judged(run.record_channel("p->q", "s1", "m1", "m1"))
    assert (whole.verdict, whole.in_flight["p->q"]) == ("consistent", (0, 1))
    run = a_run().send("p->q", "m1", 1).send("p->q", "m1", 2).record("p", "s1").record("q", "s1")
    short = judged(run.record_channel("p->q", "s1", "m1"))
    assert (only(short, "lost").message, only(short, "lost").value) == ("m1", "2")


def test_without_channel_records_the_verdict_is_the_same_but_nothing_is_compared():
    damaged = damage.lose_recorded_message(simulated())
    report = judged(damage.without(damaged.log, RECORD_CHANNEL))
    assert report.verdict == "consistent"
    assert report.recorded_channels == {}
    assert report.in_flight == judged(simulated()).in_flight


def test_without_markers_their_rules_are_not_checked():
    log = damage.without(simulated(), MARKER_SEND, MARKER_RECEIVE)
    report = judged(log)
    assert (report.verdict, report.initiators) == ("consistent", ("p1",))
    assert (report.markers_sent, report.markers_received) == (0, 0)


def test_initiators_are_the_processes_that_recorded_before_a_marker_arrived():
    log = simulated(snapshots=((5_000, ("p3", "p1")), (5_100, ("p2",))))
    assert [report.initiators for report in judge(recorded(log))] == [("p1", "p3"), ("p2",)]


def test_a_snapshot_lasts_from_its_first_event_to_the_last_channel_closed():
    log = simulated()
    at = [event.at for event in log.events if event.snapshot == "s1"]
    report = judged(log)
    assert (report.began_at, report.ended_at) == (min(at), max(at))
    assert (report.markers_sent, report.markers_received) == (12, 12)
    assert report.recorded_at == {
        event.process: event.at
        for event in sorted(log.events, key=lambda event: event.process)
        if event.kind == RECORD_STATE
    }


def test_of_two_records_of_one_state_the_first_counts():
    run = a_run().record("p", "s1").internal("p", "works", state=3).record("p", "s1")
    report = judged(run.record("q", "s1"))
    assert (report.verdict, report.positions) == ("consistent", {"p": 0, "q": 0})


def test_snapshots_are_sorted_by_their_beginning():
    run = a_run().record("q", "z").record("p", "a").record("p", "z")
    assert [report.snapshot for report in judge(recorded(run))] == ["z", "a"]


def test_a_channel_from_a_process_to_itself_is_a_channel_like_any_other():
    run = a_run({"p": 1}, {"loop": ("p", "p")}).send("loop", "m1", 1, state=0)
    report = judged(run.record("p", "s1").receive("loop", "m1", state=1))
    assert (report.verdict, report.in_flight) == ("consistent", {"loop": (0,)})


def test_totals_are_not_known_where_a_state_is_no_number():
    totals = judged(a_run({"p": "red", "q": 5}).record("p", "s1").record("q", "s1")).totals
    assert (totals.start, totals.conserved) == (None, None)


def test_totals_compare_whole_numbers_exactly_and_fractions_nearly():
    big = judged(a_run({"p": 10**18, "q": 1}).record("p", "s1").record("q", "s1", state=2)).totals
    run = a_run({"p": 0.7, "q": 0.1}, ["p->q"]).send("p->q", "m1", 0.6, state=0.1)
    small = judged(run.record("p", "s1").record("q", "s1")).totals
    assert (big.conserved, small.conserved) == (False, True)


def test_only_the_first_witnesses_of_a_verdict_are_kept_but_all_are_counted():
    run = a_run()
    for n in range(MOST_WITNESSES + 30):
        run.send("p->q", f"m{n}", 1)
    report = judged(run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1"))
    assert report.counts == {"lost": MOST_WITNESSES + 30}
    assert [f.message for f in report.findings] == [f"m{n}" for n in range(MOST_WITNESSES)]


def test_findings_are_sorted_worst_first():
    findings = Findings()
    for verdict in reversed(VERDICTS):
        findings.add(Finding(verdict, "so it is"))
    assert [finding.verdict for finding in findings.worst_first()] == list(VERDICTS)
    assert list(findings.worst_first_counts()) == list(VERDICTS)


def test_a_finding_as_json_has_the_keys_that_apply():
    finding = Finding(
        "orphan", "so it is", channel="p->q", message="m1", value="null", sent=Place("p", 3, 40)
    )
    assert as_json(finding) == {
        "verdict": "orphan",
        "sentence": "so it is",
        "channel": "p->q",
        "message": "m1",
        "value": None,
        "sent": {"process": "p", "index": 3, "at": 40},
    }


def test_a_summary_has_the_keys_of_the_contract():
    summary = judged(simulated()).summary()
    assert list(summary) == [
        "snapshot",
        "verdict",
        "answers",
        "verdicts",
        "verdict_counts",
        "initiators",
        "began_at",
        "ended_at",
        "duration",
        "markers_sent",
        "markers_received",
        "positions",
        "recorded_at",
        "totals",
    ]
    assert summary["verdict_counts"] == [{"verdict": "consistent", "count": 1}]
    assert summary["duration"] == summary["ended_at"] - summary["began_at"]
    assert summary["totals"]["conserved"] is True


@pytest.mark.parametrize("verdict", damage.DAMAGES)
def test_every_damage_provokes_its_verdict(verdict):
    damaged = damage.DAMAGES[verdict](simulated(seed=9))
    assert verdict in judged(damaged.log, damaged.snapshot).counts
