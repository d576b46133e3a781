"""Times and steps agree with causality, whatever the clocks of the log say."""

from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling import clocks
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.assembling.clocks import NONE, CausalCycle, causal_times
from snapshots.domain.model.defects import InputRefused
from tests.domain.assembling.test_assembly import HEADER, log, receive, send
from tests.effort import examples


def timed(*entries):
    """Return (at, step) of each entry, and the assembly."""
    assembly = assemble(HEADER, log(*entries))
    events = [event for process in assembly.recording.events.values() for event in process]
    return [(event.at, event.step) for event in sorted(events, key=attrgetter("line"))], assembly


def test_times_that_are_causal_stay_and_steps_follow_them():
    placed, assembly = timed(receive("a", at=9), send("a", at=5), send("b", at=9))
    assert placed == [(9, 1), (5, 0), (9, 2)]
    assert assembly.defects == ()
    events = assembly.recording.events
    assert all(event.logged_at is None for event in events["A"] + events["B"])


def test_at_equal_times_the_cause_comes_first_whatever_the_lines_say():
    placed, assembly = timed(receive("a", at=5), send("a", at=5))
    assert placed == [(5, 1), (5, 0)]
    assert assembly.defects == ()


def test_at_equal_times_the_index_counts_before_the_line():
    placed, _ = timed(send("b", at=5, index=1), send("a", at=5, index=0), receive("a", at=5))
    assert placed == [(5, 1), (5, 0), (5, 2)]


def test_without_any_time_events_count_along_causality():
    placed, assembly = timed(receive("a"), receive("b"), send("a"), send("b"), send("c"))
    assert [at for at, _ in placed] == [1, 2, 0, 1, 2]
    assert [step for _, step in placed] == [1, 3, 0, 2, 4]
    assert assembly.defects == ()


def test_a_receive_before_its_send_is_drawn_at_the_send_and_reported():
    placed, assembly = timed(
        send("a", at=50), receive("a", at=20), receive("b", at=30), send("b", at=60)
    )
    assert placed == [(50, 0), (50, 1), (60, 3), (60, 2)]
    assert [event.logged_at for event in assembly.recording.events["B"]] == [20, 30]
    [message, _] = assembly.recording.messages["ab"]
    assert (message.sent_at, message.received_at) == (50, 50)
    [defect] = assembly.defects
    assert (defect.code, defect.line, defect.count, defect.severity) == ("clock-skew", 3, 2, "kept")


def test_what_follows_a_late_event_is_moved_with_it_through_other_processes():
    back = {"channel": "ba"}
    placed, _ = timed(
        send("a", at=50),
        receive("a", at=20),
        ("B", "send", back | {"message": "r", "at": 21}),
        ("A", "receive", back | {"message": "r", "at": 55}),
        ("B", "internal", {"at": 70}),
    )
    assert [at for at, _ in placed] == [50, 50, 50, 55, 70]
    assert [step for _, step in placed] == [0, 1, 2, 3, 4]


def test_a_clock_that_goes_back_is_reported_once_for_its_process():
    placed, assembly = timed(send("a", at=9), send("b", at=3), send("c", at=5), send("d", at=12))
    assert [at for at, _ in placed] == [9, 9, 9, 12]
    [defect] = assembly.defects
    assert (defect.code, defect.process, defect.line, defect.count) == ("clock-skew", "A", 3, 2)


def test_a_missing_time_is_that_of_what_comes_before():
    placed, assembly = timed(
        send("z"), send("a", at=40), send("b"), receive("b"), receive("c", at=41)
    )
    assert [at for at, _ in placed][:4] == [40, 40, 40, 40]
    assert [item.code for item in assembly.defects] == ["stray-receive", "fifo-violation"]
    assert assembly.recording.events["A"][0].logged_at is None


def test_events_in_a_circle_are_refused_with_the_circle():
    back = {"channel": "ba", "message": "r"}
    entries = [
        ("A", "receive", back | {"at": 1}),
        send("a", at=2),
        receive("a", at=3),
        ("B", "send", back | {"at": 4}),
    ]
    for fields in ({}, {"at": 7}, {"at": None}):
        circle = [(process, kind, old | fields) for process, kind, old in entries]
        with pytest.raises(InputRefused) as caught:
            assemble(HEADER, log(*circle, ("idle", "internal", {})))
        [defect] = caught.value.defects
        assert (defect.code, defect.line) == ("causal-cycle", 2)
        assert '"A" in line 3, "B" in line 4, "B" in line 5, "A" in line 2' in defect.sentence


@st.composite
def runs(draw):
    """Draw the columns of a run that can have happened, with clocks that need not be right."""
    processes = draw(st.integers(1, 4))
    length = draw(st.integers(0, 16))
    owners = draw(st.lists(st.integers(0, processes - 1), min_size=length, max_size=length))
    clock = draw(st.sampled_from(["right", "wrong", "some", "none", "tied"]))
    counts = [owners.count(process) for process in range(processes)]
    starts = np.cumsum([0, *counts])
    filled = [0] * processes
    rows = []
    for process in owners:
        rows.append(int(starts[process]) + filled[process])
        filled[process] += 1
    at, known = np.zeros(length, np.int64), np.ones(length, bool)
    line, cause = np.zeros(length, np.int64), np.full(length, NONE)
    unmatched = []
    lines = draw(st.permutations(range(length)))
    for instant, row in enumerate(rows):
        line[row] = lines[instant]
        at[row] = {"right": instant, "tied": 5}.get(clock, draw(st.integers(0, 12)))
        known[row] = clock != "none" and (clock != "some" or draw(st.booleans()))
        role = draw(st.sampled_from(["send", "receive", "internal"]))
        if role == "send":
            unmatched.append(row)
        elif role == "receive" and unmatched:
            cause[row] = unmatched.pop(draw(st.integers(0, len(unmatched) - 1)))
    return starts, at, known, line, cause


def predecessors(starts, cause, row):
    before = [] if row in starts[:-1] else [row - 1]
    return before + ([int(cause[row])] if cause[row] != NONE else [])


def least_times(starts, at, known, cause):
    """Return the least times the slow way: raise those before a predecessor until none is."""
    tick = 0 if known.any() else 1
    floor = int(at[known].min()) if known.any() else 0
    times = [int(at[row]) if known[row] else floor for row in range(len(at))]
    moved = True
    while moved:
        moved = False
        for row in range(len(at)):
            least = max((times[p] + tick for p in predecessors(starts, cause, row)), default=0)
            if times[row] < least:
                times[row], moved = least, True
    return times


@settings(max_examples=examples(100), deadline=None)
@given(runs())
def test_times_are_the_least_that_causality_allows(run):
    starts, at, known, line, cause = run
    times = causal_times(starts, at, known, line, cause)
    assert times.at.tolist() == least_times(starts, at, known, cause)


@settings(max_examples=examples(100), deadline=None)
@given(runs())
def test_steps_are_one_causal_order_of_the_times(run):
    starts, at, known, line, cause = run
    times = causal_times(starts, at, known, line, cause)
    assert sorted(times.step) == list(range(len(at)))
    by_step = np.argsort(times.step)
    assert (np.diff(times.at[by_step]) >= 0).all()
    done = set()
    for row in by_step.tolist():
        ready = [
            other
            for other in range(len(at))
            if other not in done
            and times.at[other] == times.at[row]
            and done.issuperset(predecessors(starts, cause, other))
        ]
        assert row == min(ready, key=lambda other: line[other])
        done.add(row)


@settings(max_examples=examples(100), deadline=None)
@given(runs(), st.integers(1, 6))
def test_steps_do_not_depend_on_how_many_rows_are_sorted_at_once(run, rows_at_once):
    given_columns = [column.copy() for column in run]
    expected = causal_times(*run)
    made = []

    def new(length):
        made.append(np.empty(length, np.int64))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks, "ROWS_AT_ONCE", rows_at_once)
        patch.setattr(clocks, "_SAMPLED", 1)
        times = causal_times(*run, new)
    assert times.at.tolist() == expected.at.tolist()
    assert times.step.tolist() == expected.step.tolist()
    for column, before in zip(run, given_columns, strict=True):
        assert column.tolist() == before.tolist()
    if len(times.step):
        assert times.step is made[-1]
        assert times.at is run[1] or times.at is made[0]


@settings(max_examples=examples(60), deadline=None)
@given(runs(), st.data())
def test_a_circle_is_found_with_its_rows(run, data):
    starts, at, known, line, cause = run
    free = [row for row in range(len(at)) if cause[row] == NONE and row not in cause]
    ends = [p for p in range(len(starts) - 1) if starts[p + 1] - starts[p] > 1]
    if not ends:
        return
    process = data.draw(st.sampled_from(ends))
    first, last = int(starts[process]), int(starts[process + 1]) - 1
    if first not in free or last in cause:
        return
    cause = cause.copy()
    cause[first] = last
    with pytest.raises(CausalCycle) as caught:
        causal_times(starts, at, known, line, cause)
    rows = caught.value.rows
    for earlier, later in zip(rows, rows[1:] + rows[:1], strict=True):
        same_process = (np.searchsorted(starts, [earlier, later], side="right") - 1).tolist()
        assert cause[later] == earlier or (same_process[0] == same_process[1] and earlier < later)
