"""Why a snapshot does not end: the condition that was broken on purpose, and all that follows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.snapshot_log import snapshot_logs
from snapshots.domain.judging.unended import (
    L1,
    L2,
    MOST_CAUSES,
    MOST_EFFECTS,
    NO_PATH,
    SENDING_RULE,
    Traces,
    traces_of,
    unended,
    why_unended,
)
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.topology import Channel, Process, Topology
from tests.builders import recorded, runs, simulated
from tests.effort import examples


def why(topology, **broken):
    """Return why the one snapshot of a run does not end, in which something is broken."""
    recording = recorded(simulated(topology, **broken))
    (log,) = snapshot_logs(recording)
    return why_unended(recording, log)


def told(found):
    return [
        (cause.condition, cause.process, cause.channel, [item.sentence for item in cause.effects])
        for cause in found.causes
    ]


def test_a_process_that_never_records_stops_all_behind_it():
    assert told(why(shapes.ring(4), silent=frozenset({"p2"}))) == [
        (
            L2,
            "p2",
            "p1->p2",
            [
                "Therefore p3 never records.",
                "Therefore p4 never records.",
                "Therefore p4->p1 stays open.",
            ],
        )
    ]


def test_a_marker_that_stays_in_its_channel_is_l1_by_name():
    found = why(shapes.ring(3), stuck=frozenset({"p1->p2"}))
    assert told(found)[0][:3] == (L1, "p2", "p1->p2")
    assert found.causes[0].sentence == (
        "The marker that p1 sent on p1->p2 never arrives at p2: it remains in the channel "
        "(condition L1)."
    )


def test_a_snapshot_that_ends_has_no_cause():
    assert why(shapes.complete(3)) is None


def test_nothing_is_said_where_the_log_has_no_marker():
    assert why(shapes.ring(3), no_markers=frozenset({"p1->p2"})) is None


def test_a_process_to_which_no_channel_leads_has_no_cause_before_it():
    topology = Topology(
        (Process("p1"), Process("p2"), Process("p3"), Process("p4")),
        (Channel("c", "p1", "p2"), Channel("d", "p3", "p1"), Channel("e", "p3", "p4")),
    )
    (cause,) = unended(Traces(topology, {"p1": 0, "p2": 2}, {"c": 1}, {"c": 2})).causes
    assert (cause.condition, cause.process, cause.channel) == (NO_PATH, "p3", None)
    assert [item.sentence for item in cause.effects] == [
        "Therefore p4 never records, and d stays open."
    ]


def test_the_cause_that_comes_first_in_the_log_stands_first():
    topology = shapes.complete(3)
    traces = Traces(topology, {"p1": 0}, {"p1->p3": 4, "p1->p2": 1}, {"p1->p2": 2})
    assert [(cause.condition, cause.process) for cause in unended(traces).causes] == [
        (L2, "p2"),
        (L1, "p3"),
    ]


def test_many_causes_and_effects_are_counted():
    topology = shapes.complete(40)
    sent = {channel.id: 1 for channel in topology.outgoing["p1"]}
    found = unended(Traces(topology, {"p1": 0}, sent, sent))
    assert (len(found.causes), found.causes_total) == (MOST_CAUSES, 39)
    star = [Channel(f"c{n}", "hub", f"p{n}") for n in range(50)]
    named = Topology(
        tuple(map(Process, ("start", "hub", *(f"p{n}" for n in range(50))))),
        (Channel("in", "start", "hub"), *star),
    )
    (cause,) = unended(Traces(named, {"start": 0}, {"in": 1}, {"in": 2})).causes
    (effect,) = cause.effects
    assert (len(effect.processes), effect.processes_total) == (MOST_EFFECTS, 50)


# Broken on purpose, and generated.

FAULTS = {"silent": L2, "stuck": L1, "no_markers": SENDING_RULE}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(sorted(FAULTS)),
    st.integers(3, 6),
    st.integers(0, 2**32),
    st.data(),
)
def test_what_was_broken_is_the_one_cause(fault, size, seed, data):
    topology = shapes.random_connected(size, 1.6, seed=seed)
    places = (
        [process.id for process in topology.processes[1:]]
        if fault == "silent"
        else [channel.id for channel in topology.channels]
    )
    place = data.draw(st.sampled_from(places))
    found = why(topology, **{fault: frozenset({place})}, seed=seed)
    if found is None:  # no marker in the whole log
        assert fault == "no_markers"
        return
    (cause,) = found.causes
    assert cause.condition == FAULTS[fault]
    assert place == (cause.process if fault == "silent" else cause.channel)


@settings(max_examples=examples(80), deadline=None)
@given(runs(max_processes=8))
def test_each_missing_record_and_open_channel_is_told_once(log):
    recording = recorded(log)
    for each in snapshot_logs(recording):
        if not each.has_markers:
            assert why_unended(recording, each) is None
            continue
        traces, found = traces_of(recording, each), why_unended(recording, each)
        silent = [it.id for it in traces.topology.processes if it.id not in traces.recorded]
        still_open = [
            channel.id
            for channel in traces.topology.channels
            if channel.target in traces.recorded and channel.id not in traces.arrived
        ]
        causes = found.causes if found else ()
        if found is None or found.causes_total <= MOST_CAUSES:
            effects = [item for cause in causes for item in cause.effects]
            named = [cause.process for cause in causes if cause.condition in (L2, NO_PATH)]
            named += [process for item in effects for process in item.processes]
            assert sorted(named) == sorted(silent)
            assert sorted(c for item in effects for c in item.channels) == sorted(still_open)


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=8))
def test_a_snapshot_with_markers_has_a_cause_if_its_verdict_counts_something_missing(log):
    recording = recorded(log)
    logs = {each.id: each for each in snapshot_logs(recording)}
    for report in judge(recording):
        each = logs[report.snapshot]
        if each.has_markers and not recording.strays:
            is_missing = "incomplete" in report.counts
            assert is_missing == (why_unended(recording, each) is not None)


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ({"silent": frozenset({"p2"})}, "paper, section 3.3, condition L2"),
        ({"stuck": frozenset({"p1->p2"})}, "paper, section 3.3, condition L1"),
        ({"no_markers": frozenset({"p1->p2"})}, "paper, section 3.2, marker-sending rule"),
    ],
)
def test_each_witness_of_something_missing_names_its_condition(fault, rule):
    (report,) = judge(recorded(simulated(shapes.complete(3), **fault)))
    assert rule in {finding.rule for finding in report.findings}
