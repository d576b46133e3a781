"""A recording derived from checkpoints says what it cannot tell: once, in words, with reasons."""

from dataclasses import replace

import pytest

from snapshots.domain.derived import (
    ALIGNED,
    NO_FILES,
    NOT_TOLD,
    WHY_EMPTY,
    WHY_UNKNOWN,
    is_derived,
    why_empty,
    why_unknown,
)
from snapshots.domain.script import Log
from snapshots.domain.verdicts import judge
from snapshots.domain.witnesses import LONGEST_SHOWN
from tests.builders import a_run, recorded


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


def test_states_of_a_log_are_a_finding_each():
    [report] = judge(recorded(two_unknown_states()))
    assert report.counts == {"unknown": 2}
    assert 'the state {"bytes":4}, but' in report.findings[0].sentence


def test_a_state_that_differs_stays_a_mismatch_in_a_derived_recording():
    log = a_run().record("p", "s1", state=4).record("q", "s1").log()
    [report] = judge(recorded(derived(log)))
    assert report.verdict == "state-mismatch"


def test_long_states_and_values_are_cut_in_sentences_and_say_so():
    long = "x" * 1000
    run = a_run().internal("p", "works", state=None).record("p", "s1", state=long)
    [report] = judge(recorded(run.record("q", "s1")))
    [finding] = report.findings
    assert "… (1,002 characters)" in finding.sentence
    assert len(finding.sentence) < LONGEST_SHOWN + 200
    assert finding.recorded == f'"{long}"'
    run = a_run().send("p->q", "m1", long).record("p", "s1").record("q", "s1")
    [report] = judge(recorded(run.record_channel("p->q", "s1")))
    assert "… (1,002 characters)" in report.findings[0].sentence


def test_why_channels_are_empty_or_not_known_is_told_by_snapshot_or_for_all():
    told = {"why_empty": {"1": ALIGNED}, "why_unknown": {"2": NO_FILES}}
    assert why_empty(told, "1") == WHY_EMPTY[ALIGNED]
    assert why_empty(told, "2") is None
    assert why_unknown(told, "2") == WHY_UNKNOWN[NO_FILES]
    assert why_unknown(told, "1") == WHY_UNKNOWN[NOT_TOLD]
    assert why_empty({"why_empty": ALIGNED}, "any") == WHY_EMPTY[ALIGNED]


@pytest.mark.parametrize(
    "odd", [None, 5, [], ["aligned"], {"1": ["aligned"]}, {"1": {}}, "nothing"]
)
def test_an_uploaded_header_may_say_anything(odd):
    told = {"derived": odd, "why_empty": odd, "why_unknown": odd}
    assert not is_derived(told)
    assert why_empty(told, "1") is None
    assert why_unknown(told, "1") == WHY_UNKNOWN[NOT_TOLD]
