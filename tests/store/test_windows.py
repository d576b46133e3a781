"""A window holds exactly the events and messages that looking at each of them would find."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging import cuts
from snapshots.domain.judging.cuts import Cut
from snapshots.domain.model.recording import RECORD_STATE, Event, Recording
from snapshots.store.reader import StoredRecording
from snapshots.store.windows import Limits, Window, WindowBins, window
from snapshots.store.writer import finish
from tests.builders import a_run, recorded, runs, simulated
from tests.effort import examples
from tests.store.folders import stored

NOTHING_FITS = Limits(messages=-1, events=-1)
MESSY_RUNS = runs(max_processes=6)
AXES = st.sampled_from(["time", "order"])


def coordinate(axis: str, event: Event) -> int:
    return event.at if axis == "time" else event.step + 1


def edges(data: st.DataObject, opened: StoredRecording, axis: str) -> tuple[int, int]:
    extent = opened.manifest.extent
    last = extent.to if axis == "time" else extent.steps
    first, second = (data.draw(st.integers(-3, last + 3)) for _ in range(2))
    return min(first, second), max(first, second)


class Expected:
    """The same window, found by looking at every event and message of the domain's recording."""

    def __init__(self, recording: Recording, axis: str, from_: float, to: float) -> None:
        self.recording, self.axis, self.from_, self.to = recording, axis, from_, to

    def events(self) -> list[tuple[str, int]]:
        return [
            (event.process, event.index)
            for process in self.recording.topology.processes
            for event in self.recording.events[process.id]
            if self.from_ <= coordinate(self.axis, event) <= self.to
        ]

    def flights(self, by_channel: dict) -> list[tuple[str, int]]:
        return [
            (channel.id, flight.ordinal)
            for channel in self.recording.topology.channels
            for flight in by_channel[channel.id]
            if self.sent(channel, flight) <= self.to
            and self.received(channel, flight) >= self.from_
        ]

    def sent(self, channel, flight) -> float:
        return coordinate(self.axis, self.recording.events[channel.source][flight.sent_index])

    def received(self, channel, flight) -> float:
        if flight.received_index is None:
            return np.inf
        return coordinate(self.axis, self.recording.events[channel.target][flight.received_index])

    def cut(self) -> Cut:
        return Cut({name: self.before(name, self.from_) for name in self.recording.events})

    def before(self, process: str, edge: float) -> int:
        events = self.recording.events[process]
        return sum(coordinate(self.axis, event) < edge for event in events)

    def most(self, channel, from_: int, end: int) -> int:
        """Return the largest depth at the begin of the bin and after each of its instants."""
        flights = self.recording.messages[channel.id]
        sent = [self.sent(channel, flight) for flight in flights]
        received = [self.received(channel, flight) for flight in flights]
        looks = [from_ - 1, *(at for at in sent if from_ <= at < end)]
        return max(sum(a <= at for a in sent) - sum(b <= at for b in received) for at in looks)


def assert_exact(asked: Window, recording: Recording, expected: Expected) -> None:
    processes = recording.topology.processes
    channels = recording.topology.channels
    names = [processes[code].id for code in asked.events.process]
    assert list(zip(names, asked.events.index.tolist(), strict=True)) == expected.events()
    assert asked.events_total == len(expected.events())
    for row, (process, index) in enumerate(expected.events()):
        event = recording.events[process][index]
        assert asked.kinds[asked.events.kind[row]] == event.kind
        assert (asked.events.at[row], asked.events.step[row]) == (event.at, event.step)
        assert asked.events.state[row] == event.state
        assert asked.events.state_known[row] == (event.state is not None)
        assert asked.events.label[row] == event.label
    messages = asked.messages
    names = [channels[code].id for code in messages.channel]
    flights = expected.flights(recording.messages)
    assert list(zip(names, messages.ordinal.tolist(), strict=True)) == flights
    assert asked.messages_total == len(flights)
    for row, (channel, ordinal) in enumerate(flights):
        message = recording.messages[channel][ordinal]
        assert (messages.message[row], messages.value[row]) == (message.id, message.value)
        assert_way(messages, row, message, recording)
    for row, (channel, ordinal) in enumerate(expected.flights(recording.markers)):
        marker = recording.markers[channel][ordinal]
        assert asked.snapshots[asked.markers.snapshot[row]] == marker.snapshot
        assert_way(asked.markers, row, marker, recording)
    assert asked.markers_total == len(asked.markers.channel)


def assert_way(columns, row: int, flight, recording: Recording) -> None:
    channel = recording.topology.channel_by_id[flight.channel]
    sent = recording.events[channel.source][flight.sent_index]
    assert (columns.sent_index[row], columns.sent_at[row]) == (sent.index, sent.at)
    assert columns.sent_step[row] == sent.step
    if flight.received_index is None:
        arrived = (-1, -1, -1)
    else:
        event = recording.events[channel.target][flight.received_index]
        arrived = (event.index, event.at, event.step)
    names = ("received_index", "received_at", "received_step")
    assert tuple(getattr(columns, name)[row] for name in names) == arrived


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), axis=AXES, data=st.data())
def test_an_exact_window_holds_every_event_and_every_message_that_overlaps_it(
    log, scattered, axis, data
):
    recording = recorded(log)
    with stored(recording, scattered=scattered) as opened:
        from_, to = edges(data, opened, axis)
        asked = opened.window(from_, to, axis=axis)
        expected = Expected(recording, axis, from_, to)
        assert asked.exact
        assert asked.bins is None
        assert_exact(asked, recording, expected)
        cut = expected.cut()
        assert asked.positions.tolist() == list(cut.positions.values())
        ends = [expected.before(process, to + 1) for process in recording.events]
        assert asked.positions_to.tolist() == ends
        contents = cuts.contents(recording, cut).values()
        assert asked.depths.tolist() == [len(messages) for messages in contents]
        states = [cuts.state_at(recording, name, cut.position(name)) for name in cut.positions]
        assert list(asked.states) == states


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, with_levels=st.booleans(), axis=AXES, data=st.data())
def test_a_binned_window_counts_every_event_and_the_most_messages(log, with_levels, axis, data):
    recording = recorded(log)
    with stored(recording, scattered=3) as opened:
        if with_levels:
            finish(opened.folder, opened.manifest, levels_above=0)
            opened = StoredRecording.open(opened.folder)
        from_, to = edges(data, opened, axis)
        limits = Limits(messages=-1, events=-1, counted=-1 if with_levels else 10**6)
        asked = window(opened.tables, from_, to, 300, axis, limits)
        assert not asked.exact
        assert_bins(asked.bins, recording, Expected(recording, axis, from_, to))


def assert_bins(bins: WindowBins, recording: Recording, expected: Expected) -> None:
    edges = bins.edges.astype(int).tolist()
    assert set(np.diff(edges)) == {bins.bin_width}
    for row, process in enumerate(recording.topology.processes):
        before = [expected.before(process.id, edge) for edge in edges]
        assert bins.events[row].tolist() == np.diff(before).tolist()
    for row, channel in enumerate(recording.topology.channels):
        depths = [expected.most(channel, first, end) for first, end in itertools.pairwise(edges)]
        assert bins.depth[row].tolist() == depths


def overtaking():
    run = a_run()
    for at, message in ((10, "m1"), (20, "m2"), (30, "m3"), (35, "m4")):
        run.send("p->q", message, value=1, at=at)
    return run.receive("p->q", "m3", at=40).receive("p->q", "m1", at=50)


def at_one_instant():
    run = a_run().send("p->q", "m1", value=1, at=10)
    return run.receive("p->q", "m1", at=20).send("p->q", "m2", value=1, at=20)


def a_peak_within_a_bin():
    run = a_run().send("p->q", "m1", value=1, at=10).send("p->q", "m2", value=1, at=11)
    run.receive("p->q", "m1", at=12).receive("p->q", "m2", at=13)
    return run.send("p->q", "m3", value=1, at=14).internal("p", "much later", at=20_000)


@pytest.mark.parametrize("make", [overtaking, at_one_instant, a_peak_within_a_bin])
@pytest.mark.parametrize("levels_above", [0, 10**6])
@pytest.mark.parametrize("axis", ["time", "order"])
def test_depths_are_right_where_messages_overtake_or_meet(make, levels_above, axis):
    recording = recorded(make())
    with stored(recording) as opened:
        finish(opened.folder, opened.manifest, levels_above)
        opened = StoredRecording.open(opened.folder)
        limits = Limits(messages=-1, events=-1, counted=levels_above)
        for from_, to in ((0, 60), (15, 60), (42, 45), (0, 20_000)):
            bins = window(opened.tables, from_, to, 300, axis, limits).bins
            assert_bins(bins, recording, Expected(recording, axis, from_, to))


def test_bins_hold_the_part_of_the_window_that_the_recording_has():
    recording = recorded(simulated())
    with stored(recording) as opened:
        extent = opened.manifest.extent
        bins = window(opened.tables, -1e12, 1e12, 500, limits=NOTHING_FITS).bins
        assert bins.edges[0] <= extent.from_ < bins.edges[1]
        assert bins.edges[-2] <= extent.to < bins.edges[-1]
        assert 250 <= len(bins.edges) - 1 <= 500


def test_a_window_of_fractions_holds_the_instants_between_them():
    recording = recorded(a_run().send("p->q", "m", value=1, at=10).receive("p->q", "m", at=11))
    with stored(recording) as opened:
        asked = opened.window(9.5, 10.5)
        assert asked.events.at.tolist() == [10]
        assert opened.window(10.2, 10.8).events_total == 0


def test_a_message_under_way_during_the_whole_window_is_in_it():
    recording = recorded(a_run().send("p->q", "m", value=1, at=10).receive("p->q", "m", at=90))
    with stored(recording) as opened:
        assert opened.window(40, 50).messages.message == ["m"]
        assert opened.window(91, 95).messages.message == []


@pytest.mark.parametrize("axis", ["time", "order"])
def test_a_binned_window_still_holds_markers_and_records(axis):
    recording = recorded(simulated())
    with stored(recording) as opened:
        asked = window(opened.tables, 0, 10**9, 500, axis, NOTHING_FITS)
        expected = Expected(recording, axis, 0, 10**9)
        assert len(asked.markers.channel) == len(expected.flights(recording.markers)) > 0
        assert {asked.kinds[kind] for kind in asked.events.kind} == {RECORD_STATE}
        assert len(asked.events.index) == 4
        assert len(asked.messages.channel) == 0
        assert asked.messages_total == len(expected.flights(recording.messages))


def test_too_many_markers_and_records_beside_bins_are_counted_only():
    with stored(recorded(simulated())) as opened:
        limits = Limits(messages=-1, events=-1, beside_bins=3)
        asked = window(opened.tables, 0, 10**9, 500, limits=limits)
        assert len(asked.markers.channel) == len(asked.events.index) == 0
        assert asked.markers_total == opened.manifest.counts["markers"]


def test_a_binned_window_shows_the_busiest_and_says_how_many_it_hides():
    run = a_run({"p": 1, "q": 2, "r": 3}, ["p->q", "q->r", "r->p"])
    for number in range(4):
        run.send("q->r", f"m{number}", value=1)
    run.send("r->p", "m", value=1)
    with stored(recorded(run)) as opened:
        limits = Limits(messages=-1, events=-1, processes=1, channels=2)
        bins = window(opened.tables, 0, 10**6, 500, limits=limits).bins
        assert bins.processes.tolist() == [1]
        assert bins.channels.tolist() == [1, 2]
        assert (bins.hidden_processes, bins.hidden_channels) == (2, 1)
        assert bins.events.sum() == 4
        assert bins.depth.max(axis=1).tolist() == [4, 1]


@pytest.mark.parametrize(
    ("from_", "to", "axis"),
    [(5, 4, "time"), (float("nan"), 1, "time"), (0, float("inf"), "order"), (0, 1, "space")],
)
def test_edges_that_are_no_window_are_refused(from_, to, axis):
    with stored(recorded(a_run())) as opened, pytest.raises(ValueError, match="window|axis"):
        opened.window(from_, to, axis=axis)


NOTHING: dict[str, Callable] = {
    "no events": a_run,
    "no channels": lambda: a_run({"p": 1}, []).internal("p", "think"),
    "no message on one channel": lambda: a_run().send("p->q", "m", value=1),
}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("axis", ["time", "order"])
def test_a_window_of_a_recording_with_little_or_nothing_can_be_drawn(name, axis):
    recording = recorded(NOTHING[name]())
    with stored(recording) as opened:
        assert_exact(opened.window(0, 999, 100, axis), recording, Expected(recording, axis, 0, 999))
        bins = window(opened.tables, 0, 999, 100, axis, NOTHING_FITS).bins
        assert_bins(bins, recording, Expected(recording, axis, 0, 999))
