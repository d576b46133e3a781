"""Possibly and definitely agree with a walk over all consistent cuts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.conditions.conjunctions import NotLocal, conjunction
from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.conditions.predicates import Interval, detect
from snapshots.domain.judging.cuts import Cut, state_at
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.simulators.script import Script
from snapshots.domain.simulators.workloads import Bank
from snapshots.sandbox import evaluation
from tests.builders import a_run, recorded, simulated
from tests.effort import examples

pytestmark = pytest.mark.slow

NAMES = ("A", "B", "C", "D")


# Against a walk over the lattice.


@st.composite
def small_runs(draw, *, with_unknown=False):
    """Draw runs of two to four processes, up to nine steps, states 0 and 1, without FIFO."""
    names = NAMES[: draw(st.integers(2, 4))]
    states = st.sampled_from([0, 1, None] if with_unknown else [0, 1])
    links = [f"{a}->{b}" for a in names for b in names if a != b]
    script = Script("a small run", {name: draw(states) for name in names}, links, fifo=False)
    under_way = []
    for number in range(draw(st.integers(0, 9))):
        kind = draw(st.integers(0, 2))
        if kind == 0:
            script.internal(draw(st.sampled_from(names)), "works", state=draw(states))
        elif kind == 1 or not under_way:
            link = draw(st.sampled_from(links))
            script.send(link, f"m{number}", state=draw(states))
            under_way.append((link, f"m{number}"))
        else:
            link, message = under_way.pop(draw(st.integers(0, len(under_way) - 1)))
            script.receive(link, message, state=draw(states))
    return recorded(script)


def lattice(recording):
    """Return the processes, and all consistent cuts as their positions, small ones first."""
    processes = [process.id for process in recording.topology.processes]
    ranges = [range(len(recording.events.get(process, ())) + 1) for process in processes]
    messages = [
        (processes.index(channel.source), sent.sent_index, processes.index(channel.target), arrived)
        for channel in recording.topology.channels
        for sent in recording.messages[channel.id]
        if (arrived := sent.received_index) is not None
    ]
    cuts = [
        cut
        for cut in product(*ranges)
        if not any(cut[b] > arrived and cut[a] <= left for a, left, b, arrived in messages)
    ]
    return processes, sorted(cuts, key=sum)


def by_walking(recording, chosen, truths):
    """Return (possibly, least cut, greatest cut, definitely); conditions hold in ``truths``."""
    processes, cuts = lattice(recording)
    holds = [
        [
            process not in chosen or state_at(recording, process, position) in truths
            for position in range(len(recording.events.get(process, ())) + 1)
        ]
        for process in processes
    ]
    holding = [cut for cut in cuts if all(map(list.__getitem__, holds, cut))]
    bad = set(holding)
    avoiding = {cuts[0]} - bad
    for cut in cuts[1:]:
        before = ((*cut[:n], cut[n] - 1, *cut[n + 1 :]) for n in range(len(cut)))
        if cut not in bad and any(one in avoiding for one in before):
            avoiding.add(cut)
    least = tuple(map(min, zip(*holding, strict=True))) if holding else None
    greatest = tuple(map(max, zip(*holding, strict=True))) if holding else None
    return bool(holding), least, greatest, cuts[-1] not in avoiding


def positions(recording, cut):
    processes = [process.id for process in recording.topology.processes]
    return None if cut is None else tuple(cut.position(process) for process in processes)


def chosen_processes(data, recording):
    names = [process.id for process in recording.topology.processes]
    return data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


@settings(max_examples=examples(200), deadline=None)
@given(small_runs(), st.data())
def test_possibly_and_definitely_are_what_a_walk_over_all_cuts_finds(recording, data):
    chosen = chosen_processes(data, recording)
    found = detect(recording, " && ".join(f"{name} == 1" for name in chosen))
    walked = by_walking(recording, chosen, {"1"})
    first, last = positions(recording, found.first), positions(recording, found.last)
    assert (found.possibly, first, last, found.definitely) == walked


@settings(max_examples=examples(80), deadline=None)
@given(small_runs(with_unknown=True), st.data())
def test_what_is_not_known_is_unknown_only_where_it_decides(recording, data):
    chosen = chosen_processes(data, recording)
    found = detect(recording, " && ".join(f"{name} == 1" for name in chosen))
    surely = by_walking(recording, chosen, {"1"})
    perhaps = by_walking(recording, chosen, {"1", None})
    for place, answer in ((0, found.possibly), (3, found.definitely)):
        expected = surely[place] if surely[place] == perhaps[place] else None
        assert answer is expected
    assert bool(found.missing) == (None in (found.possibly, found.definitely))


@settings(max_examples=examples(60), deadline=None)
@given(small_runs(), st.data())
def test_the_witnesses_hold_what_they_claim(recording, data):
    chosen = chosen_processes(data, recording)
    found = detect(recording, " && ".join(f"{name} == 1" for name in chosen))
    for interval in found.intervals:
        inside = range(interval.first, interval.last + 1)
        assert all(state_at(recording, interval.process, at) == "1" for at in inside)
    assert {interval.process for interval in found.intervals} == (
        set(chosen) if found.definitely else set()
    )
    assert (found.obstacle is None) == found.definitely
    if found.obstacle and found.obstacle.other:
        assert leaves_first(recording, found.obstacle.interval, found.obstacle.other)


def avoids(recording, legs, chosen):
    """Tell whether legs lead through consistent cuts and avoid the condition.

    On each leg there is one process whose condition holds at none of its positions.
    """
    processes, cuts = lattice(recording)
    before = cuts[0]
    for leg in legs:
        until = positions(recording, leg.until)
        place = processes.index(leg.process)
        there = range(before[place], until[place] + 1)
        if leg.process not in chosen or until not in cuts or any(np.less(until, before)):
            return False
        if any(state_at(recording, leg.process, at) == "1" for at in there):
            return False
        before = until
    return before == cuts[-1]


@settings(max_examples=examples(80), deadline=None)
@given(small_runs(), st.data())
def test_a_run_that_avoids_it_is_one(recording, data):
    chosen = chosen_processes(data, recording)
    found = detect(recording, " && ".join(f"{name} == 1" for name in chosen))
    if found.definitely:
        assert found.avoiding == ()
    else:
        assert avoids(recording, found.avoiding, chosen)


def leaves_first(recording, left, entered):
    """Tell whether some consistent cut has left one interval and not entered the other."""
    processes, cuts = lattice(recording)
    leaver, enterer = processes.index(left.process), processes.index(entered.process)
    return any(cut[leaver] > left.last and cut[enterer] < entered.first for cut in cuts)


def test_sometimes_all_four_kinds_of_answer_come_out():
    seen = set()

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(small_runs())
    def look(recording):
        found = detect(recording, "A == 1 && B == 1")
        seen.add((found.possibly, found.definitely))

    look()
    assert seen == {(True, True), (True, False), (False, False)}


# By hand.


def two_clerks():
    """Return a run in which A is low at positions 1 and 2, and B at 1, without any message."""
    return recorded(
        a_run({"A": 9000, "B": 9000}, ["A->B", "B->A"])
        .internal("A", "pays", state=4000)
        .internal("A", "waits")
        .internal("A", "earns", state=8000)
        .internal("B", "pays", state=1000)
        .internal("B", "earns", state=7000)
    )


def test_concurrent_intervals_are_possible_but_not_definite():
    found = detect(two_clerks(), "A < 5000 && B < 5000")
    assert (found.possibly, found.definitely) == (True, False)
    assert found.first == Cut({"A": 1, "B": 1})
    assert found.last == Cut({"A": 2, "B": 1})
    left, entered = found.obstacle.interval, found.obstacle.other
    assert {left, entered} == {Interval("A", 1, 2), Interval("B", 1, 1)}
    assert [leg.process for leg in found.avoiding] == [entered.process, left.process]


def test_a_message_out_of_each_interval_into_the_other_makes_it_definite():
    run = (
        a_run({"A": 0, "B": 0}, ["A->B", "B->A"])
        .send("A->B", "m1", state=1)
        .send("B->A", "m2", state=1)
        .receive("A->B", "m1", state=1)
        .receive("B->A", "m2", state=1)
        .internal("A", "leaves", state=0)
        .internal("B", "leaves", state=0)
    )
    found = detect(recorded(run), "A == 1 && B == 1")
    assert (found.possibly, found.definitely) == (True, True)
    assert found.intervals == (Interval("A", 1, 2), Interval("B", 1, 2))


def test_one_after_the_other_is_not_even_possible():
    run = (
        a_run({"A": 0, "B": 0}, ["A->B"])
        .internal("A", "enters", state=1)
        .send("A->B", "m1", state=0)
        .receive("A->B", "m1", state=1)
    )
    found = detect(recorded(run), "A == 1 && B == 1")
    assert (found.possibly, found.definitely) == (False, False)
    assert (found.first, found.last) == (None, None)


def test_taking_turns_is_never_both_at_once():
    run = a_run({"A": 0, "B": 0}, ["A->B", "B->A"])
    for turn in range(4):
        for one, way in (("A", "A->B"), ("B", "B->A")):
            run.internal(one, "enters", state=1)
            run.send(way, f"m{turn}", state=0).receive(way, f"m{turn}")
    found = detect(recorded(run), "A == 1 && B == 1")
    assert (found.possibly, found.definitely) == (False, False)
    assert found.obstacle.interval == Interval("A", 10, 10)
    assert [leg.process for leg in found.avoiding] == [*"BABABABA"]
    assert avoids(recorded(run), found.avoiding, "AB")


def overtaking():
    """Return a run in which m2 overtakes m1 on the way from A to B."""
    return recorded(
        a_run({"A": 1, "B": 0}, ["A->B"], fifo=False)
        .send("A->B", "m1", state=0)
        .send("A->B", "m2")
        .receive("A->B", "m2")
        .receive("A->B", "m1", state=1)
    )


def test_a_message_that_overtakes_moves_its_sender_on():
    assert detect(overtaking(), "B == 1").first == Cut({"A": 2, "B": 2})


def test_a_message_that_overtakes_holds_its_receiver_back():
    assert detect(overtaking(), "A == 1").last == Cut({"A": 0, "B": 0})


def test_one_condition_that_ever_holds_is_definite():
    found = detect(two_clerks(), "A < 5000")
    assert (found.possibly, found.definitely) == (True, True)
    assert (found.first, found.last) == (Cut({"A": 1, "B": 0}), Cut({"A": 2, "B": 2}))
    nowhere = detect(two_clerks(), "A < 0")
    assert (nowhere.possibly, nowhere.definitely) == (False, False)
    assert as_json(nowhere)["obstacle"] == {"process": "A", "interval": None, "other": None}


def test_snapshots_in_the_log_leave_the_state_as_it_was():
    run = a_run({"A": 1, "B": 0}, ["A->B"]).record("A", "s1", state=5).internal("B", "x", state=1)
    found = detect(recorded(run), "A == 1 && B == 1")
    assert found.first == Cut({"A": 0, "B": 1})
    assert found.last == Cut({"A": 1, "B": 1})


def test_states_without_a_value_of_the_condition_are_neither_true_nor_false():
    run = a_run({"A": {"open": 1}, "B": 0}, ["A->B"]).internal("A", "closes", state={"shut": 1})
    found = detect(recorded(run), "A.open == 2 && B == 0")
    assert (found.possibly, found.definitely) == (None, None)
    assert found.missing == ("A.open == 2 in 1 of 2 states: There is no open in it.",)
    unknown = a_run({"A": None, "B": 0}, ["A->B"])
    assert detect(recorded(unknown), "A == 1").missing == ("1 state of A",)


def test_several_conditions_on_one_process_are_one():
    found = detect(two_clerks(), "A < 5000 && B < 5000 && A > 3000 && A != 4000")
    assert found.possibly is False
    assert detect(two_clerks(), "A < 5000 && (B < 500 || B > 900) && A > 3000").possibly


def test_a_person_s_condition_goes_through_the_sandbox():
    found = detect(two_clerks(), "A < 5000 && B < 5000", evaluation.evaluate)
    assert found.first == Cut({"A": 1, "B": 1})


# What may be asked.


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("A.x < 5", [("A", "A.x < 5", 0)]),
        ('A.x < 5 && B == "D"', [("A", "A.x < 5", 0), ("B", 'B == "D"', 11)]),
        (
            'processes["A"].x < 5 && processes.B == 1',
            [("A", 'processes["A"].x < 5', 0), ("B", "processes.B == 1", 24)],
        ),
        ('processes["c 3"] == 1', [("c 3", 'processes["c 3"] == 1', 0)]),
        ("A && (B && A) && B", [("A", "A", 0), ("B", "B", 6), ("A", "A", 11), ("B", "B", 17)]),
        ("( (A == 1) && B)", [("A", "(A == 1)", 2), ("B", "B", 14)]),
        ("((A == 1 || A == 2) && (B))", [("A", "(A == 1 || A == 2)", 1), ("B", "(B)", 23)]),
        ("!(A && A) && B", [("A", "!(A && A)", 0), ("B", "B", 13)]),
        ('A == "&& (" && B', [("A", 'A == "&& ("', 0), ("B", "B", 15)]),
        ("A.l.all(B, B > 1 && B < 9)", [("A", "A.l.all(B, B > 1 && B < 9)", 0)]),
        ("A == 1 &&\n  B == 2", [("A", "A == 1", 0), ("B", "B == 2", 12)]),
    ],
)
def test_what_is_a_conjunction_of_local_conditions(text, conditions):
    found = conjunction(text, {"A", "B", "c 3"})
    assert [(one.process, one.text, one.offset) for one in found] == conditions


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("A.x < B.x", 7, "is about A and B at once"),
        ("A == 1 && A + B == 3", 15, "is about A and B at once"),
        ("A == 1 || B == 1", 8, r"This \|\| joins conditions on A and B"),
        ("A == 1 && (A == 2 || B == 1)", 19, r"This \|\| joins conditions on A and B"),
        ("!(A == 1 && B == 1)", 13, "is about A and B at once"),
        ('A == 1 && size(channels["A->B"]) == 0', 16, "the two processes at its ends"),
        ('snapshot == "s1"', 1, "A cut is not a snapshot"),
        ("A == 1 && processes.all(p, processes[p] == 1)", 11, "is about all processes"),
        ("A == 1 &&  1 < 2", 12, "is about no process"),
        ('processes["Z"] == 1', 1, "There is no process Z"),
    ],
)
def test_anything_else_is_refused_with_the_reason_and_the_place(text, column, reason):
    with pytest.raises(NotLocal, match=reason) as refused:
        conjunction(text, {"A", "B"})
    assert refused.value.column == column
    assert "on the recorded snapshots" in refused.value.sentence


def test_a_mistake_in_the_expression_is_an_error_like_any_other():
    with pytest.raises(ExpressionError, match="ends too early") as refused:
        conjunction("A == ", {"A"})
    assert not isinstance(refused.value, NotLocal)


# Size.


def test_twenty_thousand_events_are_searched():
    recording = recorded(simulated(shapes.ring(20), Bank(), events=20_000, snapshots=()))
    text = " && ".join(f"p{n} < {900 + n}" for n in range(1, 11))
    assert detect(recording, text).possibly
