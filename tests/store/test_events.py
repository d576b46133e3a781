"""Single events of a stored recording are as they were logged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.model.recording import (
    RECEIVE,
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
    """Map (process, index) of every send and receive to its message or marker."""
    flight_at = {}
    for by_channel in (recording.messages, recording.markers):
        for channel, flights in by_channel.items():
            ends = recording.topology.channel_by_id[channel]
            for flight in flights:
                flight_at[ends.source, flight.sent_index] = flight
                flight_at[ends.target, flight.received_index] = flight
    return flight_at


@settings(max_examples=examples(15), deadline=None)
@given(log=MESSY_RUNS, scattered=st.integers(0, 99))
def test_every_event_comes_back_with_all_its_fields_and_its_message(log, scattered):
    recording = recorded(log)
    flights = flights_of(recording)
    with stored(recording, scattered=scattered) as opened:
        for event in by_step(recording):
            fields = opened.event(event.process, event.index)
            assert {name: fields[name] for name in FIELDS} == {
                name: getattr(event, name) for name in FIELDS
            }
            assert fields["messages"] == (None if event.messages is None else list(event.messages))
            flight = flights.get((event.process, event.index))
            if flight is None:
                assert fields["flight"] is None
            else:
                assert fields["flight"] == {
                    name: getattr(flight, name) for name in fields["flight"]
                }


def test_an_event_that_does_not_exist_is_a_key_error():
    with stored(recorded(a_run().internal("p", "think"))) as opened:
        for process, index in (("p", 1), ("p", -1), ("q", 0), ("nobody", 0)):
            with pytest.raises(KeyError):
                opened.event(process, index)


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
