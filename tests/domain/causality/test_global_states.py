"""The graph of global states: its paths are the orders in which the events can happen."""

from collections import Counter
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.global_states import (
    Computation,
    StateGraph,
    computation_between,
    levels,
    state_graph,
    through,
    whole,
)
from snapshots.domain.judging.cuts import Cut, contents, cut_at, is_consistent, state_at
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import APPLICATION_KINDS, RECEIVE, Recording
from snapshots.domain.simulators import samples
from tests.builders import a_run, recorded, simulated
from tests.damage import record_late
from tests.effort import examples

MOST = 5_000


@st.composite
def small_runs(draw) -> Recording:
    """Generate runs of at most three processes and seven events, on channels of any order."""
    names = "pqr"[: draw(st.integers(1, 3))]
    channels = [f"{a}->{b}" for a in names for b in names if a != b]
    script = a_run(dict.fromkeys(names, 0), channels, fifo=False)
    in_flight = []
    for number in range(draw(st.integers(0, 7))):
        kinds = ["internal", *(["send"] if channels else []), *(["receive"] if in_flight else [])]
        kind = draw(st.sampled_from(kinds))
        if kind == "internal":
            script.internal(draw(st.sampled_from(names)), "works", state=number)
        elif kind == "send":
            channel = draw(st.sampled_from(channels))
            script.send(channel, f"m{number}", number, state=number)
            in_flight.append((channel, f"m{number}"))
        else:
            arrived = draw(st.sampled_from(in_flight))
            in_flight.remove(arrived)
            script.receive(*arrived, state=number)
    return recorded(script)


def graph_of(recording: Recording) -> StateGraph:
    graph = state_graph(whole(recording), MOST)
    assert graph is not None
    return graph


def positions(computation: Computation, counts) -> Cut:
    """Return the cut of a log without snapshots, where every event counts."""
    return Cut(dict(zip(computation.processes, counts, strict=True)))


def can_happen(order, recording: Recording) -> bool:
    """Tell whether an order of all events keeps the order of each process and of each message."""
    place = {(event.process, event.index): number for number, event in enumerate(order)}
    for channel in recording.topology.channels:
        for message in recording.messages.get(channel.id, ()):
            if message.received_index is not None:
                sent = place[channel.source, message.sent_index]
                if sent > place[channel.target, message.received_index]:
                    return False
    return all(
        first.process != second.process or first.index < second.index
        for number, first in enumerate(order)
        for second in order[number + 1 :]
    )


def paths(graph: StateGraph) -> set[tuple[tuple[str, int], ...]]:
    """Return the events along every path from the first state to the last."""
    ways = {0: [()]}
    for edge in graph.edges:
        event = graph.computation.processes[edge.action.process], edge.action.index
        ways.setdefault(edge.target, []).extend((*way, event) for way in ways[edge.source])
    return set(ways[len(graph.states) - 1])


@settings(max_examples=examples(40), deadline=None)
@given(small_runs())
def test_the_paths_are_exactly_the_orders_that_can_happen(recording):
    events = [event for events in recording.events.values() for event in events]
    possible = {
        tuple((event.process, event.index) for event in order)
        for order in permutations(events)
        if can_happen(order, recording)
    }
    assert paths(graph_of(recording)) == possible


@settings(max_examples=examples(60), deadline=None)
@given(small_runs())
def test_the_states_are_all_consistent_cuts_with_what_the_log_holds_there(recording):
    graph = graph_of(recording)
    computation = graph.computation
    every = product(*(range(len(actions) + 1) for actions in computation.actions))
    consistent = {c for c in every if is_consistent(recording, positions(computation, c))}
    assert {state.counts for state in graph.states} == consistent
    assert [state.number for state in graph.states] == list(range(len(consistent)))
    assert all(first.level <= second.level for first, second in pairwise(graph.states))
    for state in graph.states:
        cut = positions(computation, state.counts)
        held = {name: [m.id for m in ms] for name, ms in contents(recording, cut).items() if ms}
        assert {name: [m.id for m in ms] for name, ms in state.channels.items()} == held
        for process, text in zip(computation.processes, state.processes, strict=True):
            assert text == state_at(recording, process, cut.position(process))


@settings(max_examples=examples(30), deadline=None)
@given(small_runs())
def test_cuts_are_the_same_state_exactly_if_processes_and_contents_are_equal(recording):
    graph = graph_of(recording)
    shown = [
        (state.processes, {name: [m.value for m in held] for name, held in state.channels.items()})
        for state in graph.states
    ]
    assert [shown.index(state) for state in shown] == [state.same_as for state in graph.states]


def counts_of(computation: Computation, recording: Recording, snapshot: str):
    (report,) = (report for report in judge(recording) if report.snapshot == snapshot)
    return computation.counts_at(report.positions)


def small_simulated(**options):
    return simulated(events=24, snapshots=((5_000, ("p1",)),), **options)


@pytest.mark.parametrize("seed", range(6))
def test_the_recorded_state_of_a_consistent_snapshot_is_in_the_graph_and_on_the_second_path(seed):
    recording = recorded(small_simulated(seed=seed))
    computation = whole(recording)
    counts = counts_of(computation, recording, "s1")
    assert computation.is_consistent(counts)
    reordered = through(computation, counts)
    assert Counter(reordered) == Counter(computation.in_order)
    reached = list(computation.first)
    for action in reordered:
        assert action in list(computation.next_actions(tuple(reached)))
        reached[action.process] += 1


def test_the_recorded_state_of_an_inconsistent_snapshot_is_not_in_the_graph():
    recording = recorded(record_late(simulated(events=60)).log)
    computation = whole(recording)
    counts = counts_of(computation, recording, "s1")
    assert not computation.is_consistent(counts)
    start, end = cut_at(recording, step=0), cut_at(recording, step=10**6)
    assert not computation_between(recording, start, end).is_consistent(counts)


def test_two_banks_pass_through_the_recorded_state_only_in_the_other_order():
    recording = recorded(samples.two_banks())
    graph = graph_of(recording)
    counts = counts_of(graph.computation, recording, "s1")
    recorded_state = graph.states[graph.number_of[counts]]
    assert recorded_state.processes == ("9000", "3000")
    assert [m.id for m in recorded_state.channels["B->A"]] == ["m2", "m3"]
    assert recorded_state.number not in graph.run()
    path = graph.path_through(counts)
    assert recorded_state.number in path
    ways = {(edge.source, edge.target) for edge in graph.edges}
    assert {*pairwise(path), *pairwise(graph.run())} <= ways


def test_a_part_of_a_run_begins_with_what_the_channels_held():
    recording = recorded(samples.two_banks())
    start, end = cut_at(recording, at=3_300), cut_at(recording, at=4_400)
    part = computation_between(recording, start, end)
    assert {name: [m.id for m in held] for name, held in part.contents.items()} == {
        "A->B": ["m1"],
        "B->A": ["m2"],
    }
    graph = state_graph(part, MOST)
    assert [state.level for state in graph.states].count(0) == 1
    last = graph.states[-1]
    assert (last.processes, [m.id for m in last.channels["B->A"]]) == (("10000", "3000"), ["m3"])


def folded(graph: StateGraph):
    """Return the graph over different global states, as pairs of what the processes hold."""

    def name(number: int):
        state = graph.states[graph.states[number].same_as]
        held = {
            channel: tuple(m.value or m.id for m in ms) for channel, ms in state.channels.items()
        }
        return state.processes, tuple(sorted(held.items()))

    return {(name(edge.source), name(edge.target)) for edge in graph.edges}


def test_the_single_token_gives_the_four_states_of_figure_4():
    in_p, in_c = (("1", "0"), ()), (("0", "0"), (("c", ("1",)),))
    in_q, in_c_back = (("0", "1"), ()), (("0", "0"), (("c'", ("1",)),))
    graph = graph_of(recorded(samples.one_token()))
    assert folded(graph) == {(in_p, in_c), (in_c, in_q), (in_q, in_c_back), (in_c_back, in_p)}
    assert graph.distinct == 4
    assert len(graph.states) == 7


def test_example_2_2_passes_through_the_states_of_figure_7_and_the_recorded_one_is_another():
    recording = recorded(samples.a_state_that_never_occurred())
    graph = graph_of(recording)

    def shown(number: int):
        state = graph.states[number]
        return *state.processes, {name: [m.id for m in ms] for name, ms in state.channels.items()}

    assert [shown(number) for number in graph.run()[:4]] == [
        ('"A"', '"C"', {}),
        ('"B"', '"C"', {"c": ["M"]}),
        ('"B"', '"D"', {"c": ["M"], "c'": ["M'"]}),
        ('"A"', '"D"', {"c": ["M"]}),
    ]
    counts = counts_of(graph.computation, recording, "s1")
    recorded_state = graph.number_of[counts]
    assert shown(recorded_state) == ('"A"', '"D"', {"c'": ["M'"]})
    assert recorded_state not in graph.run()
    assert graph.path_through(counts)[1] == recorded_state


def test_more_states_than_the_limit_give_no_graph():
    computation = whole(recorded(samples.two_banks()))
    total = len(state_graph(computation, MOST).states)
    assert levels(computation, total - 1) is None
    assert state_graph(computation, total - 1) is None
    assert sum(map(len, levels(computation, total))) == total


def test_states_that_nobody_logged_are_not_taken_for_the_same():
    script = a_run({"p": None, "q": None}).internal("p", "works", state=None)
    graph = graph_of(recorded(script.internal("p", "works", state=None)))
    assert [state.same_as for state in graph.states] == [0, 1, 2]
    assert graph.distinct is None


def test_a_receive_without_a_send_is_counted():
    recording = recorded(a_run().receive("p->q", "m1", state=6))
    assert whole(recording).unexplained == 1
    kinds = [event.kind for events in recording.events.values() for event in events]
    assert kinds == [RECEIVE]
    assert set(kinds) <= APPLICATION_KINDS
