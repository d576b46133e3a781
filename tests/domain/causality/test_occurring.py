"""An event may occur in a global state by the definition, and is refused with the reason."""

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.global_states import state_graph, whole
from snapshots.domain.causality.occurring import events_of, following, may_occur
from snapshots.domain.model.recording import RECEIVE
from snapshots.domain.simulators import samples
from snapshots.domain.simulators.script import Script
from tests.builders import recorded
from tests.domain.causality.test_global_states import small_runs
from tests.effort import examples

MOST = 3_000


def graph_of(log):
    return state_graph(whole(recorded(log)), MOST)


def attempts(graph, number):
    """Return what comes of each event of the run, by process and message or label."""
    state = graph.states[number]
    return {
        (
            graph.computation.processes[event.action.process],
            event.action.kind,
            event.action.parcel.id if event.action.parcel else event.action.label,
        ): may_occur(graph.computation, state, event)
        for event in events_of(graph.computation)
    }


def test_in_the_paper_s_example_only_two_events_can_occur_at_first():
    graph = graph_of(samples.a_state_that_never_occurred())
    found = attempts(graph, 0)
    assert {key for key, occurrence in found.items() if occurrence.may} == {
        ("p", "send", "M"),
        ("q", "send", "M'"),
    }
    assert found["p", "receive", "M'"].reasons == (
        'p is in the state "A", and the event needs "B".',
        "c' is empty, and the event needs M' at its head.",
    )


def test_an_event_that_is_behind_another_at_the_head_is_refused_with_both():
    run = Script("two on their way", {"p": 0, "q": 0}, ["p->q"])
    run.send("p->q", "m7", 7, state=0).send("p->q", "m9", 9, state=0)
    run.receive("p->q", "m7", state=0).receive("p->q", "m9", state=0)
    graph = graph_of(run)
    both_under_way = next(
        state for state in graph.states if len(state.channels.get("p->q", ())) == 2
    )
    found = attempts(graph, both_under_way.number)
    assert found["q", "receive", "m7"].may
    refused = found["q", "receive", "m9"]
    assert refused.may is False
    assert refused.reasons == ("m7 (7) is at the head of p->q, not m9 (9).",)


def test_a_channel_that_is_not_fifo_gives_any_of_its_messages():
    run = Script("any order", {"p": 0, "q": 0}, ["p->q"], fifo=False)
    run.send("p->q", "m7", 7, state=0).send("p->q", "m9", 9, state=0)
    run.receive("p->q", "m9", state=0).receive("p->q", "m7", state=0)
    graph = graph_of(run)
    both_under_way = next(
        state for state in graph.states if len(state.channels.get("p->q", ())) == 2
    )
    found = attempts(graph, both_under_way.number)
    assert found["q", "receive", "m9"].may
    assert [parcel.id for parcel in found["q", "receive", "m9"].channels["p->q"]] == ["m7"]


def test_a_state_that_is_not_known_decides_nothing():
    run = Script("silent", {"p": None, "q": 0}, ["p->q"])
    run.send("p->q", "m", 1).receive("p->q", "m", state=1)
    graph = graph_of(run)
    found = attempts(graph, 0)["p", "send", "m"]
    assert (found.may, found.processes) == (None, None)
    assert found.reasons == ("The state of p here is not known.",)


@settings(max_examples=examples(60), deadline=None)
@given(small_runs())
def test_the_next_events_of_each_cut_may_occur_and_lead_to_the_next_states(recording):
    graph = state_graph(whole(recording), MOST)
    events = {event.action: event for event in events_of(graph.computation)}
    for edge in graph.edges:
        event = events[edge.action]
        source, target = graph.states[edge.source], graph.states[edge.target]
        if event.action.kind == RECEIVE and event.action.parcel is None:
            continue
        if None in source.processes or None in target.processes:
            continue
        found = may_occur(graph.computation, source, event)
        assert found.may
        assert graph.states[following(graph.states, found)].same_as == target.same_as


@settings(max_examples=examples(60), deadline=None)
@given(small_runs(), st.data())
def test_an_event_may_occur_exactly_if_both_conditions_of_the_definition_hold(recording, data):
    graph = state_graph(whole(recording), MOST)
    events = events_of(graph.computation)
    if not events:
        return
    state = data.draw(st.sampled_from(graph.states))
    event = data.draw(st.sampled_from(events))
    action = event.action
    if event.before is None or state.processes[action.process] is None:
        return
    in_state = state.processes[action.process] == event.before
    fits = True
    if action.kind == RECEIVE and action.parcel is not None:
        held = [parcel.value or parcel.id for parcel in state.channels.get(action.channel, ())]
        fifo = {channel.id: channel.fifo for channel in graph.computation.channels}
        wanted = action.parcel.value or action.parcel.id
        fits = wanted in (held[:1] if fifo[action.channel] else held)
    assert bool(may_occur(graph.computation, state, event).may) == (in_state and fits)
