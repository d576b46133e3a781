"""Two recordings are compared: processes, events, ends and the answers about snapshots."""

import pytest

from snapshots.domain.comparing import aligning
from snapshots.domain.comparing.model import GlobalState, Held, Judgement, Spot
from snapshots.domain.comparing.runs import Events, Run, compare_runs, fair_share
from snapshots.domain.judging.answers import CUT, FAILS, HOLDS


def a_run(name: str, events: dict[str, str], *, total=None, states=None, sent=None, **more) -> Run:
    """Return a run in which each letter is an event; the states are those of the first process."""
    texts = {process: list(letters) for process, letters in events.items()}
    known = {process: [None] * len(letters) for process, letters in texts.items()}
    known |= {next(iter(texts)): states} if states else {}
    return Run(
        name,
        {
            process: Events(letters, known[process], total or len(letters))
            for process, letters in texts.items()
        },
        lambda process, index: Spot(process, index, index * 10, index),
        lambda process, index: f"does {texts[process][index]}",
        sent or {},
        more.pop("end", GlobalState(f"the end of {name}", {}, {})),
        more.pop("snapshots", {}),
    )


def sentences(left: Run, right: Run) -> list[str]:
    return [item.sentence for item in compare_runs(left, right).comparison.worst_first()]


def test_a_run_does_not_differ_from_itself():
    run = a_run("one", {"p": "abc", "q": ""})
    comparison = compare_runs(run, run).comparison
    assert comparison.differences == []
    assert comparison.equal == {"events": 2}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (
            "abcd",
            "abXcd",
            "p: the first 2 events agree; then in one it does c, and in two it does X. Of its "
            "events, 1 only in two.",
        ),
        (
            "abc",
            "a",
            "p: the first event agrees; then in one it does b, and two has no further event. Of "
            "its events, 2 only in one.",
        ),
        (
            "ab",
            "xb",
            "p: they differ from the first event on; then in one it does a, and in two it does x. "
            "Of its events, 1 only in one, 1 only in two.",
        ),
    ],
)
def test_the_first_difference_of_a_process_is_a_sentence(left, right, expected):
    assert sentences(a_run("one", {"p": left}), a_run("two", {"p": right})) == [expected]


def test_the_spots_are_the_first_events_that_differ():
    left, right = a_run("one", {"p": "abcd"}), a_run("two", {"p": "abXcd"})
    [difference] = compare_runs(left, right).comparison.differences
    assert (difference.left_spot, difference.right_spot) == (
        Spot("p", 2, 20, 2),
        Spot("p", 2, 20, 2),
    )
    assert (difference.size, difference.measure) == (1, "events")


def test_an_event_that_both_have_may_leave_another_state():
    left = a_run("one", {"p": "abc"}, states=["1", "2", "3"])
    right = a_run("two", {"p": "abc"}, states=["1", "5", "6"])
    assert sentences(left, right) == [
        "p: event 1 of one (does b), which both have, leaves the state 2 in one and 5 in two. So "
        "does 1 further event."
    ]


def test_states_that_one_side_does_not_hold_are_not_compared():
    left = a_run("one", {"p": "ab"}, states=["1", "2"])
    right = a_run("two", {"p": "ab"})
    comparison = compare_runs(left, right).comparison
    assert comparison.differences == []
    assert [item.sentence for item in comparison.not_compared] == [
        "p: the states after 2 events that both have are not compared: one of the recordings does "
        "not hold them."
    ]


def test_processes_channels_and_snapshots_of_one_side_only():
    left = a_run("one", {"p": "a", "q": "abc"}, sent={"k": 4}, snapshots={"s1": {}, "s2": {}})
    right = a_run("two", {"p": "a"}, snapshots={"s2": {}})
    assert sentences(left, right) == [
        "Only one has the channel k, with 4 messages.",
        "Only one has the process q, with 3 events.",
        "Only one has a snapshot s1.",
    ]


def test_snapshots_of_one_name_are_compared_by_their_answers():
    holds = {"s1": {CUT: Judgement(HOLDS, "It holds.")}}
    fails = {"s1": {CUT: Judgement(FAILS, "m17 is early.", 1)}}
    left, right = a_run("one", {"p": ""}, snapshots=fails), a_run("two", {"p": ""}, snapshots=holds)
    assert sentences(left, right) == [
        "s1 of two is consistent; not so in s1 of one: m17 is early.",
    ]


def test_the_ends_are_compared():
    ends = [
        GlobalState(f"the end of {name}", {"p": Held(str(n))}, {}) for n, name in enumerate("ab")
    ]
    left, right = a_run("a", {"p": ""}, end=ends[0]), a_run("b", {"p": ""}, end=ends[1])
    assert sentences(left, right) == ["p held 0 at the end of a and 1 at the end of b."]


def test_what_lies_beyond_the_limit_is_said():
    left, right = a_run("one", {"p": "abc"}, total=1_000), a_run("two", {"p": "abcd"})
    comparison = compare_runs(left, right).comparison
    assert [item.sentence for item in comparison.not_compared] == [
        "p: the last 997 of 1,000 events in one are not compared: the recording has more events "
        "than one comparison takes.",
        "p: 1 event of two may stand for events of one that are not compared.",
    ]
    assert comparison.differences == []


@pytest.mark.parametrize(
    ("left", "right", "cut_off", "size", "settled"),
    [
        ("abc", "abc", (True, True), None, (3, 3)),
        ("abcd", "abcef", (True, True), None, (3, 3)),
        ("abc", "abcef", (False, True), 2, (3, 5)),  # no event of the left side is left for e and f
        ("abcd", "abcef", (False, True), 2, (3, 5)),  # d may follow on the right side
        ("axbc", "abc", (True, True), 1, (4, 3)),
        ("axbcd", "abc", (True, True), 1, (4, 3)),
    ],
)
def test_events_that_may_stand_for_one_beyond_the_limit_do_not_count_as_different(
    left, right, cut_off, size, settled
):
    sides = [
        a_run(name, {"p": letters}, total=9 if is_cut_off else None)
        for name, letters, is_cut_off in zip(("one", "two"), (left, right), cut_off, strict=True)
    ]
    result = compare_runs(*sides)
    assert [item.size for item in result.comparison.differences] == ([size] if size else [])
    assert result.settled == {"p": settled}
    assert result.comparison.not_compared
    assert "events" not in result.comparison.equal


def test_a_process_whose_states_are_not_compared_is_not_the_same():
    left, right = a_run("one", {"p": "ab"}, states=["1", "2"]), a_run("two", {"p": "ab"})
    assert compare_runs(left, right).comparison.equal == {}


def test_events_that_are_not_aligned_are_not_settled(monkeypatch):
    monkeypatch.setattr(aligning.Effort.__init__, "__defaults__", (0,))
    left, right = a_run("one", {"p": "abXYc"}), a_run("two", {"p": "abSTUc"})
    assert compare_runs(left, right).settled == {"p": (2, 2)}


def test_events_that_could_not_be_aligned_are_said(monkeypatch):
    monkeypatch.setattr(aligning.Effort.__init__, "__defaults__", (0,))
    left, right = a_run("one", {"p": "abcdefx"}), a_run("two", {"p": "stuvwx"})
    comparison = compare_runs(left, right).comparison
    assert [item.sentence for item in comparison.not_compared] == [
        "p: events 0 to 5 of one and 0 to 4 of two are not aligned, because the search for what "
        "both share would take too long. They count as different."
    ]
    assert comparison.differences[0].size == 11


@pytest.mark.parametrize(
    ("lengths", "most", "share"),
    [([5, 5], 20, 20), ([5, 5], 10, 10), ([5, 5], 9, 4), ([1, 100], 21, 20), ([], 9, 9)],
)
def test_processes_share_what_can_be_compared(lengths, most, share):
    assert fair_share(lengths, most) == share
    assert sum(min(length, share) for length in lengths) <= most
