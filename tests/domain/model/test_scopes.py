"""A snapshot is judged, restored and reordered as if nothing ran outside its scope."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.findings import CONSISTENT, INCOMPLETE
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import MARKER_SEND
from snapshots.domain.model.scopes import in_scope
from snapshots.domain.properties.global_state import of_report
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.reordering_report import NotReorderable
from snapshots.domain.replaying.restore import NotRestorable, restore
from snapshots.domain.simulators.script import Log
from tests.builders import a_run, correct_runs, random_damage, recorded, side_by_side, simulated
from tests.effort import examples


@st.composite
def some_runs(draw):
    log = draw(correct_runs(max_processes=5))
    return draw(random_damage(log)) if log.events and draw(st.booleans()) else log


def sends_a_marker(run):
    return run.send_marker("p->q", "s1")


def receives_a_marker(run):
    return run.receive_marker("p->q", "s1")


def records_a_channel(run):
    return run.record_channel("p->q", "s1")


def judged(recording, prefix=""):
    """Return the results on each snapshot as a text, without the prefix and without lines."""
    results = {}
    for report in judge(recording):
        if report.snapshot.startswith(prefix):
            facts = {
                "counts": dict(report.counts),
                "positions": list(report.positions.values()),
                "in flight": list(report.in_flight.values()),
                "initiators": len(report.initiators),
                "totals": as_json(report.totals),
                "sentences": [finding.sentence for finding in report.findings],
                "restored": restored(recording, report.snapshot),
                "reordered": reordered(recording, report),
            }
            results[report.snapshot] = facts
    text = repr(results)
    return re.sub(rf"\b{prefix}(?=[ps]\d)", "", text) if prefix else text


def restored(recording, snapshot):
    try:
        report = restore(recording, snapshot)
    except NotRestorable as refusal:
        return str(refusal)
    return report.equal, report.replayed, report.skipped, report.differences_total, report.end


def reordered(recording, report):
    try:
        result = reorder(recording, report, most_swaps=500)
    except NotReorderable as refusal:
        return str(refusal)
    checks = [(check.name, check.holds, check.reason) for check in result.checks]
    return result.permuted.tolist(), result.swaps, result.occurred, result.occurred_after, checks


@settings(max_examples=examples(40), deadline=None)
@given(one=some_runs(), other=some_runs())
def test_runs_side_by_side_are_judged_as_each_alone(one, other):
    both = recorded(side_by_side(one, other))
    for prefix, log in (("1 ", one), ("2 ", other)):
        assert judged(both, prefix) == judged(recorded(log))


def test_without_scopes_the_other_half_is_missing():
    log = side_by_side(simulated(), simulated(seed=2))
    processes = log.header.topology.processes
    assert judge(recorded(log))[0].verdict == CONSISTENT
    for process in processes:
        object.__setattr__(process, "scope", None)
    report = judge(recorded(log))[0]
    assert (report.verdict, report.counts[INCOMPLETE]) == (INCOMPLETE, len(processes) // 2)


def test_a_property_is_evaluated_on_what_is_in_scope():
    log = side_by_side(simulated(), simulated(seed=2))
    recording = recorded(log)
    state = of_report(recording, judge(recording)[0])
    assert {name[0] for name in state.processes} == {"1"}
    assert {name[0] for name in state.channels} == {"1"}


def test_a_snapshot_without_any_process_belongs_to_all_scopes():
    topology = side_by_side(simulated(), simulated()).header.topology
    assert in_scope(topology, ()) is topology
    assert len(in_scope(topology, ["1 p1"]).processes) == 4
    assert in_scope(topology, ["1 p1", "2 p1"]) is topology


@pytest.mark.parametrize("begin", [sends_a_marker, receives_a_marker, records_a_channel])
def test_a_snapshot_without_states_belongs_to_the_scope_of_its_events(begin):
    both = recorded(side_by_side(begin(a_run()).log(), simulated()))
    (unrecorded,) = (report for report in judge(both) if report.snapshot == "1 s1")
    assert unrecorded.processes == ("1 p", "1 q")
    assert unrecorded.counts[INCOMPLETE] >= 2
    assert {name[0] for name in of_report(both, unrecorded).processes} == {"1"}
    with pytest.raises(NotRestorable, match="1 p, 1 q never"):
        restore(both, "1 s1")


def test_a_marker_in_another_scope_adds_that_scope():
    log = side_by_side(a_run().record("p", "s1").record("q", "s1").log(), a_run().log())
    marker = replace(log.events[-1], line=log.events[-1].line + 1, process="2 p", index=None)
    marker = replace(marker, kind=MARKER_SEND, channel="2 p->q", state=None)
    (report,) = judge(recorded(Log(log.header, (*log.events, marker))))
    assert report.processes == ("1 p", "1 q", "2 p", "2 q")
    missing = [finding.process for finding in report.findings if not finding.channel]
    assert missing == ["2 p", "2 q"]


def test_processes_without_a_scope_are_one():
    topology = a_run().log().header.topology
    assert in_scope(topology, ["p"]) is topology


@pytest.mark.parametrize("end", ["source", "target"])
def test_no_channel_leaves_a_scope(end):
    from snapshots.domain.model.defects import InputRefused
    from snapshots.readers.formats.limits import Limits
    from snapshots.readers.logs.headers import parse_header

    ends = {"source": "p", "target": "q"} if end == "source" else {"source": "q", "target": "p"}
    header = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "processes": [{"id": "p", "scope": "one"}, {"id": "q"}],
        "channels": [{"id": "c", **ends}],
    }
    with pytest.raises(InputRefused) as refused:
        parse_header(header, 1, Limits())
    assert refused.value.defects[0].field == "channels[0]"
    assert "leads from the scope" in refused.value.defects[0].sentence
