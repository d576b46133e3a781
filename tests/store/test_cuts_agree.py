"""Searches in the store give the same cuts as the domain, which looks at every message."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.causal_closure import nearest_consistent_cut
from snapshots.domain.judging import cuts
from snapshots.domain.judging.cuts import Cut
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.values import total
from snapshots.store.reader import StoredRecording
from tests.builders import a_run, recorded, runs
from tests.domain.judging.edges import EDGES
from tests.effort import examples
from tests.store.folders import stored

MESSY_RUNS = runs(max_processes=8)


def as_cut(opened: StoredRecording, positions: np.ndarray) -> Cut:
    names = [process.id for process in opened.topology.processes]
    return Cut(dict(zip(names, positions.tolist(), strict=True)))


def any_positions(data: st.DataObject, opened: StoredRecording) -> np.ndarray:
    lengths = opened.tables.events.length.tolist()
    return np.array([data.draw(st.integers(0, length)) for length in lengths], np.int64)


def assert_agree(recording: Recording, opened: StoredRecording, positions: np.ndarray) -> None:
    stored_cut, cut = opened.cut(positions), as_cut(opened, positions)
    contents = cuts.contents(recording, cut)
    assert stored_cut.all_contents() == contents
    assert stored_cut.depths.tolist() == [len(messages) for messages in contents.values()]
    for channel, messages in contents.items():
        assert stored_cut.contents(channel) == messages
    assert stored_cut.orphans() == cuts.orphans(recording, cut)
    assert stored_cut.consistent == cuts.is_consistent(recording, cut)
    states = [
        cuts.state_at(recording, process, position) for process, position in cut.positions.items()
    ]
    assert list(stored_cut.states) == states
    on_their_way = [message.value for messages in contents.values() for message in messages]
    assert stored_cut.total() == total([*states, *on_their_way])
    inside = [event for event in recording.strays if cut.includes(event.process, event.index)]
    assert [(stray.process, stray.index) for stray in stored_cut.strays()] == [
        (event.process, event.index) for event in inside
    ]
    assert stored_cut.stray_count == len(inside)


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), data=st.data())
def test_any_cut_equals_that_of_the_domain(log, scattered, data):
    recording = recorded(log)
    with stored(recording, scattered=scattered) as opened:
        for _ in range(5):
            assert_agree(recording, opened, any_positions(data, opened))


@settings(max_examples=examples(8), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), data=st.data())
def test_any_cut_of_many_tiny_parts_equals_that_of_the_domain(log, scattered, data):
    recording = recorded(log)
    with stored(recording, scattered=scattered, most=40) as opened:
        for _ in range(3):
            positions = any_positions(data, opened)
            assert_agree(recording, opened, positions)
            assert_nearest(recording, opened, positions)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.__name__)
def test_the_cuts_of_snapshots_at_the_edges_equal_those_of_the_domain(edge):
    recording = recorded(edge())
    with stored(recording, scattered=1) as opened:
        for report in judge(recording):
            positions = opened.snapshot_positions(report.snapshot)
            names = [process.id for process in opened.topology.processes]
            known = {name: n for name, n in zip(names, positions.tolist(), strict=True) if n >= 0}
            assert known == report.positions
            scope = opened.scope(report.snapshot).processes
            assert tuple(process.id for process in scope) == report.processes
            assert_agree(recording, opened, np.maximum(positions, 0))
            assert_nearest(recording, opened, np.maximum(positions, 0))


def assert_nearest(recording: Recording, opened: StoredRecording, positions: np.ndarray) -> None:
    nearest = opened.cut(positions).nearest
    assert as_cut(opened, nearest) == nearest_consistent_cut(recording, as_cut(opened, positions))
    assert opened.cut(nearest).consistent


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), data=st.data())
def test_the_nearest_consistent_cut_equals_that_of_the_domain(log, scattered, data):
    recording = recorded(log)
    with stored(recording, scattered=scattered) as opened:
        for _ in range(5):
            assert_nearest(recording, opened, any_positions(data, opened))


def test_the_nearest_cut_follows_a_chain_of_messages_both_ways():
    """A message to the end of the chain needs one from its middle, which needs one from its
    beginning."""
    run = a_run(dict.fromkeys("pqrs", 0), ("p->q", "q->r", "r->s"))
    for _ in range(9):
        run.internal("p", "before")
    for channel in ("p->q", "q->r", "r->s"):
        run.send(channel, channel).receive(channel, channel)
    for _ in range(20):
        run.internal("s", "after")
    recording = recorded(run)
    with stored(recording) as opened:
        for positions, nearest in (
            ([0, 0, 0, 21], [10, 2, 2, 21]),
            ([0, 2, 2, 1], [0, 0, 0, 0]),
        ):
            assert opened.cut(np.array(positions)).nearest.tolist() == nearest
            assert_nearest(recording, opened, np.array(positions))


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), data=st.data())
def test_positions_at_an_instant_and_at_a_step_equal_those_of_the_domain(log, scattered, data):
    recording = recorded(log)
    with stored(recording, scattered=scattered) as opened:
        extent = opened.manifest.extent
        at = data.draw(st.integers(extent.from_ - 1, extent.to + 1))
        step = data.draw(st.integers(-1, extent.steps + 1))
        for asked in ({"at": at}, {"step": step}):
            positions = opened.positions_at(**asked)
            assert as_cut(opened, positions) == cuts.cut_at(recording, **asked)
            assert opened.cut(positions).consistent
            assert_agree(recording, opened, positions)


def test_a_message_that_is_never_received_lies_in_its_channel():
    run = a_run()
    run.send("p->q", "m1", value=3)
    with stored(recorded(run)) as opened:
        cut = opened.cut(opened.tables.events.length)
        assert [message.id for message in cut.contents("p->q")] == ["m1"]
        assert cut.depths.tolist() == [1, 0]


def test_a_lost_message_stays_in_the_channel_while_later_ones_arrive():
    run = a_run()
    for message in ("m1", "m2", "m3"):
        run.send("p->q", message, value=1)
    run.receive("p->q", "m2").receive("p->q", "m3")
    with stored(recorded(run)) as opened:
        assert opened.tables.messages.disorder.length.tolist() == [3, 0]
        cut = opened.cut(np.array([3, 2]))
        assert [message.id for message in cut.contents("p->q")] == ["m1"]
        assert opened.cut(np.array([3, 1])).depths.tolist() == [2, 0]


def test_a_lost_message_lies_between_others_that_have_not_arrived_yet():
    run = a_run()
    for message in ("m1", "m2", "m3"):
        run.send("p->q", message, value=1)
    run.receive("p->q", "m1").receive("p->q", "m3")
    with stored(recorded(run)) as opened:
        cut = opened.cut(np.array([3, 0]))
        assert [message.id for message in cut.contents("p->q")] == ["m1", "m2", "m3"]
        assert cut.depths.tolist() == [3, 0]


def test_a_channel_whose_last_message_is_in_flight_is_ordered():
    run = a_run()
    for message in ("m1", "m2"):
        run.send("p->q", message, value=1)
    run.receive("p->q", "m1")
    with stored(recorded(run)) as opened:
        assert opened.tables.messages.disorder.length.tolist() == [0, 0]


def test_a_limited_number_of_messages_is_listed_and_all_are_counted():
    run = a_run()
    for number in range(5):
        run.send("p->q", f"m{number}", value=1)
    with stored(recorded(run)) as opened:
        cut = opened.cut(np.array([5, 0]))
        assert [message.id for message in cut.contents("p->q", most=2)] == ["m0", "m1"]
        assert [len(messages) for messages in cut.all_contents(most=3).values()] == [3, 0]
        assert cut.depths.tolist() == [5, 0]


@pytest.mark.parametrize("positions", [[1], [0, 9], [-1, 0]])
def test_positions_that_do_not_fit_are_refused_with_a_sentence(positions):
    run = a_run()
    run.send("p->q", "m1", value=3)
    with stored(recorded(run)) as opened, pytest.raises(ValueError, match="position"):
        opened.cut(np.array(positions))


def test_a_protocol_event_leaves_the_state_as_it_was():
    run = a_run()
    run.internal("p", "think", state=7)
    for _ in range(300):
        run.send_marker("p->q", "s")
    with stored(recorded(run)) as opened:
        assert opened.cut(np.array([301, 0])).states == ("7", "5")
