"""The smallest part with a verdict: it still has the witness, and no event can be left out."""

import pytest
from hypothesis import HealthCheck, given, settings

from snapshots.domain.judging.findings import CONSISTENT, FIFO_VIOLATION
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import Recording
from snapshots.domain.shrinking import shrink as shrinking
from snapshots.domain.shrinking.minimal import OutOfTrials, minimal
from snapshots.domain.shrinking.witness import identity
from snapshots.domain.simulators.script import Log
from tests.builders import a_run, recorded, runs, simulated
from tests.damage import DAMAGES, never_sending, unfinished
from tests.domain.judging.edges import EDGES
from tests.domain.shrinking.parts import findings, found_in, shrunk, without_each

FAULTS = {
    **{name: lambda damage=damage: damage(simulated()).log for name, damage in DAMAGES.items()},
    "incomplete": lambda: simulated(protocol=never_sending("p1->p2", "s1")),
    "a ring that broke off": lambda: unfinished(simulated(shapes.ring(6), events=600), 260),
}


def check_minimal(recording: Recording, snapshot: str, finding: dict) -> shrinking.Shrunk:
    """Shrink, and try by brute force whether an event of the part can be left out."""
    true = set(map(identity, findings(recording, snapshot)))
    part = shrunk(recording, snapshot, finding)
    here = found_in(part, list(part.part.events), part.part.header)
    assert identity(finding) in here
    # Of messages that overtook, the whole recording names the worst pair only.
    assert not [item for item in here - true if FIFO_VIOLATION not in item]
    assert part.is_minimal
    for event, rest, header in without_each(part):
        left = found_in(part, rest, header)
        assert identity(finding) not in left or not left <= true | here, event
    return part


@pytest.mark.parametrize("name", FAULTS)
def test_the_part_has_the_witness_and_no_event_can_be_left_out(name):
    recording = recorded(FAULTS[name]())
    whole = findings(recording, "s1")
    assert whole[0]["verdict"] != CONSISTENT
    for finding in whole[:4]:
        part = check_minimal(recording, "s1", finding)
        assert len(part.part.events) < 12


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.__name__)
def test_every_finding_of_an_edge_case_has_its_part(edge):
    recording = recorded(edge())
    for report in judge(recording):
        for finding in findings(recording, report.snapshot):
            check_minimal(recording, report.snapshot, finding)


@settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(log=runs(max_processes=5))
def test_the_worst_finding_of_a_generated_run_has_its_part(log: Log):
    recording = recorded(log)
    for report in judge(recording):
        check_minimal(recording, report.snapshot, findings(recording, report.snapshot)[0])


def test_a_state_that_events_left_out_had_changed_is_not_known_in_the_part():
    run = a_run().send("p->q", "m1", value=1, state=9).receive("p->q", "m1", state=6)
    run.internal("q", "spend", state=0).record("q", "s1").record("p", "s1", state=7)
    recording = recorded(run)
    [finding] = findings(recording, "s1")
    part = shrunk(recording, "s1", finding).part
    states = {(event.process, event.kind): event.state for event in part.events}
    assert states == {
        ("p", "send"): "9",
        ("q", "receive"): None,
        ("q", "record_state"): "0",
        ("p", "record_state"): "7",
    }
    starts = {process.id: process.state for process in part.header.topology.processes}
    assert starts == {"p": "10", "q": "5"}


def test_a_message_that_shares_its_id_is_lost_only_beside_the_other_one():
    run = a_run().send("p->q", "m1", value=1).send("p->q", "m1", value=2)
    run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m1")
    recording = recorded(run)
    [finding] = findings(recording, "s1")
    assert (finding["verdict"], finding["value"]) == ("lost", 2)
    part = check_minimal(recording, "s1", finding).part
    assert [event.value for event in part.events if event.kind == "send"] == ["1", "2"]


def test_a_start_state_stays_only_until_an_event_that_was_left_out():
    run = a_run().internal("p", "earn", state=11).record("p", "s1").send("p->q", "m1", state=11)
    run.receive("p->q", "m1", state=5).record("q", "s1")
    recording = recorded(run)
    part = shrunk(recording, "s1", findings(recording, "s1")[0]).part
    starts = {process.id: process.state for process in part.header.topology.processes}
    assert starts == {"p": None, "q": "5"}


def test_without_trials_the_part_is_not_called_minimal(monkeypatch):
    monkeypatch.setattr(shrinking, "MOST_JUDGED", 10)
    recording = recorded(DAMAGES["lost"](simulated()).log)
    finding = findings(recording, "s1")[0]
    part = shrunk(recording, "s1", finding)
    assert not part.is_minimal
    found = found_in(part, list(part.part.events), part.part.header)
    assert identity(finding) in found


def test_a_verdict_that_does_not_follow_from_the_events_is_refused():
    recording = recorded(DAMAGES["lost"](simulated()).log)
    finding = findings(recording, "s1")[0] | {"message": "m9999"}
    with pytest.raises(shrinking.NotShown):
        shrunk(recording, "s1", finding)


@pytest.mark.parametrize("needed", [set(), {0}, {3, 17}, {1, 2, 30}, set(range(31))])
def test_only_the_needed_items_are_left(needed):
    left, is_minimal = minimal(range(31), lambda items: needed <= set(items))
    assert (set(left), is_minimal) == (needed, True)


def test_a_trial_that_may_not_be_made_ends_the_search_with_what_is_left():
    trials = []

    def holds(items) -> bool:
        trials.append(items)
        if len(trials) > 3:
            raise OutOfTrials
        return 3 in items

    left, is_minimal = minimal(range(32), holds)
    assert 3 in left
    assert (len(left), is_minimal) == (16, False)
