"""State-transition diagrams: the paper's own, and every run walks along its diagram."""

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.global_states import whole
from snapshots.domain.causality.process_states import MOST_STATES, diagrams
from snapshots.domain.simulators import samples
from snapshots.domain.simulators.script import Script
from tests.builders import recorded
from tests.domain.causality.test_global_states import small_runs
from tests.effort import examples


def at_the_end(log):
    computation = whole(recorded(log))
    return diagrams(computation, [len(actions) for actions in computation.actions])


def test_figures_5_and_6_of_the_paper():
    p, q = at_the_end(samples.a_state_that_never_occurred())
    assert p.states == ('"A"', '"B"')
    assert q.states == ('"C"', '"D"')
    assert [(way.source, way.target, way.event) for way in p.transitions] == [
        (0, 1, "send M on c"),
        (1, 0, "receive M' from c'"),
    ]
    assert [(way.source, way.target, way.event) for way in q.transitions] == [
        (0, 1, "send M' on c'"),
        (1, 0, "receive M from c"),
    ]


def test_figure_3_of_the_paper_with_how_often_the_token_came_and_went():
    p, _ = at_the_end(samples.one_token())
    assert p.states == ("1", "0")
    assert [(way.event, way.count) for way in p.transitions] == [
        ("send 1 on c", 2),
        ("receive 1 from c'", 1),
    ]


def test_a_process_whose_state_is_not_known_has_no_diagram():
    run = Script("silent", {"p": None, "q": 0}, ["p->q"])
    p, q = at_the_end(run.send("p->q", "m", 1).receive("p->q", "m", state=1))
    assert (p.states, p.states_total, p.current) == ((), None, None)
    assert p.reason == "The log does not hold all of its states."
    assert q.current == 1


def test_a_process_with_many_states_is_counted_and_not_drawn():
    run = Script("counter", {"p": 0}, [])
    for number in range(1, MOST_STATES + 5):
        run.internal("p", "counts", state=number)
    (p,) = at_the_end(run)
    assert (p.states, p.states_total) == ((), MOST_STATES + 5)
    assert p.reason == "It had 17 states; up to 12 are drawn."


@settings(max_examples=examples(60), deadline=None)
@given(small_runs(), st.data())
def test_every_process_walks_along_its_diagram(recording, data):
    computation = whole(recording)
    counts = [data.draw(st.integers(0, len(actions))) for actions in computation.actions]
    for process, diagram in enumerate(diagrams(computation, counts)):
        visited = [computation.states[process]]
        visited += [action.state for action in computation.actions[process]]
        if None in visited:
            assert diagram.current is None
            continue
        assert set(diagram.states) == set(visited)
        assert diagram.states[diagram.current] == visited[counts[process]]
        assert sum(way.count for way in diagram.transitions) == len(visited) - 1
        assert sum(way.count_before for way in diagram.transitions) == counts[process]
        last = [way for way in diagram.transitions if way.is_last]
        assert len(last) == bool(counts[process])
        if last:
            ends = diagram.states[last[0].source], diagram.states[last[0].target]
            assert ends == (visited[counts[process] - 1], visited[counts[process]])
