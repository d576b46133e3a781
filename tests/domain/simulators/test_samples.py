"""The samples are what their descriptions say, in the paper's words."""

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.cuts import Cut, contents, cut_at, state_at
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.replaying.restore import restore
from snapshots.domain.simulators.protocols.flooding import knowledge
from snapshots.domain.simulators.samples import SAMPLES

BY_SLUG = {sample.slug: sample for sample in SAMPLES}
WRONG = {
    "two-tokens": {"s1": "duplicated"},
    "no-token": {"s1": "lost"},
    "wall-clock": {"s1": "orphan", "s2": "lost"},
    "garbage": {"s1": "lost"},
}


def recording_of(slug):
    return assemble(*BY_SLUG[slug].log()).recording


def values(recording, report):
    return {
        channel: [recording.messages[channel][ordinal].value for ordinal in ordinals]
        for channel, ordinals in report.in_flight.items()
    }


@pytest.mark.parametrize("slug", BY_SLUG)
def test_a_sample_has_no_defects_and_is_the_same_each_time(slug):
    log = BY_SLUG[slug].log()
    assert assemble(*log).defects == ()
    assert BY_SLUG[slug].log() == log


@pytest.mark.parametrize("slug", [slug for slug in BY_SLUG if slug not in WRONG])
def test_a_right_sample_is_consistent_and_restores_to_the_same_end(slug):
    recording = recording_of(slug)
    for report in judge(recording):
        assert report.verdict == "consistent"
        assert restore(recording, report.snapshot).equal


@pytest.mark.parametrize("slug", WRONG)
def test_a_wrong_snapshot_has_the_one_verdict_it_shows_and_does_not_restore(slug):
    recording = recording_of(slug)
    reports = {report.snapshot: report for report in judge(recording)}
    assert reports.keys() >= WRONG[slug].keys()
    for snapshot, report in reports.items():
        wrong = WRONG[slug].get(snapshot)
        assert report.verdict == (wrong or "consistent")
        assert restore(recording, snapshot).equal == (wrong is None)
        if wrong:
            assert report.counts == {wrong: 1}


def test_two_banks_hold_what_the_issue_says():
    recording = recording_of("two-banks")
    (report,) = judge(recording)
    assert report.recorded_states == report.recomputed_states == {"A": "9000", "B": "3000"}
    assert values(recording, report) == {"A->B": [], "B->A": ["1000", "2000"]}
    assert report.recorded_channels == {"A->B": (), "B->A": ("m2", "m3")}
    assert report.initiators == ("A",)


def test_the_token_is_found_once_twice_or_not_at_all():
    totals = {
        slug: judge(recording_of(slug))[0].totals.total
        for slug in ("one-token", "two-tokens", "no-token")
    }
    assert totals == {"one-token": 1, "two-tokens": 2, "no-token": 0}


def test_the_clocks_count_too_much_and_too_little_and_the_markers_are_right():
    totals = {report.snapshot: report.totals for report in judge(recording_of("wall-clock"))}
    assert {snapshot: sums.total for snapshot, sums in totals.items()} == {
        "s1": 16_000,
        "s2": 14_500,
        "s3": 15_000,
    }


def test_the_recorded_state_of_the_paper_never_occurred():
    recording = recording_of("never-occurred")
    (report,) = judge(recording)
    assert report.recorded_states == {"p": '"A"', "q": '"D"'}
    assert report.recorded_channels == {"c": (), "c'": ("M'",)}
    assert global_state(recording, Cut(report.positions)) == ('"A"', '"D"', [], ["M'"])
    instants = range(sum(map(len, recording.events.values())) + 1)
    assert ('"A"', '"D"', [], ["M'"]) not in [
        global_state(recording, cut_at(recording, step=step)) for step in instants
    ]


def global_state(recording, cut):
    states = [state_at(recording, process, cut.position(process)) for process in ("p", "q")]
    held = contents(recording, cut)
    return *states, *([message.id for message in held[channel]] for channel in ("c", "c'"))


def test_fifty_processes_take_several_snapshots_at_once_with_much_in_flight():
    recording = recording_of("fifty-processes")
    reports = judge(recording)
    assert len(recording.topology.processes) == 50
    assert len(reports) == 5
    assert any(a.began_at < b.began_at < a.ended_at for a in reports for b in reports)
    assert all(sum(map(len, report.in_flight.values())) > 1 for report in reports)
    assert all(report.totals.conserved for report in reports)
    assert {len(report.initiators) for report in reports} == {1, 2, 3}


def test_descriptions_are_two_or_three_sentences():
    for sample in SAMPLES:
        assert 2 <= sample.description.count(". ") + 1 <= 3, sample.slug


def test_everyone_comes_to_know_the_whole_state_p1_first_and_p4_last():
    known = knowledge(recording_of("collecting"), "s1")
    whole = {process: known.whole(process).at for process in known.learned}
    assert sorted(whole, key=whole.get) == ["p1", "p2", "p3", "p4"]
    assert (whole["p1"], whole["p4"]) == (22_254, 31_807)
    assert known.learned["p3"]["p2"].at == 11_164
