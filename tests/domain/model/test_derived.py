"""A recording derived from checkpoints says once, in words, what is not known, and why."""

from dataclasses import replace

import pytest

from snapshots.domain.conditions.expressions import Expression, ExpressionError
from snapshots.domain.conditions.predicates import detect
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.judging.witnesses import LONGEST_SHOWN
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import (
    ALIGNED,
    NO_FILES,
    NOT_TOLD,
    PROVES_NOTHING,
    WHY_EMPTY,
    WHY_UNKNOWN,
    flaws,
    is_derived,
    why_empty,
    why_unknown,
)
from snapshots.domain.properties import BUILT_IN, strip
from snapshots.domain.properties.global_state import at_start, of_report
from snapshots.domain.properties.own import answer, variables
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.restore import restore
from snapshots.domain.simulators.script import Log
from tests.builders import a_run, recorded, simulated


def two_unknown_states() -> Log:
    run = a_run().internal("p", "works", state=None).internal("q", "works", state=None)
    return run.record("p", "s1", state={"bytes": 4}).record("q", "s1", state=5).log()


def derived(log: Log) -> Log:
    return Log(replace(log.header, extra={"derived": True}), log.events)


def test_states_of_a_derived_snapshot_are_one_finding_without_their_json():
    [report] = judge(recorded(derived(two_unknown_states())))
    [finding] = report.findings
    assert (finding.verdict, report.counts) == ("unknown", {"unknown": 1})
    assert finding.sentence.startswith("Not judged: the recording is derived from the checkpoint")
    assert "2 processes" in finding.sentence
    assert "{" not in finding.sentence


def test_what_equals_itself_is_not_called_consistent():
    """The state that a derived recording recomputes is the one that its files say was recorded."""
    run = a_run().internal("p", "read", state=7).record("p", "s1", state=7)
    log = run.record("q", "s1", state=None).record_channel("p->q", "s1").log()
    assert judge(recorded(log))[0].verdict == "consistent"
    [report] = judge(recorded(derived(log)))
    assert (report.verdict, report.counts) == ("unknown", {"unknown": 1})
    assert "2 processes" in report.findings[0].sentence


def test_flaws_are_findings_of_the_snapshots_that_they_belong_to():
    run = a_run().record("p", "s1").record("q", "s1").record("p", "s2").record("q", "s2")
    header, events = derived(run.log())
    header_flaws = {"sentences": ["A file is gone.", "It is ahead."], "snapshots": {"s1": [1, 0]}}
    log = Log(replace(header, extra=header.extra | {"flaws": header_flaws}), events)
    s1, s2 = judge(recorded(log))
    assert [item.sentence for item in s1.findings[:2]] == ["It is ahead.", "A file is gone."]
    assert (s1.counts, s2.counts) == ({"unknown": 3}, {"unknown": 1})
    plain = Log(replace(header, extra={"flaws": header_flaws}), events)
    assert {report.verdict for report in judge(recorded(plain))} == {"consistent"}


def test_states_that_a_log_does_not_hold_are_one_answer():
    [report] = judge(recorded(two_unknown_states()))
    assert report.counts == {"consistent": 1}
    assert "2 processes" in report.answers[2].sentence


def test_a_state_that_differs_stays_a_mismatch_in_a_derived_recording():
    log = a_run().record("p", "s1", state=4).record("q", "s1").log()
    [report] = judge(recorded(derived(log)))
    assert report.verdict == "state-mismatch"


def test_long_states_and_values_are_cut_in_sentences_and_say_so():
    long = "x" * 1000
    run = a_run().record("p", "s1", state=long)
    [report] = judge(recorded(run.record("q", "s1")))
    [finding] = report.findings
    assert "… (1,002 characters)" in finding.sentence
    assert len(finding.sentence) < LONGEST_SHOWN + 200
    assert finding.recorded == f'"{long}"'
    run = a_run().send("p->q", "m1", long).record("p", "s1").record("q", "s1")
    [report] = judge(recorded(run.record_channel("p->q", "s1")))
    assert "… (1,002 characters)" in report.findings[0].sentence


def test_a_header_says_for_each_snapshot_or_for_all_why_channels_are_empty_or_not_known():
    header = {"why_empty": {"1": ALIGNED}, "why_unknown": {"2": NO_FILES}}
    assert why_empty(header, "1") == WHY_EMPTY[ALIGNED]
    assert why_empty(header, "2") is None
    assert why_unknown(header, "2") == WHY_UNKNOWN[NO_FILES]
    assert why_unknown(header, "1") == WHY_UNKNOWN[NOT_TOLD]
    assert why_empty({"why_empty": ALIGNED}, "any") == WHY_EMPTY[ALIGNED]


@pytest.mark.parametrize(
    "odd", [None, 5, [], ["aligned"], {"1": ["aligned"]}, {"1": {}}, "nothing"]
)
def test_an_uploaded_header_may_say_anything(odd):
    header = {"derived": odd, "why_empty": odd, "why_unknown": odd}
    assert not is_derived(header)
    assert why_empty(header, "1") is None
    assert why_unknown(header, "1") == WHY_UNKNOWN[NOT_TOLD]
    for flawed in (odd, {"sentences": odd, "snapshots": {"1": [0]}}, {"snapshots": {"1": odd}}):
        findings = flaws({"derived": True, "flaws": flawed}, "1")
        assert all(finding.sentence == "aligned" for finding in findings)
    several = {"sentences": ["It is gone.", 5], "snapshots": {"1": [True, 0, 1, 2, -1, None]}}
    assert len(list(flaws({"derived": True, "flaws": several}, "1"))) == 1


def test_a_restore_of_what_is_derived_shows_nothing_unless_it_differs():
    recording = recorded(derived(simulated()))
    (snapshot,) = (report.snapshot for report in judge(recording))
    found = as_json(restore(recording, snapshot))
    assert (found["equal"], found["differences_total"]) == (None, 0)
    assert "shows nothing" in found["not_known"]
    assert as_json(restore(recorded(simulated()), snapshot))["not_known"] is None
    wrong = recorded(derived(a_run().record("p", "s1", state=4).record("q", "s1").log()))
    log = a_run().send("p->q", "m1").receive("p->q", "m1").record("q", "s1").record("p", "s1")
    late = a_run().record("p", "s1").send("p->q", "m1").receive("p->q", "m1").record("q", "s1")
    assert restore(recorded(derived(late.log())), "s1").equal is False
    assert restore(wrong, "s1").equal is False
    assert restore(recorded(derived(log.log())), "s1").equal is None


def test_theorem_1_shows_nothing_of_what_is_derived():
    recording = recorded(derived(simulated()))
    (report,) = judge(recording)
    found = reorder(recording, report)
    assert (found.holds, found.occurred, found.occurred_after) == (None, None, None)
    assert {check.holds for check in found.checks} == {None}
    assert as_json(found.report())["not_known"] == PROVES_NOTHING
    (plain,) = judge(recorded(simulated()))
    assert as_json(reorder(recorded(simulated()), plain).report())["not_known"] is None


def test_sums_of_what_is_derived_are_not_known():
    """States of a derived recording are sizes and offsets, which a sum would take for tokens."""
    run = a_run().record("p", "s1", state={"bytes": 4}).record("q", "s1", state=5).log()
    [report] = judge(recorded(run))
    assert report.totals.processes == 9
    [report] = judge(recorded(derived(run)))
    assert as_json(report.totals) == dict.fromkeys(
        ("start", "processes", "channels", "total", "conserved")
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_built_in_property_is_told_of_what_is_derived(name):
    run = a_run().record("p", "s1", state=0).record("q", "s1", state=0)
    recording = recorded(derived(run.record_channel("p->q", "s1").log()))
    [report] = judge(recording)
    [answer] = strip(name, [of_report(recording, report)], at_start(recording.topology))
    assert answer.holds is None
    assert answer.sentence.startswith("It is not known")
    assert answer.missing


def test_what_holds_in_a_derived_state_says_nothing_about_the_run():
    recording = recorded(derived(a_run().record("p", "s1", state=1).record("q", "s1").log()))
    [report] = judge(recording)
    state = of_report(recording, report)
    expression = Expression('processes["p"] == 1', frozenset("pq"))
    found = answer(expression, state, expression.outcome(variables(state)))
    assert found.holds is True
    assert "derived" in found.conclusion


def test_cuts_of_what_is_derived_are_not_those_of_the_run():
    condition = 'processes["p"] > 0'
    found = detect(recorded(derived(a_run().log())), condition)
    assert (found.possibly, found.definitely) == (None, None)
    assert "between two checkpoints" in found.missing[0]
    assert detect(recorded(a_run().log()), condition).possibly is True
    with pytest.raises(ExpressionError):
        detect(recorded(derived(a_run().log())), "p +")
