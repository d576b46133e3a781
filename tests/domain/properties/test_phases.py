"""The k-th phase has ended: on states by hand, and by brute force on runs that have phases."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.cuts import cut_at
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import canonical, parsed
from snapshots.domain.properties import built_in, strip
from snapshots.domain.properties.answers import OWN
from snapshots.domain.properties.global_state import at_cut, at_start, of_report
from snapshots.domain.simulators.workloads import Action
from tests.builders import recorded, simulated
from tests.domain.properties.test_properties import a_state, length, steps_of
from tests.effort import examples

LAST_PHASE = 3


class Rounds:
    """Computes in rounds: a process goes on when the messages of all others in its round are in.

    State: (phase, channels that still get a message of it, messages received in each phase, how
    many messages each phase needs). The last phase is finished with ``active`` false.
    """

    NAME, TITLE, SENTENCE = "rounds", "Rounds", "Every process sends to all in every round."

    def start(self, topology):
        needed = len(topology.processes) - 1
        return {
            process.id: (1, needed, (0,) * LAST_PHASE, needed) for process in topology.processes
        }

    def text(self, state):
        return canonical({"phase": state[0], "active": not self._is_finished(state)})

    def wants(self, state, outgoing):
        return state[1] > 0

    def act(self, state, outgoing, rng):
        phase, unsent, received, needed = state
        value = JsonText(f'{{"phase":{phase}}}')
        return Action(self._moved((phase, unsent - 1, received, needed)), outgoing[-unsent], value)

    def receive(self, state, value):
        phase, unsent, received, needed = state
        index = parsed(value)["phase"] - 1
        counted = (*received[:index], received[index] + 1, *received[index + 1 :])
        return self._moved((phase, unsent, counted, needed))

    def _moved(self, state):
        phase, _, received, needed = state
        if self._is_finished(state) and phase < LAST_PHASE:
            return (phase + 1, needed, received, needed)
        return state

    def _is_finished(self, state):
        phase, unsent, received, needed = state
        return unsent == 0 and received[phase - 1] == needed


def rounds(size, snapshots, seed=0, mean_delay=2_000):
    log = simulated(
        shapes.complete(size),
        Rounds(),
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
@given(round_runs(), st.integers(1, LAST_PHASE))
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
        recording = rounds(3, [(at, ("p1",)) for at in range(3_000, 60_000, 6_000)], seed)
        by_phase = [answers(recording, phase) for phase in range(1, LAST_PHASE + 1)]
        for said in zip(*by_phase, strict=True):
            holds = [answer.holds for answer in said]
            assert holds == sorted(holds, reverse=True), "a later phase ends later"
            seen[sum(holds)] += 1
    assert set(seen) == set(range(LAST_PHASE + 1)), seen


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
