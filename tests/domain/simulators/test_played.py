"""The run in which a person decides for a bank: the judge and the rules agree on it."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.simulators.played import Decision, by_the_rules, faults, play
from tests.effort import examples

SEEDS = st.integers(0, 2**32)
DECISIONS = st.builds(
    Decision,
    st.booleans(),
    st.sampled_from([(), ("A",), ("C",), ("A", "C")]),
    st.booleans(),
)


def played_by(seed, decide):
    """Return the run and the decisions, where a function decides at each event of B."""
    decisions = []
    while (played := play(seed, decisions)).waiting is not None:
        decisions.append(decide(played.waiting))
    return played, decisions


def report_on(played):
    assembled = assemble(*played.log)
    assert assembled.defects == ()
    (report,) = judge(assembled.recording)
    return report


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS)
def test_who_follows_the_rules_breaks_none_and_has_a_consistent_snapshot(seed):
    played, decisions = played_by(seed, by_the_rules)
    assert not any(map(faults, played.steps, decisions))
    report = report_on(played)
    assert report.verdict == "consistent"
    assert (report.totals.total, report.totals.start) == (300, 300)
    assert len(played.steps) == 8


@settings(max_examples=examples(150), deadline=None)
@given(SEEDS, st.data())
def test_a_snapshot_that_is_not_consistent_has_a_wrong_decision_before_it(seed, data):
    played, decisions = played_by(seed, lambda step: data.draw(DECISIONS))
    if report_on(played).verdict != "consistent":
        assert any(map(faults, played.steps, decisions))


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS)
def test_whoever_records_at_once_begins_the_snapshot_too_and_is_right(seed):
    """Several processes may begin a snapshot."""

    def decide(step):
        if not step.has_recorded:
            return Decision(True, ("A", "C"), step.kind == RECEIVE)
        return by_the_rules(step)

    played, decisions = played_by(seed, decide)
    assert not any(map(faults, played.steps, decisions))
    assert report_on(played).verdict == "consistent"


def test_the_computation_does_not_depend_on_the_decisions():
    right, _ = played_by(4, by_the_rules)
    wrong, _ = played_by(4, lambda step: Decision(False, ("C",), True))

    def moves(played):
        return [
            (event.at, event.process, event.kind, event.message)
            for event in played.log.events
            if event.message is not None
        ]

    assert moves(right) == moves(wrong)


def test_each_kind_of_mistake_has_its_verdict():
    verdicts = Counter()
    for seed in range(60):
        late = [*7 * [Decision()], Decision(True, ("A", "C"))]
        verdicts[f"late: {report_on(play(seed, late)).verdict}"] += 1
        never = report_on(played_by(seed, lambda step: Decision())[0])
        verdicts[f"never: {never.verdict}"] += 1
        deaf = played_by(seed, lambda step: replace(by_the_rules(step), note=False))[0]
        verdicts[f"deaf: {report_on(deaf).verdict}"] += 1
    assert verdicts["late: orphan"]
    assert verdicts["never: incomplete"] == 60
    assert verdicts["deaf: lost"]


def test_a_message_sent_between_recording_and_marker_is_a_fault_of_its_own():
    def decide(step):
        return Decision(record=bool(not step.has_recorded))

    played, decisions = played_by(4, decide)
    said = [sentence for it in map(faults, played.steps, decisions) for sentence in it]
    first, later = played.steps[0], [step for step in played.steps[1:] if step.kind == SEND]
    assert said[0].startswith("Marker-sending rule: when you record, a marker goes out")
    assert first.kind == SEND
    for step in later:
        assert any(f"{step.message} goes to {step.other} after you recorded" in it for it in said)
