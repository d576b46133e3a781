"""The k-th phase has ended: on states by hand, and by brute force on runs that have phases."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.cuts import cut_at
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.values import parsed
from snapshots.domain.properties import built_in, strip
from snapshots.domain.properties.answers import OWN
from snapshots.domain.properties.global_state import at_cut, at_start, of_report
from snapshots.domain.simulators.phased import PHASES, Phases
from snapshots.domain.simulators.stable_samples import phase_by_phase
from tests.builders import recorded, simulated
from tests.domain.properties.test_properties import a_state, length, steps_of
from tests.effort import examples


def rounds(size, snapshots, seed=0, mean_delay=2_000):
    log = simulated(
        (shapes.complete if seed % 2 else shapes.ring)(size),
        Phases(),
        snapshots=snapshots,
        seed=seed,
        events=400,
        mean_delay=mean_delay,
    )
    return recorded(log)


def answers(recording, phase):
    states = [of_report(recording, report) for report in judge(recording)]
    return strip("phase", states, at_start(recording.topology), phase)


def holds_after_each_step(recording, phase):
    start = at_start(recording.topology)
    return [
        built_in("phase", phase).evaluate(at_cut(recording, cut_at(recording, step=n)), start).holds
        for n in range(length(recording) + 1)
    ]


@st.composite
def round_runs(draw):
    size = draw(st.integers(2, 4))
    starts = st.tuples(st.integers(0, 40_000), st.just(("p1",)))
    return rounds(
        size,
        draw(st.lists(starts, min_size=1, max_size=4)),
        seed=draw(st.integers(0, 2**32)),
        mean_delay=draw(st.sampled_from((500, 3_000))),
    )


@settings(max_examples=examples(30), deadline=None)
@given(round_runs(), st.integers(1, PHASES))
def test_what_a_snapshot_says_of_a_phase_is_what_the_paper_promises(recording, phase):
    holds = holds_after_each_step(recording, phase)
    assert holds == sorted(holds), "once true, always true"
    for answer in answers(recording, phase):
        began, ended = steps_of(recording, answer.snapshot)
        if answer.holds:
            assert all(holds[ended:])
            assert answer.conclusion == OWN.true
        else:
            assert not any(holds[: began + 1])
            assert answer.conclusion == OWN.false


def test_sometimes_a_phase_has_ended_and_the_next_has_not():
    seen = Counter()
    for seed in range(8):
        recording = rounds(3, [(at, ("p1",)) for at in range(3_000, 90_000, 6_000)], seed)
        by_phase = [answers(recording, phase) for phase in range(1, PHASES + 1)]
        for said in zip(*by_phase, strict=True):
            holds = [answer.holds for answer in said]
            assert holds == sorted(holds, reverse=True), "a later phase ends later"
            seen[sum(holds)] += 1
    assert set(seen) == set(range(PHASES + 1)), seen


def at(phase, **fields):
    return {"phase": phase, **fields}


DONE = at(2, active=False)


@pytest.mark.parametrize(
    ("processes", "channels", "answer"),
    [
        ({"A": at(3), "B": at(4)}, {"A->B": [at(3)]}, "true"),
        ({"A": at(3), "B": DONE}, {"A->B": []}, "true"),
        ({"A": at(3), "B": at(2)}, {"A->B": []}, "false"),
        ({"A": at(3), "B": at(1, active=False)}, {"A->B": []}, "false"),
        ({"A": at(3), "B": DONE}, {"A->B": [at(2)]}, "false"),
        ({"A": at(3), "B": DONE}, {"A->B": [at(1)]}, "false"),
        ({"A": at(2), "B": None}, {"A->B": None}, "false"),
        ({"A": at(3), "B": None}, {"A->B": []}, "unknown"),
        ({"A": at(3), "B": at(3)}, {"A->B": None}, "unknown"),
        ({"A": at(3), "B": at(3)}, {"A->B": [None]}, "unknown"),
        ({"A": at(3), "B": at(3)}, {"A->B": [{"work": 3}]}, "unknown"),
        ({"A": at(3), "B": at(2, active="no")}, {}, "unknown"),
        ({"A": at(3), "B": at(True)}, {}, "unknown"),
        ({"A": at(3), "B": at(0)}, {}, "unknown"),
        ({"A": 9000, "B": 5000}, {"A->B": []}, "unknown"),
    ],
)
def test_the_second_phase(processes, channels, answer):
    found = built_in("phase", 2).evaluate(a_state(processes, channels), a_state({}))
    assert found.answer == answer, found
    assert bool(found.missing) == (answer == "unknown")


def test_the_witness_says_who_works_and_what_is_in_flight():
    state = a_state({"A": at(1), "B": at(3)}, {"A->B": [at(1), at(2), at(3)]})
    found = built_in("phase", 2).evaluate(state, state)
    assert found.sentence == (
        "A has not finished phase 2, and 2 messages of the phases up to 2 are in A->B."
    )
    assert found.witness["working"] == {"A": 1}
    assert found.witness["in_flight"] == {"A->B": 2}


@settings(max_examples=examples(20), deadline=None)
@given(round_runs())
def test_a_process_begins_a_phase_when_all_that_send_to_it_have_ended_the_one_before(recording):
    heard, ended = Counter(), set()
    events = (event for events in recording.events.values() for event in events)
    for event in sorted(events, key=lambda event: event.step):
        if event.kind == "receive":
            heard[event.process, parsed(event.value)["phase"]] += 1
        elif event.kind == "internal" and event.label.startswith("begins"):
            before = parsed(event.state)["phase"] - 1
            assert heard[event.process, before] == len(recording.topology.incoming[event.process])
            ended.add(before)
    assert ended == set(range(1, PHASES)), "the run reaches the last phase"


def test_a_sample_has_a_phase_that_one_message_alone_keeps_from_ending():
    recording = recorded(phase_by_phase())
    assert [answer.answer for answer in answers(recording, 1)] == 2 * ["false"] + 7 * ["true"]
    assert [answer.answer for answer in answers(recording, 2)] == 3 * ["false"] + 6 * ["true"]
    second = answers(recording, 1)[1]
    assert second.sentence == "1 message of the phases up to 1 is in p1->p2."
    assert second.witness["working_total"] == 0
