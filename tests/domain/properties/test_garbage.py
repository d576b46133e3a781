"""Garbage: by hand, against what the simulated processes know, and in a snapshot that is wrong."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.values import parsed
from snapshots.domain.properties import strip
from snapshots.domain.properties.answers import MOST_NAMED
from snapshots.domain.properties.garbage import GARBAGE, keepers
from snapshots.domain.properties.global_state import at_start, of_report
from snapshots.domain.simulators.references import References
from snapshots.domain.simulators.stable_samples import a_reference_under_way
from tests.builders import recorded, simulated
from tests.domain.properties.test_properties import a_state, steps_of
from tests.effort import examples


def heap(objects=(), refers_to=()):
    return {"objects": list(objects), "refers_to": list(refers_to)}


def carrying(*names):
    return {"refers_to": list(names)}


PIECE = {"piece": {"snapshot": "s1", "process": "A", "state": 1, "channels": {}}, "worth": 0}
OWNER, OTHER = heap(["a1"]), heap()


@pytest.mark.parametrize(
    ("processes", "channels", "answer"),
    [
        ({"A": OWNER, "B": OTHER}, {"A->B": []}, "true"),
        ({"A": OWNER, "B": heap(refers_to=["a1"])}, {"A->B": []}, "false"),
        ({"A": OWNER, "B": OTHER}, {"A->B": [carrying("a1")]}, "false"),
        ({"A": OWNER, "B": OTHER}, {"A->B": [carrying("b1")]}, "true"),
        ({"A": OWNER, "B": OTHER}, {"A->B": [PIECE]}, "true"),
        ({"A": OTHER, "B": OTHER}, {"A->B": []}, "false"),
        ({"A": OWNER, "B": OTHER}, {"A->B": None}, "unknown"),
        ({"A": OWNER, "B": OTHER}, {"A->B": [None]}, "unknown"),
        ({"A": OWNER, "B": OTHER}, {"A->B": [{"amount": 3}]}, "unknown"),
        ({"A": OWNER, "B": None}, {"A->B": []}, "unknown"),
        ({"A": heap(["a1"], ["a1"]), "B": None}, {"A->B": []}, "unknown"),
        ({"A": heap(["a1"], ["a1"]), "B": OTHER}, {"A->B": None}, "false"),
        ({"A": OWNER, "B": {"objects": []}}, {"A->B": []}, "unknown"),
        ({"A": heap(["a1"], ["a1"]), "B": {"refers_to": []}}, {"A->B": []}, "unknown"),
        ({"A": OWNER, "B": {"refers_to": [], "objects": [1]}}, {}, "true"),
        ({"A": OWNER, "B": {"refers_to": "a1", "objects": []}}, {}, "unknown"),
    ],
)
def test_garbage(processes, channels, answer):
    state = a_state(processes, channels)
    assert GARBAGE.evaluate(state, a_state({})).answer == answer


def test_what_keeps_an_object_is_named_and_what_is_not_known_too():
    processes = {"A": heap(["a1", "a2"], ["a1"]), "B": heap(["b1"], ["a1"]), "C": None}
    channels = {"A->B": [carrying("a1", "b1"), carrying("b1")], "B->A": None}
    found = GARBAGE.evaluate(a_state(processes, channels), a_state({}))
    kept = {row["object"]: keepers(row) for row in found.witness["kept"]}
    assert kept == {"a1": ["A", "B", "a message in A->B"], "b1": ["2 messages in A->B"]}
    assert found.sentence == "Nothing that is known refers to a2."
    assert found.missing == ("the state of C", "the contents of B->A")
    assert "garbage" not in found.witness


def test_long_lists_of_objects_are_counted():
    many = [f"a{number}" for number in range(MOST_NAMED + 5)]
    found = GARBAGE.evaluate(a_state({"A": heap(many)}), a_state({}))
    assert found.witness["garbage_total"] == MOST_NAMED + 5
    assert len(found.witness["garbage"]) == MOST_NAMED


def answers(recording):
    states = [of_report(recording, report) for report in judge(recording)]
    return strip("garbage", states, at_start(recording.topology))


def test_a_snapshot_by_the_clock_calls_an_object_garbage_that_is_in_use():
    early, during, late = answers(recorded(a_reference_under_way()))
    assert [answer.answer for answer in (early, during, late)] == ["true", "false", "true"]
    assert early.sentence.startswith("Nothing refers to a1: it is garbage.")
    assert early.conclusion.startswith(
        "Nothing follows for the run: the verdict on the snapshot is lost"
    )
    assert during.sentence.startswith(
        "No object is garbage. a1 is kept by a message in A->B; a2 is kept by A."
    )
    assert late.conclusion == GARBAGE.conclusions.true


# Against what the simulated processes know.


def references_after_each_step(recording):
    """Return after each event of a run the references that processes and messages hold."""
    events = sorted(
        (event for events in recording.events.values() for event in events),
        key=lambda event: event.step,
    )
    held, under_way, after = {}, Counter(), []
    for event in events:
        if event.state is not None:
            held[event.process] = set(parsed(event.state)["refers_to"])
        if event.kind in ("send", "receive"):
            (name,) = parsed(event.value)["refers_to"]
            under_way[name] += 1 if event.kind == "send" else -1
        everywhere = set().union(*held.values())
        after.append(everywhere | {name for name, count in under_way.items() if count})
    return after


@st.composite
def runs_with_references(draw, **options):
    size = draw(st.integers(2, 4))
    starts = st.tuples(st.integers(0, 60_000), st.sampled_from([("p1",), ("p2",)]))
    log = simulated(
        draw(st.sampled_from([shapes.ring(size), shapes.complete(size)])),
        References(),
        snapshots=draw(st.lists(starts, min_size=1, max_size=4)),
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(40, 200)),
        mean_delay=draw(st.sampled_from((500, 4_000))),
    )
    return recorded(log)


@settings(max_examples=examples(60), deadline=None)
@given(runs_with_references())
def test_what_a_consistent_snapshot_calls_garbage_is_never_referred_to_again(recording):
    after = references_after_each_step(recording)
    for answer in answers(recording):
        began, ended = steps_of(recording, answer.snapshot)
        loose = {row["object"] for row in answer.witness["garbage"]}
        kept = {row["object"] for row in answer.witness["kept"]}
        assert answer.holds == bool(loose)
        assert not any(loose & held for held in after[ended - 1 :])
        assert all(
            began == 0 or name in after[began - 1] for name in kept & _made(recording, began)
        )


def _made(recording, step):
    """Return the objects that exist after the first ``step`` events."""
    made = set()
    for events in recording.events.values():
        for event in events:
            if event.step < step and event.state is not None:
                made |= set(parsed(event.state)["objects"])
    return made


def test_channels_recorded_as_empty_make_objects_garbage_that_are_in_use():
    """A snapshot without channels calls objects garbage that are in use, and is not consistent."""
    wrongly = 0
    for seed in range(30):
        topology = shapes.complete(3)
        log = simulated(
            topology,
            References(),
            snapshots=[(at, ("p1",)) for at in range(5_000, 60_000, 10_000)],
            seed=seed,
            events=150,
            mean_delay=6_000,
            empty_channels=frozenset(channel.id for channel in topology.channels),
        )
        recording = recorded(log)
        after = references_after_each_step(recording)
        for answer in answers(recording):
            ended = steps_of(recording, answer.snapshot)[1]
            for row in answer.witness["garbage"]:
                if any(row["object"] in held for held in after[ended - 1 :]):
                    wrongly += 1
                    assert answer.conclusion.startswith("Nothing follows for the run")
    assert wrongly
