"""The barrier front says only what is true of the run behind a poll, and names who is stuck."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.front.model import Load, Poll, PolledEdge, PolledVertex
from snapshots.domain.front.order import from_the_sources
from snapshots.domain.front.packing import pack, unpack
from snapshots.domain.front.rule import (
    ACKNOWLEDGED,
    CULPRIT,
    HELD_UP,
    NOT_KNOWN,
    NOT_REACHED,
    STARTED,
    WAITING,
    front_of,
)
from tests.domain.front.runs import Run, a_run, played

SEEDS = st.integers(0, 10**9)


@given(SEEDS, st.integers(0, 80), st.booleans())
def test_every_state_is_true_of_the_run(seed, most, tells_begun):
    run = played(a_run(seed), seed, most=most)
    for state in front_of(run.poll(tells_begun=tells_begun)).states:
        own = [each for each in run.subtasks() if each[0] == state.vertex]
        done = [each in run.acknowledged | run.finished for each in own]
        begun = [run.has_begun(each) or each in run.finished for each in own]
        if state.status == ACKNOWLEDGED:
            assert all(done)
        if state.status == STARTED:
            assert any(begun)
        if state.status == NOT_REACHED:
            assert not any(begun)
        if "has passed its barriers on" in state.reason:
            assert all(run.has_passed(each) or each in run.finished for each in own)


@given(SEEDS, st.integers(0, 80))
def test_nothing_before_a_culprit_explains_why_it_is_late(seed, most):
    run = played(a_run(seed), seed, most=most)
    front = front_of(run.poll())
    for culprit in front.culprits:
        assert not all(each in run.acknowledged | run.finished for each in of(run, culprit))
        for before in before_of(run, culprit):
            for each in of(run, before):
                assert each in run.acknowledged | run.finished or run.has_passed(each)


@given(SEEDS, st.integers(0, 80), st.booleans())
def test_who_is_late_is_a_culprit_or_waits_behind_one(seed, most, tells_begun):
    run = played(a_run(seed), seed, most=most)
    front = front_of(run.poll(tells_begun=tells_begun))
    for state in front.states:
        if state.role == WAITING:
            assert before_of(run, state.vertex) & set(front.culprits)
        assert (state.role == "") == (state.status == ACKNOWLEDGED)


@given(SEEDS, SEEDS)
def test_when_nothing_moves_the_culprits_are_those_where_barriers_are_stuck(seed, other):
    run = a_run(seed)
    chosen = [each for place, each in enumerate(run.subtasks()) if (other >> place % 29) & 1]
    stuck = set(chosen) - run.finished
    played(run, other, most=10_000, stuck=stuck)
    front = front_of(run.poll())
    vertices = {vertex for vertex, _ in stuck}
    first = {each for each in vertices if not before_of(run, each) & vertices}
    assert set(front.culprits) == first
    entered = {target for _, target in front.edges}
    assert entered == {each for each in first if any(e.target == each for e in run.edges)}


@given(SEEDS)
def test_when_all_have_acknowledged_there_is_no_front(seed):
    run = played(a_run(seed), seed, most=10_000)
    front = front_of(run.poll())
    assert (front.culprits, front.edges) == ((), ())
    assert front.sentence == "All subtasks have acknowledged."


@given(SEEDS)
def test_vertices_are_ordered_from_the_sources(seed):
    poll = a_run(seed).poll()
    places = {each.id: place for place, each in enumerate(from_the_sources(*shuffled(poll, seed)))}
    assert len(places) == len(poll.vertices)
    assert all(places[edge.source] < places[edge.target] for edge in poll.edges)


def shuffled(poll: Poll, seed: int):
    vertices = list(poll.vertices)
    random.Random(seed).shuffle(vertices)
    return vertices, poll.edges


@given(SEEDS, st.integers(0, 80), st.booleans())
def test_a_packed_poll_is_the_same_poll(seed, most, tells_begun):
    poll = played(a_run(seed), seed, most=most).poll(tells_begun=tells_begun)
    assert unpack(pack(poll)) == poll


def of(run: Run, vertex: str) -> list[tuple[str, int]]:
    return [each for each in run.subtasks() if each[0] == vertex]


def before_of(run: Run, vertex: str) -> set[str]:
    found, left = set(), [vertex]
    while left:
        target = left.pop()
        for edge in run.edges:
            if edge.target == target and edge.source not in found:
                found.add(edge.source)
                left.append(edge.source)
    return found


def a_poll(*vertices: PolledVertex, edges=(), is_unaligned=False) -> Poll:
    pairs = tuple(PolledEdge(*pair, "HASH", is_all_to_all=True) for pair in edges)
    return Poll(3, 9_000, 1_000, is_unaligned, vertices, pairs)


def test_a_slow_vertex_in_a_line_is_named_with_its_edge():
    poll = a_poll(
        PolledVertex("a", "orders", 2, 2, ()),
        PolledVertex("b", "slow", 2, 0, (0, 1), load=Load(1.0, 0.0)),
        PolledVertex("c", "sink", 1, 0, (0,)),
        edges=("ab", "bc"),
    )
    front = front_of(poll)
    assert front.edges == (("a", "b"),)
    assert [state.status for state in front.states] == [ACKNOWLEDGED, NOT_KNOWN, NOT_KNOWN]
    assert [state.role for state in front.states] == ["", CULPRIT, WAITING]
    assert front.sentence == (
        "The front is at the edge from orders to slow: 0 of 2 subtasks have acknowledged. "
        "sink waits behind."
    )
    assert front.states[2].reason.endswith("It waits behind slow.")


def test_a_vertex_that_only_copies_its_state_is_a_culprit_without_an_edge():
    poll = a_poll(
        PolledVertex("a", "orders", 1, 1, ()),
        PolledVertex("b", "totals", 2, 1, (1,)),
        PolledVertex("c", "sink", 1, 1, ()),
        edges=("ab", "bc"),
    )
    front = front_of(poll)
    assert (front.culprits, front.edges) == (("b",), ())
    assert front.sentence == (
        "totals has passed its barriers on and still copies its state: "
        "1 of 2 subtasks has acknowledged, not [1]."
    )


def test_if_barriers_may_overtake_a_join_is_not_blamed_for_an_input_that_holds():
    poll = a_poll(
        PolledVertex("a", "orders", 1, 1, ()),
        PolledVertex("r", "rules", 1, 0, (0,)),
        PolledVertex("j", "join", 1, 0, (0,)),
        PolledVertex("s", "sink", 1, 1, ()),
        edges=("aj", "rj", "js"),
        is_unaligned=True,
    )
    front = front_of(poll)
    assert front.culprits == ("r",)
    join = front.states[2]
    assert (join.status, join.role) == (STARTED, WAITING)
    assert front.sentence == (
        "The front is at the source rules: 0 of 1 subtasks have acknowledged. join waits behind."
    )


def test_behind_a_vertex_that_is_not_reached_nothing_is_reached():
    poll = a_poll(
        PolledVertex("a", "orders", 1, 1, ()),
        PolledVertex("b", "slow", 1, 0, (0,), untouched=(0,)),
        PolledVertex("c", "sink", 1, 0, (0,)),
        edges=("ab", "bc"),
    )
    assert [state.status for state in front_of(poll).states] == [
        ACKNOWLEDGED,
        NOT_REACHED,
        NOT_REACHED,
    ]


def test_a_poll_without_vertices_and_one_with_a_cycle_have_no_culprit():
    assert front_of(Poll(1, 5)).sentence == (
        "Where its barriers are is not known: the engine named no vertex."
    )
    poll = a_poll(PolledVertex("a", "a", 1, 0), PolledVertex("b", "b", 1, 0), edges=("ab", "ba"))
    front = front_of(poll)
    assert front.culprits == ()
    assert "wait for each other in a cycle" in front.sentence


def test_counts_that_are_not_known_are_said_to_be_so():
    poll = a_poll(PolledVertex("a", "orders"))
    assert front_of(poll).sentence == (
        "The front is at the source orders: how many of its subtasks have acknowledged is not "
        "known."
    )


def test_what_is_before_a_vertex_that_passed_barriers_on_has_passed_them_on():
    poll = a_poll(
        PolledVertex("a", "orders", 2, 0, (0, 1)),
        PolledVertex("b", "totals", 1, 0, (0,)),
        PolledVertex("c", "sink", 2, 1, (1,)),
        edges=("ab", "bc"),
    )
    front = front_of(poll)
    assert [state.status for state in front.states] == [STARTED] * 3
    assert [state.role for state in front.states] == [CULPRIT] * 3
    assert front.edges == (("b", "c"),)


def test_if_barriers_may_overtake_one_of_two_senders_may_still_hold():
    poll = a_poll(
        PolledVertex("a", "orders", 2, 1, (1,)),
        PolledVertex("b", "totals", 1, 0, (0,)),
        PolledVertex("c", "sink", 1, 1, ()),
        edges=("ab", "bc"),
        is_unaligned=True,
    )
    front = front_of(poll)
    assert front.culprits == ("a",)
    assert [state.role for state in front.states] == [CULPRIT, WAITING, ""]


PRESSED, BUSY, IDLE = Load(0.1, 0.9), Load(1.0, 0.0), Load(0.0, 0.0)


def a_line(*loads: Load, edges=("ab", "bc", "cd")) -> Poll:
    """Return a poll of which only the source has acknowledged; loads are of what is behind it."""
    late = [
        PolledVertex(id_, id_, 1, 0, (0,), load=load)
        for id_, load in zip("bcd", loads, strict=True)
    ]
    return a_poll(PolledVertex("a", "a", 1, 1, (), load=PRESSED), *late, edges=edges)


def roles(poll: Poll) -> list[str]:
    return [state.role for state in front_of(poll).states]


def test_a_vertex_that_is_held_up_is_no_culprit_but_the_busy_one_behind_it():
    front = front_of(a_line(PRESSED, PRESSED, BUSY))
    assert [state.role for state in front.states] == ["", HELD_UP, WAITING, CULPRIT]
    assert (front.culprits, front.edges) == (("d",), (("a", "b"),))
    assert front.sentence == (
        "The front is at the edge from a to b: 0 of 1 subtasks have acknowledged. b is held up: it "
        "was back-pressured 90 % of the time, and d behind it was busy for most of the time. "
        "c waits behind."
    )
    assert front.states[3].reason.endswith(
        "It waits behind b. It was busy for most of the time, and holds up b."
    )


def test_who_holds_up_a_vertex_is_not_known_if_nothing_behind_it_is_busy():
    for behind in ((Load(), BUSY), (IDLE, BUSY), (PRESSED, Load()), (PRESSED, PRESSED)):
        front = front_of(a_line(PRESSED, *behind))
        assert (front.culprits, front.edges) == ((), (("a", "b"),))
        assert "Which vertex behind it is slow is not known." in front.sentence


def test_a_vertex_with_a_busy_subtask_is_a_culprit_although_another_is_back_pressured():
    assert roles(a_line(Load(0.9, 0.9), BUSY, BUSY)) == ["", CULPRIT, WAITING, WAITING]
    assert roles(a_line(Load(0.5, 0.5), BUSY, BUSY)) == ["", CULPRIT, WAITING, WAITING]


def test_of_two_branches_only_the_slow_one_is_to_blame():
    edges = ("ab", "bc", "bd")
    assert roles(a_line(PRESSED, BUSY, IDLE, edges=edges)) == ["", HELD_UP, CULPRIT, WAITING]


def test_a_source_that_cannot_send_is_held_up():
    poll = a_poll(
        PolledVertex("a", "a", 1, 0, (0,), load=PRESSED),
        PolledVertex("b", "b", 1, 0, (0,), load=BUSY),
        edges=("ab",),
    )
    assert roles(poll) == [HELD_UP, CULPRIT]
    assert front_of(poll).states[0].reason.partition("It is a source. ")[2] == (
        "It is held up: it was back-pressured 90 % of the time, and b behind it was busy for most "
        "of the time."
    )


def test_a_vertex_that_has_passed_its_barriers_on_is_not_held_up_by_what_is_behind():
    poll = a_poll(
        PolledVertex("a", "a", 1, 1, ()),
        PolledVertex("b", "b", 1, 0, (0,), load=PRESSED),
        PolledVertex("c", "c", 2, 1, (1,), load=BUSY),
        edges=("ab", "bc"),
    )
    assert roles(poll) == ["", CULPRIT, CULPRIT]


def test_an_unaligned_vertex_that_has_passed_barriers_on_may_still_store_what_is_in_flight():
    poll = a_poll(
        PolledVertex("a", "a", 1, 1, ()),
        PolledVertex("b", "b", 1, 0, (0,)),
        PolledVertex("c", "c", 1, 1, ()),
        edges=("ab", "bc"),
        is_unaligned=True,
    )
    assert front_of(poll).sentence.startswith(
        "b has passed its barriers on and still copies its state or the records in flight to it"
    )


def test_of_many_vertices_at_the_front_those_of_which_most_is_known_are_named():
    loads = {"b": PRESSED, "c": PRESSED, "d": PRESSED, "e": Load()}
    late = [PolledVertex(id_, id_, 1, 0, (0,), load=load) for id_, load in loads.items()]
    slow = PolledVertex("f", "f", 1, 0, (0,), load=BUSY)
    edges = ("ab", "ac", "ad", "ae", "df")
    front = front_of(a_poll(PolledVertex("a", "a", 1, 1, ()), *late, slow, edges=edges))
    assert [sentence.rpartition(" to ")[2] for sentence in front.sentence.split(": 0")[:3]] == [
        "e",
        "d",
        "b",
    ]
    assert front.sentence.endswith("1 more vertex is at the front.")


LOADS = st.sampled_from([PRESSED, BUSY, IDLE, Load()])


@given(SEEDS, st.integers(0, 80), st.lists(LOADS, min_size=7, max_size=7))
def test_loads_move_the_blame_and_nothing_else(seed, most, loads):
    """The front stays where it is, and each culprit is at the front or busy behind it."""
    poll = played(a_run(seed), seed, most=most).poll()
    vertices = [replace(each, load=load) for each, load in zip(poll.vertices, loads, strict=False)]
    plain, loaded = front_of(poll), front_of(replace(poll, vertices=tuple(vertices)))
    assert loaded.edges == plain.edges
    assert [each.status for each in loaded.states] == [each.status for each in plain.states]
    by_id = {each.id: each.load for each in vertices}
    for culprit in set(loaded.culprits) - set(plain.culprits):
        assert by_id[culprit].is_busy
    for former in set(plain.culprits) - set(loaded.culprits):
        assert by_id[former].is_held_up
