"""Sends are matched with receives on whole columns, even if some are lost, repeated or
overtaken."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.matching import IN_FLIGHT, match
from snapshots.domain.assembling.matching import overtaken as overtaken_on_one_channel
from tasks.spark.ingest.match import NEVER, among, overtaken
from tasks.spark.ingest.schemas import runs
from tasks.spark.ingest.way import meet
from tests.effort import examples

pytestmark = pytest.mark.slow


def met(sends: dict[int, list[int]], receives: dict[int, list[int]]) -> list[int]:
    """Call ``meet`` for ids by channel, as columns sorted by channel."""
    columns = []
    for ends in (sends, receives):
        channel = np.repeat(sorted(ends), [len(ends[code]) for code in sorted(ends)])
        ids = np.array([name for code in sorted(ends) for name in ends[code]], np.int64)
        columns += [channel, channel.astype(np.int64) * 100 + ids]
    return meet(*columns).tolist()


def test_receives_in_the_order_of_sending_meet_at_once():
    assert met({0: [5, 6], 1: [7]}, {0: [5, 6], 1: [7]}) == [0, 1, 2]


def test_a_message_never_received_meets_nothing():
    assert met({0: [5, 6, 7]}, {0: [5]}) == [0, -1, -1]


def test_a_channel_without_receives_leaves_the_next_one_alone():
    assert met({0: [5], 1: [7]}, {1: [7]}) == [-1, 0]


def test_a_message_that_overtakes_still_meets_its_own_send():
    assert met({0: [5, 6]}, {0: [6, 5]}) == [1, 0]


def test_the_second_send_of_an_id_meets_its_second_receive():
    assert met({0: [5, 6, 5]}, {0: [5, 5]}) == [0, -1, 1]


def test_a_receive_without_a_send_meets_nothing():
    assert met({0: [5]}, {0: [9, 5]}) == [1]
    assert met({}, {0: [9]}) == []


def test_the_same_id_on_two_channels_is_two_messages():
    assert met({0: [5], 1: [5]}, {1: [5]}) == [-1, 0]


ends = st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 4), max_size=6), max_size=4)


@settings(max_examples=examples(100))
@given(sends=ends, receives=ends)
def test_any_ends_meet_as_in_the_reference(sends, receives):
    sends = {code: names for code, names in sends.items() if names}
    receives = {code: names for code, names in receives.items() if names}
    expected, sent, received = [], 0, 0
    place = {}
    for code in sorted(receives):
        place[code] = received
        received += len(receives[code])
    for code in sorted(sends):
        names = list(zip(sends[code], range(sent, sent + len(sends[code])), strict=True))
        arrived = [(name, place[code] + n) for n, name in enumerate(receives.get(code, []))]
        found = match(names, arrived).received
        expected += [found.get(send, -1) for _, send in names]
        sent += len(names)
    assert met(sends, receives) == expected


@pytest.mark.parametrize(
    ("received", "late"),
    [
        ([3, 5, 9], [False, False, False]),
        ([5, 3, 9], [True, False, False]),
        ([NEVER, 3], [True, False]),
        ([3, NEVER, NEVER], [False, False, False]),
        ([], []),
    ],
)
def test_what_a_later_message_passes_was_overtaken(received, late):
    channel = np.zeros(len(received), np.int32)
    assert overtaken(channel, np.array(received, np.int64)).tolist() == late


def test_nothing_is_overtaken_from_another_channel():
    channel = np.array([0, 0, 1, 1])
    assert overtaken(channel, np.array([7, 8, 2, 1])).tolist() == [False, False, True, False]


@settings(max_examples=examples(100))
@given(st.data())
def test_overtaking_is_as_in_the_reference(data):
    item = st.tuples(st.one_of(st.integers(0, 9), st.just(IN_FLIGHT)), st.booleans())
    channels = data.draw(st.lists(st.lists(item, max_size=6), max_size=4))
    expected = []
    for items in channels:
        received = np.array([index for index, _ in items], np.int64)
        by = np.array([IN_FLIGHT if may else index for index, may in items], np.int64)
        expected += overtaken_on_one_channel(received, by).tolist()
    code = np.repeat(np.arange(len(channels)), [len(items) for items in channels])
    flat = [item for items in channels for item in items]
    received = np.array([min(index, NEVER) for index, _ in flat], np.int64)
    may_overtake = np.array([may for _, may in flat], bool)
    assert overtaken(code, received, may_overtake).tolist() == expected


def test_runs_are_the_stretches_of_equal_codes():
    assert runs(np.array([4, 4, 7])) == [(4, 0, 2), (7, 2, 3)]
    assert runs(np.array([], np.int64)) == []


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_among_finds_what_is_there(few, many):
    found = among(np.array(few, np.int64), np.array(many, np.int64))
    assert found.tolist() == [item in many for item in few]
