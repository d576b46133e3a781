"""Vector clocks agree with reachability in the graph of events."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.vector_clocks import vector_clocks
from snapshots.domain.conditions.predicates import detect
from snapshots.domain.judging import cuts
from snapshots.domain.model import shapes
from tests.builders import a_run, recorded, runs, simulated
from tests.effort import examples


def effects(recording):
    """Return the graph of events: for each (process, index) the events right after it."""
    edges = {
        (process, event.index): {(process, event.index + 1)}
        for process, events in recording.events.items()
        for event in events
    }
    for process, events in recording.events.items():
        if events:
            edges[process, events[-1].index] = set()
    for channel in recording.topology.channels:
        for flow in (recording.messages[channel.id], recording.markers[channel.id]):
            for travelling in flow:
                if travelling.received_index is not None:
                    receipt = (channel.target, travelling.received_index)
                    edges[channel.source, travelling.sent_index].add(receipt)
    return edges


def reached_from(event, edges):
    """Return the events that can be reached from an event, without itself."""
    reached, waiting = set(), [event]
    while waiting:
        for effect in edges[waiting.pop()] - reached:
            reached.add(effect)
            waiting.append(effect)
    return reached


def positions(recording, values):
    names = [process.id for process in recording.topology.processes]
    return dict(zip(names, values.tolist(), strict=True))


def ends(recording):
    processes = recording.topology.processes
    return np.array([len(recording.events[process.id]) for process in processes], np.int64)


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=7, fifo=None), st.data())
def test_clocks_are_reachability(log, data):
    recording = recorded(log)
    edges = effects(recording)
    if not edges:
        return
    clocks = vector_clocks(recording)
    codes = {process: code for code, process in enumerate(clocks.processes)}
    for event in data.draw(st.lists(st.sampled_from(sorted(edges)), min_size=1, max_size=5)):
        after = reached_from(event, edges)
        before = {other for other in edges if event in reached_from(other, edges)}
        past, future = defaultdict(int), dict(zip(codes, ends(recording).tolist(), strict=True))
        for process, index in before | {event}:
            past[process] = max(past[process], index + 1)
        for process, index in after | {event}:
            future[process] = min(future[process], index)
        expected_past = {process: past[process] for process in codes}
        assert positions(recording, clocks.of(*event)) == expected_past
        assert positions(recording, clocks.future(*event)) == future


def test_a_hand_made_run_has_the_clocks_of_the_textbook():
    recording = recorded(
        a_run()
        .internal("p", "a")
        .send("p->q", "m1")
        .internal("q", "b")
        .receive("p->q", "m1")
        .send("q->p", "m2")
        .receive("q->p", "m2")
        .internal("q", "c")
    )
    clocks = vector_clocks(recording)
    assert clocks.matrix.tolist() == [[1, 0], [2, 0], [3, 3], [0, 1], [2, 2], [2, 3], [2, 4]]
    assert clocks.matrix.dtype == np.int32
    assert clocks.future("p", 1).tolist() == [1, 1]
    assert clocks.future("q", 3).tolist() == [3, 3]


def test_a_marker_carries_causality():
    recording = recorded(a_run().send_marker("p->q", "s1").receive_marker("p->q", "s1"))
    assert vector_clocks(recording).of("q", 0).tolist() == [1, 1]


def test_a_past_cone_is_a_consistent_cut():
    recording = recorded(simulated(shapes.without_order(shapes.complete(4))))
    clocks = vector_clocks(recording)
    for row in clocks.matrix[::7]:
        assert cuts.is_consistent(recording, cuts.Cut(positions(recording, row)))


def test_a_recording_without_events_has_no_clocks():
    clocks = vector_clocks(recorded(a_run()))
    assert clocks.matrix.shape == (0, 2)


def test_a_marker_carries_influence_in_a_cone_but_not_in_cuts_and_conditions():
    """A cone follows markers, and cuts and conditions do not.

    The workbench and the documents say so: see ``CAUSALITY`` in sentences.js, docs/model.md.
    """
    run = a_run().internal("p", "works", state=5).send_marker("p->q", "s1")
    run = run.receive_marker("p->q", "s1").internal("q", "works", state=7)
    recording = recorded(run.log())
    assert vector_clocks(recording).of("q", 1).tolist() == [2, 2]
    assert cuts.is_consistent(recording, cuts.Cut({"q": 2}))
    found = detect(recording, 'processes["p"] != 5 && processes["q"] == 7')
    assert found.possibly is True
