"""Single events: as they were logged, stepped to, found by text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_STATE,
    SEND,
    Event,
    Recording,
)
from tests.builders import a_run, recorded, runs
from tests.effort import examples
from tests.store.folders import stored

FIELDS = [name for name in Event.__slots__ if name != "messages"]
MESSY_RUNS = runs(max_processes=6)


def by_step(recording: Recording) -> list[Event]:
    events = [event for events in recording.events.values() for event in events]
    return sorted(events, key=lambda event: event.step)


def flights_of(recording: Recording) -> dict:
    """(process, index) of every send and receive -> its message or marker."""
    found = {}
    for by_channel in (recording.messages, recording.markers):
        for channel, flights in by_channel.items():
            ends = recording.topology.channel_by_id[channel]
            for flight in flights:
                found[ends.source, flight.sent_index] = flight
                found[ends.target, flight.received_index] = flight
    return found


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99))
def test_every_event_comes_back_with_all_its_fields_and_its_message(log, scattered):
    recording = recorded(log)
    flights = flights_of(recording)
    with stored(recording, scattered=scattered) as opened:
        for event in by_step(recording):
            found = opened.event(event.process, event.index)
            assert {name: found[name] for name in FIELDS} == {
                name: getattr(event, name) for name in FIELDS
            }
            assert found["messages"] == (None if event.messages is None else list(event.messages))
            flight = flights.get((event.process, event.index))
            if flight is None:
                assert found["flight"] is None
            else:
                assert found["flight"] == {name: getattr(flight, name) for name in found["flight"]}


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99), data=st.data())
def test_the_neighbours_of_a_cursor_are_the_nearest_events_on_its_sides(log, scattered, data):
    recording = recorded(log)
    events = by_step(recording)
    strays = {(event.process, event.index) for event in recording.strays}
    groups = {
        "event": lambda event: True,
        "marker": lambda event: (
            event.kind in (MARKER_SEND, MARKER_RECEIVE)
            and (event.process, event.index) not in strays
        ),
        "record": lambda event: event.kind == RECORD_STATE,
    }
    with stored(recording, scattered=scattered) as opened:
        cursor = data.draw(st.integers(-1, len(events) + 1))
        for group, belongs in groups.items():
            chosen = [event for event in events if belongs(event)]
            for axis in ("order", "time"):
                place = [event.at if axis == "time" else event.step + 1 for event in chosen]
                at = cursor if axis == "order" else cursor * 1000
                right = [e for e, p in zip(chosen, place, strict=True) if p > at]
                left = [e for e, p in zip(chosen, place, strict=True) if p < at]
                assert_is(opened.neighbour(at, 1, group, axis), right[:1])
                assert_is(opened.neighbour(at, -1, group, axis), left[-1:])


def assert_is(found, expected: list[Event]) -> None:
    if not expected:
        assert found is None
        return
    [event] = expected
    assert (found.process, found.index, found.step) == (event.process, event.index, event.step)
    assert (found.kind, found.at) == (event.kind, event.at)


def test_an_unknown_group_of_neighbours_is_refused():
    with stored(recorded(a_run())) as opened, pytest.raises(ValueError, match="'party' is none of"):
        opened.neighbour(0, 1, "party")


def test_an_event_that_does_not_exist_is_a_key_error():
    with stored(recorded(a_run().internal("p", "think"))) as opened:
        for process, index in (("p", 1), ("p", -1), ("q", 0), ("nobody", 0)):
            with pytest.raises(KeyError):
                opened.event(process, index)


def test_events_are_found_by_message_id_and_by_part_of_their_label():
    run = a_run().send("p->q", "m1", value=1).receive("p->q", "m1").internal("q", "The Milk is out")
    run.send("p->q", "m10", value=1)
    with stored(recorded(run)) as opened:
        assert opened.find("m1").events == (("p", 0), ("q", 0))
        assert opened.find("milk").events == (("q", 1),)
        assert opened.find("m1").complete
        assert opened.find("m2").events == ()


def test_a_search_says_when_there_is_more():
    run = a_run()
    for _ in range(3):
        run.internal("p", "again")
    with stored(recorded(run)) as opened:
        found = opened.find("again", most=2)
        assert found.events == (("p", 0), ("p", 1))
        assert not found.complete
        assert opened.find("again", most=3).complete


def test_a_message_is_found_by_its_send():
    run = a_run().internal("p", "think").send("p->q", "m1", value=1)
    with stored(recorded(run)) as opened:
        assert opened.message("p->q", 1).id == "m1"
        assert opened.message("p->q", 0) is None


def test_a_stray_is_listed_and_belongs_to_no_message():
    run = a_run().receive("p->q", "ghost")
    with stored(recorded(run)) as opened:
        [stray] = opened.cut(opened.tables.events.length).strays()
        assert (stray.process, stray.index, stray.channel, stray.message) == (
            "q",
            0,
            "p->q",
            "ghost",
        )
        assert opened.cut(np.array([0, 0])).stray_count == 0
        assert opened.event("q", 0)["kind"] == RECEIVE
        assert opened.event("q", 0)["flight"] is None


def test_kinds_that_nobody_knows_keep_their_name():
    log = a_run().internal("p", "think").log()
    events = tuple(event.__class__(line=2, process="p", kind="teleport") for event in log.events)
    with stored(recorded(log._replace(events=events))) as opened:
        assert opened.event("p", 0)["kind"] == "teleport"
        assert SEND in opened.manifest.kinds
