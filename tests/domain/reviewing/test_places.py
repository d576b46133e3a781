"""Places are written as one text each, and read back; other texts are refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.reviewing import places
from snapshots.domain.reviewing.place_text import (
    KINDS,
    LARGEST,
    LONGEST,
    NotAPlace,
    kind_of,
    read_place,
    write_place,
)

ids = st.text(max_size=20)
counts = st.integers(0, LARGEST)
PLACES = st.one_of(
    st.builds(places.MomentPlace, st.just(places.TIME), st.integers(-LARGEST, LARGEST)),
    st.builds(places.MomentPlace, st.just(places.ORDER), counts),
    st.builds(places.ProcessPlace, ids),
    st.builds(places.EventPlace, ids, counts),
    st.builds(places.ChannelPlace, ids),
    st.builds(places.MessagePlace, ids, ids),
    st.dictionaries(ids, counts, max_size=5).map(places.CutPlace.of),
    st.builds(places.SnapshotPlace, ids),
    st.builds(places.SnapshotChannelPlace, ids, ids),
    st.builds(places.CheckpointPlace, ids, counts),
    st.builds(places.SubtaskPlace, ids, counts, ids),
    st.builds(places.StatePlace, ids, ids, ids, ids),
)


@given(PLACES)
def test_every_place_is_read_back_from_its_text(place):
    assert read_place(write_place(place)) == place


@given(PLACES)
def test_the_text_of_a_place_fits_into_an_address_and_begins_with_its_kind(place):
    text = write_place(place)
    assert text.isascii()
    assert not set(text) & set(" /?#&\"'<>\\+;")
    assert text.partition(":")[0] == kind_of(place)
    assert kind_of(place) in KINDS


@given(st.text(max_size=40) | PLACES.map(write_place).flatmap(st.permutations))
def test_a_text_is_refused_or_is_the_only_one_of_its_place(letters):
    text = "".join(letters)
    try:
        place = read_place(text)
    except NotAPlace:
        return
    assert write_place(place) == text


def test_equal_cuts_have_equal_texts():
    one = places.CutPlace.of({"B": 1, "A": 3, "C": 0})
    assert write_place(one) == "cut:A=3:B=1" == write_place(places.CutPlace.of({"A": 3, "B": 1}))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no kind of place"),
        ("row:7", "is no kind of place. The kinds are moment, process"),
        ("event:B", "write it as event:PROCESS:INDEX"),
        ("event:B:2:3", "write it as event:PROCESS:INDEX"),
        ("event:B:02", "no whole number from 0"),
        ("event:B:-1", "no whole number from 0"),
        ("event:B:٣", "no whole number"),
        (f"event:B:{'9' * 5000}", "no whole number"),
        ("moment:time:-0", "no whole number"),
        ("moment:width:3", "no axis: write time or order"),
        ("channel:A->B", "percent-encoded otherwise, as “A-%3EB”"),
        ("channel:A-%3eB", "percent-encoded otherwise"),
        ("channel:%FF", "no percent-encoded UTF-8"),
        ("cut:A", "write it as PROCESS=COUNT"),
        ("cut:A=0", "no whole number from 1"),
        ("cut:B=1:A=3", "in the order of their ids"),
        ("cut:A=1:A=1", "named once each"),
        ("process:" + "A" * LONGEST, "has at most 1,048,576 characters"),
    ],
)
def test_a_text_that_names_no_place_is_refused_with_the_reason(text, reason):
    with pytest.raises(NotAPlace, match=reason):
        read_place(text)


def test_half_of_a_surrogate_pair_is_no_id():
    with pytest.raises(NotAPlace, match="no Unicode text"):
        write_place(places.ProcessPlace("\ud800"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("moment:time:5200", "moment 5,200"),
        ("moment:order:31", "after 31 events"),
        ("event:B:2", "event 2 of B"),
        ("message:A-%3EB:m1", "message m1 on A->B"),
        ("cut:A=3:B=1", "cut of 4 events"),
        ("snapshot-channel:s1:A-%3EB", "channel A->B in snapshot s1"),
        ("subtask:41:2:sink%5B1%5D", "sink[1] in checkpoint 41 of pipeline 2"),
        ("state:7:op:sum:%22a%22", 'key "a" of state sum in checkpoint 7'),
    ],
)
def test_a_place_has_a_name_for_people(text, words):
    assert places.in_words(read_place(text)) == words
