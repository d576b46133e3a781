"""Stable properties: true in a snapshot is true at its end, false in it was false at its start."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.cuts import Cut, cut_at
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.values import parsed
from snapshots.domain.properties import BUILT_IN, strip
from snapshots.domain.properties.answers import MOST_NAMED
from snapshots.domain.properties.deadlock import circle
from snapshots.domain.properties.global_state import (
    GlobalState,
    at_cut,
    at_start,
    of_report,
    of_stored,
)
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.workloads import CopiesToken, Diffusing, LosesToken, Resources
from tests.builders import a_run, recorded, runs, side_by_side, simulated
from tests.effort import examples

BECOMES_TRUE = {
    "terminates": "termination",
    "deadlock": "deadlock",
    "token-lost": "token",
    "token-copied": "token",
}
WORKLOADS = {
    "termination": (Diffusing,),
    "deadlock": (Resources,),
    "token": (LosesToken, CopiesToken),
}


def answers(recording, name):
    states = [of_report(recording, report) for report in judge(recording)]
    return strip(name, states, at_start(recording.topology))


def holds_after(recording, name, step):
    """Evaluate a property on the state after the first ``step`` events."""
    state = at_cut(recording, cut_at(recording, step=step))
    return BUILT_IN[name].evaluate(state, at_start(recording.topology)).holds


def steps_of(recording, snapshot):
    """Return how many events had happened when a snapshot began, and when it had ended."""
    steps = [
        event.step
        for events in recording.events.values()
        for event in events
        if event.snapshot == snapshot
    ]
    return min(steps), max(steps) + 1


def length(recording):
    return sum(map(len, recording.events.values()))


# In the samples.


@pytest.mark.parametrize("slug", BECOMES_TRUE)
def test_a_sample_shows_the_property_from_the_right_snapshot_on_and_not_before(slug):
    log = next(sample.log for sample in SAMPLES if sample.slug == slug)
    recording, name = assemble(*log()).recording, BECOMES_TRUE[slug]
    onset = next(n for n in range(length(recording)) if holds_after(recording, name, n))
    strip_ = answers(recording, name)
    assert [answer.answer for answer in strip_] == 3 * ["false"] + 3 * ["true"]
    for answer in strip_[:3]:
        assert steps_of(recording, answer.snapshot)[1] <= onset
    for answer in strip_[3:]:
        assert steps_of(recording, answer.snapshot)[0] >= onset


def test_the_samples_witnesses_are_what_their_descriptions_say():
    found = {}
    for sample in SAMPLES:
        if sample.slug in BECOMES_TRUE:
            recording = assemble(*sample.log()).recording
            found[sample.slug] = answers(recording, BECOMES_TRUE[sample.slug])
    asleep = found["terminates"][2].witness
    assert (asleep["active_total"], asleep["in_flight_total"]) == (0, 1)
    assert found["deadlock"][2].witness == {"waits": 3}
    waits = found["deadlock"][3].witness
    assert waits["cycle"] == ["Hume", "Kant", "Mill", "Zeno"]
    assert [wait["request"] for wait in waits["waits"]].count("under way") == 1
    assert found["token-lost"][3].witness["kind"] == "lost"
    assert found["token-copied"][3].witness["kind"] == "duplicated"
    assert found["token-lost"][2].witness["channels"] == {"p2->p3": 1}


# In generated runs: section 5 of the paper, by brute force.


@st.composite
def property_runs(draw):
    """Draw the name of a property, and a run of a workload that is made for it."""
    name = draw(st.sampled_from(sorted(WORKLOADS)))
    size = draw(st.integers(2, 5))
    topology = draw(
        st.sampled_from([shapes.complete(size)])
        if name == "deadlock"
        else st.sampled_from([shapes.ring(size), shapes.complete(size)])
    )
    names = [process.id for process in topology.processes]
    starts = st.tuples(st.integers(0, 40_000), st.sampled_from(names).map(lambda one: (one,)))
    log = simulated(
        topology,
        draw(st.sampled_from(WORKLOADS[name]))(),
        snapshots=draw(st.lists(starts, min_size=1, max_size=4)),
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(20, 150)),
        mean_delay=draw(st.sampled_from((500, 3_000))),
    )
    return name, recorded(log)


@settings(max_examples=examples(60), deadline=None)
@given(property_runs())
def test_what_a_snapshot_says_is_what_the_paper_promises(run):
    name, recording = run
    holds = [holds_after(recording, name, step) for step in range(length(recording) + 1)]
    assert holds == sorted(holds), "once true, always true"
    for answer in answers(recording, name):
        began, ended = steps_of(recording, answer.snapshot)
        if answer.holds:
            assert all(holds[ended:])
            assert answer.conclusion == BUILT_IN[name].conclusions.true
        else:
            assert not any(holds[: began + 1])
            assert answer.conclusion == BUILT_IN[name].conclusions.false


@settings(max_examples=examples(40), deadline=None)
@given(property_runs())
def test_true_in_a_snapshot_is_true_in_all_later_ones(run):
    name, recording = run
    strip_ = {answer.snapshot: answer.holds for answer in answers(recording, name)}
    spans = {snapshot: steps_of(recording, snapshot) for snapshot in strip_}
    for one, (_, ended) in spans.items():
        for other, (began, _) in spans.items():
            assert not (strip_[one] and ended <= began and not strip_[other])


def test_sometimes_each_property_becomes_true_while_snapshots_are_taken():
    seen = Counter()
    for name, workloads in WORKLOADS.items():
        for seed in range(12):
            log = simulated(
                shapes.complete(3),
                workloads[seed % len(workloads)](),
                snapshots=[(at, ("p1",)) for at in range(5_000, 80_000, 15_000)],
                seed=seed,
                events=250,
                mean_delay=3_000,
            )
            strip_ = [answer.holds for answer in answers(recorded(log), name)]
            seen[name] += strip_[0] is False and strip_[-1] is True
    assert all(seen[name] for name in WORKLOADS), seen


# By hand.


def a_state(processes, channels=None, verdict="consistent"):
    """Return a global state with the contents of the channels ``source->target``."""
    contents = {
        name: None if values is None else tuple(values) for name, values in (channels or {}).items()
    }
    ends = {name: tuple(name.split("->")) for name in contents}
    return GlobalState("s1", processes, contents, ends, verdict)


def look(name, processes, channels=None, start=None):
    return BUILT_IN[name].evaluate(a_state(processes, channels), start or a_state({}))


PASSIVE, ACTIVE = {"active": False}, {"active": True}


@pytest.mark.parametrize(
    ("processes", "channels", "answer"),
    [
        ({"A": PASSIVE, "B": 0}, {"A->B": []}, "true"),
        ({"A": PASSIVE, "B": 2}, {"A->B": []}, "false"),
        ({"A": ACTIVE, "B": None}, {"A->B": None}, "false"),
        ({"A": PASSIVE, "B": PASSIVE}, {"A->B": [None]}, "false"),
        ({"A": PASSIVE, "B": None}, {"A->B": []}, "unknown"),
        ({"A": PASSIVE, "B": PASSIVE}, {"A->B": None}, "unknown"),
        ({"A": PASSIVE, "B": {"active": 1}}, {"A->B": []}, "unknown"),
        ({"A": PASSIVE, "B": "D"}, {"A->B": []}, "unknown"),
        ({"A": PASSIVE, "B": True}, {}, "unknown"),
    ],
)
def test_termination(processes, channels, answer):
    assert look("termination", processes, channels).answer == answer


def test_pieces_of_a_snapshot_that_are_under_way_wake_nobody():
    piece = {"piece": {"snapshot": "s1", "process": "A", "state": 1, "channels": {}}, "worth": 0}
    states = {"A": PASSIVE, "B": PASSIVE}
    assert look("termination", states, {"A->B": (piece,)}).answer == "true"
    assert look("termination", states, {"A->B": (piece, {"work": 1})}).answer == "false"


def test_what_is_missing_for_termination_is_said():
    found = look("termination", {"A": PASSIVE, "B": None, "C": "D"}, {"A->B": None})
    assert found.missing == (
        "the state of B",
        '"active", true or false, in the state of C',
        "the contents of A->B",
    )
    assert found.conclusion == "Nothing follows for the run."


def test_long_lists_of_what_is_missing_end_with_how_many_more():
    found = look("termination", {f"p{n}": None for n in range(MOST_NAMED + 7)})
    assert len(found.missing) == MOST_NAMED + 1
    assert found.missing[-1] == "7 more"


def waiting(*others):
    return {"waits_for": list(others)}


FREE = waiting()


@pytest.mark.parametrize(
    ("processes", "channels", "answer"),
    [
        ({"A": waiting("B"), "B": waiting("A")}, {"A->B": [], "B->A": []}, "true"),
        ({"A": waiting("B"), "B": waiting("A")}, {"A->B": [{"request": "A"}], "B->A": []}, "true"),
        ({"A": waiting("B"), "B": waiting("A")}, {"A->B": [{"grant": "A"}], "B->A": []}, "false"),
        ({"A": waiting("B"), "B": FREE}, {"A->B": [], "B->A": []}, "false"),
        ({"A": waiting("A")}, {}, "true"),
        ({"A": waiting("B", "C"), "B": FREE, "C": waiting("A")}, {}, "true"),
        ({"A": waiting("B"), "B": waiting("A")}, {"B->A": None}, "unknown"),
        ({"A": waiting("B"), "B": waiting("A")}, {"B->A": [None]}, "unknown"),
        ({"A": waiting("B"), "B": waiting("A")}, {"B->A": [None, {"grant": "B"}]}, "false"),
        ({"A": waiting("B"), "B": None}, {}, "unknown"),
        ({"A": waiting("B"), "B": {"balance": 3}}, {}, "unknown"),
        ({"A": waiting("B"), "B": waiting("Z")}, {}, "unknown"),
        ({"A": FREE, "B": None}, {}, "false"),
        ({"A": waiting("B"), "B": waiting("A"), "C": None}, {}, "true"),
    ],
)
def test_deadlock(processes, channels, answer):
    assert look("deadlock", processes, channels).answer == answer


def test_the_witness_of_a_deadlock_is_the_circle_alone():
    waits = {"A": waiting("B"), "B": waiting("C"), "C": waiting("D"), "D": waiting("B")}
    found = look("deadlock", waits, {"B->C": [{"request": "B"}]})
    assert found.witness["cycle"] == ["B", "C", "D"]
    assert found.witness["waits"][0] == {
        "process": "B",
        "waits_for": "C",
        "request": "under way",
    }
    assert found.sentence == "3 processes wait for each other: B -> C -> D -> B."


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_a_circle_is_found_iff_there_is_one(links):
    edges = {node: [target for source, target in links if source == node] for node in range(8)}
    found = circle(edges)
    reach = {node: set(targets) for node, targets in edges.items()}
    for _ in range(8):
        reach = {
            node: targets.union(*(reach[target] for target in targets))
            for node, targets in reach.items()
        }
    assert (found is not None) == any(node in targets for node, targets in reach.items())
    if found:
        following = [*found[1:], found[0]]
        assert all(after in edges[one] for one, after in zip(found, following, strict=True))


def test_a_very_long_chain_of_waits_is_walked():
    edges = {n: [n + 1] for n in range(50_000)} | {50_000: []}
    assert circle(edges) is None
    assert len(circle(edges | {50_000: [0]})) == 50_001


def test_waits_that_meet_again_and_again_are_walked_once():
    assert circle({n: [n + 1, n + 2] for n in range(100)} | {100: [], 101: []}) is None


@pytest.mark.parametrize(
    ("processes", "channels", "token", "conservation"),
    [
        ({"A": 1, "B": 0}, {"A->B": []}, "false", "true"),
        ({"A": 0, "B": 0}, {"A->B": [1]}, "false", "true"),
        ({"A": 0, "B": {"tokens": 0}}, {"A->B": []}, "true", "false"),
        ({"A": 1, "B": 0}, {"A->B": [1]}, "true", "false"),
        ({"A": 1, "B": "x"}, {"A->B": []}, "unknown", "unknown"),
        ({"A": 1, "B": None}, {"A->B": []}, "unknown", "unknown"),
        ({"A": 1, "B": 0}, {"A->B": [None]}, "unknown", "unknown"),
        ({"A": 1, "B": 0}, {"A->B": None}, "unknown", "unknown"),
    ],
)
def test_tokens_and_sums(processes, channels, token, conservation):
    start = a_state({"A": 1, "B": 0}, {"A->B": []})
    assert look("token", processes, channels, start).answer == token
    assert look("conservation", processes, channels, start).answer == conservation


def test_a_start_that_is_not_known_leaves_the_sum_unknown():
    found = look("conservation", {"A": 1}, {}, a_state({"A": None}))
    assert (found.answer, found.missing) == ("unknown", ("the state of A, at the start",))


def test_sums_of_fractions_may_differ_in_their_last_digit():
    start = a_state({"A": 0.3, "B": 0})
    assert look("conservation", {"A": 0.1, "B": 0.2}, {}, start).answer == "true"


def test_nothing_follows_from_a_snapshot_that_is_not_consistent():
    state = a_state({"A": 0}, {}, verdict="orphan")
    found = BUILT_IN["termination"].evaluate(state, state)
    assert found.holds
    assert found.conclusion.startswith("Nothing follows for the run: the verdict")


def test_conservation_says_what_an_invariant_says():
    run = a_run().internal("p", "spends", state=7).record("p", "s1").record("q", "s1")
    (answer,) = answers(recorded(run), "conservation")
    assert answer.witness["difference"] == -3
    assert answer.sentence == "The sum is 12, and 15 at the start: -3."
    assert "had been broken when the algorithm ended" in answer.conclusion


def test_a_snapshot_is_compared_with_the_start_of_its_own_scope():
    recording = recorded(side_by_side(simulated(), simulated(seed=2)))
    for name, holds in (("conservation", True), ("token", False)):
        assert {answer.holds for answer in answers(recording, name)} == {holds}


# Where the state comes from.


def as_stored(recording, report):
    """Return the JSON of a snapshot that the API makes from the store."""
    state = of_report(recording, report)
    in_flight = {
        channel: [value_of(recording, channel, ordinal) for ordinal in ordinals]
        for channel, ordinals in report.in_flight.items()
    }
    known = {process: value for process, value in state.processes.items() if value is not None}
    return {
        "snapshot": report.snapshot,
        "verdict": report.verdict,
        "positions": dict(report.positions),
        "recorded": {
            "processes": {p: known[p] for p in report.recorded_states},
            "channels": {c: list(state.channels[c]) for c in report.recorded_channels},
        },
        "recomputed": {"processes": known, "channels": in_flight},
    }


def value_of(recording, channel, ordinal):
    return parsed(recording.messages[channel][ordinal].value)


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=5))
def test_a_stored_snapshot_gives_the_same_state_as_its_report(log):
    recording = recorded(log)
    for report in judge(recording):
        stored = of_stored(as_stored(recording, report), recording.topology)
        assert stored == of_report(recording, report)


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=5, damaged=False, fifo=True))
def test_a_consistent_snapshot_recorded_the_state_at_its_cut(log):
    recording = recorded(log)
    for report in judge(recording):
        if report.verdict == "consistent":
            recomputed = at_cut(recording, Cut(report.positions), report.snapshot)
            assert of_report(recording, report) == recomputed


def test_what_was_not_recorded_is_recomputed_and_a_channel_without_both_ends_not_known():
    run = a_run().send("p->q", "m1", 3, state=7).record("p", "s1").record("q", "s1")
    (report,) = judge(recorded(run))
    assert of_report(recorded(run), report).channels == {"p->q": (3,), "q->p": ()}
    unsaid = a_run().record("p", "s1", state=None).record("q", "s1", state=6)
    (report,) = judge(recorded(unsaid))
    assert of_report(recorded(unsaid), report).processes == {"p": 10, "q": 6}
    half = a_run().send("p->q", "m1", 3, state=7).record("p", "s1")
    (report,) = judge(recorded(half))
    state = of_report(recorded(half), report)
    assert state.channels == {"p->q": None, "q->p": None}
    assert state.processes == {"p": 7, "q": None}
