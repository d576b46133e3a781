"""Breaking the two marker rules: what follows is judged from the log of the same seed."""

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND, RECORD_STATE, SEND
from snapshots.problems import Conflict, Invalid, Refused
from snapshots.simulating.broken_rules import ALL_RULES, PROCESS, what_follows
from snapshots.simulating.reruns import DEMONSTRATION, MOST_EVENTS, rerun_of
from snapshots.simulating.workload_runs import RULES, WorkloadParameters

SEEDS = range(12)


def outcomes(rule: str, at: str):
    """Return the first witness, or the verdict, with each seed."""
    follows = [what_follows(rerun_of(DEMONSTRATION).with_seed(seed), rule, at) for seed in SEEDS]
    assert all(item.same_computation for item in follows)
    return follows


def verdicts(rule: str, at: str) -> set[str]:
    return {item.snapshots[0].verdict for item in outcomes(rule, at)}


def events(rule: str, at: str, seed: int = 1):
    return rerun_of(DEMONSTRATION).with_seed(seed).breaking(rule, at).log().events


@pytest.mark.parametrize(
    ("rule", "at", "expected"),
    [
        ("late_markers", "A->B", {"orphan", "duplicated"}),
        ("no_markers", "A->B", {"orphan", "incomplete"}),
        ("empty_channels", "B->C", {"lost", "consistent"}),
        ("early_markers", "A", {"orphan", "lost"}),
        ("late_records", "B", {"orphan", "consistent"}),
    ],
)
def test_each_broken_rule_has_its_own_consequences(rule, at, expected):
    assert verdicts(rule, at) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_by_the_rules_every_snapshot_is_right(seed):
    log = rerun_of(DEMONSTRATION).with_seed(seed).log()
    assert [report.verdict for report in judge(assemble(*log).recording)] == ["consistent"]


def test_a_late_marker_goes_out_right_after_the_next_message_on_its_channel():
    own = [event for event in events("late_markers", "A->B") if event.process == "A"]
    place = next(n for n, e in enumerate(own) if (e.kind, e.channel) == (MARKER_SEND, "A->B"))
    recorded = next(n for n, e in enumerate(own) if e.kind == RECORD_STATE)
    between = [e for e in own[recorded:place] if (e.kind, e.channel) == (SEND, "A->B")]
    assert len(between) == 1
    assert own[place - 1] is between[0]


def test_a_channel_without_markers_has_none():
    log = events("no_markers", "A->B")
    assert not [e for e in log if e.kind == MARKER_SEND and e.channel == "A->B"]
    assert [e for e in log if e.kind == MARKER_SEND and e.channel == "A->C"]


def test_a_process_with_early_markers_records_right_after_its_next_send():
    own = [event for event in events("early_markers", "A") if event.process == "A"]
    first = next(n for n, e in enumerate(own) if e.kind == MARKER_SEND)
    recorded = next(n for n, e in enumerate(own) if e.kind == RECORD_STATE)
    assert first < recorded
    assert own[recorded - 1].kind == SEND
    assert [e.kind for e in own[first:recorded]].count(SEND) == 1
    assert [e.kind for e in own].count(MARKER_SEND) == 2


def test_a_process_that_records_late_does_so_right_after_its_next_receive():
    own = [event for event in events("late_records", "B") if event.process == "B"]
    marker = next(n for n, e in enumerate(own) if e.kind == MARKER_RECEIVE)
    recorded = next(n for n, e in enumerate(own) if e.kind == RECORD_STATE)
    assert recorded > marker + 1
    assert own[recorded - 1].kind == "receive"


def test_the_first_sentence_is_the_witness():
    follows = what_follows(rerun_of(DEMONSTRATION), "late_markers", "A->B")
    assert (follows.changed, follows.wrong) == (True, 1)
    assert follows.sentences[0].startswith("1 of 1 snapshot went wrong. ")
    assert follows.snapshots[0].by_the_rules == "consistent"
    assert follows.snapshots[0].witnesses[0] in follows.sentences[0]
    assert "only the snapshots differ" in follows.sentences[1]


def test_a_rule_that_never_applied_is_told_from_one_that_did_no_harm():
    untouched = outcomes("late_records", "A")
    assert not any(item.changed for item in untouched), "A begins the snapshot itself"
    assert "what happens at A is what the rule asks for" in untouched[0].sentences[0]
    harmless = [item for item in outcomes("empty_channels", "B->C") if not item.wrong]
    assert any("is what the rule asks for" in item.sentences[0] for item in harmless)
    late = [item for item in outcomes("late_records", "B") if not item.wrong]
    assert late
    assert all("this time nothing went wrong" in item.sentences[0] for item in late)


def test_a_run_with_other_faults_is_not_called_right():
    everywhere = [channel["id"] for channel in DEMONSTRATION["topology"]["channels"]]
    rerun = rerun_of({**DEMONSTRATION, "reorder": everywhere, "seed": 3})
    follows = [what_follows(rerun.with_seed(seed), "empty_channels", "A->B") for seed in range(20)]
    faulty = [
        item
        for item in follows
        if item.changed and not item.wrong and item.snapshots[0].by_the_rules != "consistent"
    ]
    assert faulty
    assert all("The run has other faults: s1 is" in item.sentences[0] for item in faulty)
    assert not any("still right" in item.sentences[0] for item in faulty)


def test_a_process_that_never_sends_again_never_records():
    topology = {"processes": [{"id": "A", "state": 5}], "channels": []}
    rerun = rerun_of({**DEMONSTRATION, "topology": topology})
    follows = what_follows(rerun, "early_markers", "A")
    assert follows.snapshots[0].verdict is None
    assert follows.sentences[0] == "1 of 1 snapshot went wrong. Nobody recorded s1."


def test_a_run_without_snapshots_has_no_rule_to_break():
    rerun = rerun_of({**DEMONSTRATION, "snapshot_times": []})
    assert what_follows(rerun, "late_records", "B").sentences == (
        "The run takes no snapshot, so there is no rule to break.",
    )


def test_the_rules_are_those_of_the_parameters():
    assert [rule.name for rule in ALL_RULES] == list(RULES)
    for rule in ALL_RULES:
        info = WorkloadParameters.model_fields[rule.name]
        assert f"breaks the {rule.broken} rule" in info.description
        assert info.title.startswith({"channel": "Channels", "process": "Processes"}[rule.place])
    assert {(rule.place, rule.broken) for rule in ALL_RULES} == {
        ("channel", "marker-sending"),
        ("channel", "marker-receiving"),
        ("process", "marker-sending"),
        ("process", "marker-receiving"),
    }


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_an_unknown_place_is_refused(rule):
    with pytest.raises(Refused) as refused:
        rerun_of(DEMONSTRATION).breaking(rule.name, "Z")
    assert refused.value.members["field"].startswith(rule.name)
    kind = "a process" if rule.place == PROCESS else "a channel"
    assert f"is not {kind} of this topology" in refused.value.detail


def test_an_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(Invalid, match="late_markers, no_markers"):
        rerun_of(DEMONSTRATION).breaking("reorder", "A->B")


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_lai_and_yang_have_no_marker_rules_to_break(rule):
    rerun = rerun_of(DEMONSTRATION)
    at = "A" if rule.place == PROCESS else "A->B"
    with pytest.raises(Refused) as refused:
        WorkloadParameters.checked({"algorithm": "lai-yang", rule.name: [at]}, rerun.topology)
    assert refused.value.members["field"] == rule.name


@pytest.mark.parametrize(
    "stored",
    [None, {}, {"topology": {"dataflow": {}}}, {**DEMONSTRATION, "events": MOST_EVENTS + 1}],
)
def test_what_cannot_be_run_again_is_refused_with_the_reason(stored):
    with pytest.raises(Conflict, match=r"run again here|at most 5,000"):
        rerun_of(stored)
