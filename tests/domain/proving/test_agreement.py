"""The checker in JavaScript derives from the evidence what the rules in Python say."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.cuts import Cut
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.proving import claims
from snapshots.domain.proving.evidence import Wanted, evidence
from tests import damage
from tests.builders import a_run, recorded, runs, side_by_side, simulated
from tests.domain.judging.edges import EDGES
from tests.domain.proving.checking import a_checker
from tests.effort import examples


@pytest.fixture(scope="module")
def checker():
    with a_checker() as process:
        yield process


def document_of(recording, cuts=(), *, snapshots=True):
    """Return the evidence of a recording and a claim for the log, each snapshot and each cut."""
    wanted, said = Wanted(), [("log", claims.log_says(recording))]
    for report in judge(recording) if snapshots else ():
        wanted.add_snapshot(recording, report)
        said.append(("snapshot", claims.snapshot_says(recording, report)))
    for cut in cuts:
        wanted.add_cut(recording, cut)
        said.append(("cut", claims.cut_says(recording, cut)))
    return {
        "claims": [{"kind": kind, "evidence": "1", "says": says} for kind, says in said],
        "logs": {"1": evidence(recording, wanted)},
    }


@st.composite
def cuts_of(draw, recording):
    """Generate cuts of a recording, consistent or not."""
    positions = {
        process.id: draw(st.integers(0, len(recording.events.get(process.id, ()))))
        for process in recording.topology.processes
    }
    return Cut(positions)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_the_checker_derives_what_python_derives_from_any_run(checker, data):
    log = data.draw(runs(max_processes=8))
    if data.draw(st.integers(0, 5)) == 0:
        log = side_by_side(log, data.draw(runs(max_processes=3)))
    recording = recorded(log)
    cuts = data.draw(st.lists(cuts_of(recording), max_size=3))
    document = document_of(recording, cuts)
    answers = checker.checked(document)
    wrong = [
        (claim, answer)
        for claim, answer in zip(document["claims"], answers, strict=True)
        if answer["outcome"] != "holds"
    ]
    assert not wrong


FAULTS = (
    damage.lose_recorded_message,
    damage.duplicate_recorded_message,
    damage.wrong_state,
    damage.marker_sent_late,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_has_the_same_counts_and_no_other_counts_hold(checker, fault):
    document = document_of(recorded(fault(simulated(seed=1)).log))
    assert {answer["outcome"] for answer in checker.checked(document)} == {"holds"}
    other = copy.deepcopy(document)
    for claim in other["claims"]:
        if claim["kind"] == "snapshot":
            claim["says"] |= {"verdict": "consistent", "counts": {"consistent": 1}}
    outcomes = [answer["outcome"] for answer in checker.checked(other)]
    assert "differs" in outcomes


def recorded_backwards():
    """Return a run of which two messages in flight are recorded in the wrong order."""
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1").record("q", "s1")
    return run.record_channel("p->q", "s1", "m2", "m1").record_channel("q->p", "s1").log()


@pytest.mark.parametrize("run", [*EDGES, recorded_backwards], ids=lambda run: run.__name__)
def test_the_checker_agrees_at_the_edges_of_the_rules(checker, run):
    recording = recorded(run())
    answers = checker.checked(document_of(recording))
    allowed = {"holds", "not checked here"} if run.__name__ == "sums_beyond_63_bits" else {"holds"}
    assert {answer["outcome"] for answer in answers} == allowed
    assert len(answers) > len(judge(recording)) > 0
