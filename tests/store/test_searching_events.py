"""A search finds the events that hold its words, those that a plain look at each event finds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.model.recording import Event, Recording
from snapshots.store.searching import search as searching
from snapshots.store.searching.search import BINS, Search
from snapshots.store.searching.words import NotAQuery, read_query
from tests.builders import a_run, recorded, runs
from tests.effort import examples
from tests.store.folders import stored

NAMES = ("process", "channel", "kind", "snapshot")
TEXTS = ("message", "value", "state", "label", "extra")


def events_of(recording: Recording) -> list[Event]:
    events = [event for events in recording.events.values() for event in events]
    return sorted(events, key=lambda event: event.step)


def values_of(recording: Recording) -> dict[tuple[str, int], str | None]:
    """Return the value of the message that each event sends or receives."""
    values = {}
    for channel, messages in recording.messages.items():
        ends = recording.topology.channel_by_id[channel]
        for message in messages:
            values[ends.source, message.sent_index] = message.value
            values[ends.target, message.received_index] = message.value
    return values


def holds_number(event: Event, number: str, value: str | None) -> bool:
    texts = [getattr(event, name) for name in TEXTS] + [value]
    pattern = rf"(^|[^0-9.]){re.escape(number)}($|[^0-9.])"
    return any(text is not None and re.search(pattern, text) for text in texts)


def complete(opened, query: str) -> Search:
    search = opened.search(read_query(query, opened.manifest.time_unit))
    search.advance(60)
    assert search.is_complete
    return search


def hits(opened, query: str) -> list[tuple[str, int]]:
    search = complete(opened, query)
    steps = search.steps(0, search.total + 1)
    assert len(steps) == search.total
    names = [process.id for process in opened.topology.processes]
    return [(names[code], index) for code, index in map(search.place, steps)]


@settings(max_examples=examples(25), deadline=None)
@given(log=runs(max_processes=6), number=st.integers(0, 30), scattered=st.integers(0, 99))
def test_a_number_is_found_in_every_text_and_nowhere_else(log, number, scattered):
    recording = recorded(log)
    values = values_of(recording)
    names = {name for event in events_of(recording) for name in map(event.__getattribute__, NAMES)}
    if str(number) in names:
        return
    expected = [
        (event.process, event.index)
        for event in events_of(recording)
        if holds_number(event, str(number), values.get((event.process, event.index)))
        or any(str(number) in (getattr(event, name) or "") for name in NAMES)
    ]
    with stored(recording, scattered=scattered) as opened:
        assert hits(opened, str(number)) == expected


@settings(max_examples=examples(15), deadline=None)
@given(log=runs(max_processes=6), scattered=st.integers(0, 99), data=st.data())
def test_names_and_instants_of_an_event_find_it_and_its_likes(log, scattered, data):
    recording = recorded(log)
    events = events_of(recording)
    if not events:
        return
    one = data.draw(st.sampled_from(events))
    with stored(recording, scattered=scattered) as opened:
        for query, like in {
            f'process:"{one.process}"': lambda e: e.process == one.process,
            f'kind:"{one.kind}"': lambda e: e.kind == one.kind,
            f"time:{one.at}": lambda e: e.at == one.at,
            f'process:"{one.process}" kind:{one.kind}': lambda e: (
                (e.process, e.kind) == (one.process, one.kind)
            ),
            f"time:..{one.at}": lambda e: e.at <= one.at,
        }.items():
            expected = [(e.process, e.index) for e in events if like(e)]
            assert hits(opened, query) == expected, query


@pytest.fixture
def banks():
    """Return two processes: p sends 1000 and 10000 to q, which has the state 1000 then."""
    run = a_run().send("p->q", "m1", value=1000).send("p->q", "m2", value=10000)
    run.receive("p->q", "m1").receive("p->q", "m2").internal("q", "Think Twice")
    with stored(recorded(run)) as opened:
        yield opened


def test_the_value_of_a_message_is_found_where_it_is_sent_and_where_it_is_received(banks):
    assert hits(banks, "value:1000") == [("p", 0), ("q", 0)]
    assert hits(banks, "1,000") == [("p", 0), ("q", 0)]
    assert hits(banks, "10000 kind:receive") == [("q", 1)]


def test_a_whole_name_is_preferred_to_a_part_of_one(banks):
    assert hits(banks, "q") == [("q", 0), ("q", 1), ("q", 2)]
    assert hits(banks, "channel:p") == hits(banks, "p->q")
    assert len(hits(banks, "channel:p")) == 4


def test_case_is_ignored_and_quotes_keep_spaces(banks):
    assert hits(banks, 'label:"think TWICE"') == [("q", 2)]
    assert hits(banks, "THINK") == [("q", 2)]


def test_a_search_that_ran_out_of_time_goes_on_where_it_stopped(banks, monkeypatch):
    monkeypatch.setattr(searching, "CHUNK", 1)
    search = banks.search(read_query("kind:receive", "us"))
    shares = []
    while not search.is_complete:
        search.advance(0)
        shares.append(search.searched)
    assert shares == sorted(set(shares)), "it did the same work twice"
    assert len(shares) == 5
    assert search.total == 2
    assert banks.search(read_query("kind:receive", "us")) is search


def test_chunks_grow_while_they_are_quick_and_shrink_when_they_are_slow():
    assert [searching.next_chunk(64, seconds) for seconds in (0.001, 0.05, 1)] == [256, 64, 16]
    assert searching.next_chunk(searching.CHUNK, 0.001) == searching.CHUNK
    assert searching.next_chunk(1, 1) == 1


def test_hits_are_counted_before_a_step_and_in_bins(banks):
    search = complete(banks, "value:1000")
    first, second = search.steps(0, 9)
    assert [search.before(step) for step in (first, first + 1, second, second + 1, 99)] == [
        *[0, 1, 1, 2],
        2,
    ]
    assert search.steps(1, 9) == [second]
    assert search.bins_of_time.sum() == search.bins_of_order.sum() == 2
    assert search.bins_of_order[(first + 1) * BINS // 5] == 1


def test_an_instant_is_found_as_rounded_to_its_digits():
    [word] = read_query("5.20 ms", "us")
    assert word.instants == (5195, 5204)
    [word] = read_query("5ms..6.0ms", "us")
    assert word.instants == (4500, 6049)
    [word] = read_query("time:5200", "us")
    assert word.instants == (5200, 5200)
    [word] = read_query("5ms", "ticks")
    assert word.instants is None


@pytest.mark.parametrize(
    ("query", "unit", "reason"),
    [
        ("", "us", "needs a word"),
        ("   ", "us", "needs a word"),
        ("x" * 201, "us", "at most 200 characters, not 201"),
        ("a b c d e f g h i", "us", "at most 8 words, not 9"),
        ("time:noon", "us", "“noon” is no instant"),
        ("time:..", "us", "needs a first or a last one"),
        ("time:5ms", "ticks", "counts its time in ticks"),
        ('state:""', "us", "nothing between the quotation marks"),
    ],
)
def test_a_query_without_meaning_is_refused_with_the_reason(query, unit, reason):
    with pytest.raises(NotAQuery, match=re.escape(reason)):
        read_query(query, unit)
